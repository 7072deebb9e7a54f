"""What is known about the repository that a folder lies in; looked up when it can have changed."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from amplifier_modules.status.changes import Changes, Picker
from amplifier_modules.status.git import Git
from amplifier_modules.status.options import StatusSettings
from amplifier_modules.status.plain import plain

logger = logging.getLogger(__name__)

SECONDS_AFTER_FAILURE = 60.0
"""How long a repository that is too slow is left alone."""

_ORIGIN_HEAD = "refs/remotes/origin/HEAD"
_USUAL_NAMES = ("refs/heads/main", "refs/heads/master")

State = Literal["yes", "no", "unreadable", "unknown"]


@dataclass(frozen=True, slots=True)
class Facts:
    """None means that it is not known, or not asked for."""

    state: State = "unknown"
    branch: str | None = None
    main_branch: str | None = None
    changes: Changes | None = None
    commits: tuple[str, ...] | None = None


class Repository:
    """Facts about one folder. They are never older than the last `may_have_changed()`,
    unless git takes too long: then what is known stands.
    """

    def __init__(self, folder: Path, settings: StatusSettings) -> None:
        self.folder = folder
        self.facts = Facts()
        self._settings = settings
        self._picker = Picker(settings)
        self._is_stale = True
        self._not_before = 0.0
        self._checked_program = ""

    def may_have_changed(self) -> None:
        self._is_stale = True

    async def update(self) -> Facts:
        """The facts, after a look at the repository if one is due."""
        if self._is_stale and time.monotonic() >= self._not_before:
            self._is_stale = False
            try:
                async with asyncio.timeout(self._settings.git_timeout):
                    await self._look()
            except OSError as error:  # which a timeout is, too
                self._leave_alone(error)
            except asyncio.CancelledError:
                self._is_stale = True
                raise
        return self.facts

    def _leave_alone(self, error: OSError) -> None:
        reason = str(error) or f"no answer within {self._settings.git_timeout:g} s"
        logger.warning("git cannot tell about %s: %s", self.folder, reason)
        self._is_stale = True
        self._not_before = time.monotonic() + SECONDS_AFTER_FAILURE

    async def _look(self) -> None:
        git = await self._usable_git()
        if git is None:
            self.facts = Facts()
            return
        # Groups, because `gather` would not wait for processes to end when it is cancelled.
        async with asyncio.TaskGroup() as group:
            top = group.create_task(git.ask("rev-parse", "--show-toplevel"))
            is_safe = group.create_task(git.switch_off_filters())
        if not is_safe.result() or not _contains(top.result(), self.folder):
            self.facts = Facts(state="unreadable" if _has_git(self.folder) else "no")
            return
        self.facts = replace(self.facts, state="yes")
        async with asyncio.TaskGroup() as group:
            for question in self._questions(git):
                group.create_task(question)

    async def _usable_git(self) -> Git | None:
        program = shutil.which("git")
        if program is None:
            return None
        git = Git(program, self.folder)
        if program != self._checked_program:
            if not await git.is_recent():
                return None
            self._checked_program = program
        return git

    def _questions(self, git: Git) -> list[Coroutine[Any, Any, None]]:
        """Each keeps its answer at once: one that is too slow costs only itself."""
        settings = self._settings
        wanted = (
            (settings.git_include_branch, self._ask_branch),
            (settings.git_include_main_branch, self._ask_main_branch),
            (settings.git_include_status, self._ask_changes),
            (settings.git_include_commits > 0, self._ask_commits),
        )
        return [ask(git) for is_wanted, ask in wanted if is_wanted]

    def _learn(self, **facts: Any) -> None:
        self.facts = replace(self.facts, **facts)

    async def _ask_branch(self, git: Git) -> None:
        branch = await git.ask("symbolic-ref", "--quiet", "--short", "HEAD")
        if branch is None:
            commit = await git.ask("rev-parse", "--short", "HEAD")
            self._learn(branch=f"none, at commit {_line(commit)}" if commit else None)
        else:
            self._learn(branch=_line(branch))

    async def _ask_main_branch(self, git: Git) -> None:
        form = "--format=%(refname)%00%(symref:lstrip=3)"
        listed = await git.ask("for-each-ref", form, _ORIGIN_HEAD, *_USUAL_NAMES)
        lines = (listed or b"").decode(errors="replace").splitlines()
        found = dict(line.partition("\0")[::2] for line in lines)
        usual = next((name for name in _USUAL_NAMES if name in found), "")
        name = found.get(_ORIGIN_HEAD) or usual.removeprefix("refs/heads/")
        self._learn(main_branch=plain(name) or None)

    async def _ask_changes(self, git: Git) -> None:
        untracked = "normal" if self._settings.git_status_include_untracked else "no"
        listed = await git.ask(
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--ignore-submodules=dirty",
            f"--untracked-files={untracked}",
        )
        self._learn(changes=None if listed is None else self._picker.pick(listed))

    async def _ask_commits(self, git: Git) -> None:
        count = f"--max-count={self._settings.git_include_commits}"
        listed = await git.ask("log", count, "--no-decorate", "--no-notes", "-z", "--format=%h %s")
        subjects = (listed or b"").decode(errors="replace").strip("\0").split("\0")
        self._learn(commits=tuple(plain(each) for each in subjects if each))


def _line(output: bytes) -> str:
    return plain(output.decode(errors="replace").strip())


def _contains(top: bytes | None, folder: Path) -> bool:
    """Whether the folder is in the tree: config may point git at a tree anywhere else."""
    if not top:
        return False
    root = Path(top.decode(errors="surrogateescape").rstrip("\n"))
    return folder.resolve().is_relative_to(root.resolve())


def _has_git(folder: Path) -> bool:
    return any((each / ".git").exists() for each in (folder, *folder.parents))
