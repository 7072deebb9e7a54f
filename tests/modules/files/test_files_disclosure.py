"""What lies at a forbidden path is not told: not by a list, a detour, a link or an odd size."""

import os
import sys
from pathlib import Path

import pytest
from helpers_files import Call, done, file_tools, refusal, search_tools

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """`project` may be used except for `keys`; beside it are a folder and a file."""
    for folder in ("project/keys/deep", "project/src", "outside/folder"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "outside" / "file").write_text("x")
    (tmp_path / "project" / "src" / "open.txt").write_text("open")
    return tmp_path / "project"


async def confined(project: Path) -> Call:
    return await file_tools(project, allowed_read_paths=["."], denied_read_paths=["keys"])


async def test_a_list_leaves_denied_names_out(project: Path) -> None:
    output = await done((await confined(project))("read_file", file_path="."))

    assert (output["content"], output["entry_count"]) == ("DIR  src", 1)


@pytest.mark.parametrize(
    "there", ["outside/folder", "outside/file", "outside/gone", "project/keys/deep"]
)
async def test_a_link_into_the_forbidden_looks_the_same_wherever_it_leads(
    project: Path, there: str
) -> None:
    (project / "src" / "link").symlink_to(project.parent / there)
    search = await search_tools(project, allowed_paths=["."], denied_read_paths=["keys"])

    listed = await done((await confined(project))("read_file", file_path="src"))
    found = await done(search("glob", pattern="**/link", type="any"))

    assert listed["content"] == "FILE link\nFILE open.txt"
    assert [match["type"] for match in found["matches"]] == ["file"]


@pytest.mark.parametrize(
    "way",
    [
        "../outside/folder/../../project",
        "../outside/file/../../project",
        "../outside/gone/../../project",
        "../outside/gone/deeper/../../../project",
        "keys/deep/../..",
        "keys/gone/../..",
    ],
)
async def test_a_detour_through_the_forbidden_is_refused_whether_it_exists_or_not(
    project: Path, way: str
) -> None:
    path = f"{way}/src/open.txt"

    text = await refusal((await confined(project))("read_file", file_path=path))

    assert text == (
        f"'{project}/{path}' leads through folders that may not be touched. Use the direct path."
    )


async def test_a_detour_through_what_is_allowed_or_above_it_is_fine(project: Path) -> None:
    call = await confined(project)

    for way in ("src/..", f"../{project.name}", f"../../{project.parent.name}/{project.name}"):
        assert (await done(call("read_file", file_path=f"{way}/src/open.txt")))["total_lines"] == 1


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="this system has no /proc")
async def test_a_file_that_says_it_is_empty_is_read_no_further_than_the_limit(
    tmp_path: Path,
) -> None:
    call = await file_tools(tmp_path, max_file_size=10)

    text = await refusal(call("read_file", file_path="/proc/version"))
    some = await done(call("read_file", file_path="/proc/version", limit=1))

    assert text.endswith("and up to 10 are read at once. Give a limit to read some lines of it.")
    assert some["total_lines"] is None


async def test_a_program_named_like_ripgrep_in_the_project_is_not_run(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = project / "bin" / "rg"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nopen('was-run', 'w')\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", "bin")
    monkeypatch.chdir(project)
    call = await search_tools(project)

    found = await done(call("grep", pattern="open", path="."))

    assert str(project / "src" / "open.txt") in found["files"]
    assert not (project / "was-run").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have Unicode names only")
async def test_names_that_are_not_unicode_are_told_as_text(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"f\xff")
    folder.mkdir()
    (folder / os.fsdecode(b"\xe9.txt")).write_text("here")
    (tmp_path / "link").symlink_to(folder)
    files, search = await file_tools(tmp_path), await search_tools(tmp_path)

    answers = [
        await files("read_file", file_path="link"),
        await files("write_file", file_path="link/new.txt", content="x"),
        await files("read_file", file_path="link/new.txt"),
        await search("grep", pattern="here"),
        await search("glob", pattern="**/*.txt"),
    ]

    for answer in answers:
        assert answer.success
        assert "f?" in answer.model_dump_json()
