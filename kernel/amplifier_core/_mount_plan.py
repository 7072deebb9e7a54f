"""Reads a mount plan: which modules, from where, with what config.

A malformed plan is refused as a whole, with the place of the mistake in the message.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, NamedTuple

from .utils.spelling import did_you_mean

Kind = Literal["orchestrator", "context", "approval", "provider", "tool", "hook"]

DEFAULT_MOUNT_TIMEOUT = 60.0
LONGEST_MOUNT_TIMEOUT = 1e9
_DEFAULT_MODULES: dict[Kind, str] = {"orchestrator": "loop-basic", "context": "context-simple"}
_LISTED: tuple[Kind, ...] = ("provider", "tool", "hook")
_ENTRY_KEYS = {"module", "source", "config", "instance_id", "isolation"}
# Settings of the session that are numbers: of which type, and how small they may be.
_NUMBERS: dict[str, tuple[type, float]] = {
    "injection_size_limit": (int, 0),
    "injection_budget_per_turn": (int, 0),
    "mount_timeout": (float, 0.001),
}


class Entry(NamedTuple):
    """One module of the plan."""

    kind: Kind
    #: Its place in the plan, as `tools[2]`; for messages.
    where: str
    module: str
    source: Any
    config: dict[str, Any]
    instance_id: str | None
    raw: dict[str, Any]


class MountPlan(NamedTuple):
    """All modules of a session, in the order they are mounted."""

    entries: list[Entry]
    mount_timeout: float


def read_mount_plan(config: dict[str, Any]) -> MountPlan:
    """The plan in `config`.

    Raises:
        ValueError: the plan is malformed; the message says where and how to mend it.
    """
    config = _table("A mount plan", config)
    session = _table("session", config.get("session"))
    entries = [_required(kind, config, session) for kind in _DEFAULT_MODULES]
    if session.get("approval") is not None:
        entries.append(_entry("approval", "session.approval", session["approval"]))
    for kind in _LISTED:
        entries += _listed(kind, config.get(f"{kind}s"))
    _check_instances([entry for entry in entries if entry.kind == "provider"])
    _check_numbers(session)
    timeout = session.get("mount_timeout") or DEFAULT_MOUNT_TIMEOUT
    return MountPlan(entries, min(timeout, LONGEST_MOUNT_TIMEOUT))


def _required(kind: Kind, config: dict[str, Any], session: dict[str, Any]) -> Entry:
    spec = session.get(kind)
    if not isinstance(spec, dict):
        spec = {
            "module": _DEFAULT_MODULES[kind] if spec is None else spec,
            "source": session.get(f"{kind}_source"),
            "config": _table(kind, config.get(kind)).get("config"),
        }
    return _entry(kind, f"session.{kind}", {"module": _DEFAULT_MODULES[kind], **spec})


def _listed(kind: Kind, specs: Any) -> list[Entry]:
    if specs is not None and not isinstance(specs, list | tuple):
        raise ValueError(
            f"{kind}s must be a list of modules, not {type(specs).__name__}. "
            f"Write each one as `- module: ...`."
        )
    return [_entry(kind, f"{kind}s[{index}]", spec) for index, spec in enumerate(specs or ())]


def _entry(kind: Kind, where: str, spec: Any) -> Entry:
    if not isinstance(spec, dict):
        example = spec if isinstance(spec, str) else "some-module"
        spec = _table(where, spec, f"module: {example}")
    _check_spelling(where, spec)
    module = spec.get("module")
    if not isinstance(module, str) or not module:
        raise ValueError(f"{where} names no module. Its 'module' must be an id, not {module!r}.")
    config = spec.get("config")
    if not isinstance(config, dict):
        config = _table(f"{where}.config", config)
    instance_id = _instance_id(where, spec) if kind == "provider" else None
    return Entry(kind, where, module, spec.get("source"), config, instance_id, spec)


def _check_spelling(where: str, spec: dict[Any, Any]) -> None:
    """Refuse a key that looks like a missing one; other unknown keys are the app's affair."""
    for key in () if spec.keys() <= _ENTRY_KEYS else spec.keys() - _ENTRY_KEYS:
        if hint := did_you_mean(str(key), _ENTRY_KEYS - spec.keys()):
            raise ValueError(f"{where} has the unknown key {key!r}. {hint}")


def _instance_id(where: str, spec: dict[str, Any]) -> str | None:
    """The mount name of a provider: `instance_id`, or `name`, which says the same."""
    given = [spec[key] for key in ("instance_id", "name") if spec.get(key) is not None]
    if given and any(not isinstance(it, str) or not it or it != given[0] for it in given):
        names = " and ".join(map(repr, given))
        raise ValueError(f"{where} is named {names}. Give it one instance_id, a non-empty str.")
    return given[0] if given else None


def _check_instances(providers: list[Entry]) -> None:
    """At most one entry of a module may go without a name, and no name is given twice."""
    if len(providers) < 2:
        return
    nameless = Counter(entry.module for entry in providers if entry.instance_id is None)
    for module, count in nameless.items():
        if count > 1:
            raise ValueError(
                f"Multi-instance providers require explicit 'instance_id' on each additional "
                f"entry. Found {count} entries for module '{module}' without instance_id "
                f"(at most 1 allowed as the default instance)."
            )
    first: dict[str, Entry] = {}
    for entry in providers:
        if entry.instance_id and first.setdefault(entry.instance_id, entry) is not entry:
            raise ValueError(
                f"{entry.where} and {first[entry.instance_id].where} are both named "
                f"{entry.instance_id!r}. Give each provider its own instance_id."
            )


def _check_numbers(session: dict[str, Any]) -> None:
    for key, (kind, least) in _NUMBERS.items():
        value = session.get(key)
        if value is not None and (type(value) not in (int, kind) or not value >= least):
            raise ValueError(f"session.{key} must be {kind.__name__} >= {least}, not {value!r}.")


def _table(where: str, value: Any, example: str = "key: value") -> dict[str, Any]:
    if value is not None and not isinstance(value, dict):
        kind = type(value).__name__
        raise ValueError(f"{where} must be a mapping, not {kind}. Write it as `{example}`.")
    return value or {}
