"""The path policy holds against other spellings of a path, and against links that move."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from helpers_files import Call, done, file_tools, refusal, search_tools
from hypothesis import given, settings
from hypothesis import strategies as st

SECRET = "TOP-SECRET-CONTENT"

needs_links = pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """`project` may be used; `outside` beside it holds a secret, and so does `project/keys`."""
    for folder in ("project/keys", "project/src", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    (tmp_path / "project" / "keys" / "secret.txt").write_text(SECRET)
    (tmp_path / "project" / "src" / "open.txt").write_text("open")
    return tmp_path / "project"


async def confined(project: Path) -> Call:
    return await file_tools(
        project,
        allowed_read_paths=["."],
        denied_read_paths=["keys"],
        denied_write_paths=["keys"],
    )


def untouched(project: Path) -> bool:
    """Whether what lies outside and what is denied is as it was."""
    kept = [project / "keys" / "secret.txt", project.parent / "outside" / "secret.txt"]
    return (
        all(path.read_text() == SECRET for path in kept)
        and sorted(os.listdir(project.parent)) == ["outside", "project"]
        and all(os.listdir(path.parent) == ["secret.txt"] for path in kept)
    )


async def assert_closed(call: Call, path: str) -> None:
    """Neither readable nor writable, and no word about what is there."""
    read = await call("read_file", file_path=path)
    wrote = await call("write_file", file_path=path, content="changed")
    edited = await call("edit_file", file_path=path, old_string="T", new_string="x")

    assert [read.success, wrote.success, edited.success] == [False] * 3, path
    assert SECRET not in f"{read} {wrote} {edited}"


ESCAPES = [
    "../outside/secret.txt",
    "src/../../outside/secret.txt",
    "./src/./../keys/secret.txt",
    "keys//secret.txt",
    "keys/secret.txt/",
    "keys/secret.txt/.",
    "keys",
    "keys/new.txt",
    "keys/deep/er/new.txt",
    "../outside/new.txt",
    "..",
    "/",
    "/etc/passwd",
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/fd/0",
    "/dev/null",
    "src/open.txt/../../keys/secret.txt",
    "src/gone/../../keys/secret.txt",
]


@pytest.mark.parametrize("path", ESCAPES)
async def test_no_spelling_of_a_forbidden_path_gets_through(project: Path, path: str) -> None:
    await assert_closed(await confined(project), path)
    assert untouched(project)


@pytest.mark.skipif(not Path("/proc/self/root").exists(), reason="this system has no /proc")
async def test_the_systems_magic_links_lead_nowhere_new(project: Path) -> None:
    call = await confined(project)
    handle = os.open(project.parent / "outside" / "secret.txt", os.O_RDONLY)
    try:
        for prefix in ("/proc/self/root", f"/proc/{os.getpid()}/root", "/proc/self/cwd/../../.."):
            await assert_closed(call, f"{prefix}{project.parent}/outside/secret.txt")
        await assert_closed(call, f"/proc/self/fd/{handle}")
        inside = f"/proc/self/root{project}/src/open.txt"
        assert (await done(call("read_file", file_path=inside)))["content"] == "     1\topen"
    finally:
        os.close(handle)
    assert untouched(project)


@needs_links
@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("link", "../outside", "link/secret.txt"),
        ("link", "../outside", "link/new.txt"),
        ("link", "../outside/secret.txt", "link"),
        ("link", "../outside/new.txt", "link"),
        ("link", "keys", "link/secret.txt"),
        ("src/link", "../keys/secret.txt", "src/link"),
        ("link", "/", "link/etc/passwd"),
        ("link", "link", "link"),
        ("link", "src/../../outside/secret.txt", "link"),
    ],
)
async def test_links_are_judged_by_where_they_lead(
    project: Path, link: str, target: str, path: str
) -> None:
    (project / link).symlink_to(target)

    await assert_closed(await confined(project), path)
    assert untouched(project)


@needs_links
async def test_a_chain_of_links_ends_in_a_refusal(project: Path) -> None:
    for number in range(60):
        (project / f"l{number}").symlink_to(f"l{number + 1}")
    (project / "l60").symlink_to("src/open.txt")
    call = await confined(project)

    assert "too many symbolic links" in await refusal(call("read_file", file_path="l0"))
    assert (await done(call("read_file", file_path="l40")))["total_lines"] == 1


@needs_links
async def test_dotdot_after_a_link_means_the_parent_of_its_target(project: Path) -> None:
    (project / "src" / "deep").mkdir()
    (project / "link").symlink_to("src/deep")
    call = await confined(project)

    assert (await done(call("read_file", file_path="link/../open.txt")))["total_lines"] == 1
    await assert_closed(call, "link/../../../outside/secret.txt")


@needs_links
async def test_an_allowed_root_that_becomes_a_link_opens_nothing(project: Path) -> None:
    call = await confined(project)
    project.rename(project.parent / "moved")
    project.symlink_to("outside")

    read = await call("read_file", file_path="secret.txt")
    wrote = await call("write_file", file_path="new.txt", content="x")

    assert [read.success, wrote.success] == [False] * 2
    assert os.listdir(project.parent / "outside") == ["secret.txt"]


PROTECTED = [
    ".git/hooks/pre-commit",
    "sub/.git/hooks/pre-commit",
    "src/../.git/config",
    ".git/config.worktree",
    ".git/modules/lib/hooks/post-checkout",
    ".GIT/Hooks/pre-commit",
    ".amplifier/hooks/a/hooks.json",
    ".amplifier/settings.yaml",
    ".amplifier/settings.local.yaml",
    "innocent/pre-commit",
]


@needs_links
@pytest.mark.parametrize("path", PROTECTED)
async def test_files_that_decide_what_runs_later_are_not_written(project: Path, path: str) -> None:
    (project / ".git" / "hooks").mkdir(parents=True)
    (project / "innocent").symlink_to(".git/hooks")
    call = await file_tools(project)

    text = await refusal(call("write_file", file_path=path, content="x"))

    assert "is denied by 'protected_paths': it decides what is run later." in text
    assert os.listdir(project / ".git" / "hooks") == []


@needs_links
async def test_a_protected_folder_that_is_a_link_is_protected_where_it_leads(project: Path) -> None:
    (project / ".git").mkdir()
    (project / ".git" / "hooks").symlink_to("../src")
    call = await file_tools(project)

    await refusal(call("write_file", file_path="src/pre-commit", content="x"))


async def test_what_is_protected_can_be_read_and_the_list_can_be_changed(project: Path) -> None:
    (project / ".git").mkdir()
    (project / ".git" / "config").write_text("[core]\n")
    call = await file_tools(project, protected_paths=["ci"])

    assert (await call("read_file", file_path=".git/config")).success
    assert (await call("write_file", file_path=".git/config", content="x")).success
    await refusal(call("write_file", file_path="ci/build.yaml", content="x"))


@needs_links
async def test_a_denied_link_stays_denied_wherever_it_leads(project: Path) -> None:
    (project / "vault").symlink_to("keys")
    call = await file_tools(project, denied_read_paths=["vault"], denied_write_paths=["vault"])
    await assert_closed(call, "keys/secret.txt")
    (project / "vault").unlink()
    (project / "vault").symlink_to("src")

    await assert_closed(call, "keys/secret.txt")
    await assert_closed(call, "src/open.txt")


@needs_links
async def test_a_denied_link_denies_what_is_yet_to_be_made_at_its_end(project: Path) -> None:
    (project / "vault").symlink_to("src")
    call = await file_tools(project, denied_write_paths=["vault"])
    (project / "vault").unlink()
    (project / "vault").symlink_to("future")

    await refusal(call("write_file", file_path="future/new.txt", content="x"))

    assert not (project / "future").exists()


@needs_links
async def test_a_hard_link_to_a_denied_file_is_seen_through(project: Path) -> None:
    call = await file_tools(
        project, denied_read_paths=["keys/secret.txt"], denied_write_paths=["keys/secret.txt"]
    )
    os.link(project / "keys" / "secret.txt", project / "src" / "other.txt")

    await assert_closed(call, "src/other.txt")


async def test_another_spelling_of_a_name_reaches_a_denied_folder_nowhere(project: Path) -> None:
    """On a file system that folds names these are the folder; elsewhere they are new names."""
    (project / "café").mkdir()
    (project / "café" / "secret.txt").write_text(SECRET)
    call = await file_tools(project, denied_read_paths=["keys", "café"])

    for path in ("KEYS/secret.txt", "Keys/Secret.txt", "café/secret.txt", "CAFÉ/secret.txt"):
        assert SECRET not in str(await call("read_file", file_path=path))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a\0b", "contains a NUL character. Take it out."),
        ("a\ud800b", "has a character that no file name has. Take it out."),
        ("~a\0b", "contains a NUL character. Take it out."),
        ("~\ud800", "has a character that no file name has. Take it out."),
        ("x" * 300, "is longer than the system allows. Use a shorter path."),
        ("d/" * 3000 + "f", "is longer than the system allows. Use a shorter path."),
    ],
)
async def test_names_that_no_system_takes_are_refused(project: Path, path: str, text: str) -> None:
    call = await file_tools(project)
    search = await search_tools(project)

    for answer in (
        call("read_file", file_path=path),
        call("write_file", file_path=path, content="x"),
        search("grep", pattern="x", path=path),
        search("glob", pattern="x", path=path),
    ):
        assert (await refusal(answer)).endswith(text)


async def test_a_long_way_up_and_down_does_not_run_out_of_descriptors(project: Path) -> None:
    call = await confined(project)

    output = await done(call("read_file", file_path="src/../" * 400 + "src/open.txt"))

    assert output["file_path"] == str(project / "src" / "open.txt")


PARTS = st.sampled_from(
    ["..", ".", "", "src", "keys", "outside", "project", "in", "out", "secret.txt", "open.txt"]
)


@needs_links
@settings(max_examples=70, deadline=None)
@given(parts=st.lists(PARTS, min_size=1, max_size=9))
async def test_no_mixture_of_parts_and_links_reaches_a_secret(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    root = tmp_path_factory.getbasetemp() / f"fuzz-{os.getpid()}"
    if not root.exists():
        for folder in ("project/keys", "project/src", "outside"):
            (root / folder).mkdir(parents=True)
        for path in ("outside", "project/keys"):
            (root / path / "secret.txt").write_text(SECRET)
        (root / "project" / "in").symlink_to("keys/..")
        (root / "project" / "src" / "out").symlink_to("../../outside")
        (root / "project" / "out").symlink_to("src/out/../project/keys")
    call = await confined(root / "project")
    path = "/".join(parts)

    read = await call("read_file", file_path=path)
    wrote = await call("write_file", file_path=f"{path}/secret.txt", content="x")

    assert SECRET not in str(read)
    assert not read.success or read.output["file_path"].startswith(str(root / "project"))
    assert not wrote.success or wrote.output["file_path"].startswith(str(root / "project"))
    for kept in ("outside", "project/keys"):
        assert (root / kept / "secret.txt").read_text() == SECRET


@contextmanager
def swapping(link: Path, inside: Path, outside: Path) -> Iterator[None]:
    """`link` is a folder or a link to `outside`, in turn, as fast as can be."""
    stop = threading.Event()
    spare = link.with_name("spare")

    def swap() -> None:
        os.rename(link, inside)
        with suppress(OSError):  # a tool may have made a folder in its place
            spare.symlink_to(outside)
            os.rename(spare, link)
        while inside.exists():
            with suppress(OSError):
                link.unlink() if link.is_symlink() else shutil.rmtree(link, ignore_errors=True)
                os.rename(inside, link)
        spare.unlink(missing_ok=True)

    def keep_swapping() -> None:
        while not stop.is_set():
            swap()

    thread = threading.Thread(target=keep_swapping, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(5)
        assert not thread.is_alive()


@needs_links
@pytest.mark.parametrize("holds", [True, False], ids=["by descriptor", "by path"])
async def test_a_link_swapped_in_meanwhile_reveals_and_changes_nothing(
    project: Path, monkeypatch: pytest.MonkeyPatch, holds: bool
) -> None:
    if not holds:
        monkeypatch.setattr(os, "supports_dir_fd", set())
    (project / "src" / "secret.txt").write_text("harmless")
    outside = project.parent / "outside"
    call = await confined(project)

    with swapping(project / "src", project / "aside", outside):
        for number in range(100):
            result = await call("read_file", file_path="src/secret.txt")
            assert SECRET not in str(result)
            if holds:
                await call("write_file", file_path=f"src/new{number % 3}.txt", content=f"{number}")

    assert os.listdir(outside) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == SECRET
    await done(call("read_file", file_path="src/secret.txt"))


@needs_links
async def test_a_search_follows_no_link_that_is_swapped_in(project: Path) -> None:
    (project / "src" / "secret.txt").write_text("harmless")
    call = await search_tools(project, allowed_paths=["."], denied_read_paths=["keys"])

    with swapping(project / "src", project / "aside", project.parent / "outside"):
        for _ in range(6):
            result = await call("grep", pattern="SECRET|harmless", output_mode="content")
            assert SECRET not in str(result)


@pytest.mark.parametrize("path", ESCAPES[::5])
async def test_both_modules_refuse_the_same_paths(project: Path, path: str) -> None:
    files = await confined(project)
    search = await search_tools(project, allowed_paths=["."], denied_read_paths=["keys"])

    read = await files("read_file", file_path=path)
    found = await search("grep", pattern="SECRET", path=path)
    listed = await search("glob", pattern="**/*", path=path)

    assert [read.success, found.success, listed.success] == [False] * 3
    assert SECRET not in f"{read} {found} {listed}"


async def test_a_search_leaves_denied_paths_out(project: Path) -> None:
    call = await search_tools(project, denied_read_paths=["keys"])

    found = await done(call("grep", pattern="SECRET|open"))
    listed = await done(call("glob", pattern="**/*", type="any"))

    assert found["files"] == [str(project / "src" / "open.txt")]
    assert {match["path"] for match in listed["matches"]} == {
        str(project / "src"),
        str(project / "src" / "open.txt"),
    }


async def test_by_default_reading_is_free_and_writing_is_confined(project: Path) -> None:
    call = await file_tools(project)

    await done(call("read_file", file_path="../outside/secret.txt"))
    await done(call("write_file", file_path="src/new.txt", content="x"))

    assert "outside of 'allowed_write_paths'" in await refusal(
        call("write_file", file_path="../outside/new.txt", content="x")
    )


async def test_where_nothing_may_be_written_nothing_is(project: Path) -> None:
    call = await file_tools(project, allowed_write_paths=[])

    text = await refusal(call("write_file", file_path="new.txt", content="x"))

    assert text.endswith("Use a path inside one of these: none.")


async def test_without_descriptors_the_tools_still_work(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    call = await confined(project)

    await done(call("write_file", file_path="a/b/new.txt", content="one"))
    await done(call("edit_file", file_path="a/b/new.txt", old_string="one", new_string="two"))
    await done(call("read_file", file_path="a/b"))
    assert (project / "a" / "b" / "new.txt").read_text() == "two"
    for path in ESCAPES:
        await assert_closed(call, path)
