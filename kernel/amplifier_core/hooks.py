"""The event bus: who listens to what, in which order, and what their answers add up to.

Handlers run one after the other on the caller's event loop. This file knows nothing of
what events mean, with one exception: model calls get a request id (see `correlation`).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from time import gmtime, strftime, time
from types import CoroutineType
from typing import Any, TypeVar, overload
from uuid import uuid4

from . import events
from ._hook_answers import Answers, brief, deny, safe_text, sound
from .cancellation import being_cancelled
from .correlation import CORRELATED_EVENTS, REQUEST_ID_FIELD, in_flight, resolve_request_id
from .models import ContextInjection, HookResult, _continue_with
from .utils.checks import typed
from .utils.deadline import finish_within

__all__ = ["ContextInjection", "HookRegistry", "HookResult"]

logger = logging.getLogger(__name__)

Handler = Callable[..., Any]
HandlerT = TypeVar("HandlerT", bound=Handler)
Tap = Callable[[str, Any], None]
Events = str | Iterable[str]

ANY_EVENT = "*"
COUNTED_EVENTS = frozenset(
    {events.PROMPT_SUBMIT, events.PROVIDER_RESPONSE, events.TOOL_POST, events.TOOL_ERROR}
)

_order = attrgetter("priority", "serial")
# One lock for all registries: they change rarely, and sessions are many.
_changing = threading.RLock()


@dataclass(slots=True, eq=False)
class _Registration:
    """One handler on one event."""

    event: str
    handler: Handler
    priority: int
    name: str
    serial: int
    guard: bool
    timeout: float | None


@dataclass(slots=True, eq=False, repr=False)
class Unregister:
    """Takes back one `register` call. Calling it again does nothing."""

    registry: HookRegistry
    registrations: list[_Registration]

    def __call__(self) -> None:
        self.registry._remove(self.registrations)

    def __repr__(self) -> str:
        names = {each.name: None for each in self.registrations}
        return f"<unregister {', '.join(map(repr, names))}>"


class HookRegistry:
    """Listeners by event, and the two ways to reach them: `emit` and `emit_and_collect`."""

    SESSION_START = events.SESSION_START
    SESSION_END = events.SESSION_END
    PROMPT_SUBMIT = events.PROMPT_SUBMIT
    TOOL_PRE = events.TOOL_PRE
    TOOL_POST = events.TOOL_POST
    CONTEXT_PRE_COMPACT = events.CONTEXT_PRE_COMPACT
    ORCHESTRATOR_COMPLETE = events.ORCHESTRATOR_COMPLETE
    USER_NOTIFICATION = events.USER_NOTIFICATION

    def __init__(self) -> None:
        self._registered: dict[str, list[_Registration]] = {}
        # What really runs for an event: its own handlers and those of "*", in order.
        # Tuples are replaced, never changed, so a running emit keeps its snapshot.
        self._chains: dict[str, tuple[_Registration, ...]] = {}
        self._for_any: tuple[_Registration, ...] = ()
        self._defaults: dict[str, Any] = {}
        self._serial = 0
        self._tap: Tap | None = None

    # -- who listens ------------------------------------------------------------------

    @overload
    def register(self, event: Events, handler: Handler, *args: Any, **more: Any) -> Unregister: ...

    @overload
    def register(
        self, event: Events, handler: None = None, *args: Any, **options: Any
    ) -> Callable[[HandlerT], HandlerT]: ...

    def register(
        self,
        event: Events,
        handler: Handler | None = None,
        priority: int = 0,
        name: str | None = None,
        *,
        guard: bool = False,
        timeout: float | None = None,
    ) -> Unregister | Callable[[HandlerT], HandlerT]:
        """Call `handler(event, data)` whenever `event` is emitted.

        `event` is a name, several names, or "*" for every event. Lower priorities run
        first, equal ones in the order of registration. Without a handler this is a
        decorator.

        A handler that raises or exceeds `timeout` seconds is logged and skipped. With
        `guard=True` it denies the event instead: use it wherever a failure must not mean
        "allowed".
        """
        if handler is None:
            return self._decorator(
                event, priority=priority, name=name, guard=guard, timeout=timeout
            )
        _check_arguments(priority, name, timeout)
        listed = [event] if isinstance(event, str) else event
        names = [typed("An event name", each, str) for each in listed]
        added: list[_Registration] = []
        with _changing:
            for each in names:
                own = name if name is not None else f"_auto_{each}_{uuid4()}"
                self._serial += 1
                new = _Registration(each, handler, priority, own, self._serial, guard, timeout)
                group = self._registered.setdefault(each, [])
                group.append(new)
                group.sort(key=_order)
                added.append(new)
            self._compile(set(names))
        return Unregister(self, added)

    on = register

    def _decorator(self, event: Events, **options: Any) -> Callable[[HandlerT], HandlerT]:
        def keep(handler: HandlerT) -> HandlerT:
            self.register(event, handler, **options)
            return handler

        return keep

    def unregister(self, name: str) -> None:
        """Remove every handler registered under `name`; an unknown name is ignored."""
        typed("A handler name", name, str)
        self._remove([each for each in self._all() if each.name == name])

    def list_handlers(self, event: str | None = None) -> dict[str, list[str]]:
        """Handler names in the order they run, for one event or for all that have any."""
        wanted = self._registered if event is None else [event]
        return {key: [each.name for each in self._registered.get(key, ())] for key in wanted}

    def set_default_fields(self, **fields: Any) -> None:
        """Add these fields to the data of every event; replaces all earlier defaults."""
        self._defaults = fields

    def _all(self) -> list[_Registration]:
        return [each for group in self._registered.values() for each in group]

    def _remove(self, registrations: Sequence[_Registration]) -> None:
        with _changing:
            for gone in registrations:
                group = self._registered.get(gone.event, [])
                group[:] = [each for each in group if each is not gone]
                if not group:
                    self._registered.pop(gone.event, None)
            self._compile({gone.event for gone in registrations})

    def _compile(self, changed: set[str]) -> None:
        if ANY_EVENT in changed:
            self._for_any = tuple(self._registered.get(ANY_EVENT, ()))
            changed = changed | self._chains.keys() | self._registered.keys()
        for event in changed:
            own = self._registered.get(event)
            if own and event != ANY_EVENT:
                self._chains[event] = tuple(sorted((*own, *self._for_any), key=_order))
            else:
                self._chains.pop(event, None)

    # -- emitting ---------------------------------------------------------------------

    def unheard(self, event: str, data: Any = None) -> bool:
        """Whether nobody listens to `event`, so that there is no need to emit it.

        For those who emit all day long: they need not put the data together. If it is so,
        the event counts as emitted; what the session counts by is taken from `data`.
        """
        if event in self._chains or self._for_any or event in CORRELATED_EVENTS:
            return False
        if event in COUNTED_EVENTS and self._tap is not None:
            self._tap(event, data)
        return True

    def emit(self, event: str, data: Any) -> Coroutine[Any, Any, HookResult]:
        """Run the listeners of `event` in order and combine their answers.

        The first `deny` ends the run. `modify` replaces the data for the listeners that
        follow. Each listener gets its own shallow copy of the data, with the default
        fields and a `timestamp`; without listeners the data comes back untouched.

        Returns:
            The strongest answer: deny, then the first ask_user, then the injections in
            order, otherwise continue, carrying the data as last modified.
        """
        if event in COUNTED_EVENTS:
            if self._tap is not None:
                self._tap(event, data)
        elif event in CORRELATED_EVENTS and isinstance(data, dict):
            data = _correlated(event, data)
        chain = self._chains.get(event, self._for_any)
        if chain:
            return self._dispatch(event, data, chain)
        if data.__class__ is not dict:
            data = _plain(data)
        return _answer(_continue_with(data if isinstance(data, dict) else {}))

    async def _dispatch(
        self, event: str, data: Any, chain: tuple[_Registration, ...]
    ) -> HookResult:
        if data.__class__ is not dict:
            data = _plain(data)
        if isinstance(data, dict):
            data = {**self._defaults, **data, "timestamp": _timestamp()}
        modified = False
        answers: Answers | None = None
        task, wishes, request_id = None, 0, in_flight.get()
        for hook in chain:
            try:
                given = data.copy() if data.__class__ is dict else _copied(data)
                answer = hook.handler(event, given)
                if answer.__class__ is CoroutineType and hook.timeout is None:
                    if task is None and (task := asyncio.current_task()) is not None:
                        wishes = task.cancelling()
                    answer = await answer
                elif answer is not None and inspect.isawaitable(answer):
                    answer = await finish_within(hook.timeout, answer)
            except Exception as error:
                answer = _failed(hook, event, error)
            except asyncio.CancelledError as error:
                if being_cancelled():
                    raise
                answer = _failed(hook, event, error)
            if task is not None and task.cancelling() > wishes:
                await asyncio.sleep(0)  # where a cancellation on its way arrives
                raise asyncio.CancelledError  # where one that a handler swallowed is repeated
            if answer is None:
                continue
            said = brief(answer)
            if said is not None:
                if said["action"] == "modify" and said["data"] is not None:
                    data, modified = said["data"], True
                continue
            result = sound(answer, event, hook.name, hook.guard)
            if result.action == "deny":
                outcome = answers.denied(result) if answers else result
                break
            if result.action == "modify" and result.data is not None:
                data, modified = result.data, True
            answers = answers or Answers(event)
            answers.add(result, hook.name)
        else:
            final = data if isinstance(data, dict) else {}
            outcome = answers.combined(final, modified) if answers else _continue_with(final)
        if in_flight.get() is not request_id:
            in_flight.set(request_id)  # a model call that a handler made is over, or its own
        return outcome

    async def emit_and_collect(
        self, event: str, data: Any, timeout: float | None = 1.0
    ) -> list[dict[str, Any]]:
        """Ask every listener of `event` and return the data they answered with.

        No listener can end the round; each has `timeout` seconds (None: no limit).
        Default fields and timestamp are not added.
        """
        if timeout is not None and timeout < 0:
            raise ValueError(
                f"timeout must not be negative, got {timeout!r}. Use None for no limit."
            )
        data = _plain(data)
        collected: list[dict[str, Any]] = []
        for hook in self._chains.get(event, self._for_any):
            limits = [each for each in (timeout, hook.timeout) if each is not None]
            try:
                answer = hook.handler(event, _copied(data))
                if inspect.isawaitable(answer):
                    answer = await finish_within(min(limits, default=None), answer)
            except Exception as error:
                _failed(hook, event, error)
            except asyncio.CancelledError as error:
                if being_cancelled():
                    raise
                _failed(hook, event, error)
            else:
                result = sound(answer, event, hook.name) if answer is not None else None
                if result is not None and result.data is not None:
                    collected.append(result.data)
        return collected

    # -- for the session --------------------------------------------------------------

    def _registered_since(self, serial: int) -> list[_Registration]:
        return [each for each in self._all() if each.serial > serial]


def _correlated(event: str, data: dict[str, Any]) -> dict[str, Any]:
    """The data with the id of the model call that the event belongs to."""
    given = data.get(REQUEST_ID_FIELD)
    request_id = resolve_request_id(event, given if isinstance(given, str) else None)
    return data if request_id is None else {**data, REQUEST_ID_FIELD: request_id}


def _timestamp() -> str:
    """Now in UTC, as `datetime.isoformat` writes it, at a third of the price."""
    now = time()
    return f"{_to_the_second(int(now))}.{int(now % 1 * 1e6):06d}+00:00"


@lru_cache(maxsize=1)
def _to_the_second(second: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(second))


def _plain(data: Any) -> Any:
    """A model as the dict of its fields; anything else as it is."""
    dump = None if isinstance(data, dict) else getattr(data, "model_dump", None)
    return data if dump is None else dump()


def _copied(data: Any) -> Any:
    """A shallow copy of what a handler might change for others."""
    return data.copy() if isinstance(data, dict | list | set) else data


async def _answer(result: HookResult) -> HookResult:
    return result


def _failed(hook: _Registration, event: str, error: BaseException) -> HookResult | None:
    """What a handler that raised amounts to: nothing, or a denial if it is a guard."""
    what, where = safe_text(error), f"for event {event!r} (handler {hook.name!r})"
    if isinstance(error, TimeoutError):
        logger.warning("Hook handler timed out %s", where)
        what = f"it gave no answer within {hook.timeout} s" if hook.timeout else what
    else:
        logger.error("Hook handler error %s: %s", where, what, exc_info=error)
    return deny(f"Guard {hook.name!r} failed on {event!r}: {what}") if hook.guard else None


def _check_arguments(priority: int, name: str | None, timeout: float | None) -> None:
    typed("priority", priority, int)
    typed("name", "" if name is None else name, str)
    if timeout is not None and timeout <= 0:
        raise ValueError(f"timeout must be positive, got {timeout!r}. Leave it out for no limit.")
