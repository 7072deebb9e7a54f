"""The user's keys: `keys.env` in the home of Amplifier, readable by its owner only."""

from __future__ import annotations

import os
import re
from pathlib import Path

from amplifier.files import locked, write_atomically
from amplifier.settings.places import home

FILE = "keys.env"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")


class BadKey(Exception):
    """Something that cannot be kept as a key."""


def keys_file() -> Path:
    return home() / FILE


def load_keys() -> None:
    """Put the keys into the environment; what is there already stays."""
    for name, value in read_keys().items():
        os.environ.setdefault(name, value)


def read_keys() -> dict[str, str]:
    """All keys by the names of their variables.

    Raises:
        BadKey: the file cannot be read.
    """
    try:
        text = keys_file().read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadKey(f"{str(keys_file())!r} cannot be read. Check its permissions.") from error
    found = (_LINE.fullmatch(line) for line in text.splitlines())
    return {each[1]: _unquoted(each[2]) for each in found if each is not None}


def save_key(name: str, value: str | None) -> None:
    """Keep a key under the name of its variable; None removes it.

    Raises:
        BadKey: the name or the value is none.
    """
    if not _NAME.fullmatch(name):
        raise BadKey(f"{name!r} is no name of a variable. Use letters, digits and _.")
    if value is not None and (not value.strip() or not value.strip().isprintable()):
        raise BadKey("That is no key: it is empty, or has characters that no key has.")
    with locked(keys_file()):
        keys = read_keys()
        keys.pop(name, None)
        if value is not None:
            keys[name] = value.strip()
        lines = [f"{each}={_quoted(key)}\n" for each, key in keys.items()]
        keys_file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(keys_file(), "".join(lines), mode=0o600)
        keys_file().chmod(0o600)


def _quoted(value: str) -> str:
    return value if re.fullmatch(r"[\w./:@%+,=-]+", value) else f"'{value}'"


def _unquoted(value: str) -> str:
    is_quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value
