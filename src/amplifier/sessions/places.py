"""Where sessions are on this machine, and how one is found by what a person types."""

from __future__ import annotations

import os
import re
from pathlib import Path

from amplifier.sessions.files import FileStore
from amplifier.sessions.store import Durability


def home() -> Path:
    """The folder of everything that is the user's own; `AMPLIFIER_HOME` moves it."""
    given = os.environ.get("AMPLIFIER_HOME")
    return Path(given).expanduser() if given else Path.home() / ".amplifier"


def slug(folder: Path) -> str:
    """The name of a project's folder: its path, with dashes for separators."""
    name = re.sub(r"[/\\]", "-", str(folder)).replace(":", "")
    return name if name.startswith("-") else f"-{name}"


def sessions_folder(project: Path) -> Path:
    return home() / "projects" / slug(project.resolve()) / "sessions"


def store_of(project: Path, durability: Durability = "full") -> FileStore:
    """The sessions of the project in a folder."""
    return FileStore(sessions_folder(project), durability)


def all_stores() -> list[FileStore]:
    """The sessions of every project."""
    return [FileStore(each) for each in sorted(home().glob("projects/*/sessions"))]
