"""Folders that are held open, so that what was checked is what is used.

A path is walked part by part from the root. Each folder is opened inside the one before, and
never through a symbolic link: links are read and their text is walked in turn. At the end
there is an open folder and a name in it, and swapping links elsewhere changes nothing.

Where the system cannot open things relative to a folder (Windows), paths are resolved instead,
and an open file is compared with what is at its path. That narrows the gap for reading, and
leaves a small one for writing.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Literal, NamedTuple, Self

from amplifier_modules.files.policy import Guard, Identity, identity
from amplifier_modules.files.refusals import LinkAppeared, Refused, explained

Kind = Literal["file", "dir", "link", "other"]

_MOST_LINKS = 40
_LOOKS = 3
_LONGEST_PATH = 4096
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_PASS = _FOLDER | getattr(os, "O_PATH", os.O_RDONLY)
_FILE = (
    getattr(os, "O_NOFOLLOW", 0)
    # A pipe without a writer must not keep us waiting, and a terminal must not take us over.
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_NEEDED = (os.open, os.stat, os.readlink, os.mkdir, os.rename, os.link, os.unlink)


def can_hold() -> bool:
    """Whether this system opens files relative to an open folder."""
    relative = os.supports_dir_fd.issuperset(_NEEDED) and os.scandir in os.supports_fd
    return relative and hasattr(os, "O_NOFOLLOW")


class Entry(NamedTuple):
    """One name in a folder. A link is a link here, whatever it leads to."""

    name: str
    kind: Kind


class Folder:
    """An open folder, and what can be done to the names in it. No call follows a link."""

    def __init__(self, real: str, handle: int | None, above: frozenset[Identity]) -> None:
        self.real = real
        self._handle = handle
        here = os.stat(real) if handle is None else os.fstat(handle)
        self.identities = above | {identity(here)}
        """Of this folder and of all above it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def path(self, name: str) -> str:
        """The real path of `name`, to show and to judge by; never to open."""
        return self.real if name == os.curdir else os.path.join(self.real, name)

    def _spot(self, name: str) -> str:
        if self._handle is not None:
            return name
        path = self.path(name)
        if os.path.realpath(self.real) != self.real:
            raise LinkAppeared(errno.ELOOP, os.strerror(errno.ELOOP), path)
        return path

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        spot = self._spot(name)
        handle = os.open(spot, flags | _FILE, mode, dir_fd=self._handle)
        try:
            if self._handle is None and not _is_at(handle, spot):
                raise LinkAppeared(errno.ELOOP, os.strerror(errno.ELOOP), spot)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def stat(self, name: str) -> os.stat_result:
        return os.stat(self._spot(name), dir_fd=self._handle, follow_symlinks=False)

    def link_text(self, name: str) -> str | None:
        """Where the link `name` points; None if it is something else."""
        try:
            return os.readlink(self._spot(name), dir_fd=self._handle)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise

    def enter(self, name: str) -> Folder:
        if self._handle is None:
            if stat.S_ISLNK(self.stat(name).st_mode):
                raise LinkAppeared(errno.ELOOP, os.strerror(errno.ELOOP), self.path(name))
            return Folder(self.path(name), None, self.identities)
        try:
            handle = os.open(name, _PASS, dir_fd=self._handle)
        except OSError:
            if stat.S_ISLNK(self.stat(name).st_mode):
                raise LinkAppeared(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
            raise
        try:
            return Folder(self.path(name), handle, self.identities)
        except BaseException:
            os.close(handle)
            raise

    def make(self, name: str) -> None:
        """Make a folder, unless there is something of that name."""
        with suppress(FileExistsError):
            os.mkdir(self._spot(name), dir_fd=self._handle)

    def rename(self, old: str, new: str) -> None:
        """Give `old` the name `new`, in one step, in place of what had it."""
        rename = os.replace if self._handle is None else os.rename
        here = self._handle
        rename(self._spot(old), self._spot(new), src_dir_fd=here, dst_dir_fd=here)

    def link(self, old: str, new: str) -> None:
        """Give `old` a second name, unless that is taken."""
        here = self._handle
        os.link(
            self._spot(old),
            self._spot(new),
            src_dir_fd=here,
            dst_dir_fd=here,
            # A system without relative paths may not know the choice either.
            follow_symlinks=here is None,
        )

    def remove(self, name: str) -> None:
        os.unlink(self._spot(name), dir_fd=self._handle)

    def readable(self) -> int:
        """The folder itself as a descriptor, for listing, locking and syncing.

        Raises:
            OSError: a folder cannot be opened here.
        """
        return os.open(self._spot(os.curdir), os.O_RDONLY | _FOLDER, dir_fd=self._handle)

    def entries(self) -> list[Entry]:
        """Everything in the folder, by name."""
        if self._handle is None:
            with os.scandir(self._spot(os.curdir)) as found:
                return sorted(Entry(each.name, _kind(each)) for each in found)
        handle = self.readable()
        try:
            with os.scandir(handle) as found:
                return sorted(Entry(each.name, _kind(each)) for each in found)
        finally:
            os.close(handle)


def _is_at(handle: int, path: str) -> bool:
    """Whether an open file is the one at `path`, with no link on the way there."""
    with suppress(OSError):
        return os.readlink(f"/proc/self/fd/{handle}") == path
    # No word from the system: two looks in turn, so that one swap cannot fool both.
    return all(
        os.path.realpath(path) == path
        and os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
        for _ in range(_LOOKS)
    )


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "dir"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


class Place(NamedTuple):
    """A name in an open folder. `missing` folders lie between, and would have to be made."""

    folder: Folder
    name: str
    missing: tuple[str, ...] = ()

    @property
    def real(self) -> str:
        if not self.missing:
            return self.folder.path(self.name)
        return os.path.join(self.folder.real, *self.missing, self.name)

    def stat(self) -> os.stat_result | None:
        """What is there, if anything."""
        if self.missing:
            return None
        try:
            return self.folder.stat(self.name)
        except FileNotFoundError:
            return None

    def check(self, guard: Guard) -> None:
        """Refuse the place unless `guard` lets it be touched."""
        found = None
        with suppress(OSError):
            found = self.stat()
        own = {identity(found)} if found is not None else set()
        guard.check(self.real, self.folder.identities | own)


@contextmanager
def located(path: str, guard: Guard) -> Iterator[Place]:
    """The place that an absolute path leads to now, if `guard` lets it be touched.

    Whether there is something at a forbidden place is not told.

    Raises:
        Refused: the path cannot be followed, or must not be.
    """
    refuse_unusable(path)
    with ExitStack() as opened:
        try:
            place = _walk(path, guard, opened) if can_hold() else _resolve(path, opened)
        except OSError as error:
            with suppress(OSError):
                guard.check(os.path.realpath(path))
            raise explained(error, path) from error
        place.check(guard)
        yield place


def look(folder: Folder, name: str, guard: Guard) -> os.stat_result | None:
    """What has a name, be it a link; None if it is denied or gone."""
    with suppress(OSError):
        found = folder.stat(name)
        return None if guard.denies(folder.path(name), {identity(found)}) else found
    return None


def leads_to_folder(folder: Folder, name: str, guard: Guard) -> bool:
    """Whether a link ends at a folder that may be touched."""
    with suppress(OSError, Refused), located(folder.path(name), guard) as place:
        found = place.stat()
        return found is not None and stat.S_ISDIR(found.st_mode)
    return False


def refuse_unusable(path: str) -> None:
    """Refuse what cannot be the name of a file on any system."""
    if "\0" in path:
        raise Refused(f"{path!r} contains a NUL character. Take it out.")
    try:
        length = len(os.fsencode(path))
    except UnicodeEncodeError:
        text = f"{path!r} has a character that no file name has. Take it out."
        raise Refused(text) from None
    if length > _LONGEST_PATH:
        # Part by part we could go further, but nobody else could follow.
        raise explained(OSError(errno.ENAMETOOLONG, ""), path)


def _walk(path: str, guard: Guard, opened: ExitStack) -> Place:
    above = [opened.enter_context(_root())]
    todo = deque(_parts(path))
    links = 0
    while todo:
        part = todo.popleft()
        here = above[-1]
        if part == os.pardir:
            _refuse_detour(path, here.real, here, guard)
            above = _back_to(above, max(len(above) - 1, 1))
            continue
        try:
            target = here.link_text(part)
            if target is None and not todo:
                return Place(here, part)
            if target is None:
                above.append(opened.enter_context(here.enter(part)))
                continue
        except LinkAppeared:
            target = part
        except OSError as error:
            if os.pardir in todo:
                _refuse_detour(path, here.path(part), here, guard)
            elif isinstance(error, FileNotFoundError):
                *missing, name = part, *todo
                return Place(here, name, tuple(missing))
            raise
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if os.path.isabs(target):
            above = _back_to(above, 1)
        todo.extendleft(reversed(_parts(target)))
    return Place(above[-1], os.curdir)


def _back_to(above: list[Folder], depth: int) -> list[Folder]:
    for folder in above[depth:]:
        folder.close()
    return above[:depth]


def _root() -> Folder:
    return Folder(os.sep, os.open(os.sep, _PASS), frozenset())


def _parts(path: str) -> list[str]:
    return [part for part in path.split(os.sep) if part not in ("", os.curdir)]


def _refuse_detour(path: str, real: str, folder: Folder, guard: Guard) -> None:
    if not guard.lets_through(real, folder.identities):
        text = f"{path!r} leads through folders that may not be touched. Use the direct path."
        raise Refused(text, "PathDenied")


def _resolve(path: str, opened: ExitStack) -> Place:
    real = os.path.realpath(path)
    folder, name = os.path.split(real)
    missing: list[str] = []
    while not os.path.isdir(folder):
        if os.path.lexists(folder):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        folder, part = os.path.split(folder)
        missing.insert(0, part)
    above = frozenset(identity(os.stat(each)) for each in _ancestors(folder))
    held = opened.enter_context(Folder(folder, None, above))
    return Place(held, name or os.curdir, tuple(missing))


def _ancestors(folder: str) -> Iterator[str]:
    while (parent := os.path.dirname(folder)) != folder:
        yield parent
        folder = parent
