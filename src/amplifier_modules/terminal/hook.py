"""`hooks-streaming-ui`: thinking, texts, tool calls and costs of a session on a plain terminal."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from amplifier_core import events
from amplifier_core.models import HookResult

from amplifier_modules.terminal.answer import Answer
from amplifier_modules.terminal.layout import cut, value_lines, wrapped
from amplifier_modules.terminal.options import MODULE_ID, Keys, read_options
from amplifier_modules.terminal.results import field, has_failed, result_lines, thinking_text
from amplifier_modules.terminal.screen import Screen, Style
from amplifier_modules.terminal.speaker import speaker_of
from amplifier_modules.terminal.usage import Spent, as_cost

__amplifier_module_type__ = "hook"

logger = logging.getLogger(__name__)

ANSWER_SHOWN = "ui.answer_shown"
AFTER_ALL_OTHERS = 1000
"""Priority: what other hooks change is shown as they leave it, what they deny is not shown."""

_THOUGHTS = ("thinking", "reasoning", "redacted_thinking")
_FRAME_WIDTH, _FRAME_WIDTH_OF_AGENTS = 60, 52
_SHORT = 3
_MARKS: dict[str, Style] = {"●": "cyan", "✓": "green", "✗": "red"}

Data = dict[str, Any]


class StreamingUi:
    """Watches one session and shows what it does."""

    def __init__(self, coordinator: Any, options: Keys) -> None:
        self._coordinator = coordinator
        self._options = options
        self._screen = Screen()
        self._speaker = speaker_of(coordinator)
        self._answer = Answer()
        self._answer_was_shown = False
        self._turn = Spent()
        self._session = Spent()

    def answer_was_shown(self) -> bool:
        """Whether the text of the latest answer has been streamed to stdout."""
        return self._answer_was_shown

    @property
    def reactions(self) -> dict[str, Callable[[Data], Awaitable[None] | None]]:
        return {
            events.PROMPT_SUBMIT: self._turn_begins,
            events.PROVIDER_REQUEST: self._asked,
            "provider:stream": self._chunk,
            "llm:stream_block_start": self._stream_starts,
            "llm:stream_block_delta": self._stream_goes_on,
            "llm:stream_block_end": self._stream_ends,
            "llm:stream_aborted": self._stream_breaks,
            events.LLM_RESPONSE: self._vendor_answered,
            events.PROVIDER_RESPONSE: self._answered,
            events.CONTENT_BLOCK_START: self._block_starts,
            events.CONTENT_BLOCK_END: self._block_ends,
            events.TOOL_PRE: self._tool_starts,
            events.TOOL_POST: self._tool_ends,
            events.TOOL_ERROR: self._tool_raised,
            events.ORCHESTRATOR_COMPLETE: self._turn_ends,
        }

    # -- turns and model calls ----------------------------------------------------------

    def _turn_begins(self, _data: Data) -> None:
        self._turn = Spent()
        self._answer_was_shown = False

    def _asked(self, _data: Data) -> None:
        self._close_answer()

    def _vendor_answered(self, data: Data) -> None:
        if data.get("status") == "error":
            return
        call = self._answer.call
        call.model = str(data.get("model") or data.get("provider") or "")
        duration = data.get("duration_ms")
        if isinstance(duration, int | float):
            call.seconds = duration / 1000
        call.learn(data.get("usage"))
        self._answer.has_come = True

    def _answered(self, data: Data) -> None:
        answer = self._answer
        answer.call.learn(data.get("usage"))
        answer.calls_tools = bool(data.get("tool_calls"))
        # What a loop asks beside the conversation has a purpose, and is paid for unseen.
        if data.get("purpose") is None:
            answer.came()
        self._show_thinking()

    def _close_answer(self) -> None:
        """Whatever comes now belongs to another answer."""
        answer, self._answer = self._answer, Answer()
        if answer.usage_is_due:
            self._show_usage(answer)
            self._answer_was_shown = answer.text_was_streamed
        if answer.has_come:
            self._turn.add(answer.call.cost)
            self._session.add(answer.call.cost)

    def _show_usage(self, answer: Answer) -> None:
        if answer.usage_is_due and not answer.usage_is_shown:
            answer.usage_is_shown = True
            self._screen.end_line()
            if self._options.show_token_usage and answer.call.usage:
                self._note_all(answer.call.lines())

    async def _turn_ends(self, _data: Data) -> None:
        self._close_answer()
        self._screen.end_line()
        has_cost = self._turn.known is not None or self._turn.has_unknown
        if self._speaker.agent is None and self._options.show_token_usage and has_cost:
            session = await self._session_cost()
            self._note_all([f"turn cost {self._turn} | session cost {session}"])

    async def _session_cost(self) -> Spent:
        """What the providers say; sub-agents may have spent some of it."""
        given = await self._coordinator.collect_contributions("session.cost")
        costs = [as_cost(field(each, "cost_usd")) for each in given]
        spent = Spent()
        for cost in costs:
            if cost is not None:
                spent.add(cost)
        spent.has_unknown = self._session.has_unknown
        return self._session if spent.known is None else spent

    # -- streams ------------------------------------------------------------------------

    @property
    def _streams(self) -> bool:
        # Sub-agents may run side by side: theirs is shown block by block.
        return self._speaker.agent is None

    def _stream_starts(self, data: Data) -> None:
        if data.get("block_type") == "thinking" and self._is_from_provider():
            self._announce_thinking()

    def _stream_goes_on(self, data: Data) -> None:
        if data.get("block_type") in ("text", "thinking") and self._is_from_provider():
            self._show_piece(data["block_type"], data.get("text"))

    def _stream_ends(self, data: Data) -> None:
        if data.get("block_type") == "thinking" and self._is_from_provider():
            self._show_thinking()

    def _is_from_provider(self) -> bool:
        return self._streams and self._answer.comes_from("blocks of the provider")

    def _stream_breaks(self, data: Data) -> None:
        if self._streams and self._answer.source is not None:
            reason = field(data.get("error"), "msg") or "no reason given"
            self._screen.note(f"The answer broke off: {reason}", "red")
            self._answer.begins_again()

    def _chunk(self, data: Data) -> None:
        chunk = data.get("chunk")
        for kind in ("thinking", "text"):
            piece = field(chunk, kind)
            if piece and self._streams and self._answer.comes_from("chunks of the loop"):
                self._show_piece(kind, piece)

    def _show_piece(self, kind: str, piece: Any) -> None:
        answer = self._answer
        if not isinstance(piece, str) or not piece:
            return
        if kind == "thinking":
            answer.thinking_was_streamed = True
            self._announce_thinking()
            answer.thinking += piece
            return
        self._show_thinking()
        if self._options.show_text_stream:
            answer.text_was_streamed = True
            self._screen.text(piece)

    # -- blocks -------------------------------------------------------------------------

    def _block_starts(self, data: Data) -> None:
        if data.get("block_type") in _THOUGHTS and not self._answer.thinking_was_streamed:
            self._announce_thinking()

    def _block_ends(self, data: Data) -> None:
        block, answer = data.get("block"), self._answer
        kind = field(block, "type")
        kind = getattr(kind, "value", kind)
        is_last = _is_last(data)
        if kind in _THOUGHTS and not answer.thinking_was_streamed:
            answer.thinking = thinking_text(block)
            self._show_thinking()
        elif (
            kind == "text" and not answer.text_was_streamed and (not is_last or answer.calls_tools)
        ):
            self._show_text(field(block, "text"))
        if is_last:
            answer.call.learn(data.get("usage"))
            answer.came()
            self._show_usage(answer)

    def _announce_thinking(self) -> None:
        if self._options.show_thinking_stream and not self._answer.is_thinking:
            self._answer.is_thinking = True
            self._screen.note(f"{self._speaker.indent}{self._speaker.prefix}Thinking ...", "cyan")

    def _show_thinking(self) -> None:
        """Put what was thought into a frame, if there is anything."""
        text, self._answer.thinking = self._answer.thinking.strip(), ""
        self._answer.is_thinking = False
        if text and self._options.show_thinking_stream:
            is_agent = self._speaker.agent is not None
            width = _FRAME_WIDTH_OF_AGENTS if is_agent else _FRAME_WIDTH
            rule = "─" * width
            self._note_all([rule, *wrapped(text, width), rule])

    def _show_text(self, text: Any) -> None:
        if not isinstance(text, str) or not text.strip():
            return
        lines = text.strip("\n").split("\n")
        marks = ("→ ", "  ") if len(lines) < _SHORT else ("│ ", "│ ")
        for number, line in enumerate(lines):
            mark = marks[min(number, 1)]
            self._screen.text_line(f"{self._speaker.indent}{mark}{line}".rstrip())

    # -- tools --------------------------------------------------------------------------

    def _tool_starts(self, data: Data) -> None:
        self._show_usage(self._answer)
        given = data.get("tool_input")
        lines = value_lines(given) if given else ()
        self._show_tool("●", data, lines)

    def _tool_ends(self, data: Data) -> None:
        result = data.get("result")
        self._show_tool("✗" if has_failed(result) else "✓", data, result_lines(result))

    def _tool_raised(self, data: Data) -> None:
        # With a result, the same is told by the `tool:post` that follows.
        if data.get("result") is None:
            error = data.get("error")
            self._show_tool("✗", data, value_lines(field(error, "msg") or error or "failed"))

    def _show_tool(self, mark: str, data: Data, lines: Iterable[str]) -> None:
        name = data.get("tool_name") or "tool"
        self._screen.note(
            f"{self._speaker.indent}{mark} {self._speaker.prefix}{name}", _MARKS[mark]
        )
        self._note_all(f"  {line}" for line in cut(lines, self._options.show_tool_lines))

    def _note_all(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._screen.note(f"{self._speaker.indent}{line}", "dim")


def _is_last(data: Data) -> bool:
    index, total = data.get("block_index"), data.get("total_blocks")
    return isinstance(index, int) and isinstance(total, int) and index == total - 1


def quiet(react: Callable[[Data], Awaitable[None] | None]) -> Any:
    """A handler that changes nothing and never raises: what cannot be shown is not shown."""

    async def handler(event: str, data: Any) -> HookResult:
        try:
            done = react(data if isinstance(data, dict) else {})
            if inspect.isawaitable(done):
                await done
        except Exception:
            logger.debug("Event %r cannot be shown", event, exc_info=True)
        return HookResult(action="continue")

    return handler


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    ui = StreamingUi(coordinator, read_options(config))
    coordinator.register_capability(ANSWER_SHOWN, ui.answer_was_shown)
    register = coordinator.hooks.register
    taken_back = [
        register(event, quiet(react), priority=AFTER_ALL_OTHERS, name=MODULE_ID)
        for event, react in ui.reactions.items()
    ]

    def unregister() -> None:
        for take_back in taken_back:
            take_back()

    return unregister
