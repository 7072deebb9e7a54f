"""Finds and reads a project's hook files. A file that cannot be trusted or read is an error.

Whoever can write such a file can run commands as the user, so the files have to be the
user's own, unless the config says that they are trusted anyway.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from amplifier_modules.hook_commands.hook_sets import BadHookSet, Source, read_hook_set

_FOLDER = Path(".amplifier", "hooks")
_NESTED_NAME = "hooks.json"
_LARGEST_FILE = 1_000_000
_ROOT = 0
_BLANKS = " \t\r\n"
_decoder = json.JSONDecoder()


def hooks_folder(project: Path) -> Path:
    return project / _FOLDER


def read_hook_files(project: Path, trusted: bool = False) -> list[Source]:
    """The hook sets of a project: `*.json` in its folder, `hooks.json` further below.

    Raises:
        ValueError: a file is not trustworthy, or no hook set; the message names file and line.
    """
    folder = hooks_folder(project)
    if not folder.is_dir():
        return []
    found = {*folder.glob("*.json"), *folder.rglob(_NESTED_NAME)}
    return [_read(path, project, trusted) for path in sorted(found)]


def check_owner(path: Path, found: os.stat_result) -> None:
    """Refuse a file or folder that others could have written.

    Raises:
        ValueError: it belongs to somebody else, or everybody may write it.
    """
    if not hasattr(os, "geteuid"):
        return  # a system without owners in this sense
    advice = "Correct that, or set `trusted: true` in the config of hooks-shell."
    if found.st_uid not in (os.geteuid(), _ROOT):
        raise ValueError(f"{str(path)!r} is owned by another user (id {found.st_uid}). {advice}")
    # In a sticky folder, as /tmp is one, nobody can replace what belongs to others.
    is_sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    if found.st_mode & stat.S_IWOTH and not is_sticky:
        raise ValueError(f"{str(path)!r} can be written by every user. {advice}")


def _read(path: Path, project: Path, trusted: bool) -> Source:
    try:
        text = _text(path, project, trusted)
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"The hook file {str(path)!r} cannot be read: {error}.") from error
    try:
        content = json.loads(text)
        _refuse_repetition(text, _skip(text, 0))
        return Source(str(path), read_hook_set(content), project)
    except json.JSONDecodeError as error:
        line, problem = error.lineno, f"{error.msg.removesuffix('.')}."
    except RecursionError:
        line, problem = 1, "It is nested too deeply."
    except BadHookSet as error:
        line, problem = _line_of(text, error.where), str(error)
    raise ValueError(f"The hook file {str(path)!r} is wrong in line {line}: {problem}")


def _text(path: Path, project: Path, trusted: bool) -> str:
    if not path.is_file():
        raise ValueError(f"The hook file {str(path)!r} is no regular file. Remove it.")
    # What is checked is what is read: the open file, not whatever has its name by then.
    with path.open("rb") as file:
        if not trusted:
            check_owner(path, os.fstat(file.fileno()))
            for parent in _folders_up_to(path, project):
                check_owner(parent, parent.stat())
        content = file.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise ValueError(
            f"The hook file {str(path)!r} is larger than {_LARGEST_FILE} bytes. Make it smaller."
        )
    return content.decode("utf-8-sig")


def _folders_up_to(path: Path, project: Path) -> Iterator[Path]:
    for parent in path.parents:
        if parent == project:
            return
        yield parent


# -- lines ----------------------------------------------------------------------------


def _line_of(text: str, where: tuple[str | int, ...]) -> int:
    """The line that `where` is on, or the nearest thing around it that exists."""
    found = at = _skip(text, 0)
    for step in where:
        places = (place for name, *place in _items(text, at) if name == step)
        found, at = next(places, (found, len(text)))
    return _line(text, found)


def _refuse_repetition(text: str, at: int) -> None:
    """Raise for a key that an object has twice: JSON would silently keep only the last."""
    seen = set()
    for name, key_at, value_at in _items(text, at):
        if name in seen:
            problem = f"The key {name!r} is there twice, and the first would be lost."
            raise json.JSONDecodeError(problem, text, key_at)
        seen.add(name)
        _refuse_repetition(text, value_at)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _items(text: str, at: int) -> Iterator[tuple[str | int, int, int]]:
    """Name, place of the name and place of the value for each item of an object or array."""
    closing = {"{": "}", "[": "]"}.get(text[at : at + 1])
    if closing is None:
        return
    at, index = _skip(text, at + 1), 0
    while text[at] != closing:
        name: str | int = index
        key_at = at
        if closing == "}":
            name, at = _decoder.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        yield name, key_at, at
        _, at = _decoder.raw_decode(text, at)
        at, index = _skip(text, at), index + 1
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at
