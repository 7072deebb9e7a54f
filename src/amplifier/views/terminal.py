"""For people: tokens as they come, one line per tool call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from amplifier_core import AmplifierSession
from amplifier_core.events import TOOL_ERROR, TOOL_POST, TOOL_PRE

from amplifier.output import Output, note

from . import ANSWER_SHOWN, models_in_use

LONGEST_LINE = 100


class TerminalView:
    """Streams the answer to stdout; everything else goes to stderr."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._session: AmplifierSession | None = None
        self._shown = ""
        self._shown_by_module: Callable[[], bool] | None = None
        self._is_midline = False

    def attach(self, session: AmplifierSession) -> None:
        self._session = session
        session.coordinator.display_system = self
        self._shown_by_module = session.coordinator.get_capability(ANSWER_SHOWN)
        if self._shown_by_module is not None:
            return
        name, model = models_in_use(session)
        self._note(name if model in name else f"{name} ({model})")
        hooks = session.coordinator.hooks
        hooks.register("provider:stream", self._on_chunk, name="view")
        hooks.register(TOOL_PRE, self._on_call, priority=1000, name="view")
        hooks.register(TOOL_POST, self._on_result, priority=1000, name="view")
        hooks.register(TOOL_ERROR, self._on_error, priority=1000, name="view")

    def _on_chunk(self, event: str, data: dict[str, Any]) -> None:
        text = data["chunk"].get("text")
        if text:
            self._shown += text
            self._write(text)
        if self.output.is_closed and self._session is not None:
            # Nobody reads on, so nobody wants to pay for the rest.
            self._session.coordinator.cancellation.request_immediate()

    def _on_call(self, event: str, data: dict[str, Any]) -> None:
        arguments = ", ".join(f"{key}={value!r}" for key, value in data["tool_input"].items())
        self._note(f"-> {data['tool_name']}({arguments})")

    def _on_result(self, event: str, data: dict[str, Any]) -> None:
        result = data.get("result") or {}
        output = result
        if isinstance(result, dict):
            output = result.get("output") or (result.get("error") or {}).get("message", "")
        self._note(f"<- {output}")

    def _on_error(self, event: str, data: dict[str, Any]) -> None:
        # With a result, a `tool:post` follows.
        if "result" not in data:
            note(f"<- {data['error'].get('type')}: {data['error'].get('msg')}", dim=True)

    def show_message(self, message: str, level: str, source: str = "hook") -> None:
        self._end_line()
        note(f"{source}: {message}")

    def answered(self, text: str) -> None:
        if self._shown_by_module is not None and self._shown_by_module() and self.output.is_seen:
            return
        if not self._shown.endswith(text):
            self._end_line()
            self._write(text)
        self._end_line()

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def failed(self, message: str) -> None:
        self._end_line()
        note(f"amplifier: {message}")

    def _note(self, line: str) -> None:
        self._end_line()
        line = " ".join(line.split())
        short = line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 3]}..."
        note(short, dim=True)

    def _write(self, text: str) -> None:
        if self.output.is_seen:
            # Into a file or a pipe it goes as it is; a terminal would obey it.
            from amplifier.chat.texts import harmless

            text = harmless(text)
        self.output.write(text)
        self._is_midline = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._is_midline:
            self._write("\n")
