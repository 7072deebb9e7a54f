"""For programs: stdout is one JSON document, whatever happens."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from amplifier_core import AmplifierSession

from amplifier.output import Output

from . import models_in_use


class DocumentView:
    """Prints the outcome when it is known, and nothing before or after."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._facts: dict[str, Any] = {}
        self._is_printed = False

    def attach(self, session: AmplifierSession) -> None:
        _, model = models_in_use(session)
        self._facts = {"session_id": session.session_id, "bundle": None, "model": model}

    def answered(self, text: str) -> None:
        self._print({"status": "success", "response": text, **self._facts})

    def failed(self, message: str) -> None:
        self._print({"status": "error", "error": message, **self._facts})

    def _print(self, facts: dict[str, Any]) -> None:
        if not self._is_printed:
            self._is_printed = True
            # Escaped, so that it is the same in every encoding.
            document = json.dumps({**facts, "timestamp": datetime.now(UTC).isoformat()})
            self.output.write(f"{document}\n")
