"""Every refusal, word by word: what is wrong, and what to do about it."""

import os
from pathlib import Path
from typing import Any

import pytest
from helpers_files import Call, caller, coordinator_in

from amplifier_modules.files import filesystem, search

JsonDict = dict[str, Any]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, content in {
        "text.txt": b"one\ntwo\none\n",
        "latin.txt": "caf\xe9".encode("latin-1"),
        "binary.bin": b"a\0b",
        "half16.txt": b"\xff\xfea",
        "large.txt": b"x" * 2000,
        "changed.txt": b"before",
        "keys/secret.txt": b"secret",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


async def tools(place: Path) -> Call:
    coordinator = coordinator_in(place)
    denied = {"denied_read_paths": ["keys"]}
    await filesystem.mount(
        coordinator,
        {
            **denied,
            "max_file_size": 1000,
            "allowed_read_paths": ["."],
            "denied_write_paths": ["keys"],
        },
    )
    await search.mount(coordinator, {**denied, "allowed_paths": ["."]})
    call = caller(coordinator)
    for name in ("text.txt", "changed.txt"):
        await call("read_file", file_path=name)
    (place / "changed.txt").write_bytes(b"after")
    return call


ONLY = "Only UTF-8, and UTF-16 with a byte order mark, can be used."
MISSING = "There is no '{place}/gone.txt'. Check the spelling, or list the folder it should be in."
NOT_READ = "has not been read in this session. Read it with read_file first."
CHANGED = (
    "'{place}/changed.txt' was changed by someone else since you read it. "
    "Read it again, then retry."
)
OUTSIDE = "Use a path inside one of these: '{place}'."
FOLDER = "'{place}/keys' is a folder. Name a file."

READ: list[tuple[JsonDict, str]] = [
    ({}, "'file_path' is missing or not text. Give it as a string."),
    ({"file_path": ""}, "'file_path' is missing or not text. Give it as a string."),
    ({"file_path": 7}, "'file_path' is missing or not text. Give it as a string."),
    ({"file_path": "x", "offset": 0}, "'offset' has to be a whole number from 1 on. Correct it."),
    ({"file_path": "x", "limit": True}, "'limit' has to be a whole number from 1 on. Correct it."),
    ({"file_path": "@nobody:x"}, "Nothing is known as '@nobody:x'. Use a plain path."),
    ({"file_path": "a\0"}, "'a\\x00' contains a NUL character. Take it out."),
    ({"file_path": "gone.txt"}, MISSING),
    (
        {"file_path": "text.txt/x"},
        "A part of '{place}/text.txt/x' is a file, not a folder. Check the path.",
    ),
    ({"file_path": "latin.txt"}, "'{place}/latin.txt' is not UTF-8 text (byte 3). " + ONLY),
    ({"file_path": "half16.txt"}, "'{place}/half16.txt' is not UTF-16-LE text (byte 2). " + ONLY),
    ({"file_path": "binary.bin"}, "'{place}/binary.bin' is binary. " + ONLY),
    (
        {"file_path": "large.txt"},
        "'{place}/large.txt' has 2000 bytes, and up to 1000 are read at once. "
        "Give a limit to read some lines of it.",
    ),
    (
        {"file_path": "keys/secret.txt"},
        "Reading '{place}/keys/secret.txt' is denied by 'denied_read_paths'. Leave it alone.",
    ),
    (
        {"file_path": "/gone/secret.txt"},
        "Reading '/gone/secret.txt' is not allowed: it is outside of 'allowed_read_paths'. "
        + OUTSIDE,
    ),
]
WRITE: list[tuple[JsonDict, str]] = [
    ({"file_path": "x"}, "'content' is missing or not text. Give it as a string."),
    (
        {"file_path": "x", "content": "a\0"},
        "'content' cannot be written: it is binary. Give plain text.",
    ),
    (
        {"file_path": "x", "content": "\ud800"},
        "'content' cannot be written: it is half of a surrogate pair at character 0. "
        "Give plain text.",
    ),
    ({"file_path": "latin.txt", "content": "x"}, "'{place}/latin.txt' " + NOT_READ),
    ({"file_path": "changed.txt", "content": "x"}, CHANGED),
    (
        {"file_path": "keys/new.txt", "content": "x"},
        "Writing '{place}/keys/new.txt' is denied by 'denied_write_paths'. Leave it alone.",
    ),
    (
        {"file_path": "/gone/new.txt", "content": "x"},
        "Writing '/gone/new.txt' is not allowed: it is outside of 'allowed_write_paths'. "
        + OUTSIDE,
    ),
    ({"file_path": ".", "content": "x"}, "'{place}' is a folder. Name a file."),
    (
        {"file_path": "large.txt", "content": "x"},
        "'{place}/large.txt' has 2000 bytes, and up to 1000 are changed at once. "
        "Use another tool, or raise 'max_file_size'.",
    ),
    (
        {"file_path": "gone/../x", "content": "x"},
        "There is no '{place}/gone/../x'. Check the spelling, or list the folder it should be in.",
    ),
]
SAME: JsonDict = {"file_path": "text.txt", "old_string": "a", "new_string": "a"}
EDIT: list[tuple[JsonDict, str]] = [
    ({"file_path": "x"}, "'old_string' is missing or not text. Give it as a string."),
    (
        {"file_path": "x", "old_string": "a"},
        "'new_string' is missing or not text. Give it as a string.",
    ),
    (SAME, "'old_string' and 'new_string' are the same. Make them differ."),
    (
        {**SAME, "new_string": "b", "replace_all": "yes"},
        "'replace_all' has to be true or false. Correct it.",
    ),
    (
        {**SAME, "new_string": "b\0"},
        "'new_string' cannot be written: it is binary. Give plain text.",
    ),
    (
        {"file_path": "gone.txt", "old_string": "a", "new_string": "b"},
        "There is no file '{place}/gone.txt'. Create it with write_file.",
    ),
    (
        {"file_path": "latin.txt", "old_string": "a", "new_string": "b"},
        "'{place}/latin.txt' " + NOT_READ,
    ),
    ({"file_path": "changed.txt", "old_string": "a", "new_string": "b"}, CHANGED),
    (
        {"file_path": "text.txt", "old_string": "three", "new_string": "b"},
        "'old_string' is not in '{place}/text.txt'. Read the file again and copy the text exactly.",
    ),
    (
        {"file_path": "text.txt", "old_string": "one", "new_string": "b"},
        "'old_string' occurs 2 times in '{place}/text.txt'. "
        "Add surrounding lines until it is unique, or set 'replace_all'.",
    ),
]
GREP: list[tuple[JsonDict, str]] = [
    ({}, "'pattern' is missing or not text. Give it as a string."),
    (
        {"pattern": "(", "path": "text.txt"},
        "'(' is not a regular expression: missing ), unterminated subpattern at position 0. "
        "Escape special characters with a backslash to mean them literally.",
    ),
    (
        {"pattern": "x", "output_mode": "all"},
        "'output_mode' has to be one of files_with_matches, content, count. Correct it.",
    ),
    ({"pattern": "x", "-C": -1}, "'-C' has to be a whole number from 0 on. Correct it."),
    ({"pattern": "x", "-i": 1}, "'-i' has to be true or false. Correct it."),
    ({"pattern": "x", "path": "gone.txt"}, MISSING),
    (
        {"pattern": "x", "path": "/"},
        "Reading '/' is not allowed: it is outside of 'allowed_paths'. " + OUTSIDE,
    ),
    (
        {"pattern": "x", "path": "keys"},
        "Reading '{place}/keys' is denied by 'denied_read_paths'. Leave it alone.",
    ),
    (
        {"pattern": "x", "glob": "[z-a]"},
        "The glob pattern '[z-a]' cannot be understood: bad character range z-a. Correct it.",
    ),
]
GLOB: list[tuple[JsonDict, str]] = [
    ({}, "'pattern' is missing or not text. Give it as a string."),
    ({"pattern": "x", "type": "link"}, "'type' has to be one of file, dir, any. Correct it."),
    ({"pattern": "x", "exclude": "y"}, "'exclude' has to be a list of texts. Correct it."),
    ({"pattern": "x", "path": "gone.txt"}, MISSING),
    (
        {"pattern": "x", "path": "text.txt"},
        "A part of '{place}/text.txt' is a file, not a folder. Check the path.",
    ),
]
CASES = [
    (tool, arguments, text)
    for tool, cases in {
        "read_file": READ,
        "write_file": WRITE,
        "edit_file": EDIT,
        "grep": GREP,
        "glob": GLOB,
    }.items()
    for arguments, text in cases
]


@pytest.mark.skipif(os.name != "posix", reason="the texts below spell paths the POSIX way")
@pytest.mark.parametrize(("tool", "arguments", "text"), CASES)
async def test_a_refusal_says_what_and_what_to_do(
    place: Path, tool: str, arguments: JsonDict, text: str
) -> None:
    result = await (await tools(place))(tool, **arguments)

    assert not result.success
    assert result.error is not None
    assert result.error["message"] == result.output == text.replace("{place}", str(place))
    assert result.error["type"]


async def test_an_unknown_type_lists_the_known_ones(place: Path) -> None:
    result = await (await tools(place))("grep", pattern="x", type="pyton")

    assert str(result.output).startswith(
        "There is no file type 'pyton'. Use one of these, or 'glob': asciidoc, asm, bash, "
    )
    assert ", python, " in str(result.output)
