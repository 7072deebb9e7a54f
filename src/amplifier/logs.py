"""What modules log is one line each on stderr; tracebacks are shown to those who ask."""

from __future__ import annotations

import logging

from amplifier.secrets import masked

# The command ends with a message of its own about these.
_SAID_AGAIN = (
    "Failed to load",
    "Failed to initialize",
    "Execution failed",
    "Entry point of module",
)


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = " ".join(record.getMessage().split())
        return _readable(masked(f"{record.levelname.lower()}: {line}"))


class _Whole(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _readable(masked(super().format(record)))


def _readable(text: str) -> str:
    """Without codes that would steer a terminal: who writes the log did not write all of it."""
    return "".join(each if each.isprintable() or each in "\n\t" else "?" for each in text)


def log_to_stderr(verbose: bool) -> None:
    handler = logging.StreamHandler()
    if verbose:
        handler.setFormatter(_Whole("%(levelname)s %(name)s: %(message)s"))
    else:
        handler.setFormatter(_OneLine())
        handler.addFilter(_is_news)
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


def _is_news(record: logging.LogRecord) -> bool:
    return not (record.name.startswith("amplifier_core") and record.msg.startswith(_SAID_AGAIN))
