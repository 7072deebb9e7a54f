"""Reads a mount plan: which modules, from where, with what config.

A malformed plan is refused as a whole, with the place of the mistake in the message.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from .utils.spelling import did_you_mean

DEFAULT_MOUNT_TIMEOUT = 60.0
PROVIDER_PREFIX = "provider-"
_ENTRY_KEYS = ("module", "source", "config", "instance_id")
_LIMITS = ("injection_size_limit", "injection_budget_per_turn")
_LONGEST_TIMEOUT = 1e9


@dataclass(frozen=True, slots=True)
class Entry:
    """One module of the plan."""

    where: str
    """Its place in the plan, as `tools[2]`; for messages."""
    module: str
    source: Any
    config: dict[str, Any]
    instance_id: str | None = None
    raw: Any = None

    @property
    def default_name(self) -> str:
        """The name a provider mounts itself under when the plan gives it none."""
        return self.module.removeprefix(PROVIDER_PREFIX)


@dataclass(frozen=True, slots=True)
class MountPlan:
    """All modules of a session, in the order they are mounted."""

    orchestrator: Entry
    context: Entry
    approval: Entry | None
    providers: list[Entry]
    tools: list[Entry]
    hooks: list[Entry]
    mount_timeout: float


def read_mount_plan(config: dict[str, Any]) -> MountPlan:
    """The plan in `config`.

    Raises:
        ValueError: the plan is malformed; the message says where and how to mend it.
    """
    session = _table("session", config.get("session"))
    _check_limits(session)
    providers = _entries(config, "providers")
    _check_instances(providers)
    approval = session.get("approval")
    return MountPlan(
        orchestrator=_required(config, session, "orchestrator", "loop-basic"),
        context=_required(config, session, "context", "context-simple"),
        approval=None if approval is None else _entry("session.approval", approval),
        providers=providers,
        tools=_entries(config, "tools"),
        hooks=_entries(config, "hooks"),
        mount_timeout=_timeout(session),
    )


def _required(config: dict[str, Any], session: dict[str, Any], key: str, default: str) -> Entry:
    where, spec = f"session.{key}", session.get(key)
    if isinstance(spec, dict):
        return _entry(where, spec, default)
    settings = _table(key, config.get(key))
    return _entry(
        where,
        {
            "module": default if spec is None else spec,
            "source": session.get(f"{key}_source"),
            "config": settings.get("config"),
        },
    )


def _entries(config: dict[str, Any], section: str) -> list[Entry]:
    listed = config.get(section)
    if listed is None:
        return []
    if not isinstance(listed, list | tuple):
        raise ValueError(
            f"{section} must be a list of modules, not {_kind(listed)}. "
            f"Write each one as `- module: ...`."
        )
    return [_entry(f"{section}[{index}]", spec) for index, spec in enumerate(listed)]


def _entry(where: str, spec: Any, default: str | None = None) -> Entry:
    if not isinstance(spec, dict):
        raise ValueError(
            f"{where} must be a mapping with a 'module', not {_kind(spec)}. "
            f"Write it as {{module: {spec if isinstance(spec, str) else 'some-module'}}}."
        )
    _check_spelling(where, spec)
    module = spec.get("module", default)
    if "module" in spec and (not isinstance(module, str) or not module):
        raise ValueError(f"{where} names no module. A 'module' is an id, not {module!r}.")
    if module is None:
        raise ValueError(f"{where} names no module. Add `module:` with the id of one.")
    return Entry(
        where=where,
        module=module,
        source=spec.get("source"),
        config=_table(f"{where}.config", spec.get("config")),
        instance_id=_instance_id(where, spec) if where.startswith("providers[") else None,
        raw=spec,
    )


def _check_spelling(where: str, spec: dict[Any, Any]) -> None:
    """Refuse a key that looks like a missing one; other unknown keys are the app's affair."""
    missing = [key for key in _ENTRY_KEYS if key not in spec]
    for key in spec:
        if key not in _ENTRY_KEYS and (hint := did_you_mean(str(key), missing)):
            raise ValueError(f"{where} has the unknown key {key!r}. {hint}")


def _instance_id(where: str, spec: dict[str, Any]) -> str | None:
    """The mount name of a provider: `instance_id`, or `name`, which says the same."""
    given = [spec[key] for key in ("instance_id", "name") if spec.get(key) is not None]
    for value in given:
        if not isinstance(value, str) or not value:
            raise ValueError(f"{where} needs a name that is a non-empty str, not {value!r}.")
    if len(set(given)) > 1:
        raise ValueError(
            f"{where} has instance_id {given[0]!r} and name {given[1]!r}. Give only one of them."
        )
    return given[0] if given else None


def _check_instances(providers: list[Entry]) -> None:
    """At most one entry of a module may go without a name, and no name is given twice."""
    listed = Counter(entry.module for entry in providers)
    nameless = Counter(entry.module for entry in providers if entry.instance_id is None)
    for module, count in nameless.items():
        if listed[module] > 1 and count > 1:
            raise ValueError(
                f"Multi-instance providers require explicit 'instance_id' on each additional "
                f"entry. Found {count} entries for module '{module}' without instance_id "
                f"(at most 1 allowed as the default instance)."
            )
    first: dict[str, Entry] = {}
    for entry in providers:
        if entry.instance_id is not None:
            other = first.setdefault(entry.instance_id, entry)
            if other is not entry:
                raise ValueError(
                    f"{entry.where} and {other.where} are both named {entry.instance_id!r}. "
                    f"Give each provider its own instance_id."
                )


def _timeout(session: dict[str, Any]) -> float:
    limit = session.get("mount_timeout")
    if limit is None:
        return DEFAULT_MOUNT_TIMEOUT
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not limit > 0:
        raise ValueError(f"session.mount_timeout must be a number of seconds, not {limit!r}.")
    return float(min(limit, _LONGEST_TIMEOUT))


def _check_limits(session: dict[str, Any]) -> None:
    for key in _LIMITS:
        limit = session.get(key)
        if limit is not None and (type(limit) is not int or limit < 0):
            raise ValueError(f"session.{key} must be a whole number from 0 on, not {limit!r}.")


def _table(where: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be a mapping, not {_kind(value)}.")
    return value


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
