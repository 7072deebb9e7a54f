"""For programs: stdout is one JSON document, whatever happens."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from amplifier_core import AmplifierSession

from . import models_in_use


class DocumentView:
    """Prints the outcome when it is known, and nothing before."""

    def __init__(self) -> None:
        self._facts: dict[str, Any] = {}

    def attach(self, session: AmplifierSession) -> None:
        _, model = models_in_use(session)
        self._facts = {"session_id": session.session_id, "bundle": None, "model": model}

    def answered(self, text: str) -> None:
        self._print({"status": "success", "response": text, **self._facts})

    def failed(self, message: str) -> int:
        self._print({"status": "error", "error": message, **self._facts})
        return 1

    def _print(self, facts: dict[str, Any]) -> None:
        print(json.dumps({**facts, "timestamp": datetime.now(UTC).isoformat()}, ensure_ascii=False))
