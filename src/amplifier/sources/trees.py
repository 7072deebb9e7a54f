"""The content of a folder as one hash, and the limits that every fetched folder keeps."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from .uris import SourceError

MOST_FILES = 20_000
MOST_BYTES = 200_000_000
# Made by tools. None of it is in a content that is loaded: compiled files could say anything.
LEFT_OUT = {
    ".git", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
    ".build", "node_modules",
}  # fmt: skip


def tree_hash(folder: Path) -> str:
    """A hash of all names, contents and executable bits below `folder`.

    Raises:
        SourceError: there are links or special files in it, or too much.
    """
    total, digest = 0, hashlib.sha256()
    for count, (name, path, status) in enumerate(_files(folder)):
        total += status.st_size
        if count >= MOST_FILES or total > MOST_BYTES:
            raise SourceError(
                f"{str(folder)!r} has more than {MOST_FILES:,} files or {MOST_BYTES:,} bytes. "
                f"Name a smaller folder."
            )
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        is_executable = bool(status.st_mode & stat.S_IXUSR)
        digest.update(f"{content} {int(is_executable)} {name}\0".encode("utf-8", "surrogateescape"))
    return f"sha256:{digest.hexdigest()}"


def _files(folder: Path) -> Iterator[tuple[str, Path, os.stat_result]]:
    for root, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(each for each in folders if each not in LEFT_OUT)
        for name in [*sorted(each for each in names if each not in LEFT_OUT), *folders]:
            path = Path(root, name)
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode):
                continue
            if not stat.S_ISREG(status.st_mode):
                raise SourceError(
                    f"{str(path)!r} is a link or a special file, whose content cannot be "
                    f"pinned down. Replace it by a plain file."
                )
            yield path.relative_to(folder).as_posix(), path, status


def _refuse(error: OSError) -> None:
    raise SourceError(f"{error.filename!r} cannot be read: {error.strerror}.") from error
