"""Follows a session by its events: what is final scrolls by, what still moves is a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amplifier_core import AmplifierSession, events
from rich.console import RenderableType

from . import drawing
from .blocks import Blocks
from .state import RunningTool, State

LAST = 1000
"""Priority: after hooks that change or deny."""

Show = Callable[[RenderableType], None]


class Follower:
    """Shows one session at a time through `show`, and says `changed` when something moved."""

    def __init__(
        self,
        state: State,
        show: Show,
        width: Callable[[], int],
        changed: Callable[[], None],
        *,
        shows_thinking: bool = True,
    ) -> None:
        self.state = state
        self._show = show
        self._width = width
        self._changed = changed
        self._shows_thinking = shows_thinking
        self._blocks = Blocks()
        self._thinking: list[str] = []
        self._streamed: list[str] = []

    def attach(self, session: AmplifierSession) -> None:
        register = session.coordinator.hooks.register
        for event, react in {
            events.PROVIDER_REQUEST: self._asked,
            "provider:stream": self._chunk,
            events.PROVIDER_RESPONSE: self._answered,
            "provider:retry": self._retried,
            events.TOOL_PRE: self._tool_starts,
            events.TOOL_POST: self._tool_ends,
            "approval:denied": self._denied,
            "orchestrator:steering_injected": self._steered,
        }.items():
            register(event, self._handler(react), priority=LAST, name="chat")

    def _handler(self, react: Callable[[dict[str, Any]], None]) -> Any:
        def handle(event: str, data: dict[str, Any]) -> None:
            react(data)
            self._changed()

        return handle

    # -- the model ----------------------------------------------------------------------

    def live_text(self) -> str:
        """What the model is saying and is not final yet."""
        return self._blocks.tail or "".join(self._thinking if self._shows_thinking else [])

    def _asked(self, _data: dict[str, Any]) -> None:
        self.state.waits_for = "the model"
        self._streamed.clear()

    def _chunk(self, data: dict[str, Any]) -> None:
        chunk = data.get("chunk") or {}
        thinking, text = chunk.get("thinking"), chunk.get("text")
        if isinstance(thinking, str) and thinking:
            self._thinking.append(thinking)
        if isinstance(text, str) and text:
            self._end_thinking()
            self._streamed.append(text)
            for block in self._blocks.feed(text):
                self._show_block(block)

    def _answered(self, data: dict[str, Any]) -> None:
        self.flush()
        usage: Any = data.get("usage")
        usage = usage.model_dump() if hasattr(usage, "model_dump") else usage
        if isinstance(usage, dict):
            self.state.spent.add(usage)

    def _retried(self, data: dict[str, Any]) -> None:
        delay = data.get("delay")
        after = f" in {delay:.0f} s" if isinstance(delay, int | float) else ""
        self._show(drawing.note(f"{data.get('error_message')}. Trying again{after}.", "yellow"))

    def flush(self) -> None:
        """Make final whatever has come."""
        self._end_thinking()
        for block in self._blocks.finish():
            self._show_block(block)

    def answer(self, text: str) -> None:
        """Show the answer of a turn, unless it has been seen coming."""
        self.flush()
        if text.strip() and "".join(self._streamed).strip() != text.strip():
            self._show_block(text)

    def _end_thinking(self) -> None:
        text = "".join(self._thinking)
        self._thinking.clear()
        if text.strip() and self._shows_thinking:
            self._show(drawing.thought(text))

    def _show_block(self, block: str) -> None:
        if block.strip():
            self._show(drawing.markdown(block))

    # -- tools --------------------------------------------------------------------------

    def _tool_starts(self, data: dict[str, Any]) -> None:
        name = str(data.get("tool_name"))
        self.state.tools[_call_id(data)] = RunningTool(name, data.get("tool_input"))
        self._say_what_runs()

    def _tool_ends(self, data: dict[str, Any]) -> None:
        running = self.state.tools.pop(_call_id(data), None)
        result = data.get("result")
        mark: drawing.Mark = "failed" if _field(result, "success") is False else "done"
        self._show(
            drawing.tool_card(
                mark,
                str(data.get("tool_name")),
                running.given if running else data.get("tool_input"),
                _output(result),
                self._width(),
                running.seconds() if running else None,
            )
        )
        self._say_what_runs()

    def _denied(self, data: dict[str, Any]) -> None:
        name, reason = str(data.get("tool_name")), str(data.get("reason") or "")
        given = data.get("tool_input")
        self._show(drawing.tool_card("denied", name, given, reason, self._width()))

    def _say_what_runs(self) -> None:
        names = [tool.name for tool in self.state.tools.values()]
        if self.state.is_running:
            self.state.waits_for = ", ".join(names) or "the model"

    def _steered(self, _data: dict[str, Any]) -> None:
        self.state.steering = max(self.state.steering - 1, 0)


def _call_id(data: dict[str, Any]) -> str:
    return str(data.get("tool_call_id") or data.get("tool_name"))


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _output(result: Any) -> str:
    """What a tool answered, or what went wrong, as text."""
    output = _field(result, "output")
    if isinstance(output, dict) and "stdout" in output:
        texts = (output.get("stdout"), output.get("stderr"))
        return "\n".join(str(text) for text in texts if text)
    if output is None or output == "":
        output = _field(_field(result, "error"), "message")
    if isinstance(output, dict):
        return "\n".join(f"{key}: {value}" for key, value in output.items())
    return "" if output is None else str(output)
