"""Where a path leads, where a URL points, and whether a rule means that place."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

_GLOB = re.compile(r"[*?\[]")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")
# All but what can be seen in ASCII; said this way round it is compiled in no time.
_ODD_IN_URL = re.compile(r"[^!-\[\]-~]")


@dataclass(frozen=True, slots=True)
class Places:
    """The project, and the folder in which relative paths begin (None: not known)."""

    project: str
    folder: str | None
    working: str
    """Where the session began; mostly the project itself."""

    @property
    def is_at_home(self) -> bool:
        """Whether the folder is known to be in the project or where the session began."""
        return self.folder is not None and self.is_at_home_in(self.folder)

    def is_at_home_in(self, folder: str) -> bool:
        place = self.located(folder)
        homes = (os.path.realpath(self.project), os.path.realpath(self.working))
        return place is not None and any(is_inside(place, home) for home in homes)

    def located(self, text: str) -> str | None:
        """The real place of a path, links resolved; None if that cannot be told."""
        written = self.written(text)
        try:
            return None if written is None else os.path.realpath(written)
        except (OSError, ValueError):
            return None

    def written(self, text: str) -> str | None:
        """The absolute path as it is written, links not resolved."""
        if "\0" in text or text.startswith("@"):
            return None
        if text.startswith("~"):
            if text != "~" and not text.startswith("~/"):
                return None
            text = os.path.expanduser(text)
        if not os.path.isabs(text):
            if self.folder is None:
                return None
            text = os.path.join(self.folder, text)
        return os.path.normpath(text)

    def is_within(self, text: str, pattern: str) -> bool:
        """Whether a path is known to lie in the place that `pattern` means."""
        place = self.located(text)
        return place is not None and self._means(pattern, place, broadly=False)

    def leads_nowhere(self, folder: str, pattern: str) -> bool:
        """Whether no link directly in `folder` leads out of the place that `pattern` means."""
        place = self.located(folder)
        try:
            with os.scandir(place) as entries:
                names = [each.path for each in entries if each.is_symlink()]
        except OSError:
            # Where there is no folder, a glob finds nothing.
            names = []
        return all(self.is_within(each, pattern) for each in names)

    def might_be(self, text: str, pattern: str) -> bool:
        """Whether a path is that place by its real or by its written name.

        Where the folder is not known, the project is as good a guess as any.
        """
        guess = replace(self, folder=self.folder or self.project)
        names = {guess.located(text), guess.written(text)} - {None}
        return any(name is not None and self._means(pattern, name, broadly=True) for name in names)

    def _means(self, pattern: str, place: str, broadly: bool) -> bool:
        if not _GLOB.search(pattern):
            root = replace(self, folder=self.project).located(pattern)
            return root is not None and is_inside(place, root)
        names = self._names(pattern, place, broadly)
        shapes = (os.path.expanduser(pattern), pattern.removeprefix("**/"))
        return any(fnmatchcase(name, shape) for name in names for shape in shapes)

    def _names(self, pattern: str, place: str, broadly: bool) -> list[str]:
        """What a pattern is compared with; to permit, a relative one stays in the project."""
        names = [place] if broadly or pattern.startswith(("/", "~")) else []
        root = os.path.realpath(self.project)
        if broadly or is_inside(place, root):
            names.append(os.path.relpath(place, root))
            names += [os.path.basename(place)] if "/" not in pattern else []
        return [name.replace(os.sep, "/") for name in names]


def is_inside(place: str, root: str) -> bool:
    """Whether one absolute path is the other or lies below it."""
    try:
        return os.path.commonpath([place, root]) == root
    except ValueError:
        return False


def host_of(url: str) -> str | None:
    """The machine that `url` points to; None if two readers might disagree about it."""
    if _ODD_IN_URL.search(url):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        if parts.scheme not in ("http", "https") or "@" in parts.netloc or parts.port == 0:
            return None
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    return host if _HOST.fullmatch(host) else None


def host_matches(pattern: str, host: str) -> bool:
    """`example.org` means itself; `*.example.org` means what lies below it."""
    pattern = pattern.lower().rstrip(".")
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern
