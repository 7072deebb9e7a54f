"""Follows sessions by their events: what is final scrolls by, what still moves is a state."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Protocol

from amplifier_core import AmplifierSession, events
from rich.console import RenderableType

from . import drawing
from .blocks import Block, Blocks
from .state import MODEL, Activity, State

LAST = 1000
"""Priority: after hooks that change or deny."""

SECONDS_WITHOUT_A_BREAK = 0.02
"""A stream that never waits would leave no time for the keyboard."""

TEXTS = (("stdout", "stderr"), ("content",))
"""Fields in which an output has what people look for: of commands, of files and pages."""

React = Callable[[dict[str, Any]], None]


class Screen(Protocol):
    """Where it is shown."""

    def show(self, what: RenderableType, group: str = "", *, apart: bool | None = None) -> None:
        """Let it scroll by; a blank line goes before it unless it is of the group before it."""

    def width(self) -> int:
        """Cells of a line."""

    def changed(self) -> None:
        """Something moved that is not final."""


class Follower:
    """Shows the calls of one session, and counts what it spends."""

    def __init__(self, state: State, screen: Screen, activity: Activity) -> None:
        self.state = state
        self._screen = screen
        self._activity = activity

    @property
    def _agent(self) -> str | None:
        return self._activity.agent

    def attach(self, session: AmplifierSession) -> None:
        register = session.coordinator.hooks.register
        for event, react in self._reactions().items():
            register(event, self._handler(react), priority=LAST, name="chat")
        register("provider:stream", self._streamed_on, priority=LAST, name="chat")

    def _reactions(self) -> dict[str, React]:
        return {
            events.PROVIDER_REQUEST: self._asked,
            events.PROVIDER_RESPONSE: self._answered,
            "provider:retry": self._retried,
            events.CONTENT_BLOCK_END: self._block_ends,
            events.TOOL_PRE: self._tool_starts,
            events.TOOL_POST: self._tool_ends,
            events.TOOL_ERROR: self._tool_fails,
        }

    def _handler(self, react: React) -> Any:
        def handle(event: str, data: dict[str, Any]) -> None:
            react(data)
            self._screen.changed()

        return handle

    async def _streamed_on(self, _event: str, data: dict[str, Any]) -> None:
        self._chunk(data.get("chunk") or {})
        self._screen.changed()

    # -- the model ----------------------------------------------------------------------

    def _asked(self, _data: dict[str, Any]) -> None:
        self._activity.wait_for(MODEL)

    def _chunk(self, chunk: dict[str, Any]) -> None:
        """A piece of what the model says."""

    def _block_ends(self, data: dict[str, Any]) -> None:
        """A part of an answer is whole, whether it was streamed or not."""

    def _answered(self, data: dict[str, Any]) -> None:
        usage: Any = data.get("usage")
        usage = usage.model_dump() if hasattr(usage, "model_dump") else usage
        if isinstance(usage, dict):
            self.state.add_usage(usage, self._agent)

    def _retried(self, data: dict[str, Any]) -> None:
        delay = data.get("delay")
        after = f" in {delay:.0f} s" if isinstance(delay, int | float) else ""
        self._activity.wait_for("another try")
        text = f"{data.get('error_message')}. Trying again{after}."
        self._screen.show(drawing.note(text, "yellow"), "note")

    # -- tools --------------------------------------------------------------------------

    def _tool_starts(self, data: dict[str, Any]) -> None:
        name, given = str(data.get("tool_name")), data.get("tool_input")
        self._activity.tool_starts(_call_id(data), name, given)

    def _tool_ends(self, data: dict[str, Any]) -> None:
        result = data.get("result")
        has_failed = _field(result, "success") is False
        self._show_card("failed" if has_failed else "done", data, _output(result))

    def _tool_fails(self, data: dict[str, Any]) -> None:
        # With a result, a `tool:post` follows.
        if data.get("result") is None:
            self._show_card("denied", data, str(_field(data.get("error"), "msg") or ""))

    def _show_card(self, mark: drawing.Mark, data: dict[str, Any], output: str) -> None:
        running = self._activity.tool_ends(_call_id(data))
        card = drawing.tool_card(
            mark,
            str(data.get("tool_name")),
            running.given if running else data.get("tool_input"),
            output,
            self._screen.width(),
            running.wait.seconds() if running else None,
            self._agent,
        )
        self._screen.show(card, "card")


class ConversationFollower(Follower):
    """Shows the session of a chat, with all that the model says in it."""

    def __init__(self, state: State, screen: Screen) -> None:
        super().__init__(state, screen, state.own)
        self.shows_thinking = True
        self.compactions = 0
        self._blocks = Blocks()
        self._thinking: list[str] = []
        self._streamed: list[str] = []
        self._is_new = False
        """Whether nothing of the latest answer has been shown."""
        self._last_break = time.monotonic()

    def _reactions(self) -> dict[str, React]:
        return {
            **super()._reactions(),
            "orchestrator:steering_injected": self._steered,
            "context:compaction": self._compacted,
        }

    def live_text(self) -> str:
        """What the model is saying and is not final yet."""
        return self._blocks.tail or "".join(self._thinking if self.shows_thinking else [])

    def _asked(self, data: dict[str, Any]) -> None:
        super()._asked(data)
        self._streamed.clear()
        self._is_new = True

    async def _streamed_on(self, event: str, data: dict[str, Any]) -> None:
        await super()._streamed_on(event, data)
        if time.monotonic() - self._last_break > SECONDS_WITHOUT_A_BREAK:
            await asyncio.sleep(0)
            self._last_break = time.monotonic()

    def _chunk(self, chunk: dict[str, Any]) -> None:
        thinking, text = chunk.get("thinking"), chunk.get("text")
        if isinstance(thinking, str) and thinking:
            self._is_new = False
            self._activity.wait_for("the model to think")
            self._thinking.append(thinking)
        if isinstance(text, str) and text:
            self._say(text)

    def _say(self, text: str) -> None:
        self._is_new = False
        self._end_thinking()
        self._activity.wait_for(MODEL)
        self._streamed.append(text)
        for block in self._blocks.feed(text):
            self._show_block(block)

    def _block_ends(self, data: dict[str, Any]) -> None:
        block = data.get("block")
        text, thinking = _field(block, "text"), _field(block, "thinking")
        if self._is_new and isinstance(thinking, str):
            self._thinking.append(thinking)
            self._end_thinking()
        elif self._is_new and isinstance(text, str) and text:
            self._say(text)
            self.flush()
            self._is_new = True

    def _answered(self, data: dict[str, Any]) -> None:
        self.flush()
        super()._answered(data)

    def flush(self) -> None:
        """Make final whatever has come."""
        self._end_thinking()
        blocks, self._blocks = self._blocks, Blocks()
        for block in blocks.finish():
            self._show_block(block)

    def answer(self, text: str) -> None:
        """Show the answer of a turn, unless it has been seen coming."""
        self.flush()
        if text.strip() and "".join(self._streamed).strip() != text.strip():
            self._say(text)
            self.flush()

    def _end_thinking(self) -> None:
        text = "".join(self._thinking)
        self._thinking.clear()
        if text.strip() and self.shows_thinking:
            self._screen.show(drawing.thought(text))

    def _show_block(self, block: Block) -> None:
        if block.source.strip() or block.markdown.startswith(("```", "~~~")):
            shown = drawing.markdown(block.markdown)
            self._screen.show(shown, "text", apart=block.is_apart or None)

    def _steered(self, data: dict[str, Any]) -> None:
        queued = self.state.queued
        if queued:
            self._screen.show(drawing.said_by_user(queued.popleft()))

    def _compacted(self, data: dict[str, Any]) -> None:
        self.compactions += 1
        before, after = data.get("before_tokens"), data.get("after_tokens")
        sizes = f" from {before:,} to {after:,} tokens" if before and after else ""
        self._screen.show(drawing.note(f"What the model is shown was shortened{sizes}."), "note")


class ChildFollower(Follower):
    """Shows a child session; its answer is shown as the result of the call that made it."""

    def __init__(self, state: State, screen: Screen, agent: str, session_id: str) -> None:
        super().__init__(state, screen, Activity(agent))
        self._session_id = session_id
        self._said: list[str] = []

    def _reactions(self) -> dict[str, React]:
        return {
            **super()._reactions(),
            events.PROMPT_SUBMIT: self._begins,
            events.SESSION_END: self._ends,
        }

    def _begins(self, _data: dict[str, Any]) -> None:
        self.state.children[self._session_id] = self._activity

    def _ends(self, _data: dict[str, Any]) -> None:
        self.state.children.pop(self._session_id, None)

    def _asked(self, data: dict[str, Any]) -> None:
        super()._asked(data)
        self._said.clear()

    def _chunk(self, chunk: dict[str, Any]) -> None:
        text = chunk.get("text")
        if isinstance(text, str):
            self._said.append(text)

    def _answered(self, data: dict[str, Any]) -> None:
        super()._answered(data)
        said = "".join(self._said).strip()
        self._said.clear()
        if said and data.get("tool_calls") and self._agent is not None:
            line = drawing.said_by_agent(self._agent, said, self._screen.width())
            self._screen.show(line, "card")


def agent_of(child: AmplifierSession) -> str:
    """The name under which a child was made."""
    session = child.config.get("session")
    metadata = session.get("metadata") if isinstance(session, dict) else None
    name = metadata.get("agent_name") if isinstance(metadata, dict) else None
    return str(name or "agent")


def _call_id(data: dict[str, Any]) -> str:
    return str(data.get("tool_call_id") or data.get("tool_name"))


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _output(result: Any) -> str:
    """What a tool answered, or what went wrong, as text."""
    output = _field(result, "output")
    if output is None or output == "":
        output = _field(_field(result, "error"), "message")
    if not isinstance(output, dict):
        return "" if output is None else str(output)
    for first, *others in TEXTS:
        if isinstance(output.get(first), str):
            texts = (output.get(name) for name in (first, *others))
            return "\n".join(str(text) for text in texts if text)
    return "\n".join(f"{key}: {value}" for key, value in output.items())
