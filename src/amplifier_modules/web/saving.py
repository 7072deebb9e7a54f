"""Writes a file inside the allowed folders, and nowhere else.

The way to the file is walked folder by folder without following links, so that a link made at
any moment cannot lead out. The file appears whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from amplifier_modules.settings import protecting
from amplifier_modules.web.failures import WebError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@dataclass(frozen=True)
class Destination:
    """A file in an allowed folder."""

    root: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)

    def write(self, data: bytes) -> None:
        """Raises WebError if the file cannot be written."""
        try:
            self._write(data)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            text = (
                f"{str(self.path)!r} cannot be written: {reason}. Choose another file whose "
                "folders are no links."
            )
            raise WebError("not_saved", text) from error

    def _write(self, data: bytes) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.root.resolve(), _FOLDER)
        try:
            for name in self.parts[:-1]:
                folder = _enter(folder, name)
            _replace(folder, self.parts[-1], data)
        finally:
            os.close(folder)


def find_destination(
    text: str, base: Path, allowed: Sequence[str], protected: Sequence[str] = ()
) -> Destination:
    """Where a file named `text`, relative to `base`, would be written.

    Raises:
        WebError: that is in none of the allowed folders, or protected.
    """
    if not text.strip() or not text.isprintable():
        raise WebError("invalid_input", "'save_to_file' is no file name. Pass a relative path.")
    wanted = _absolute(base, text)
    if protecting(str(wanted), protected) or protecting(os.path.realpath(wanted), protected):
        raise WebError(
            "not_saved",
            f"Saving to {str(wanted)!r} is denied by 'protected_paths': it decides what is run "
            "later. Choose another file.",
        )
    for folder in allowed:
        root = _absolute(base, folder)
        for spelling in (root, root.resolve()):
            if wanted != spelling and wanted.is_relative_to(spelling):
                return Destination(root, wanted.relative_to(spelling).parts)
    raise WebError(
        "not_saved",
        f"{str(wanted)!r} is outside of the folders that files may be saved in. Choose a path "
        "in the working folder, or add its folder to 'allowed_write_paths'.",
    )


def _absolute(base: Path, text: str) -> Path:
    return Path(os.path.normpath(Path.cwd() / base / os.path.expanduser(text)))


def _enter(folder: int, name: str) -> int:
    """The folder `name` in `folder`, which is closed."""
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    inner = os.open(name, _FOLDER, dir_fd=folder)
    os.close(folder)
    return inner


def _replace(folder: int, name: str, data: bytes) -> None:
    draft = f".{uuid4().hex}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with open(os.open(draft, flags, 0o644, dir_fd=folder), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise
