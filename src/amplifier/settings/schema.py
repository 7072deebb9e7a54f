"""Which keys a file may have and what they hold; what does not fit is refused by file and line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from amplifier_core.utils.spelling import did_you_mean

from .merge import Changes
from .nodes import ConfigError, Node, entry_key

Rule = Callable[[Node, str], None]
"""Raises ConfigError if the node at this place, as `tools.config`, does not fit."""


def anything(node: Node, where: str) -> None:
    """No rule: it is somebody else's to check."""


def text(node: Node, where: str) -> None:
    if not isinstance(node.value, str) or not node.value:
        raise ConfigError(f"{where!r} must be text, not {_kind(node)}. Correct it.", node.origin)


def flag(node: Node, where: str) -> None:
    if not isinstance(node.value, bool):
        raise ConfigError(f"{where!r} must be true or false. Correct it.", node.origin)


def number(node: Node, where: str) -> None:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise ConfigError(f"{where!r} must be a number. Correct it.", node.origin)


def positive(node: Node, where: str) -> None:
    number(node, where)
    if not isinstance(node.value, int | float) or not node.value > 0:
        raise ConfigError(f"{where!r} must be more than 0. Correct it, or remove it.", node.origin)


def count(node: Node, where: str) -> None:
    positive(node, where)
    if not isinstance(node.value, int):
        raise ConfigError(f"{where!r} must be a whole number. Correct it.", node.origin)


def table(node: Node, where: str) -> None:
    """A mapping with any keys."""
    if not isinstance(node.value, dict):
        message = f"{where!r} must have keys with values, not {_kind(node)}. Write `key: value`."
        raise ConfigError(message, node.origin)


@dataclass(frozen=True)
class Either:
    """One of two forms."""

    first: Rule
    second: Rule

    def __call__(self, node: Node, where: str) -> None:
        (self.first if isinstance(node.value, str) else self.second)(node, where)


@dataclass(frozen=True)
class Keys:
    """A mapping with these keys and no others."""

    rules: Mapping[str, Rule]
    #: Keys of the public command that have no effect here, with what to do instead.
    gone: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, node: Node, where: str) -> None:
        for part in parts(node):
            table(part, where or "the file")
            for key, each in part.mapping.items():
                name = f"{where}.{key}" if where else key
                if key in self.gone:
                    message = f"{name!r} has no effect here. {self.gone[key]}"
                    raise ConfigError(message, each.origin)
                if key not in self.rules:
                    known = ", ".join(self.rules)
                    advice = did_you_mean(key, self.rules, f"Known keys: {known}.")
                    place = f" in {where!r}" if where else ""
                    message = f"There is no key {key!r}{place}. {advice}"
                    raise ConfigError(message, each.origin)
                if each.value is not None:
                    self.rules[key](each, name)


@dataclass(frozen=True)
class Table:
    """A mapping from any name to values of one kind."""

    of: Rule

    def __call__(self, node: Node, where: str) -> None:
        for part in parts(node):
            table(part, where)
            for key, each in part.mapping.items():
                self.of(each, f"{where}.{key}")


@dataclass(frozen=True)
class Many:
    """A list of values of one kind, or operators that change such a list."""

    of: Rule

    def __call__(self, node: Node, where: str) -> None:
        for part in parts(node):
            if not isinstance(part.value, list):
                message = (
                    f"{where!r} must be a list, not {_kind(part)}. Write `- ...` in each line."
                )
                raise ConfigError(message, part.origin)
            for each in part.items:
                self.of(each, where)


@dataclass(frozen=True)
class Entries:
    """A list of modules: each has its id, and none is there twice."""

    of: Keys

    def __call__(self, node: Node, where: str) -> None:
        removals = _removals(node)
        for part in parts(node):
            if part in removals:
                Many(text)(part, where)
                continue
            Many(self.of)(part, where)
            seen: dict[str, Node] = {}
            for each in part.items:
                self._check(each, where, seen)

    def _check(self, entry: Node, where: str, seen: dict[str, Node]) -> None:
        key = entry_key(entry)
        if key is None:
            message = f"An entry of {where!r} names no module. Write `- module: ...`."
            raise ConfigError(message, entry.origin)
        if key in seen:
            message = (
                f"{key!r} is in {where!r} already, from line {seen[key].origin.line}. "
                f"Remove one of them, or give one an `id` of its own."
            )
            raise ConfigError(message, entry.origin)
        seen[key] = entry


def parts(node: Node) -> list[Node]:
    """The node itself, or what its operators bring."""
    if isinstance(node.value, Changes):
        return [step.node for step in node.value.steps]
    return [node]


def _removals(node: Node) -> list[Node]:
    if isinstance(node.value, Changes):
        return [step.node for step in node.value.steps if step.operator == "$remove"]
    return []


def _kind(node: Node) -> str:
    if isinstance(node.value, dict):
        return "keys with values"
    if isinstance(node.value, list):
        return "a list"
    return "nothing" if node.value is None else "a single value"


# -- the settings ---------------------------------------------------------------------

SOURCE = Either(text, table)
ENTRY = Keys(
    {
        "module": text,
        "id": text,
        "name": text,
        "instance_id": text,
        "source": SOURCE,
        "config": table,
    }
)
MODULES = Entries(ENTRY)
SLOT = Either(text, ENTRY)
_ELSEWHERE = "Remove it; docs/compatibility-command.md says what there is instead."

SETTINGS = Keys(
    {
        "budget": Keys({"max_cost": positive, "max_tokens": count, "max_steps": count}),
        "bundle": Keys({"active": text, "added": Table(text), "app": Many(text)}),
        "config": Keys({"providers": MODULES}, gone={"notifications": _ELSEWHERE}),
        "modules": Keys({"providers": MODULES, "tools": MODULES, "hooks": MODULES}),
        "overrides": Table(Keys({"source": SOURCE, "config": table})),
        "session": Keys(
            {"orchestrator": SLOT, "context": SLOT, "approval": ENTRY, "mount_timeout": number}
        ),
        "sources": Keys({"modules": Table(SOURCE), "bundles": Table(text)}),
    },
    gone=dict.fromkeys(("routing", "skills", "configurator", "updates"), _ELSEWHERE),
)


def check_settings(node: Node) -> None:
    """Raises ConfigError at the first thing that is no setting."""
    SETTINGS(node, "")
