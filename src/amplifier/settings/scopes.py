"""The settings in effect: one layer for each scope, merged, and explained key by key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .documents import decoded, parse, read_file
from .merge import Changes, merged
from .nodes import ConfigError, Node, Origin, plain
from .places import SCOPES, NoProject, Scope, settings_file
from .schema import check_settings


@dataclass(frozen=True)
class Layer:
    """What one scope says."""

    scope: Scope
    file: Path
    root: Node
    data: bytes


@dataclass(frozen=True)
class Said:
    """What one layer says about a key."""

    scope: Scope
    origin: Origin
    value: Any
    is_in_effect: bool


@dataclass(frozen=True)
class Settings:
    """All layers, the least specific first, and what comes out."""

    layers: tuple[Layer, ...]
    root: Node

    def value(self, *keys: str) -> Any:
        return plain(self.root.at(*keys))

    def explain(self, *keys: str) -> list[Said]:
        """Who says something about a key, the most specific first."""
        found = self.root.at(*keys)
        effective = {id(leaf) for leaf in found.leaves()} if found is not None else set()
        said = []
        for layer in reversed(self.layers):
            node = _lookup(layer.root, keys)
            if node is not None:
                is_seen = any(id(leaf) in effective for leaf in _all_leaves(node))
                is_seen = is_seen or (found is not None and node.origin == found.origin)
                said.append(Said(layer.scope, node.origin, shown(node), is_seen))
        return said


def load_settings(scopes: Iterable[Scope] = SCOPES, session_dir: Path | None = None) -> Settings:
    """Read the settings of these scopes.

    Raises:
        ConfigError: a file cannot be used; the message names it and the line.
    """
    wanted = set(scopes)
    layers = []
    for scope in SCOPES:
        if scope in wanted and (scope != "session" or session_dir is not None):
            layer = read_layer(scope, session_dir)
            if layer is not None:
                layers.append(layer)
    return combined(layers)


def combined(layers: Iterable[Layer]) -> Settings:
    layers = tuple(layers)
    return Settings(layers, merged(layer.root for layer in layers))


def read_layer(scope: Scope, session_dir: Path | None = None) -> Layer | None:
    """What a scope's file says; None if there is no such file."""
    try:
        file = settings_file(scope, session_dir)
    except NoProject:
        return None
    data = read_file(file)
    if data is None:
        return None
    root = parse(decoded(data, str(file)), str(file))
    check_settings(root)
    return Layer(scope, file, root, data)


def split_key(key: str) -> list[str]:
    """The parts of a dotted key; a part in quotes may contain dots.

    Raises:
        ConfigError: it is no key.
    """
    import re

    found = re.findall(r'"([^"]+)"|([^."]+)(?:\.|$)|(\.)', key)
    names = [quoted or bare for quoted, bare, dot in found if not dot]
    if not names or any(not name for name in names):
        raise ConfigError(f"{key!r} is no key. Write it as in `bundle.active`.")
    return names


def _lookup(node: Node, keys: tuple[str, ...]) -> Node | None:
    """What a layer itself says about a key, also where it only changes what is below."""
    if not keys:
        return node
    if isinstance(node.value, Changes):
        steps = [step for step in node.value.steps if step.operator != "$remove"]
        found = [_lookup(step.node, keys) for step in reversed(steps)]
        return next((each for each in found if each is not None), None)
    child = node.child(keys[0])
    return _lookup(child, keys[1:]) if child is not None else None


def _all_leaves(node: Node) -> Iterable[Node]:
    if isinstance(node.value, Changes):
        for step in node.value.steps:
            yield from _all_leaves(step.node)
        return
    children = [*node.mapping.values(), *node.items]
    if not children:
        yield node
    for each in children:
        yield from _all_leaves(each)


def shown(node: Node) -> Any:
    """The plain value of a layer's node, with its operators as they are written."""
    if isinstance(node.value, Changes):
        return {step.operator: shown(step.node) for step in node.value.steps}
    if isinstance(node.value, dict):
        return {key: shown(each) for key, each in node.value.items()}
    if isinstance(node.value, list):
        return [shown(each) for each in node.value]
    return node.value
