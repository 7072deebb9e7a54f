"""Writes down who decided what: one line of JSON per decision, for the owner's eyes only."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from amplifier_core.utils.truncate import redact_secrets, truncate_values

_LONGEST = 2_000
_SECRET = re.compile(
    r"(?i)(\b(?:bearer|basic)\s+|\b[\w-]*(?:password|passwd|secret|token|api[_-]?key|authorization)"
    r"['\"]?\s*[=:]\s*(?:bearer\s+|basic\s+)?['\"]?)[^\s'\"&;|]+"
)
_IN_ADDRESS = re.compile(r"(://[^/\s:@]*:)[^/\s@]+@")
_KEY = re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|xox[a-z]|AKIA|AIza)[-_A-Za-z0-9]{12,}")


class AuditFailed(OSError):
    """A decision could not be written down, so it must not take effect."""


class AuditFile:
    """Appends decisions to a file that only its owner can read."""

    def __init__(self, path: str) -> None:
        self._path = Path(path).expanduser()

    def append(self, request: dict[str, Any], response: dict[str, Any], **more: Any) -> None:
        """Add one line, whole or not at all as far as other writers see.

        Raises:
            AuditFailed: the file cannot be written.
        """
        now = datetime.now().astimezone().isoformat()
        record = {"timestamp": now, "request": request, "response": response, **more}
        line = json.dumps(without_secrets(record), default=str, ensure_ascii=True) + "\n"
        try:
            self._write(line.encode())
        except OSError as error:
            raise AuditFailed(
                f"The decision cannot be written to {str(self._path)!r} ({error.strerror}). "
                "Make it writable, or set `audit.enabled: false`."
            ) from error

    def _write(self, line: bytes) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A link put in the place of the file must not lead the lines elsewhere.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        # Nor may a pipe keep the session waiting for a reader.
        flags |= getattr(os, "O_NONBLOCK", 0)
        file = os.open(self._path, flags, 0o600)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(file, 0o600)
            if os.write(file, line) != len(line):
                raise OSError(0, "only a part was written")
        finally:
            os.close(file)


def without_secrets(value: Any) -> Any:
    """A copy fit to be kept: secrets blanked by name and by look, long texts cut."""
    return _masked(truncate_values(redact_secrets(value), _LONGEST))


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        value = _IN_ADDRESS.sub(r"\1[REDACTED]@", _SECRET.sub(r"\1[REDACTED]", value))
        return _KEY.sub("[REDACTED]", value)
    if isinstance(value, dict):
        return {key: _masked(each) for key, each in value.items()}
    return [_masked(each) for each in value] if isinstance(value, list) else value
