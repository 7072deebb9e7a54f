"""Finds lines that match a regular expression. It runs in a process of its own."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from amplifier_modules.files.filetypes import patterns_of
from amplifier_modules.files.folders import Folder, Place, located
from amplifier_modules.files.globs import Matches, name_matcher
from amplifier_modules.files.opening import check_opened, opened
from amplifier_modules.files.policy import Guard, Policy
from amplifier_modules.files.prefilter import loosened, worth_opening
from amplifier_modules.files.refusals import Refused, explained, nothing_there
from amplifier_modules.files.texts import encoding_of, shortened
from amplifier_modules.files.walking import Reach, folder_at, walk

Mode = Literal["files_with_matches", "content", "count"]

_LOOK_FOR_NUL = 8192
MOST_CHARACTERS = 2_000_000
"""What an answer may hold, whatever number of results is asked for."""


class GrepRequest(NamedTuple):
    """One search, complete: the process that makes it knows nothing else."""

    pattern: str
    path: str
    output_mode: Mode
    ignore_case: bool
    numbered: bool
    before: int
    after: int
    glob: str | None
    type: str | None
    multiline: bool
    limit: int
    """Results to return; 0 for all."""
    offset: int
    exclusions: list[str]
    max_file_size: int
    ripgrep: str | None
    """Where the program is, if it is to be asked."""


class Matched(NamedTuple):
    """A file with matches."""

    path: str
    lines: list[str]
    hits: list[int]
    """Places in `lines`."""


def grep(request: GrepRequest, policy: Policy) -> dict[str, Any]:
    """Search, and describe what was found.

    Raises:
        Refused: the request makes no sense, or asks for something forbidden.
    """
    search = _Search(request, policy.guard())
    answer = _Answer(request)
    with located(request.path, search.guard) as place:
        try:
            for matched in search.matched(place):
                answer.add(matched)
        except OSError as error:
            raise explained(error, place.real) from error
    return answer.described(search.skipped)


class _Search:
    def __init__(self, request: GrepRequest, guard: Guard) -> None:
        self._request = request
        self.guard = guard
        self._pattern = _compiled(request)
        self._wanted = _wanted(request)
        self.skipped: Counter[str] = Counter()

    def matched(self, place: Place) -> Iterator[Matched]:
        found = place.stat()
        if found is None:
            raise nothing_there()
        if stat.S_ISDIR(found.st_mode):
            with folder_at(place) as base:
                yield from self._in_files(base, self._paths(base))
            return
        with opened(place.folder, place.name) as file:
            check_opened(file, place.folder, place.name, self.guard)
        yield from self._in_files(place.folder, [place.name], named=True)

    def _paths(self, base: Folder) -> list[str]:
        paths = []
        for found in walk(base, self.guard, name_matcher(self._request.exclusions)):
            if found.kind != "file" or found.is_link or not self._wanted(found.path):
                continue
            if found.size > self._request.max_file_size:
                self.skipped["too_large"] += 1
            else:
                paths.append(found.path)
        return self._worth_opening(base, paths)

    def _worth_opening(self, base: Folder, paths: list[str]) -> list[str]:
        request = self._request
        if request.ripgrep is None or request.multiline or not paths:
            return paths
        loose = loosened(request.pattern, request.ignore_case)
        if loose is None:
            return paths
        chosen = worth_opening(request.ripgrep, loose, request.ignore_case, base.real, paths)
        return [path for path in paths if path in chosen]

    def _in_files(
        self, base: Folder, paths: Iterable[str], named: bool = False
    ) -> Iterator[Matched]:
        reach = Reach(base)
        try:
            for path in paths:
                lines = self._lines(reach, path, named)
                hits = [] if lines is None else self._hits(lines)
                if lines and hits:
                    yield Matched(os.path.join(base.real, *path.split("/")), lines, hits)
        finally:
            reach.close()

    def _lines(self, reach: Reach, path: str, named: bool) -> list[str] | None:
        name = path.rpartition("/")[2]
        most = self._request.max_file_size
        try:
            folder = reach.folder_of(path)
            with opened(folder, name) as file:
                check_opened(file, folder, name, self.guard)
                content = file.read(most + 1)
        except (OSError, Refused):
            self.skipped["unreadable"] += 1
            return None
        if len(content) > most:
            self.skipped["too_large"] += 1
            return None
        lines = _lines_of(content)
        if lines is None and named:
            self.skipped["binary"] += 1
        return lines

    def _hits(self, lines: list[str]) -> list[int]:
        search = self._pattern.search
        if not self._request.multiline:
            return [index for index, line in enumerate(lines) if search(line)]
        return _spanned(self._pattern, lines)


def _compiled(request: GrepRequest) -> re.Pattern[str]:
    flags = re.IGNORECASE if request.ignore_case else re.NOFLAG
    if request.multiline:
        flags |= re.MULTILINE | re.DOTALL
    try:
        return re.compile(request.pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        text = (
            f"{request.pattern!r} is not a regular expression: {error}. "
            "Escape special characters with a backslash to mean them literally."
        )
        raise Refused(text, "InvalidPattern") from error


def _wanted(request: GrepRequest) -> Matches:
    """Whether a file is asked for, by its path."""
    of_type = name_matcher(patterns_of(request.type)) if request.type else None
    glob = request.glob or ""
    of_glob = name_matcher([glob.removeprefix("!")]) if glob else None

    def wanted(path: str) -> bool:
        if of_type is not None and not of_type(path):
            return False
        return of_glob is None or of_glob(path) != glob.startswith("!")

    return wanted


def _lines_of(content: bytes) -> list[str] | None:
    """The lines of a file, with what is not text replaced; None if it is binary."""
    encoding = encoding_of(content)
    if encoding.codec == "utf-8" and b"\0" in content[:_LOOK_FOR_NUL]:
        return None
    text = content[len(encoding.mark) :].decode(encoding.codec, "replace")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if not lines[-1] else lines


def _spanned(pattern: re.Pattern[str], lines: list[str]) -> list[int]:
    """The lines that matches begin in, end in or go through."""
    starts, place = [], 0
    for line in lines:
        starts.append(place)
        place += len(line) + 1
    hits: set[int] = set()
    for match in pattern.finditer("\n".join(lines)):
        last = max(match.start(), match.end() - 1)
        first = bisect_right(starts, match.start()) - 1
        hits.update(range(first, bisect_right(starts, last)))
    return sorted(hits)


class _Answer:
    """Counts everything and keeps one page of it."""

    def __init__(self, request: GrepRequest) -> None:
        self.request = request
        self.total = 0
        self.shown = 0
        self.passed = 0
        """Results so far, counted as pages are: lines for `content`, files for the others."""
        self.listed: list[Any] = []
        self._room = MOST_CHARACTERS
        self.counts: dict[str, int] = {}

    def add(self, matched: Matched) -> None:
        if self.request.output_mode == "content":
            self._add_lines(matched)
            return
        is_count = self.request.output_mode == "count"
        matches = len(matched.hits) if is_count else 1
        self.total += matches
        if self._is_on_page(self.passed) and self._has_room(len(matched.path)):
            self.shown += matches
            self.listed.append(matched.path)
            self.counts[matched.path] = matches
        self.passed += 1

    def _add_lines(self, matched: Matched) -> None:
        chosen = [
            hit for place, hit in enumerate(matched.hits, self.passed) if self._is_on_page(place)
        ]
        self.total += len(matched.hits)
        self.passed += len(matched.hits)
        for line in self._shown_lines(matched, chosen):
            if not self._has_room(len(line["file"]) + len(line["content"])):
                break
            self.shown += "is_context" not in line
            self.listed.append(line)

    def _has_room(self, size: int) -> bool:
        """Whether so many more characters fit. Once something did not, nothing does."""
        self._room -= size if self._room > 0 else 0
        return self._room > 0

    def _shown_lines(self, matched: Matched, chosen: list[int]) -> Iterator[dict[str, Any]]:
        before, after = self.request.before, self.request.after
        last = len(matched.lines) - 1
        around = {
            place
            for hit in chosen
            for place in range(max(hit - before, 0), min(hit + after, last) + 1)
        }
        hits = set(chosen)
        for place in sorted(around):
            line: dict[str, Any] = {"file": matched.path}
            if self.request.numbered:
                line["line_number"] = place + 1
            line["content"] = shortened(matched.lines[place])
            if place not in hits:
                line["is_context"] = True
            yield line

    def _is_on_page(self, place: int) -> bool:
        first, limit = self.request.offset, self.request.limit
        return place >= first and (limit == 0 or place < first + limit)

    def described(self, skipped: Counter[str]) -> dict[str, Any]:
        mode = self.request.output_mode
        output: dict[str, Any] = {
            "pattern": self.request.pattern,
            "output_mode": mode,
            "total_matches": self.total,
            "matches_count": self.shown,
        }
        if mode == "count":
            output["counts"] = self.counts
        else:
            output["results" if mode == "content" else "files"] = self.listed
        limit = self.request.limit
        if limit and self.passed > self.request.offset + limit:
            output["results_capped"] = True
        if self._room <= 0:
            output["results_capped"] = True
            output["note"] = (
                f"Only the first {self.shown} of {self.total} matches are listed: an answer holds "
                f"at most {MOST_CHARACTERS} characters. Narrow the search, or pass 'offset'."
            )
        if skipped:
            output["files_skipped"] = dict(sorted(skipped.items()))
        return output
