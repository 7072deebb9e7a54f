"""What a session has read, so that it changes nothing it has not seen."""

from __future__ import annotations

from amplifier_modules.files.contents import Snapshot, changed
from amplifier_modules.files.refusals import Refused


class Memory:
    """The content of each file, as a digest, when this session last read or wrote it."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def keep(self, path: str, digest: str) -> None:
        self._digests[path] = digest

    def check(self, path: str, found: Snapshot) -> None:
        """Refuse to change a file that was not read, or is no longer what was read."""
        known = self._digests.get(path)
        if known is None:
            text = f"{path!r} has not been read in this session. Read it with read_file first."
            raise Refused(text, "NotRead")
        if known != found.digest:
            raise changed(path)
