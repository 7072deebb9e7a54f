"""Changes one key of a settings file and leaves the rest, comments too, as it was.

The text is edited in place where that is certain to give the wanted result: it is read
again and compared. Otherwise the file is written anew, without its comments.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from amplifier.files import locked, write_atomically

from .documents import compose, decoded, parse, read_file
from .nodes import ConfigError
from .schema import check_settings
from .scopes import shown

INDENT = 2
Data = dict[str, Any]
Edit = Callable[[str], str | None]


def set_key(file: Path, keys: list[str], value: Any) -> None:
    """Give a key a value.

    Raises:
        ConfigError: the file cannot be used, or could not be with that value.
    """
    _change(file, lambda data: _put(data, keys, value), lambda text: _edited(text, keys, value))


def unset_key(file: Path, keys: list[str]) -> bool:
    """Remove a key, and parents that are empty then; False if it was not there."""
    found: list[bool] = []

    def take(data: Data) -> None:
        found.append(_take(data, keys))

    _change(file, take, lambda text: _without(text, keys))
    return found[0]


def put_entry(file: Path, keys: list[str], entry: Data | str) -> None:
    """Add an entry to a list, of modules for example, in place of the one with the same id."""
    listed: list[Any] = []

    def put(data: Data) -> None:
        for key in keys[:-1]:
            data = data.setdefault(key, {})
        found = data.get(keys[-1])
        listed.extend(found if isinstance(found, list) else [])
        same = [each for each in listed if _key(each) == _key(entry)]
        kept = [each for each in listed if each not in same]
        old = same[0] if same and isinstance(same[0], dict) else {}
        data[keys[-1]] = [*kept, {**old, **entry} if isinstance(entry, dict) else entry]

    _change(file, put, lambda text: _with_item(text, keys, entry))


def take_entry(file: Path, keys: list[str], name: str) -> bool:
    """Remove the entries of a module from a list; False if there is none."""
    gone: list[Any] = []

    def take(data: Data) -> None:
        found = data
        for key in keys[:-1]:
            found = found.get(key) or {}
        listed = found.get(keys[-1])
        if not isinstance(listed, list):
            return
        gone.extend(each for each in listed if name in (_key(each), each.get("module")))
        found[keys[-1]] = [each for each in listed if each not in gone]
        if not found[keys[-1]]:
            _take(data, keys)

    _change(file, take, lambda text: None)
    return bool(gone)


def _key(entry: Any) -> Any:
    return (entry.get("id") or entry.get("module")) if isinstance(entry, dict) else entry


def _change(file: Path, on_data: Callable[[Data], None], on_text: Edit) -> None:
    with locked(file):
        raw = read_file(file)
        text = decoded(raw, str(file)) if raw is not None else ""
        wanted = _data(text, file)
        before = _data(text, file)
        on_data(wanted)
        if wanted == before:
            return
        edited = on_text(text)
        if edited is None or not _says(edited, wanted, file):
            edited = _dumped(wanted)
        check_settings(parse(edited, str(file)))
        write_atomically(file, edited, 0o600)


def _data(text: str, file: Path) -> Data:
    data: Data = shown(parse(text, str(file)))
    return data


def _says(text: str, wanted: Data, file: Path) -> bool:
    try:
        return _data(text, file) == wanted
    except ConfigError:
        return False


def _dumped(value: Any) -> str:
    import yaml

    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True)) if value else ""


# -- on data --------------------------------------------------------------------------


def _put(data: Data, keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        child = _child(data, key)
        if not isinstance(child, dict | list):
            child = {}
            data[key] = child
        data = child
    if isinstance(data, list):
        raise ConfigError(
            f"{keys[-1]!r} would be an entry of a list. Set the whole list, or use `edit`."
        )
    data[keys[-1]] = value


def _take(data: Any, keys: list[str]) -> bool:
    child = _child(data, keys[0])
    if child is None and not (isinstance(data, dict) and keys[0] in data):
        return False
    if len(keys) > 1:
        if not _take(child, keys[1:]):
            return False
        if child:
            return True
    if isinstance(data, list):
        data.remove(child)
    else:
        del data[keys[0]]
    return True


def _child(data: Any, key: str) -> Any:
    """What is below a key; in a list of modules, the entry with that id."""
    if isinstance(data, list):
        named = [each for each in data if isinstance(each, dict)]
        return next((each for each in named if key in (each.get("id"), each.get("module"))), None)
    return data.get(key) if isinstance(data, dict) else None


# -- on text --------------------------------------------------------------------------


def _edited(text: str, keys: list[str], value: Any) -> str | None:
    """`text` with the value put in; None if that is not simple."""
    parent, depth = _deepest(text, keys)
    if parent is None:
        return _with_block(text, 0, len(text), keys, value)
    if depth == len(keys):
        pair = _pair(parent, keys[-1])
        if pair is None or pair[1].id != "scalar" or isinstance(value, dict | list):
            return None
        start, end = pair[1].start_mark.index, pair[1].end_mark.index
        separator = "" if text[start - 1 : start].isspace() else " "
        return text[:start] + separator + _inline(value) + text[end:]
    if parent.flow_style:
        return None
    return _with_block(text, parent.start_mark.column, _end_of(text, parent), keys[depth:], value)


def _with_item(text: str, keys: list[str], entry: Data | str) -> str | None:
    """`text` with one more line in a list; None if that is not simple."""
    parent, depth = _deepest(text, keys)
    if parent is None or depth < len(keys):
        return None
    pair = _pair(parent, keys[-1])
    if pair is None or pair[1].id != "sequence" or pair[1].flow_style:
        return None
    column, at = pair[1].start_mark.column, _end_of(text, pair[1])
    gap = "" if text[:at].endswith("\n") else "\n"
    return f"{text[:at]}{gap}{' ' * column}- {_inline(entry)}\n{text[at:]}"


def _without(text: str, keys: list[str]) -> str | None:
    parent, depth = _deepest(text, keys)
    if parent is None or depth < len(keys) or parent.flow_style or len(parent.value) < 2:
        return None
    pair = _pair(parent, keys[-1])
    if pair is None:
        return None
    start = text.rfind("\n", 0, pair[0].start_mark.index) + 1
    return text[:start] + text[_end_of(text, pair[1]) :]


def _deepest(text: str, keys: list[str]) -> tuple[Any, int]:
    """The innermost mapping on the way to a key, and how many keys have been found."""
    node = compose(text, "")
    if node is None or node.id != "mapping":
        return None, 0
    for depth, key in enumerate(keys):
        pair = _pair(node, key)
        if pair is None:
            return node, depth
        if depth == len(keys) - 1:
            return node, depth + 1
        if pair[1].id != "mapping":
            return node, depth
        node = pair[1]
    return node, len(keys)


def _pair(mapping: Any, key: str) -> Any:
    return next((pair for pair in mapping.value if pair[0].value == key), None)


def _end_of(text: str, node: Any) -> int:
    """Where the last line with something of this node ends."""
    last = text.rstrip() if node.end_mark.index >= len(text) else text[: node.end_mark.index]
    content = last.rstrip()
    while content.rsplit("\n", 1)[-1].lstrip().startswith("#"):
        # Comments before the next key belong to that key.
        content = content.rsplit("\n", 1)[0].rstrip()
    end = text.find("\n", len(content))
    return len(text) if end < 0 else end + 1


def _with_block(text: str, column: int, at: int, keys: list[str], value: Any) -> str:
    lines = [f"{' ' * (column + INDENT * level)}{_inline(key)}:" for level, key in enumerate(keys)]
    before = text[:at]
    gap = "" if not before or before.endswith("\n") else "\n"
    return f"{before}{gap}{chr(10).join(lines)} {_inline(value)}\n{text[at:]}"


def _inline(value: Any) -> str:
    import yaml

    text = yaml.safe_dump(
        value, default_flow_style=True, width=float("inf"), allow_unicode=True, sort_keys=False
    )
    return str(text).removesuffix("\n").removesuffix("\n...")
