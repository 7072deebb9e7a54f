"""The window that the person looks at."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def terminal_size() -> os.terminal_size:
    """How large the window is now; variables like COLUMNS would not know of a change."""
    for stream in (sys.__stdout__, sys.__stderr__):
        with suppress(OSError, ValueError, AttributeError):
            size = os.get_terminal_size(stream.fileno())  # type: ignore[union-attr]
            if size.columns and size.lines:
                return size
    return os.terminal_size((80, 24))


def terminal_width() -> int:
    return terminal_size().columns


def is_dumb() -> bool:
    """Whether it only prints: nothing that was written can be changed."""
    return os.environ.get("TERM") in (None, "", "dumb")
