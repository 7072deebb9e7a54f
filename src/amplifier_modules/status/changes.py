"""Reads `git status` and picks the lines that are worth a model's attention."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import translate

from amplifier_modules.status.options import StatusSettings
from amplifier_modules.status.plain import plain

UNTRACKED = "??"


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs from the last commit, as far as it is shown."""

    lines: list[str] = field(default_factory=list)
    left_out: str = ""
    """What is not shown, in words."""


class Patterns:
    """Globs for paths: a name anywhere, a folder (`name/`) with all that is in it, a path."""

    def __init__(self, patterns: Iterable[str]) -> None:
        cleaned = {_cleaned(each) for each in patterns} - {""}
        self._names = _any_of(each for each in cleaned if "/" not in each)
        self._paths = _any_of(each for each in cleaned if "/" in each)

    def fit(self, path: str) -> bool:
        parts = path.rstrip("/").split("/")
        if self._names is not None and any(self._names.match(part) for part in parts):
            return True
        if self._paths is None:
            return False
        folders = ("/".join(parts[:length]) for length in range(1, len(parts) + 1))
        return any(self._paths.match(each) for each in folders)


def _cleaned(pattern: str) -> str:
    return pattern.removeprefix("**/").removesuffix("/**").strip("/")


def _any_of(patterns: Iterable[str]) -> re.Pattern[str] | None:
    alternatives = [translate(each) for each in sorted(patterns)]
    return re.compile("|".join(alternatives)) if alternatives else None


class Picker:
    """Chooses lines by the settings."""

    def __init__(self, settings: StatusSettings) -> None:
        self._settings = settings
        own, extra = settings.git_status_tier1_patterns, settings.git_status_tier1_patterns_extend
        self._hidden = Patterns(own + extra)
        own, extra = settings.git_status_tier2_patterns, settings.git_status_tier2_patterns_extend
        self._minor = Patterns(own + extra)

    def pick(self, porcelain: bytes) -> Changes:
        """The changes in the output of `git status --porcelain -z`."""
        groups: dict[str, list[str]] = {"tracked": [], "untracked": [], "minor": [], "hidden": []}
        for mark, path in _entries(porcelain):
            groups[self._group(mark, path)].append(f"{mark} {plain(path)}")
        settings = self._settings
        limits = {
            "tracked": settings.git_status_max_tracked,
            "untracked": settings.git_status_max_untracked,
            "minor": settings.git_status_tier2_limit,
        }
        shown = {name: groups[name][:limit] for name, limit in limits.items()}
        lines = [line for kept in shown.values() for line in kept]
        counts = {name: len(groups[name]) - len(shown.get(name, ())) for name in groups}
        over = max(len(lines) - settings.git_status_max_lines, 0)
        lines = lines[: len(lines) - over]
        return Changes(lines, self._left_out(counts, over))

    def _group(self, mark: str, path: str) -> str:
        if self._settings.git_status_enable_path_filtering:
            if self._hidden.fit(path):
                return "hidden"
            if self._minor.fit(path):
                return "minor"
        return "untracked" if mark == UNTRACKED else "tracked"

    def _left_out(self, counts: dict[str, int], over: int) -> str:
        if not self._settings.git_status_show_filter_summary:
            return ""
        words = (
            (counts["tracked"], "tracked"),
            (counts["untracked"], "untracked"),
            (counts["minor"], "lock, log and editor files"),
            (counts["hidden"], "in dependency and build folders"),
            (over, "over the limit of lines"),
        )
        return ", ".join(f"{count} {what}" for count, what in words if count)


def _entries(porcelain: bytes) -> Iterable[tuple[str, str]]:
    # What comes after the last NUL was cut off in the middle.
    for record in porcelain.split(b"\0")[:-1]:
        text = record.decode(errors="replace")
        if len(text) > 3 and text[2] == " " and not text.startswith("##"):
            yield text[:2], text[3:]
