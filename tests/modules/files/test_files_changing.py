"""write_file and edit_file: nothing unseen is changed, and nothing else of a file is."""

import os
import stat
from pathlib import Path

import pytest
from helpers_files import done, file_tools, refusal
from hypothesis import given, settings
from hypothesis import strategies as st


async def test_a_new_file_is_written_with_the_folders_it_needs(tmp_path: Path) -> None:
    call = await file_tools(tmp_path)

    output = await done(call("write_file", file_path="a/b/c.txt", content="hé\n"))

    assert output == {"file_path": str(tmp_path / "a/b/c.txt"), "bytes": 4}
    assert (tmp_path / "a/b/c.txt").read_bytes() == "hé\n".encode()
    assert os.listdir(tmp_path / "a/b") == ["c.txt"]


async def test_a_new_file_gets_the_usual_mode(tmp_path: Path) -> None:
    call = await file_tools(tmp_path)
    (tmp_path / "usual").touch()

    await done(call("write_file", file_path="new", content="x"))

    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


async def test_an_edit_replaces_the_one_place(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="a.txt"))

    output = await done(call("edit_file", file_path="a.txt", old_string="two", new_string="2"))

    assert output == {
        "file_path": str(tmp_path / "a.txt"),
        "replacements_made": 1,
        "bytes_written": 6,
    }
    assert (tmp_path / "a.txt").read_text() == "one\n2\n"


async def test_an_ambiguous_edit_tells_how_often(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x x x")
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="a.txt"))

    result = await call("edit_file", file_path="a.txt", old_string="x", new_string="y")
    assert result.error is not None
    assert result.error["occurrences"] == 3
    assert (tmp_path / "a.txt").read_text() == "x x x"

    output = await done(
        call("edit_file", file_path="a.txt", old_string="x", new_string="y", replace_all=True)
    )
    assert output["replacements_made"] == 3
    assert (tmp_path / "a.txt").read_text() == "y y y"


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
async def test_what_was_not_read_is_not_changed(tmp_path: Path, tool: str) -> None:
    (tmp_path / "a.txt").write_text("old")
    call = await file_tools(tmp_path)
    arguments = {
        "write_file": {"content": "new"},
        "edit_file": {"old_string": "old", "new_string": "new"},
    }[tool]

    text = await refusal(call(tool, file_path="a.txt", **arguments))

    assert "has not been read in this session" in text
    assert (tmp_path / "a.txt").read_text() == "old"
    await done(call("read_file", file_path="a.txt", limit=1))
    await done(call(tool, file_path="a.txt", **arguments))
    assert (tmp_path / "a.txt").read_text() == "new"


async def test_another_sessions_reading_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    other, call = await file_tools(tmp_path), await file_tools(tmp_path)
    await done(other("read_file", file_path="a.txt"))

    assert not (await call("write_file", file_path="a.txt", content="new")).success


@pytest.mark.parametrize("tool", ["write_file", "edit_file"])
async def test_what_changed_since_it_was_read_is_not_changed(tmp_path: Path, tool: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="a.txt"))
    path.write_text("old, and someone else's")
    arguments = {
        "write_file": {"content": "new"},
        "edit_file": {"old_string": "old", "new_string": "new"},
    }[tool]

    text = await refusal(call(tool, file_path="a.txt", **arguments))

    assert "was changed by someone else since you read it" in text
    assert path.read_text() == "old, and someone else's"


async def test_own_writes_count_as_read(tmp_path: Path) -> None:
    call = await file_tools(tmp_path)

    await done(call("write_file", file_path="a", content="one"))
    await done(call("edit_file", file_path="a", old_string="one", new_string="two"))
    await done(call("write_file", file_path="a", content="three"))

    assert (tmp_path / "a").read_text() == "three"


async def test_the_same_write_once_more_succeeds_in_a_new_session(tmp_path: Path) -> None:
    await done((await file_tools(tmp_path))("write_file", file_path="a", content="one"))

    again = (await file_tools(tmp_path))("write_file", file_path="a", content="one")

    assert (await done(again))["bytes"] == 3


@pytest.mark.skipif(os.name != "posix", reason="modes are a thing of POSIX")
async def test_mode_and_links_are_kept(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    script = tmp_path / "real" / "run.sh"
    script.write_text("echo old\n")
    script.chmod(0o751)
    (tmp_path / "run").symlink_to("real/run.sh")
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="run"))

    await done(call("edit_file", file_path="run", old_string="old", new_string="new"))
    await done(call("write_file", file_path="run", content="echo newer\n"))

    assert script.read_text() == "echo newer\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o751
    assert (tmp_path / "run").is_symlink()


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no such attributes")
async def test_extended_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    try:
        os.setxattr(path, "user.note", b"keep")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="a"))

    await done(call("write_file", file_path="a", content="new"))

    assert os.getxattr(path, "user.note") == b"keep"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["", "\r\n"])
async def test_an_edit_keeps_crlf_mark_and_final_newline(
    tmp_path: Path, mark: str, end: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(f"{mark}one\r\ntwo\r\nthree{end}".encode())
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="a.txt"))

    await done(call("edit_file", file_path="a.txt", old_string="one\ntwo", new_string="1\n1.5\n2"))

    assert path.read_bytes() == f"{mark}1\r\n1.5\r\n2\r\nthree{end}".encode()


async def test_an_edit_leaves_other_endings_of_a_mixed_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\r\nb\nc\r\nd\ne\n")
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="a.txt"))

    await done(call("edit_file", file_path="a.txt", old_string="d\ne", new_string="D\nE"))
    await done(call("edit_file", file_path="a.txt", old_string="a\nb", new_string="A\nB"))

    assert path.read_bytes() == b"A\r\nB\nc\r\nD\nE\n"


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
async def test_writing_keeps_the_encoding_and_crlf(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("alt\r\nä\r\n".encode(codec))
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="a.txt"))

    await done(call("write_file", file_path="a.txt", content="neu\nö\n"))
    await done(call("edit_file", file_path="a.txt", old_string="neu", new_string="new 🎈"))

    assert path.read_bytes() == "new 🎈\r\nö\r\n".encode(codec)


@settings(max_examples=40, deadline=None)
@given(
    before=st.text("ab\n\r", max_size=8),
    old=st.text("xy", min_size=1, max_size=4),
    after=st.text("ab\n\r", max_size=8),
    new=st.text("ab", max_size=4),
)
async def test_what_surrounds_an_edit_stays_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, before: str, old: str, after: str, new: str
) -> None:
    folder = tmp_path_factory.mktemp("edit")
    (folder / "a").write_bytes(f"{before}{old}{after}".encode())
    call = await file_tools(folder)
    await done(call("read_file", file_path="a"))

    await done(call("edit_file", file_path="a", old_string=old, new_string=new))

    assert (folder / "a").read_bytes() == f"{before}{new}{after}".encode()


async def test_without_hard_links_a_new_file_is_still_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    # Kept in the set of calls that take a folder: only the file system says no.
    monkeypatch.setattr(os, "supports_dir_fd", {*os.supports_dir_fd, refuse})
    monkeypatch.setattr(os, "link", refuse)
    call = await file_tools(tmp_path)

    await done(call("write_file", file_path="a", content="x"))

    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
async def test_replacing_all_makes_no_file_beyond_the_limit(tmp_path: Path, ending: str) -> None:
    content = (ending * 2000).encode()
    (tmp_path / "lines.txt").write_bytes(content)
    call = await file_tools(tmp_path, max_file_size=10_000)
    await done(call("read_file", file_path="lines.txt"))
    edit = {"old_string": "\n", "new_string": "x" * 1_000_000, "replace_all": True}

    text = await refusal(call("edit_file", file_path="lines.txt", **edit))

    assert "more than 'max_file_size' (10000 bytes)" in text
    assert (tmp_path / "lines.txt").read_bytes() == content
