"""For people: tokens as they come, one line per tool call."""

from __future__ import annotations

import sys
from typing import Any

from amplifier_core import AmplifierSession
from amplifier_core.events import TOOL_POST, TOOL_PRE

from . import models_in_use

LONGEST_LINE = 100
DIM, PLAIN = "\x1b[2m", "\x1b[0m"


class TerminalView:
    """Streams the answer to stdout; everything else goes to stderr."""

    def __init__(self) -> None:
        self._shown = ""
        self._is_midline = False

    def attach(self, session: AmplifierSession) -> None:
        name, model = models_in_use(session)
        self._note(f"{name} ({model})")
        hooks = session.coordinator.hooks
        hooks.register("provider:stream", self._on_chunk, name="view")
        hooks.register(TOOL_PRE, self._on_call, priority=1000, name="view")
        hooks.register(TOOL_POST, self._on_result, priority=1000, name="view")

    def _on_chunk(self, event: str, data: dict[str, Any]) -> None:
        text = data["chunk"].get("text")
        if text:
            self._shown += text
            self._is_midline = not text.endswith("\n")
            sys.stdout.write(text)
            sys.stdout.flush()

    def _on_call(self, event: str, data: dict[str, Any]) -> None:
        arguments = ", ".join(f"{key}={value!r}" for key, value in data["tool_input"].items())
        self._note(f"-> {data['tool_name']}({arguments})")

    def _on_result(self, event: str, data: dict[str, Any]) -> None:
        result = data.get("result") or {}
        output = result.get("output") if isinstance(result, dict) else result
        self._note(f"<- {output}")

    def answered(self, text: str) -> None:
        if not self._shown.endswith(text):
            self._end_line()
            sys.stdout.write(text)
            self._is_midline = True
        self._end_line()

    def failed(self, message: str) -> int:
        self._end_line()
        print(f"amplifier: {message}", file=sys.stderr)
        return 1

    def _note(self, line: str) -> None:
        self._end_line()
        line = " ".join(line.split())
        short = line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 3]}..."
        print(f"{DIM}{short}{PLAIN}" if sys.stderr.isatty() else short, file=sys.stderr)

    def _end_line(self) -> None:
        if self._is_midline:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._is_midline = False
