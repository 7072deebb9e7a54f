"""`hooks-redaction`: listeners of events see no secrets and no personal data.

It changes what later listeners get. The model, the tools and the stored conversation keep the
originals.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from amplifier_core import ModuleCoordinator
from amplifier_core.events import ALL_EVENTS
from amplifier_core.models import HookResult

from amplifier_modules.records.detectors import Rule
from amplifier_modules.records.known import KnownSecrets, collect_contributed, given_to
from amplifier_modules.records.redactor import UNTOUCHED, Redactor
from amplifier_modules.records.subscriptions import any_event, declared_events
from amplifier_modules.settings import Settings

__amplifier_module_type__ = "hook"

CAPABILITY = "redaction.redactor"
"""The redactor of this module, for whoever writes things down."""
_MOUNTED = "redaction.handlers"
_NAME = "hooks-redaction"
# Emitted by bundled modules, for kernels on which every name has to be given.
_OTHER_EVENTS = (
    "provider:stream", "session:config", "llm:stream_block_start", "llm:stream_block_delta",
    "llm:stream_block_end", "llm:stream_aborted", "llm:request:debug", "llm:response:debug",
    "llm:request:raw", "llm:response:raw",
)  # fmt: skip

logger = logging.getLogger(__name__)

_CONTINUE = HookResult(action="continue")


class RedactionSettings(Settings):
    """Keys of hooks-redaction."""

    rules: tuple[Rule, ...] = ("secrets", "pii-basic")
    allowlist: tuple[str, ...] = ()
    priority: int = 10
    skip_events: tuple[str, ...] = ("tool:pre", "tool:post")


class RedactionHook:
    """Masks what an event carries before other listeners see it."""

    def __init__(self, redactor: Redactor, skip_events: Iterable[str]) -> None:
        self._redactor = redactor
        self._skipped = frozenset(skip_events)

    async def handle(self, event: str, data: dict[str, Any]) -> HookResult:
        if event in self._skipped or not isinstance(data, dict):
            return _CONTINUE
        try:
            redacted, rules = self._redactor.redact(data)
        except Exception:
            # Not its text: that may be what must not be seen.
            logger.warning("Event %r is emptied: it could not be redacted", event)
            return HookResult(action="modify", data=_emptied(data))
        if not rules:
            return _CONTINUE
        note = {"applied": True, "rules": rules}
        return HookResult(action="modify", data={**redacted, "redaction": note})


def _emptied(data: dict[str, Any]) -> dict[str, Any]:
    """What is left of an event in which anything may be a secret: which one it is."""
    kept = {name: data[name] for name in UNTOUCHED if isinstance(data.get(name), str)}
    return {**kept, "redaction": {"applied": True, "rules": ["secrets"], "failed": True}}


async def mount(
    coordinator: ModuleCoordinator, config: dict[str, Any] | None = None
) -> Callable[[], None]:
    settings = RedactionSettings.read(config, _NAME)
    known = KnownSecrets(given_to(coordinator.config))
    redactor = Redactor(settings.rules, settings.allowlist, known)
    hook = RedactionHook(redactor, settings.skip_events)
    unregister: list[Callable[[], None]] = []

    def listen_to(events: list[str]) -> None:
        for event in events:
            options = {"priority": settings.priority, "name": _NAME}
            unregister.append(coordinator.hooks.register(event, hook.handle, **options))

    listen_to([any_event] if any_event else [*ALL_EVENTS, *_OTHER_EVENTS])
    coordinator.register_capability(CAPABILITY, redactor)
    coordinator.register_capability(_MOUNTED, listen_to)

    def close() -> None:
        while unregister:
            unregister.pop()()

    return close


async def on_session_ready(coordinator: ModuleCoordinator) -> None:
    """Learn the secrets that other modules know of, and of events that they emit."""
    redactor: Redactor = coordinator.get_capability(CAPABILITY)
    redactor.known.learn(await collect_contributed(coordinator))
    if any_event is None:
        known = {*ALL_EVENTS, *_OTHER_EVENTS}
        declared = await declared_events(coordinator)
        coordinator.get_capability(_MOUNTED)([each for each in declared if each not in known])
