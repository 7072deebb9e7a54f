"""One id for all events of one model call.

A request opens the id, retries and throttling carry it, the response or the error closes it.
The id in flight is kept per task, so that parallel calls do not mix. Two overlapping calls
within one task are not told apart: the later one wins.
"""

from contextvars import ContextVar
from typing import NamedTuple
from uuid import uuid4

from .events import LLM_REQUEST, LLM_RESPONSE, PROVIDER_ERROR, PROVIDER_RETRY, PROVIDER_THROTTLE

__all__ = [
    "INTERIM_EVENTS",
    "REQUEST_EVENTS",
    "REQUEST_ID_FIELD",
    "TERMINAL_EVENTS",
    "current_request_id",
    "new_request_id",
    "reset_request_id",
    "resolve_request_id",
]

REQUEST_ID_FIELD = "request_id"
REQUEST_EVENTS = frozenset({LLM_REQUEST})
TERMINAL_EVENTS = frozenset({LLM_RESPONSE, PROVIDER_ERROR})
INTERIM_EVENTS = frozenset({PROVIDER_RETRY, PROVIDER_THROTTLE})
CORRELATED_EVENTS = REQUEST_EVENTS | TERMINAL_EVENTS | INTERIM_EVENTS

in_flight: ContextVar[str | None] = ContextVar("amplifier_request_id", default=None)


class ToolCallScope(NamedTuple):
    """The tool call that the running code serves."""

    call_id: str
    #: The same for every attempt at this call, so that a retry can be told from a repetition.
    idempotency_key: str


tool_call: ContextVar[ToolCallScope | None] = ContextVar("amplifier_tool_call", default=None)


def new_request_id() -> str:
    """A fresh unique id."""
    return str(uuid4())


def current_request_id() -> str | None:
    """The id of the call in flight in this task, if any."""
    return in_flight.get()


def reset_request_id() -> None:
    """Forget the call in flight in this task."""
    in_flight.set(None)


def resolve_request_id(event: str, explicit: str | None = None) -> str | None:
    """The id that `event` belongs to, opening or closing the call as the event demands.

    An explicit id wins over the one in flight. Events that are not part of a model call
    have no id and change nothing.
    """
    if event in REQUEST_EVENTS:
        explicit = explicit or new_request_id()
    elif event not in CORRELATED_EVENTS:
        return None
    request_id = explicit or in_flight.get()
    in_flight.set(None if event in TERMINAL_EVENTS else request_id)
    return request_id
