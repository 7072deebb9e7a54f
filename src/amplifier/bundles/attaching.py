"""What a person mentions in a prompt goes along with it: `@file`, `@folder`, `@bundle:file`.

Only what they have typed counts, and not what is piped in or what the files mention in turn:
that may be written by anybody. A mention that brings nothing is told of and stays as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from amplifier.output import note
from amplifier.settings.nodes import ConfigError
from amplifier.settings.places import FOLDER, home, project_root

from .mentions import mentions

LARGEST_FILE = 500_000
MOST_CHARACTERS = 1_000_000
MOST_NAMES = 500
LONGEST_NAME = 200
#: Of a home, and not to be brought along by a text that was pasted without much of a look.
HIDDEN = re.compile(r"/\.[^./]|keys\.env$")


class NotAttached(Exception):
    """Why a mention brings nothing."""


def with_files(
    text: str, typed: str | None, plan: Mapping[str, Any], tell: Callable[[str], None] = note
) -> str:
    """`text`, followed by the contents of what `typed` mentions, each content once."""
    if not typed or "@" not in typed:
        return text
    contents: dict[str, list[str]] = {}
    left = MOST_CHARACTERS
    for name, _ in mentions(typed):
        try:
            content = _content(_place(name, plan.get("namespaces") or {}))
            if content not in contents:
                left -= len(content)
            if left < 0:
                left += len(content)
                raise NotAttached("together with the others it is too much")
            contents.setdefault(content, []).append(f"@{name}")
        except (NotAttached, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            tell(f"@{name[:LONGEST_NAME]} was not added to the prompt: {reason}.")
    if not contents:
        return text
    tell(f"With the prompt go {', '.join(each for names in contents.values() for each in names)}.")
    # Late: only who mentions something needs what composes bundles.
    from .composing import with_context

    return with_context(text, contents)


def _place(name: str, namespaces: Mapping[str, str]) -> Path:
    namespace, separator, below = name.partition(":")
    root, is_own = project_root(), name.startswith("~/")
    path = Path.cwd() / name
    if is_own:
        root = Path.home()
        path = root / name.removeprefix("~/")
    elif separator:
        folders = {"user": str(home()), "project": str(root / FOLDER), **namespaces}
        if namespace not in folders:
            raise NotAttached(f"no bundle of this session is named {namespace!r}")
        root = Path(folders[namespace])
        path = root / below
    if (is_own or namespace == "user") and HIDDEN.search(str(path)[len(str(root)) :]):
        raise NotAttached("it may hold secrets; copy it into the project if you mean it")
    found = next((each for each in (path, Path(f"{path}.md")) if each.exists()), None)
    if found is None:
        raise NotAttached(f"there is no {str(path)!r}")
    if not is_own and not found.resolve().is_relative_to(root.resolve()):
        raise NotAttached(f"it leads out of {str(root)!r}; write @~/... for a file of your own")
    return found


def _content(path: Path) -> str:
    from amplifier.settings.documents import decoded, read_file

    try:
        if path.is_dir():
            return _listing(path)
        text = decoded(read_file(path, LARGEST_FILE) or b"", str(path)).strip()
    except ConfigError as error:
        said = str(error).partition(": ")[2] or str(error)
        raise NotAttached(said.split(". ")[0].rstrip(".")) from error
    if "\0" in text:
        raise NotAttached("it is not text")
    if not text:
        raise NotAttached("it is empty")
    return text


def _listing(folder: Path) -> str:
    names = sorted(f"{each.name}/" if each.is_dir() else each.name for each in os.scandir(folder))
    more = [f"and {len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    return "\n".join([*names[:MOST_NAMES], *more]) or "(an empty folder)"
