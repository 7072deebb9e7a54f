"""Why something was not done, in words that a model can act on."""

from __future__ import annotations

import errno
from typing import Any


class Refused(Exception):
    """The request cannot or must not be carried out; the text says why and what to do."""

    def __init__(self, message: str, kind: str = "InvalidInput", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.details = details


class LinkAppeared(OSError):
    """Something turned into a symbolic link while it was being looked up."""


_SENTENCES = {
    errno.ENOENT: "There is no {path!r}. Check the spelling, or list the folder it should be in.",
    errno.ENOTDIR: "A part of {path!r} is a file, not a folder. Check the path.",
    errno.EISDIR: "{path!r} is a folder. Name a file.",
    errno.EACCES: "The system does not permit access to {path!r}. Choose another path.",
    errno.EPERM: "The system does not permit access to {path!r}. Choose another path.",
    errno.EROFS: "{path!r} is on a disk that cannot be written. Choose another path.",
    errno.ELOOP: "{path!r} leads through too many symbolic links. Use the real path.",
    errno.ENAMETOOLONG: "{path!r} is longer than the system allows. Use a shorter path.",
    errno.ENOSPC: "The disk has no room for {path!r}. Free some space first.",
}


def explained(error: OSError, path: str) -> Refused:
    """The refusal that stands for an error of the system."""
    shown = path if len(path) <= 300 else f"{path[:300]}..."
    kind = type(error).__name__
    if isinstance(error, LinkAppeared):
        text = f"{shown!r} changed into a symbolic link while it was looked up. Try again."
        return Refused(text, kind)
    if error.errno in _SENTENCES:
        return Refused(_SENTENCES[error.errno].format(path=shown), kind)
    text = f"{shown!r} cannot be used: {error.strerror or kind}. Check the path."
    return Refused(text, kind)


def nothing_there() -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "")
