"""context-simple: the conversation in memory, shortened for requests when it gets too long."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Generator
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from time import time_ns
from typing import Any

from amplifier_core import HookResult, ModuleCoordinator
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.message_models import Message

from amplifier_modules.contexts.budget import find_budget
from amplifier_modules.contexts.compaction import Outcome, Protection, compact
from amplifier_modules.contexts.entries import entries_of
from amplifier_modules.contexts.notice import notice
from amplifier_modules.contexts.options import SimpleOptions
from amplifier_modules.contexts.spill import Spill
from amplifier_modules.contexts.tokens import Meter, estimate_tokens
from amplifier_modules.contexts.view import View

__amplifier_module_type__ = "context"

PromptFactory = Callable[[], Awaitable[str] | str]

WORTH_ANOTHER_COMPACTION = 0.05
"""Share of the budget by which a view must have grown since the last compaction."""
WORTH_STARTING_OVER = 1.5
"""How many times larger a budget must be for the full history to be shown again."""

logger = logging.getLogger(__name__)


async def mount(
    coordinator: ModuleCoordinator, config: dict[str, Any] | None = None
) -> Callable[[], None]:
    context = SimpleContext(coordinator, SimpleOptions.read(config, "context-simple"))
    await coordinator.mount("context", context)
    return context.close


class SimpleContext:
    """A history that only grows, and the view of it that requests get."""

    def __init__(self, coordinator: ModuleCoordinator, options: SimpleOptions) -> None:
        self._coordinator = coordinator
        self._options = options
        self._history: list[dict[str, Any]] = []
        self._view = View()
        self._looked_at = 0
        """How much of the history the view has taken in: it does at the next request."""
        self._protection = Protection(
            options.protected_recent, options.protected_tool_results, options.truncate_chars
        )
        self._meter = Meter()
        self._spill = Spill(options.max_tool_result_bytes, self._spill_folder)
        # A character has four bytes at most.
        self._surely_short = options.max_tool_result_bytes // 4
        self._factory: PromptFactory | None = None
        self._prompt: dict[str, Any] | None = None
        self._prompt_tokens = 0
        self._last_budget = options.max_tokens
        self._notice_reserve = (
            options.compaction_notice_token_reserve * options.compaction_notice_enabled
        )
        self._stop_listening: Callable[[], Any] | None = None
        if options.token_meter == "actual":
            self._stop_listening = coordinator.hooks.register(
                "llm:response", self._on_response, name="context-meter"
            )

    def close(self) -> None:
        """Stop listening and remove temporary files."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None
        self._spill.close()

    # -- the history ------------------------------------------------------------------

    async def add_message(self, message: dict[str, Any]) -> None:
        """Append to the history. A tool result that is far too long is cut; see `Spill`."""
        self._history.append(self._admitted(message))

    async def get_messages(self) -> list[dict[str, Any]]:
        """The whole history, in a new list."""
        return self._history.copy()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The same, for callers of the oldest contract."""
        return self._history.copy()

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Replace the history, to resume a session."""
        self._replace([self._admitted(message) for message in messages])

    async def clear(self) -> None:
        """Forget everything."""
        self._replace([])

    def _admitted(self, message: Any) -> dict[str, Any]:
        """The message as the history keeps it."""
        fields = message if isinstance(message, dict) else _dumped(message)
        metadata, content = fields.get("metadata"), fields.get("content")
        stamped = {"timestamp": _now()} if metadata is None else _with_timestamp(metadata)
        admitted = {**fields, "metadata": stamped}
        # As nearly always; everything else is for results of tools, and for lists.
        if isinstance(content, str) and len(content) <= self._surely_short:
            return admitted
        if isinstance(content, list):
            admitted["content"] = [_plain(block) for block in content]
        is_result = fields.get("role") in ("tool", "function")
        return self._spill.capped(admitted) if is_result else admitted

    def _replace(self, messages: list[dict[str, Any]]) -> None:
        self._history = messages
        self._show_everything()

    def _show_everything(self) -> None:
        self._view = View(has_prompt_factory=self._factory is not None)
        self._looked_at = 0

    def _look_at_new_messages(self) -> None:
        for message in self._history[self._looked_at :]:
            self._looked_at += 1  # first: what cannot be read must not bring the others up again
            self._view.append(message)

    def _spill_folder(self) -> Path | None:
        if self._options.spill_dir is not None:
            return self._path(self._options.spill_dir)
        session_dir = self._coordinator.get_capability("session.dir")
        return None if session_dir is None else Path(str(session_dir)) / "tool-results"

    def _path(self, given: str) -> Path:
        """A path from the config; relative ones are meant from the session's folder."""
        working_dir = self._coordinator.get_capability("session.working_dir")
        return Path(str(working_dir or "."), Path(given).expanduser()).absolute()

    # -- requests ---------------------------------------------------------------------

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None
    ) -> list[dict[str, Any]]:
        """A new list that fits the budget; without one, the provider's window decides.

        Raises:
            ContextLengthError: what must not be left out is larger than the budget.
        """
        await self._prepare(token_budget, provider)
        return self._view.dicts(self._prompt)

    async def get_validated_messages(
        self, token_budget: int | None = None, provider: Any = None
    ) -> list[Message]:
        """The same as validated messages, which are kept and shared between requests."""
        await self._prepare(token_budget, provider)
        return self._view.messages(self._prompt)

    def set_system_prompt_factory(self, factory: PromptFactory | None) -> Awaitable[None]:
        """Ask `factory` for the system prompt at every request, in place of stored ones.

        System messages from hooks and pinned ones stay. Takes effect at once; awaiting the
        result is a formality.
        """
        had_factory, self._factory = self._factory is not None, factory
        if had_factory != (factory is not None):
            self._set_prompt(None)
            self._show_everything()
        return _Done()

    async def _prepare(self, token_budget: int | None, provider: Any) -> None:
        if token_budget is None:
            token_budget = await find_budget(self._options, provider, self._model_info)
        if self._factory is not None:
            await self._renew_prompt(self._factory)
        self._last_budget = token_budget
        if 0 < self._view.compacted_at * WORTH_STARTING_OVER <= token_budget:
            self._show_everything()
        self._look_at_new_messages()
        estimate = self._estimate
        if self._is_compaction_due(token_budget, estimate):
            await self._compact(token_budget, self._goal(self._limit(token_budget)))
            self._check_that_it_fits(token_budget)
            estimate = self._estimate
        self._meter.sent(estimate)

    def _model_info(self) -> Any:
        return self._coordinator.get_capability("provider.model_info")

    async def _renew_prompt(self, factory: PromptFactory) -> None:
        text = factory()
        if inspect.isawaitable(text):
            text = await text
        if not text:
            self._set_prompt(None)
        elif self._prompt is None or self._prompt["content"] != text:
            self._set_prompt({"role": "system", "content": str(text)})

    def _set_prompt(self, prompt: dict[str, Any] | None) -> None:
        self._prompt = prompt
        self._prompt_tokens = 0 if prompt is None else estimate_tokens(prompt)

    async def _on_response(self, _event: str, data: dict[str, Any]) -> HookResult:
        usage = data.get("usage")
        fields = usage if isinstance(usage, dict) else getattr(usage, "__dict__", {})
        counts = [fields.get(key) for key in ("input_tokens", "cache_write_tokens")]
        if isinstance(counts[0], int):
            self._meter.counted(sum(count for count in counts if isinstance(count, int)))
        return HookResult(action="continue")

    # -- compaction -------------------------------------------------------------------

    async def should_compact(self) -> bool:
        """Whether the next request with the budget of the last one would be shortened."""
        self._look_at_new_messages()
        return self._is_compaction_due(self._last_budget, self._estimate)

    async def compact(self) -> None:
        """Shorten the view for requests now; the history stays.

        It comes down to the target share of the budget, or of its own size if it is below
        the budget: a caller whose request was refused as too long gets a shorter one.
        """
        self._look_at_new_messages()
        budget = self._last_budget
        size = min(self._limit(budget), self._meter.measure(self._estimate))
        await self._compact(budget, self._goal(size))

    @property
    def _estimate(self) -> int:
        return self._view.tokens + self._prompt_tokens

    def _limit(self, budget: int) -> int:
        """The budget without what is set aside for the notice."""
        # A small budget must not be all reserve.
        return budget - min(self._notice_reserve, max(budget, 0) // 8)

    def _goal(self, size: int) -> int:
        return int(size * self._options.target_usage)

    def _is_compaction_due(self, budget: int, estimate: int) -> bool:
        used, limit = self._meter.measure(estimate), self._limit(budget)
        if used > budget:
            return True
        if used < limit * self._options.compact_threshold:
            return False
        grown = self._meter.scale * (estimate - self._view.floor)
        return grown >= limit * WORTH_ANOTHER_COMPACTION

    async def _compact(self, budget: int, goal: int) -> None:
        emit, threshold = self._coordinator.hooks.emit, self._options.compact_threshold
        await emit("context:pre_compact", {**self._counts(), "threshold": threshold})
        before = self._counts()
        outcome = self._shorten_view(budget, goal)
        if outcome is None:
            return
        statistics = self._statistics(before, outcome)
        limits = {"budget": budget, "target_tokens": goal}
        await emit("context:post_compact", {**self._counts(), "method": f"level-{outcome.level}"})
        await emit("context:compaction", {**statistics, **limits})

    def _shorten_view(self, budget: int, goal: int) -> Outcome | None:
        """Shorten the view; None if there is nothing to gain, or it would not fit even then."""
        view, room = self._view, self._meter.room
        elsewhere = self._estimate - view.tokens + view.waiting_tokens
        target, limit = room(goal) - elsewhere, room(self._limit(budget)) - elsewhere
        entries = entries_of(view.shown, view.counts)
        outcome = compact(entries, self._protection, target, limit)
        if outcome.level and outcome.tokens + elsewhere <= room(budget):
            view.replace(outcome.entries)
            view.removed += outcome.removed
            view.compacted_at = budget
            self._add_notice(outcome.level, budget)
            view.floor = self._estimate
            return outcome
        view.floor = outcome.tokens + elsewhere
        return None

    def _add_notice(self, level: int, budget: int) -> None:
        options, view = self._options, self._view
        if not options.compaction_notice_enabled or level < options.compaction_notice_min_level:
            return
        message = notice(view.shown, view.removed, options.compaction_notice_verbosity)
        if self._meter.measure(self._estimate + estimate_tokens(message)) <= budget:
            view.append(message)

    def _check_that_it_fits(self, budget: int) -> None:
        if self._meter.measure(self._estimate) > budget:
            least = self._meter.measure(self._view.floor)
            raise ContextLengthError(
                f"The conversation takes about {least} tokens even when shortened, and "
                f"{budget} fit. Use a model with a larger window, or start a new session."
            )

    def _counts(self) -> dict[str, int]:
        return {
            "message_count": len(self._view) + (self._prompt is not None),
            "token_count": self._meter.measure(self._estimate),
        }

    def _statistics(self, before: dict[str, int], outcome: Outcome) -> dict[str, Any]:
        after = self._counts()
        system = [message for message in self._view.shown if message.get("role") == "system"]
        return {
            "before_tokens": before["token_count"],
            "after_tokens": after["token_count"],
            "before_messages": before["message_count"],
            "after_messages": after["message_count"],
            "messages_removed": outcome.removed,
            "messages_truncated": outcome.shortened,
            "user_messages_stubbed": outcome.stubbed,
            "system_messages_preserved": len(system) + (self._prompt is not None),
            "strategy_level": outcome.level,
            "protected_recent": self._options.protected_recent,
            "protected_tool_results": self._options.protected_tool_results,
        }


class _Done:
    """Something to await, for callers that expect a coroutine."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


def _dumped(message: Any) -> dict[str, Any]:
    if not hasattr(message, "model_dump"):
        raise ValueError(f"A message is a dict, not {type(message).__name__}. Give it a role.")
    fields: dict[str, Any] = message.model_dump(exclude_none=True)
    return fields


def _with_timestamp(metadata: Any) -> Any:
    """When the message came, unless it says so itself. Metadata of odd types is left alone."""
    if not isinstance(metadata, dict) or metadata.get("timestamp"):
        return metadata
    return {**metadata, "timestamp": _now()}


def _now() -> str:
    """The time in milliseconds, as ISO 8601."""
    return _written(time_ns() // 1_000_000)


@lru_cache(maxsize=1)
def _written(millisecond: int) -> str:
    """A moment as text; a call and its result often come in the same one."""
    second, rest = divmod(millisecond, 1_000)
    return f"{_written_second(second)}.{rest:03d}+00:00"


@lru_cache(maxsize=1)
def _written_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _plain(block: Any) -> Any:
    dump = None if isinstance(block, dict | str) else getattr(block, "model_dump", None)
    return block if dump is None else dump(exclude_none=True)
