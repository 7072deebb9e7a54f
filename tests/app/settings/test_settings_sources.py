"""Sources are fetched only when asked for, locked by content, and verified at every load."""

import io
import stat
import zipfile
from pathlib import Path

import pytest
from amplifier_core import AmplifierSession
from amplifier_core.module_sources import ModuleLoadError, ModuleNotFoundError
from helpers_app import App
from helpers_project import Project, Repository, greeting

from amplifier.sources import cache, trees
from amplifier.sources.adding import get_offer
from amplifier.sources.lock import read_lock
from amplifier.sources.resolver import ModuleResolver
from amplifier.sources.uris import SourceError, parse_source

PLAN = {"session": {"orchestrator": "loop-basic", "context": "context-simple"}}


@pytest.mark.parametrize(
    ("written", "uri"),
    [
        ("git+https://h.org/o/r@v1#subdirectory=a/b", "git+https://h.org/o/r@v1#subdirectory=a/b"),
        ("git+ssh://git@h.org/o/r.git", "git+ssh://git@h.org/o/r.git"),
        ("https://h.org/x.zip", "zip+https://h.org/x.zip"),
        ({"type": "git", "url": "https://h.org/r", "ref": "v1"}, "git+https://h.org/r@v1"),
        ({"type": "file", "path": "/x/y"}, "/x/y"),
        ("some-package", "some-package"),
        ("pypi:Some_Package==1.2", "pypi:some-package==1.2"),
        ("pypi:some.package#subdirectory=a", "pypi:some-package#subdirectory=a"),
    ],
)
def test_a_source_has_one_spelling(written: object, uri: str) -> None:
    assert parse_source(written).uri == uri
    assert parse_source(uri).uri == uri


@pytest.mark.parametrize(
    "written",
    [
        "pypi:--index-url=https://h.org",
        "pypi:x==1.2;os_name",
        "pypi:x>=1",
        "pypi:x @ https://h.org/x.whl",
        "pypi:../x",
        "pypi:x==-r",
        "pypi:",
        "git+ext::sh -c id",
        "git+ext::sh",
        "git+-oProxyCommand=id",
        "git+ssh://-oProxyCommand=id/x",
        "git+https://h.org/r@--upload-pack=id",
        "git+https://h.org/r@-x",
        "git+https://h.org/r@a..b",
        "git+https://h.org/r#subdirectory=../x",
        "git+https://h.org/r#subdirectory=/etc",
        "git+https://h.org/r#run=x",
        "git+https://user:secret@h.org/r",
        "git+https://h.org/r\n--x",
        "zip+http://h.org/x.zip",
        "https://h.org/r",
        "a b",
        "",
        {"type": "git"},
        5,
    ],
)
def test_a_source_that_could_do_harm_is_refused(written: object) -> None:
    with pytest.raises(SourceError) as refused:
        parse_source(written)
    assert "secret" not in str(refused.value)


async def greeted(resolver: ModuleResolver, source: object) -> str:
    session = AmplifierSession({**PLAN, "tools": [{"module": "tool-greet", "source": source}]})
    await session.coordinator.mount("module-source-resolver", resolver)
    async with session:
        assert not session.status.failed_modules, session.status.failed_modules
        result = await session.coordinator.get("tools", "greet").execute({})
        return str(result.output)


async def test_as_a_library_the_resolver_fetches_by_itself(
    project: Project, repository: Repository
) -> None:
    repository.commit(greeting("1.0", "Hello from git."))

    assert await greeted(ModuleResolver(), repository.uri) == "Hello from git."


async def test_what_was_fetched_is_not_fetched_again(
    project: Project, repository: Repository
) -> None:
    repository.commit(greeting("1.0", "One."))
    resolver = ModuleResolver()
    first = await resolver.async_resolve("tool-greet", source_hint=repository.uri)
    repository.commit(greeting("2.0", "Two."))
    second = await resolver.async_resolve("tool-greet", source_hint=repository.uri)

    assert first.resolve() == second.resolve()


def test_a_run_does_not_fetch_and_names_the_command(project: Project) -> None:
    with pytest.raises(ModuleLoadError, match="amplifier module add tool-x --source git"):
        ModuleResolver(may_fetch=False).resolve("tool-x", "git+https://h.org/r")


def test_an_unknown_module_is_left_to_what_is_installed(project: Project) -> None:
    with pytest.raises(ModuleNotFoundError):
        ModuleResolver().resolve("tool-x")


def test_the_environment_comes_before_settings_and_these_before_the_plan(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        project.tool(name)
    resolver = ModuleResolver({"tool-greet": "./b"})

    assert resolver.resolve("tool-greet", "./a").resolve() == project.root / "b"
    monkeypatch.setenv("AMPLIFIER_MODULE_TOOL_GREET", "./c")
    assert resolver.resolve("tool-greet", "./a").resolve() == project.root / "c"


def test_content_that_was_changed_is_not_loaded(project: Project, repository: Repository) -> None:
    repository.commit(greeting("1.0", "One."))
    offer = get_offer(repository.uri)
    assert offer.entry is not None
    resolver = ModuleResolver(locked={offer.source.uri: offer.entry}, may_fetch=False)
    resolver.resolve("tool-greet", repository.uri)
    (offer.folder / "extra.py").write_text("evil = True\n")

    with pytest.raises(ModuleLoadError, match="is not what was locked"):
        resolver.resolve("tool-greet", repository.uri)
    get_offer(repository.uri)
    resolver.resolve("tool-greet", repository.uri)


def test_links_in_a_repository_become_plain_files(project: Project, repository: Repository) -> None:
    (repository.folder / "link").symlink_to("/etc/passwd")
    repository.commit(greeting("1.0", "One."))

    folder = get_offer(repository.uri).folder

    assert not (folder / "link").is_symlink()
    assert not (folder / ".git").exists()


def test_a_repository_that_cannot_be_fetched_leaves_nothing(project: Project) -> None:
    with pytest.raises(SourceError, match="cannot be fetched"):
        get_offer(f"git+file://{project.root}/none")
    assert list((project.home / "cache/content").iterdir()) == []


def archive(path: Path, *entries: tuple[str, bytes], link: bool = False) -> str:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = ((stat.S_IFLNK if link else stat.S_IFREG) | 0o644) << 16
            opened.writestr(info, content)
    path.write_bytes(data.getvalue())
    return f"zip+{path.as_uri()}"


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "..\\evil", "C:evil"])
def test_an_archive_writes_nothing_outside(project: Project, tmp_path: Path, name: str) -> None:
    before = {each for each in tmp_path.rglob("*") if "own" not in each.parts}
    uri = archive(tmp_path / "x.zip", (name, b"evil"))

    with pytest.raises(SourceError, match="leads out of it"):
        get_offer(uri)
    after = {each for each in tmp_path.rglob("*") if "own" not in each.parts}
    assert after - before == {tmp_path / "x.zip"}
    assert list((project.home / "cache/content").iterdir()) == []


def test_links_twins_and_rubbish_in_archives_are_refused(project: Project, tmp_path: Path) -> None:
    linked = archive(tmp_path / "l.zip", ("link", b"/etc/passwd"), link=True)
    with pytest.warns(UserWarning, match="Duplicate name"):
        twins = archive(tmp_path / "t.zip", ("a", b"1"), ("a", b"2"))
    (tmp_path / "r.zip").write_bytes(b"PK rubbish")

    for uri in (linked, twins, f"zip+{(tmp_path / 'r.zip').as_uri()}"):
        with pytest.raises(SourceError):
            get_offer(uri)


def test_an_archive_that_swells_is_stopped(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amplifier.sources.fetching.MOST_BYTES", 1_000_000)
    uri = archive(tmp_path / "bomb.zip", ("zeros", bytes(2_000_000)))

    with pytest.raises(SourceError, match="too much"):
        get_offer(uri)


def test_a_huge_file_is_refused_before_it_is_read(project: Project, tmp_path: Path) -> None:
    for name in ("huge.zip", "folder/huge"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with (tmp_path / name).open("wb") as file:
            file.truncate(1_000_000_000)

    with pytest.raises(SourceError, match="too much"):
        get_offer(f"zip+{(tmp_path / 'huge.zip').as_uri()}")
    with pytest.raises(SourceError, match="more than"):
        trees.tree_hash(tmp_path / "folder")


def test_a_folder_that_holds_an_archive_of_a_repository_is_its_content(
    project: Project, tmp_path: Path
) -> None:
    uri = archive(tmp_path / "x.zip", ("repo-main/bundle.md", b"---\nbundle: {name: z}\n---\n"))

    assert (get_offer(uri).folder / "bundle.md").is_file()


def test_the_hash_of_a_tree_tells_names_contents_and_modes(tmp_path: Path) -> None:
    hashes = set()
    for name, content, mode in [
        ("a", "1", 0o644),
        ("b", "1", 0o644),
        ("a", "2", 0o644),
        ("a", "1", 0o755),
    ]:
        folder = tmp_path / f"{name}{content}{mode}"
        folder.mkdir()
        (folder / name).write_text(content)
        (folder / name).chmod(mode)
        hashes.add(trees.tree_hash(folder))

    assert len(hashes) == 4


def test_add_update_and_roll_back(app: App, repository: Repository) -> None:
    first = repository.commit(greeting("1.0", "One."))
    added = app.run("module", "add", "tool-greet", "-s", repository.uri, "--yes")
    said = app.run("tool", "invoke", "greet").out
    changed = {**greeting("2.0", "Two.", "welcome")}
    changed["amplifier_module_tool_greet/__init__.py"] = (
        "import subprocess\n" + changed["amplifier_module_tool_greet/__init__.py"]
    )
    second = repository.commit(changed)
    unchanged = app.run("tool", "invoke", "greet").out
    checked = app.run("module", "update", "--check-only")
    updated = app.run("module", "update", "tool-greet", "--yes")
    new = app.run("tool", "invoke", "welcome").out
    back = app.run("module", "update", "tool-greet", "--rollback")
    old = app.run("tool", "invoke", "greet").out

    assert "tools: greet" in added.out
    assert (said, unchanged, new, old) == ("One.\n", "One.\n", "Two.\n", "One.\n")
    for line in ("version: 1.0 -> 2.0", f"commit: {first} -> {second}", "tools: + welcome",
                 "tools: - greet", "uses: + processes"):  # fmt: skip
        assert line in checked.out
        assert line in updated.out
    assert back.code == 0
    (entry,) = read_lock(app.home / "amplifier.lock").values()
    assert entry["commit"] == first


def test_an_update_that_cannot_be_loaded_is_not_used(app: App, repository: Repository) -> None:
    repository.commit(greeting("1.0", "One."))
    app.run("module", "add", "tool-greet", "-s", repository.uri, "--yes")
    repository.commit({"amplifier_module_tool_greet/__init__.py": "import nothing_like_it\n"})

    ended = app.run("module", "update", "--yes")

    assert ended.code == 1
    assert "It is not used." in ended.err
    assert app.run("tool", "invoke", "greet").out == "One.\n"


def test_removing_takes_a_module_out_of_settings_and_lock(app: App, repository: Repository) -> None:
    repository.commit(greeting("1.0", "One."))
    app.run("module", "add", "tool-greet", "-s", repository.uri, "--yes")

    removed = app.run("module", "remove", "tool-greet")

    assert removed.code == 0
    assert read_lock(app.home / "amplifier.lock") == {}
    assert app.run("tool", "invoke", "greet").code == 1


def test_a_bundle_is_added_from_git_and_used_by_name(app: App, repository: Repository) -> None:
    repository.commit({"bundle.md": "---\nbundle: {name: theirs, version: 1.2}\n---\nHi.\n"})

    added = app.run("bundle", "add", repository.uri, "--yes")
    used = app.run("bundle", "use", "theirs")
    shown = app.run("plan", "--json").document

    assert "theirs 1.2 from" in added.out
    assert used.code == 0
    assert (shown["bundle"], shown["plan"]["instruction"]) == ("theirs", "Hi.")
    assert app.run("bundle", "clear").code == 0
    assert app.run("bundle", "remove", "theirs").code == 0
    assert app.run("bundle", "use", "theirs").code == 1


def test_a_content_is_kept_once(project: Project, repository: Repository) -> None:
    repository.commit(greeting("1.0", "One."))

    assert get_offer(repository.uri).folder == get_offer(repository.uri).folder
    assert len(list(cache.cache_folder().iterdir())) == 1
