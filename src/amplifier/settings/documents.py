"""Reads YAML into nodes: safely, with limits, and loud about what YAML lets pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .merge import with_operators
from .nodes import ConfigError, Node, Origin, Scalar

MOST_BYTES = 1_000_000
MOST_VALUES = 20_000
DEEPEST = 40
_KNOWN = "tag:yaml.org,2002:"
# Dates stay text: no setting is a date, and a version such as 2026-01-01 is none either.
_TEXT = ("str", "timestamp", "value", "merge")
_CONSTRUCTED = ("null", "bool", "int", "float")


def read_file(path: Path, limit: int = MOST_BYTES) -> bytes | None:
    """The bytes of a file; None if there is no such file.

    Raises:
        ConfigError: it cannot be read, is no file, or is too large.
    """
    origin = Origin(str(path))
    try:
        if not path.is_file():
            if path.exists():
                raise ConfigError("This is no file. Move it away, or name another.", origin)
            return None
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise ConfigError(f"It cannot be read: {error.strerror}. Correct that.", origin) from error
    if len(data) > limit:
        raise ConfigError(
            f"It has more than {limit:,} bytes, which no such file needs. Shorten it.", origin
        )
    return data


def decoded(data: bytes, file: str) -> str:
    """The text of a file.

    Raises:
        ConfigError: it is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        message = "It is not text in UTF-8. Save it as such."
        raise ConfigError(message, Origin(file, line)) from error


def parse(text: str, file: str, first_line: int = 1) -> Node:
    """The mapping in `text`; empty if there is nothing in it.

    Raises:
        ConfigError: it is not YAML, no mapping, or a bomb.
    """
    node = compose(text, file, first_line)
    empty = Node({}, Origin(file, first_line))
    if node is None:
        return empty
    found = _Reader(file, first_line).read(node)
    if found.value is None:
        return empty
    if not isinstance(found.value, dict):
        raise ConfigError("It must be keys with values. Write `key: value`.", found.origin)
    return with_operators(found)


def parse_value(text: str) -> Any:
    """A value as it is written on the command line: YAML, or else text."""
    from .nodes import plain

    try:
        node = compose(text, "the value", 1)
        return plain(_Reader("the value", 1).read(node)) if node is not None else None
    except ConfigError:
        return text


def compose(text: str, file: str, first_line: int = 1) -> Any:
    """The tree of YAML nodes in `text`.

    Raises:
        ConfigError: it is not YAML.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark is not None else 0)
        message = f"It is not YAML: {error.problem or error.context}. Correct it."
        raise ConfigError(message, Origin(file, line)) from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())[:200]
        message = f"It is not YAML: {reason}. Correct it."
        raise ConfigError(message, Origin(file, first_line)) from error
    except RecursionError as error:
        message = "It is nested too deeply. Write it flatter."
        raise ConfigError(message, Origin(file, first_line)) from error


class _Reader:
    """Turns the YAML nodes of one file into ours, and counts them: aliases may multiply."""

    def __init__(self, file: str, first_line: int) -> None:
        self._file = file
        self._first_line = first_line
        self._count = 0

    def read(self, node: Any, depth: int = 0, origin: Origin | None = None) -> Node:
        import yaml

        origin = origin or self._origin(node)
        self._count += 1
        if self._count > MOST_VALUES:
            message = f"It has more than {MOST_VALUES:,} values, aliases included. Shorten it."
            raise ConfigError(message, origin)
        if depth > DEEPEST:
            message = f"It is nested more than {DEEPEST} levels deep. Write it flatter."
            raise ConfigError(message, origin)
        if isinstance(node, yaml.MappingNode):
            return Node(self._mapping(node, depth), origin)
        if isinstance(node, yaml.SequenceNode):
            return Node([self.read(each, depth + 1) for each in node.value], origin)
        return Node(self._scalar(node, origin), origin)

    def _mapping(self, node: Any, depth: int) -> dict[str, Node]:
        self._refuse_tag(node, "map")
        found: dict[str, Node] = {}
        for key, value in node.value:
            origin = self._origin(key)
            name = self._scalar(key, origin) if key.id == "scalar" else None
            if not isinstance(name, str) or name == "<<":
                written = key.value if key.id == "scalar" else "a collection"
                message = f"A key must be text, not {written!r}. Put it in quotes, or rename it."
                raise ConfigError(message, origin)
            if name in found:
                line = found[name].origin.line
                message = f"{name!r} is there already, in line {line}. Keep one of the two."
                raise ConfigError(message, origin)
            found[name] = self.read(value, depth + 1, origin)
        return found

    def _scalar(self, node: Any, origin: Origin) -> Scalar:
        import yaml

        kind = node.tag.removeprefix(_KNOWN)
        if kind not in _CONSTRUCTED:
            if kind not in _TEXT:
                self._refuse_tag(node, "str")
            return str(node.value)
        try:
            value: Scalar = yaml.constructor.SafeConstructor().construct_object(node)
        except (ValueError, yaml.YAMLError) as error:
            message = f"{node.value[:40]!r} is no usable {kind}. Put it in quotes if it is text."
            raise ConfigError(message, origin) from error
        return value

    def _refuse_tag(self, node: Any, usual: str) -> None:
        if node.tag != f"{_KNOWN}{usual}":
            message = f"The tag {node.tag!r} has no meaning here. Remove it."
            raise ConfigError(message, self._origin(node))

    def _origin(self, node: Any) -> Origin:
        return Origin(self._file, self._first_line + node.start_mark.line)
