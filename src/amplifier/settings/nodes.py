"""Values that know where they were written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .merge import Changes

Scalar = str | int | float | bool | None


class ConfigError(Exception):
    """A file says something that cannot be used; the message names the file and the line."""

    def __init__(self, message: str, origin: Origin | None = None) -> None:
        super().__init__(f"{origin}: {message}" if origin else message)


@dataclass(frozen=True, slots=True)
class Origin:
    """A line of a file; line 0 means the whole file, or a flag of the command."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A scalar, a mapping or a list, with the place where it was written."""

    value: Scalar | dict[str, Node] | list[Node] | Changes
    origin: Origin

    @property
    def mapping(self) -> dict[str, Node]:
        """Its keys; none if it is no mapping."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[Node]:
        """Its items; none if it is no list."""
        return self.value if isinstance(self.value, list) else []

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else ""

    def at(self, *keys: str) -> Node | None:
        """What is below these keys; in a list of modules, a key is the id of an entry."""
        found: Node | None = self
        for key in keys:
            found = found.child(key) if found is not None else None
        return found

    def child(self, key: str) -> Node | None:
        if isinstance(self.value, list):
            by_key = {entry_key(each): each for each in self.value}
            if key in by_key:
                return by_key[key]
            is_index = key.isdecimal() and int(key) < len(self.value)
            return self.value[int(key)] if is_index else None
        return self.mapping.get(key)

    def leaves(self) -> Iterator[Node]:
        """Every scalar in it, and what is empty."""
        children = list(self.mapping.values()) or self.items
        if not children:
            yield self
        for each in children:
            yield from each.leaves()


def entry_key(node: Node) -> str | None:
    """What tells an entry of a list of modules from the others: its id, else its module."""
    for name in ("id", "instance_id", "name", "module"):
        found = node.mapping.get(name)
        if found is not None and found.text and "module" in node.mapping:
            return found.text
    return None


def is_keyed(node: Node) -> bool:
    """Whether this is a list of modules, which is merged entry by entry."""
    return bool(node.items) and all(entry_key(each) is not None for each in node.items)


def plain(node: Node | None) -> Any:
    """The values alone."""
    if node is None:
        return None
    if isinstance(node.value, dict):
        return {key: plain(each) for key, each in node.value.items()}
    if isinstance(node.value, list):
        return [plain(each) for each in node.value]
    return node.value


def located(value: Any, origin: Origin) -> Node:
    """A plain value, all of which is said to come from one place."""
    if isinstance(value, dict):
        return Node({str(key): located(each, origin) for key, each in value.items()}, origin)
    if isinstance(value, list | tuple):
        return Node([located(each, origin) for each in value], origin)
    return Node(value, origin)
