"""Opens regular files, and nothing else.

Searches start often and read only, so what changing a file takes is imported elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from amplifier_modules.files.folders import Folder
from amplifier_modules.files.policy import Guard, identity
from amplifier_modules.files.refusals import Refused, explained

_SPECIAL = "{path!r} is a device, a pipe or a socket. Only regular files can be used."


@contextmanager
def opened(folder: Folder, name: str) -> Iterator[BinaryIO]:
    """A regular file, open for reading. Nothing else is opened, or waited for.

    Raises:
        Refused: it is something else.
    """
    # The look before opening keeps a device from noticing us; the one after is what counts.
    _refuse_special(folder.stat(name), folder.path(name))
    with open(folder.open(name, os.O_RDONLY), "rb") as file:
        _refuse_special(os.fstat(file.fileno()), folder.path(name))
        yield file


def _refuse_special(found: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise explained(IsADirectoryError(errno.EISDIR, ""), path)
    if not stat.S_ISREG(found.st_mode):
        raise Refused(_SPECIAL.format(path=path), "NotAFile")


def check_opened(file: BinaryIO, folder: Folder, name: str, guard: Guard) -> None:
    """Refuse an open file that turns out to be a denied one under another name."""
    guard.check(folder.path(name), folder.identities | {identity(os.fstat(file.fileno()))})
