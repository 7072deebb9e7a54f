"""Where settings live: the user's own folder, and that of the project."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, get_args

FOLDER = ".amplifier"
HOME_VARIABLE = "AMPLIFIER_HOME"

Scope = Literal["global", "project", "local", "session"]
#: From the least to the most specific, which wins.
SCOPES: tuple[Scope, ...] = get_args(Scope)
_FILES: dict[Scope, str] = {
    "global": "settings.yaml",
    "project": "settings.yaml",
    "local": "settings.local.yaml",
}


class NoProject(Exception):
    """The user's home folder is no project, so it has no settings of a project."""


def home() -> Path:
    """The folder of everything that belongs to the user: `~/.amplifier` or AMPLIFIER_HOME."""
    given = os.environ.get(HOME_VARIABLE)
    return Path(os.path.abspath(os.path.expanduser(given))) if given else Path.home() / FOLDER


def project_root(start: Path | None = None) -> Path:
    """The nearest folder upwards that has a `.amplifier` of its own, else the one to start at."""
    start = (start or Path.cwd()).resolve()
    own = home().resolve()
    for folder in (start, *start.parents):
        if folder == Path.home().resolve():
            break
        if (folder / FOLDER).is_dir() and (folder / FOLDER).resolve() != own:
            return folder
    return start


def project_folder(root: Path | None = None) -> Path | None:
    """The project's `.amplifier`, whether it exists or not; None in the user's home."""
    root = root or project_root()
    folder = root / FOLDER
    if root == Path.home().resolve() or folder.resolve() == home().resolve():
        return None
    return folder


def settings_file(scope: Scope, session_dir: Path | None = None) -> Path:
    """The file of a scope.

    Raises:
        NoProject: this is the user's home, where only global settings make sense.
    """
    if scope == "global":
        return home() / _FILES[scope]
    if scope == "session":
        if session_dir is None:
            raise NoProject("There is no session whose settings these could be. Name a session.")
        return session_dir / "settings.yaml"
    folder = project_folder()
    if folder is None:
        raise NoProject(
            f"Your home folder is no project, so it has no {scope} settings. "
            f"Use --global, or change into a project."
        )
    return folder / _FILES[scope]
