"""Makes a plan: the bundle, then what settings add and override, each with its origin."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from amplifier_core.module_sources import find_directory
from amplifier_core.utils.spelling import did_you_mean

from amplifier.settings.documents import decoded, parse
from amplifier.settings.merge import lay_over, resolved
from amplifier.settings.nodes import ConfigError, Node, Origin, entry_key, located, plain
from amplifier.settings.places import FOLDER, SCOPES, Scope, home, settings_file
from amplifier.settings.schema import check_settings
from amplifier.settings.scopes import Layer, Settings, combined
from amplifier.sources.lock import NAME as LOCK
from amplifier.sources.lock import Locked, read_lock
from amplifier.sources.uris import SourceError, parse_source

from .composing import Composer, apply_policies, is_own, with_absolute_sources, with_context
from .names import Library
from .planning import BUILT_IN, DEFAULT, Ground, Plan

LISTED = ("providers", "tools", "hooks")
_LOOP = {"module": "loop-streaming"}
_CONTEXT = {"module": "context-simple"}
_NEED = Origin("built in")


def assemble(bundle: str | None, ground: Ground) -> Plan:
    """Compose the plan; see `plan_for`."""
    settings = settings_on(ground)
    locked = locks_on(ground)
    library = library_on(ground, settings, locked)
    composer = Composer(library, ground.root)
    references = [*_app_bundles(settings, ground), chosen_bundle(bundle, settings)]
    composed = composer.compose(*references)
    parts = _with_settings(composed.root, settings, ground)
    agents = apply_policies(parts["agents"], parts["tools"])
    parts["agents"] = agents
    _check_modules(parts)
    mounts = {key: _mountable(key, each) for key, each in parts.items()}
    mounts = {key: each for key, each in mounts.items() if each}
    budget = settings.root.at("budget")
    if budget is not None:
        mounts["budget"] = plain(budget)
    instruction = with_context(composed.instruction, composed.context)
    if instruction:
        mounts["instruction"] = instruction
    inputs = {path: [_kind(path), found] for path, found in composer.inputs.items()}
    folders = _module_folders(parts)
    inputs |= folders
    used = _used_locks(parts, locked)
    used |= {path: {"hash": found} for path, (_, found) in folders.items()}
    if used:
        mounts["locked"] = used
    origins = _origins(parts)
    if composed.instruction_origin is not None:
        origins["instruction"] = str(composed.instruction_origin)
    return Plan(composed.name, mounts, origins, inputs, composer.namespaces())


# -- what there is --------------------------------------------------------------------


def settings_on(ground: Ground) -> Settings:
    """The settings in those files of the ground that are settings."""
    layers = []
    for scope in SCOPES:
        file = _settings_path(scope, ground)
        data = ground.files.get(str(file)) if file else None
        if file is None or data is None:
            continue
        root = parse(decoded(data, str(file)), str(file))
        check_settings(root)
        base = home() if scope == "global" else ground.root
        layers.append(Layer(scope, file, _absolute(root, base), data))
    return combined(layers)


def _absolute(root: Node, base: Path) -> Node:
    """Settings in which relative paths to modules start at the project, or at home."""
    root = with_absolute_sources(root, base)
    sources = root.at("sources", "modules")
    if sources is None:
        return root
    listed = {
        name: with_absolute_sources(Node({"source": each}, each.origin), base).mapping["source"]
        for name, each in sources.mapping.items()
    }
    own = {**root.mapping["sources"].mapping, "modules": Node(listed, sources.origin)}
    return Node({**root.mapping, "sources": Node(own, sources.origin)}, root.origin)


def _settings_path(scope: Scope, ground: Ground) -> Path | None:
    from amplifier.settings.places import NoProject

    try:
        return settings_file(scope, ground.session_dir)
    except NoProject:
        return None


def locks_on(ground: Ground) -> Locked:
    """What is locked; the project's lock wins."""
    files = [home() / LOCK, *([ground.root / FOLDER / LOCK] if ground.with_project else [])]
    found: Locked = {}
    for file in files:
        if ground.files.get(str(file)) is not None:
            found |= read_lock(file)
    return found


def library_on(ground: Ground, settings: Settings, locked: Locked) -> Library:
    added: dict[str, tuple[str, Path]] = {}
    for layer in settings.layers:
        base = home() if layer.scope == "global" else ground.root
        for keys in (("bundle", "added"), ("sources", "bundles")):
            table = layer.root.at(*keys)
            for name, node in table.mapping.items() if table else ():
                added[name] = (node.text, base)
    folders = [home(), *([ground.root / FOLDER] if ground.with_project else [])]
    return Library(added, locked, folders)


def chosen_bundle(bundle: str | None, settings: Settings) -> tuple[str, Origin, Path]:
    """The bundle to use, who says so, and where relative paths start."""
    if bundle is not None:
        return bundle, Origin("--bundle"), Path.cwd()
    active = settings.root.at("bundle", "active")
    if active is not None and active.text:
        return active.text, active.origin, Path(active.origin.file).parent.parent
    return DEFAULT, _NEED, BUILT_IN


def _app_bundles(settings: Settings, ground: Ground) -> Iterator[tuple[str, Origin, Path]]:
    listed = settings.root.at("bundle", "app")
    for each in listed.items if listed else []:
        yield each.text, each.origin, ground.root


# -- settings over the bundle ---------------------------------------------------------


def _with_settings(root: Node, settings: Settings, ground: Ground) -> dict[str, Node]:
    layers = [root]
    for keys in (("modules",), ("config",)):
        node = settings.pending.at(*keys)
        layers += [node] if node is not None else []
    session = settings.pending.at("session")
    if session is not None:
        layers.append(Node({"session": session}, session.origin))
    found = Node({}, root.origin)
    for each in layers:
        found = lay_over(found, each)
    found = resolved(found)
    empty = Node([], root.origin)
    parts = {"session": _session(found.at("session"))}
    parts |= {key: found.mapping.get(key) or empty for key in LISTED}
    parts["agents"] = found.mapping.get("agents") or Node({}, root.origin)
    return _overridden(parts, settings)


def _session(given: Node | None) -> Node:
    values = dict(given.mapping) if given else {}
    for slot, entry in (("orchestrator", _LOOP), ("context", _CONTEXT)):
        node = values.get(slot) or located(entry, _NEED)
        if node.text:
            node = Node({"module": node}, node.origin)
        values[slot] = node
    return Node(values, given.origin if given else _NEED)


def _overridden(parts: dict[str, Node], settings: Settings) -> dict[str, Node]:
    overrides, sources = settings.pending.at("overrides"), settings.root.at("sources", "modules")
    met: set[str] = set()

    def changed(entry: Node) -> Node:
        module = entry.mapping["module"].text
        source = sources.mapping.get(module) if sources else None
        if source is not None:
            entry = Node({**entry.mapping, "source": source}, entry.origin)
        override = overrides.mapping.get(module) if overrides else None
        if override is None:
            return entry
        met.add(module)
        return Node(resolved(lay_over(entry, override)).value, entry.origin)

    found = {key: _each_entry(node, changed) for key, node in parts.items()}
    for name, node in overrides.mapping.items() if overrides else ():
        if name not in met:
            entries = [each for part in parts.values() for each in _entries(part)]
            known = [each.mapping["module"].text for each in entries]
            advice = did_you_mean(name, known, f"It has {', '.join(sorted(set(known)))}.")
            message = f"No module {name!r} is part of the plan to override. {advice}"
            raise ConfigError(message, node.origin)
    return found


def _is_entry(node: Node) -> bool:
    return "module" in node.mapping and bool(node.mapping["module"].text)


def _each_entry(node: Node, change: Any) -> Node:
    if _is_entry(node):
        found: Node = change(node)
        return found
    if isinstance(node.value, dict):
        values = {
            key: each if key == "config" else _each_entry(each, change)
            for key, each in node.value.items()
        }
        return Node(values, node.origin)
    if isinstance(node.value, list):
        return Node([_each_entry(each, change) for each in node.value], node.origin)
    return node


def _entries(node: Node) -> Iterator[Node]:
    if _is_entry(node):
        yield node
        return
    for key, each in node.mapping.items():
        if key != "config":
            yield from _entries(each)
    for each in node.items:
        yield from _entries(each)


# -- checks and facts -----------------------------------------------------------------


def _check_modules(parts: dict[str, Node]) -> None:
    """Every module is installed, in a search folder, or has a source."""
    from amplifier_core.transports.entry_points import installed

    offered = installed.table()
    for key, part in parts.items():
        for entry in _entries(part):
            module, source = entry.mapping["module"], entry.mapping.get("source")
            if source is not None:
                _check_source(source)
            elif key != "agents" and not _is_there(module.text, offered):
                advice = did_you_mean(module.text, offered, "Add it with `amplifier module add`.")
                raise ConfigError(f"There is no module {module.text!r}. {advice}", entry.origin)


def _is_there(module: str, offered: Container[str]) -> bool:
    return module in offered or find_directory(module, None) is not None


def _check_source(node: Node) -> None:
    try:
        source = parse_source(plain(node))
    except SourceError as error:
        raise ConfigError(str(error), node.origin) from error
    if source.kind == "path" and not Path(source.location).is_dir():
        message = f"There is no folder {source.location!r}. Correct the source."
        raise ConfigError(message, node.origin)


def _mountable(key: str, part: Node) -> Any:
    if key != "providers":
        return plain(part)
    found = []
    for entry in plain(part):
        name = entry.pop("id", None)
        found.append({**entry, "instance_id": name} if name else entry)
    return found


def _kind(path: str) -> str:
    return "listing" if Path(path).is_dir() else "file"


def _module_folders(parts: dict[str, Node]) -> dict[str, list[str]]:
    """Local folders whose code would run, if a file that is not the user's own names them."""
    from amplifier.sources.trees import tree_hash

    found = {}
    for part in parts.values():
        for entry in _entries(part):
            node = entry.mapping.get("source")
            if node is None:
                continue
            source = parse_source(plain(node))
            if source.kind == "path" and not is_own(Path(node.origin.file)):
                try:
                    found[source.location] = ["tree", tree_hash(Path(source.location))]
                except SourceError as error:
                    raise ConfigError(str(error), node.origin) from error
    return found


def _used_locks(parts: dict[str, Node], locked: Locked) -> dict[str, Any]:
    found = {}
    for part in parts.values():
        for entry in _entries(part):
            if "source" in entry.mapping:
                source = parse_source(plain(entry.mapping["source"]))
                if source.is_fetched and source.uri in locked:
                    found[source.uri] = {"hash": locked[source.uri]["hash"]}
    return found


def _origins(parts: dict[str, Node]) -> dict[str, str]:
    found = {}
    for slot, node in parts["session"].mapping.items():
        found[f"session.{slot}"] = str(node.origin)
    for key in LISTED:
        for each in parts[key].items:
            found[f"{key}.{entry_key(each)}"] = str(each.origin)
    for name, node in parts["agents"].mapping.items():
        found[f"agents.{name}"] = str(node.origin)
    return found
