"""What a person has allowed in a project for good: the very same call, and nothing like it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from amplifier_core import ApprovalRequest

from amplifier.files import locked, write_atomically
from amplifier.secrets import masked

FILE = "approvals.json"
LONGEST_ACTION = 300


class UnreadableGrants(Exception):
    """The file of grants is not what it should be; nothing is granted by it."""


@dataclass(frozen=True)
class Grant:
    """One call that need not be asked about again."""

    id: str
    tool_name: str
    action: str
    granted: str


class Grants:
    """The grants of one project, in a file that only its owner can read."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def allows(self, request: ApprovalRequest, folder: str | None = None) -> bool:
        """Whether the call was allowed; `folder` says where, unless it is that of the project."""
        try:
            return any(grant.id == fingerprint(request, folder) for grant in self.listed())
        except UnreadableGrants:
            return False

    def keep(self, request: ApprovalRequest, folder: str | None = None) -> None:
        where = f" in {folder!r}" if folder else ""
        action = masked(f"{request.action}{where}")[:LONGEST_ACTION]
        now = datetime.now(UTC).isoformat(timespec="seconds")
        grant = Grant(fingerprint(request, folder), request.tool_name, action, now)
        with locked(self._file):
            others = [each for each in self.listed() if each.id != grant.id]
            self._write([*others, grant])

    def listed(self) -> list[Grant]:
        """All grants, the oldest first.

        Raises:
            UnreadableGrants: the file holds something else.
        """
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
            return [Grant(**each) for each in found]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, TypeError) as error:
            raise UnreadableGrants(
                f"{str(self._file)!r} cannot be read, so nothing in it counts. Remove it."
            ) from error

    def revoke(self, start: str | None) -> list[Grant]:
        """Take back the grants whose id begins with `start`, or all; gives those."""
        with locked(self._file):
            grants = self.listed()
            gone = [each for each in grants if start is None or each.id.startswith(start)]
            if gone:
                self._write([each for each in grants if each not in gone])
        return gone

    def _write(self, grants: list[Grant]) -> None:
        document = json.dumps([asdict(each) for each in grants], indent=2) + "\n"
        write_atomically(self._file, document, mode=0o600)


def fingerprint(request: ApprovalRequest, folder: str | None = None) -> str:
    """The same for the same call in the same place, and for no other."""
    call: dict[str, Any] = {"tool": request.tool_name, "input": request.details}
    if folder is not None:
        call["folder"] = folder
    text = json.dumps(call, sort_keys=True, ensure_ascii=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
