"""read_file: numbered lines of text in a few encodings, folders, and nothing that blocks."""

import os
import socket
from pathlib import Path

import pytest
from helpers_files import done, file_tools, refusal
from hypothesis import given, settings
from hypothesis import strategies as st


async def test_lines_are_numbered_from_one(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    call = await file_tools(tmp_path)

    assert await done(call("read_file", file_path="a.txt")) == {
        "file_path": str(tmp_path / "a.txt"),
        "content": "     1\tone\n     2\ttwo",
        "total_lines": 2,
        "lines_read": 2,
        "offset": 1,
    }


async def test_offset_and_limit_choose_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"line {n}\n" for n in range(1, 101)))
    call = await file_tools(tmp_path)

    output = await done(call("read_file", file_path="a.txt", offset=99, limit=5))

    assert output["content"] == "    99\tline 99\n   100\tline 100"
    assert (output["total_lines"], output["lines_read"], output["offset"]) == (100, 2, 99)


async def test_two_thousand_lines_are_read_by_default(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n" * 2500)
    call = await file_tools(tmp_path)

    output = await done(call("read_file", file_path="a.txt"))

    assert (output["lines_read"], output["total_lines"]) == (2000, 2500)


async def test_a_very_long_line_is_cut_with_a_marker(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("y" * 200_000 + "\nend")
    call = await file_tools(tmp_path)

    first, second = (await done(call("read_file", file_path="a.txt")))["content"].split("\n")

    assert first == f"     1\t{'y' * 2000}... [cut after 2000 of 200000 characters]"
    assert second == "     2\tend"


async def test_a_line_of_just_the_longest_length_is_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"y" * 2000 + b"\r\n")
    call = await file_tools(tmp_path)

    assert (await done(call("read_file", file_path="a.txt")))["content"] == f"     1\t{'y' * 2000}"


@pytest.mark.parametrize(
    ("content", "arguments", "warning"),
    [
        ("", {}, "The file is empty."),
        ("a\nb\n", {"offset": 9}, "The file has 2 lines; the offset is behind its end."),
    ],
)
async def test_nothing_to_show_is_said(
    tmp_path: Path, content: str, arguments: dict[str, int], warning: str
) -> None:
    (tmp_path / "a.txt").write_text(content)
    call = await file_tools(tmp_path)

    output = await done(call("read_file", file_path="a.txt", **arguments))

    assert (output["content"], output["lines_read"]) == ("", 0)
    assert output["warning"] == warning


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be-marked"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
async def test_encodings_and_endings_do_not_show(tmp_path: Path, codec: str, ending: str) -> None:
    text = f"Grüße{ending}日本 🎈{ending}"
    marked = codec == "utf-16-be-marked"
    content = "\ufeff".encode("utf-16-be") + text.encode("utf-16-be") if marked else b""
    (tmp_path / "a.txt").write_bytes(content or text.encode(codec))
    call = await file_tools(tmp_path)

    output = await done(call("read_file", file_path="a.txt"))

    assert output["content"] == "     1\tGrüße\n     2\t日本 🎈"


async def test_a_folder_is_listed_folders_first(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", ".env"):
        (tmp_path / name).touch()
    (tmp_path / "zoo").mkdir()
    (tmp_path / "link").symlink_to("zoo")
    call = await file_tools(tmp_path)

    assert await done(call("read_file", file_path=".")) == {
        "file_path": str(tmp_path),
        "content": "DIR  link\nDIR  zoo\nFILE .env\nFILE a.txt\nFILE b.txt",
        "is_directory": True,
        "entry_count": 5,
    }


async def test_a_large_folder_is_listed_in_parts(tmp_path: Path) -> None:
    for number in range(7):
        (tmp_path / f"{number}").touch()
    call = await file_tools(tmp_path)

    output = await done(call("read_file", file_path=".", offset=2, limit=3))

    assert output["content"] == ("FILE 1\nFILE 2\nFILE 3\n... and 3 more; ask with a higher offset")
    assert output["entry_count"] == 7


async def test_some_lines_of_a_huge_file_are_read_without_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "huge.log"
    with path.open("wb") as file:
        file.write(b"first\nsecond\n" + b"more\n" * 50_000)
        file.truncate(1 << 40)  # a terabyte of holes: reading on would never end
    call = await file_tools(tmp_path)

    refused = await refusal(call("read_file", file_path="huge.log"))
    output = await done(call("read_file", file_path="huge.log", offset=2, limit=1))

    assert "Give a limit" in refused
    assert (output["content"], output["total_lines"]) == ("     2\tsecond", None)
    assert output["warning"] == "The file is too large to be counted, or to be edited here."


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
async def test_pipes_sockets_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(tmp_path, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/socket" if Path("/proc/self/fd").exists() else "s")
        os.close(here)
    call = await file_tools(tmp_path, allowed_write_paths=["/"])

    for path in (tmp_path / "pipe", tmp_path / "socket", Path("/dev/zero"), Path("/dev/tty")):
        if not path.exists():
            continue
        for answer in (
            call("read_file", file_path=str(path)),
            call("write_file", file_path=str(path), content="x"),
            call("edit_file", file_path=str(path), old_string="a", new_string="b"),
        ):
            assert await refusal(answer) == (
                f"{str(path)!r} is a device, a pipe or a socket. Only regular files can be used."
            )


@settings(max_examples=40, deadline=None)
@given(
    lines=st.lists(st.text("aé🎈 \t\r", max_size=5), max_size=12),
    end=st.booleans(),
    offset=st.integers(1, 14),
    limit=st.integers(1, 14),
)
async def test_a_window_is_that_part_of_the_lines(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[str],
    end: bool,
    offset: int,
    limit: int,
) -> None:
    folder = tmp_path_factory.mktemp("window")
    content = "\n".join(lines) + ("\n" if end and lines else "")
    (folder / "a").write_bytes(content.encode())
    call = await file_tools(folder)

    output = await done(call("read_file", file_path="a", offset=offset, limit=limit))

    every = content.split("\n")
    every = every[:-1] if every[-1] == "" else every
    wanted = [line.removesuffix("\r") for line in every][offset - 1 : offset - 1 + limit]
    assert output["total_lines"] == len(every)
    assert output["lines_read"] == len(wanted)
    assert output["content"] == "\n".join(
        f"{number:>6}\t{line}" for number, line in enumerate(wanted, offset)
    )
