"""What a todo item is, where the session's list is kept, and how items are read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, TypedDict, get_args

Status = Literal["pending", "in_progress", "completed"]

STATUSES: tuple[Status, ...] = get_args(Status)
FIELDS = ("content", "activeForm", "status")
CAPABILITY = "todo.state"
ATTRIBUTE = "todo_state"

_FIELDS_ADVICE = "Give each item 'content', 'activeForm' and 'status'."
_LIST_ADVICE = "Give the whole list: what is left out is dropped."


class Item(TypedDict):
    """One thing to do."""

    content: str
    activeForm: str
    status: Status


class UnreadableItems(ValueError):
    """What was given is no list of items; the message says why and what to do."""


def read_items(given: Any) -> list[Item]:
    """The items in `given`, with their known fields only.

    Raises:
        UnreadableItems: the message names the item and what is wrong with it.
    """
    if not isinstance(given, list):
        raise UnreadableItems(f"'todos' is {_kind(given)}, not a list. {_LIST_ADVICE}")
    return [_read_item(place, each) for place, each in enumerate(given, start=1)]


def _read_item(place: int, given: Any) -> Item:
    where = f"Item {place} of 'todos'"
    if not isinstance(given, Mapping):
        raise UnreadableItems(f"{where} is {_kind(given)}, not an object. {_FIELDS_ADVICE}")
    for field in FIELDS:
        if field not in given:
            raise UnreadableItems(f"{where} has no {field!r}. {_FIELDS_ADVICE}")
    content, active, status = (given[field] for field in FIELDS)
    for field, text in (("content", content), ("activeForm", active)):
        if not isinstance(text, str) or not text.strip():
            raise UnreadableItems(f"{where} has an empty {field!r}. Write a few words.")
    if status not in STATUSES:
        raise UnreadableItems(
            f"{where} has status {status!r}. Use 'pending', 'in_progress' or 'completed'."
        )
    return Item(content=content, activeForm=active, status=status)


def _kind(value: Any) -> str:
    return "empty" if value is None else f"of type {type(value).__name__}"


def current_items(coordinator: Any) -> list[Any]:
    """The session's list; other modules may have put anything into it.

    The attribute comes first, because modules written for the public kernel set nothing else.
    """
    for kept in (getattr(coordinator, ATTRIBUTE, None), coordinator.get_capability(CAPABILITY)):
        if isinstance(kept, list):
            return kept
    return []


def keep_items(coordinator: Any, items: list[Item]) -> None:
    """Make `items` the session's list; whoever holds the former one keeps it unchanged."""
    coordinator.register_capability(CAPABILITY, items)
    # A coordinator that takes no attributes still has the capability.
    with suppress(AttributeError):
        setattr(coordinator, ATTRIBUTE, items)
