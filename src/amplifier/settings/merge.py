"""The one rule by which settings and bundles are laid over each other.

The more specific layer is laid over the less specific one:

- two mappings are merged key by key;
- two lists of modules are merged entry by entry: entries with the same `id` (else the same
  `module`) are merged as mappings, others are added at the end;
- anything else is replaced.

A mapping of operators says otherwise: `$append`, `$prepend` and `$remove` change the list
below, `$replace` puts its value in the place of whatever is below.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Literal, cast, get_args

from .nodes import ConfigError, Node, Origin, entry_key, is_keyed, plain

Operator = Literal["$append", "$prepend", "$remove", "$replace"]
OPERATORS: tuple[Operator, ...] = get_args(Operator)


@dataclass(frozen=True, slots=True)
class Change:
    """One step from what is below to what is seen above."""

    operator: Operator | Literal["merge"]
    node: Node


@dataclass(frozen=True, slots=True)
class Changes:
    """Steps that wait for what is below them."""

    steps: tuple[Change, ...]


def merged(layers: Iterable[Node], empty: Node | None = None) -> Node:
    """All layers, the least specific first, laid over each other and worked out."""
    start = empty or Node({}, Origin("nothing"))
    return resolved(reduce(lay_over, layers, start))


def lay_over(low: Node, high: Node) -> Node:
    """`high` over `low`. It is associative: neighbours may be merged in any grouping."""
    return _joined([*_steps(low), *_steps(high)])


def resolved(node: Node) -> Node:
    """`node` with nothing below it: no operators are left."""
    if isinstance(node.value, Changes):
        found: Node | None = None
        for step in node.value.steps:
            found = _applied(found, step)
        return resolved(found or Node([], node.origin))
    if isinstance(node.value, dict) and node.value:
        return Node({key: resolved(each) for key, each in node.value.items()}, node.origin)
    if isinstance(node.value, list) and node.value:
        return Node([resolved(each) for each in node.value], node.origin)
    return node


def with_operators(node: Node) -> Node:
    """`node` with its operator mappings understood as such.

    Raises:
        ConfigError: an operator is unknown, mixed with keys, or has no list.
    """
    if isinstance(node.value, list):
        return Node([with_operators(each) for each in node.value], node.origin)
    operators = [key for key in node.mapping if key.startswith("$")]
    values = {key: with_operators(each) for key, each in node.mapping.items()}
    if not operators:
        return Node(values, node.origin) if isinstance(node.value, dict) else node
    for key in node.mapping:
        if key not in OPERATORS:
            raise ConfigError(
                f"{key!r} cannot stand beside or in place of list operators. "
                f"Use only {', '.join(OPERATORS)} there.",
                values[key].origin,
            )
        if key != "$replace" and not isinstance(values[key].value, list):
            raise ConfigError(f"{key!r} takes a list. Write it as `[...]`.", values[key].origin)
    steps = [Change(cast(Operator, key), values[key]) for key in operators]
    return _joined(steps)


def _steps(node: Node) -> tuple[Change, ...]:
    if isinstance(node.value, Changes):
        return node.value.steps
    is_mergeable = isinstance(node.value, dict) or is_keyed(node)
    return (Change("merge" if is_mergeable else "$replace", node),)


def _joined(steps: Iterable[Change]) -> Node:
    """The shortest list of steps that does the same, as one node."""
    kept: list[Change] = []
    for step in steps:
        if step.operator == "$replace":
            kept = [step]
        elif kept and kept[-1].operator == "$replace":
            kept[-1] = Change("$replace", _applied(kept[-1].node, step))
        elif kept and kept[-1].operator == "merge" == step.operator:
            if _are_alike(kept[-1].node, step.node):
                kept[-1] = Change("merge", _applied(kept[-1].node, step))
            else:
                kept = [Change("$replace", step.node)]
        else:
            kept.append(step)
    (last, *others) = kept[::-1]
    if not others and last == _steps(last.node)[0]:
        return last.node
    return Node(Changes(tuple(kept)), last.node.origin)


def _applied(below: Node | None, step: Change) -> Node:
    above = step.node
    if step.operator == "$replace" or (step.operator == "merge" and below is None):
        return above
    if step.operator == "merge":
        if below is None or not _are_alike(below, above):
            return above
        if isinstance(above.value, dict):
            return _mappings(below, above)
        return _without_repeats([*below.items, *above.items], above.origin)
    items = below.items if below is not None else []
    if step.operator == "$remove":
        unwanted = [plain(each) for each in above.items]
        return Node([each for each in items if not _is_named(unwanted, each)], above.origin)
    together = _without_repeats([*items, *above.items], above.origin)
    if step.operator == "$prepend":
        first = [each for each in together.items if _is_among(above.items, each)]
        rest = [each for each in together.items if not _is_among(above.items, each)]
        return Node([*first, *rest], above.origin)
    return together


def _is_named(names: list[object], node: Node) -> bool:
    return _is_in(names, plain(node)) or _is_in(names, entry_key(node))


def _is_among(nodes: list[Node], node: Node) -> bool:
    key = entry_key(node)
    if key is not None:
        return any(entry_key(each) == key for each in nodes)
    return _is_in([plain(each) for each in nodes], plain(node))


def _is_in(values: list[object], value: object) -> bool:
    # By type too: True is no 1.
    return value is not None and any(type(each) is type(value) and each == value for each in values)


def _are_alike(low: Node, high: Node) -> bool:
    both_mappings = isinstance(low.value, dict) and isinstance(high.value, dict)
    return both_mappings or (is_keyed(low) and is_keyed(high))


def _mappings(low: Node, high: Node) -> Node:
    found = dict(low.mapping)
    for key, each in high.mapping.items():
        found[key] = lay_over(found[key], each) if key in found else each
    return Node(found, high.origin)


def _without_repeats(nodes: list[Node], origin: Origin) -> Node:
    """A list in which an entry that comes twice is one, the later laid over the earlier."""
    found: list[Node] = []
    places: dict[str, int] = {}
    for each in nodes:
        key = entry_key(each)
        if key is not None and key in places:
            found[places[key]] = lay_over(found[places[key]], each)
        elif key is not None or not _is_among(found, each):
            if key is not None:
                places[key] = len(found)
            found.append(each)
    return Node(found, origin)
