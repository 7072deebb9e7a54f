"""Brings a session up: mounts every module of the plan, in order, and lets them get ready.

The orchestrator and the context must come up. Any other module that fails is taken out
again, reported, and the session goes on without it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ._mount_plan import Entry, MountPlan, read_mount_plan
from ._mounting import Mounted, Mounting
from .coordinator import ModuleCoordinator
from .events import MODULE_LOAD_FAILED, MODULE_ON_SESSION_READY_FAILED, SESSION_FORK
from .loader import ModuleLoader, ReadyFunction, module_failure_reason
from .models import SessionStatus
from .utils.truncate import redact_secrets

if TYPE_CHECKING:
    from .session import AmplifierSession

logger = logging.getLogger(__name__)


async def initialize_session(
    config: dict[str, Any], coordinator: Any, session_id: str, parent_id: str | None
) -> None:
    """Mount the plan in `config` on `coordinator`; on failure nothing of it stays mounted.

    Raises:
        ValueError: the plan is malformed.
        RuntimeError: the orchestrator or the context did not come up.
    """
    plan = read_mount_plan(config)
    if coordinator.loader is None:
        coordinator.loader = ModuleLoader(coordinator=coordinator)
    startup = _Startup(coordinator, plan.mount_timeout)
    try:
        await _mount_all(startup, plan)
        await _announce_ready(startup)
        if parent_id:
            await coordinator.hooks.emit(SESSION_FORK, _fork_payload(config, session_id, parent_id))
    except BaseException:
        await startup.undo()
        raise
    logger.info("Session %s initialized successfully", session_id)


class _Startup:
    """One run of the above: what it works on, and what it has done so far."""

    def __init__(self, coordinator: Any, timeout: float) -> None:
        self.coordinator = coordinator
        self.timeout = timeout
        self.ready: list[tuple[str, ReadyFunction]] = []
        self._before = Mounting(coordinator)
        real = isinstance(coordinator, ModuleCoordinator)
        self._records: list[Mounted] = coordinator._mounted if real else []
        self._known_records = len(self._records)
        status = getattr(getattr(coordinator, "session", None), "status", None)
        self._status = status if isinstance(status, SessionStatus) else None
        if self._status is not None:
            self._status.failed_modules = None

    def remember(self, record: Mounted) -> None:
        """Have it taken out again when the session ends."""
        self._records.append(record)

    def enqueue(self, module_id: str, ready: ReadyFunction) -> None:
        # Sessions that come up at the same time may share a loader, but not its queue.
        if isinstance(self.coordinator.loader, ModuleLoader):
            self.ready.append((module_id, ready))
        else:
            self.coordinator.loader.enqueue_on_session_ready(module_id, ready)

    def note_failure(self, failed: dict[str, Any]) -> None:
        if self._status is not None:
            self._status.failed_modules = [*(self._status.failed_modules or []), failed]

    async def undo(self) -> None:
        self.coordinator.loader.clear_on_session_ready_queue()
        del self._records[self._known_records :]
        await self._before.undo()


async def _mount_all(startup: _Startup, plan: MountPlan) -> None:
    await _mount_required(startup, plan.orchestrator, "orchestrator", "orchestrator")
    await _mount_required(startup, plan.context, "context", "context manager")
    if plan.approval is not None:
        await _mount_approval(startup, plan.approval)
    for entry in plan.providers:
        await _mount_provider(startup, entry)
    for entry in plan.tools:
        await _mount_optional(startup, entry, "tool")
    for entry in plan.hooks:
        await _mount_optional(startup, entry, "hook")


# -- one module -----------------------------------------------------------------------


class _Attempt:
    """Loading and mounting one entry of the plan."""

    def __init__(self, startup: _Startup, entry: Entry) -> None:
        self.startup = startup
        self.entry = entry
        self.before = Mounting(startup.coordinator)
        self.mount: Any = None
        self.returned: Any = None

    async def run(self) -> None:
        what = f"Module {self.entry.module!r} was not mounted"
        await _in_time(self._load_and_mount(), self.startup.timeout, what)

    async def _load_and_mount(self) -> None:
        entry, coordinator = self.entry, self.startup.coordinator
        self.mount = await coordinator.loader.load(
            entry.module, entry.config, source_hint=entry.source, coordinator=coordinator
        )
        self.returned = await self.mount(coordinator)

    def keep(self, *serving: Any) -> None:
        """Make the module part of the session: its cleanup and its late start."""
        self.register_cleanup(*serving)
        self.startup.remember(self.before.record())
        ready = getattr(self.mount, "__on_session_ready__", None)
        if isinstance(ready, tuple):
            self.startup.enqueue(*ready)

    def register_cleanup(self, *serving: Any) -> None:
        """Have what `mount()` handed out run with the other cleanups, also when undoing."""
        modules = [*self.before.record().modules(), *serving]
        cleanup = _cleanup_in(self.returned, modules, self.entry)
        if cleanup is not None:
            self.startup.coordinator.register_cleanup(cleanup)

    async def undo(self) -> None:
        self.register_cleanup()
        await self.before.undo()


async def _in_time(work: Awaitable[None], timeout: float, failure: str) -> None:
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            await work
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise TimeoutError(
            f"{failure} within {timeout:g} s. Raise session.mount_timeout if it needs longer."
        ) from error


def _cleanup_in(returned: Any, serving: list[Any], entry: Entry) -> Callable[[], Any] | None:
    """The cleanup that `mount()` handed out: a function, or a method of what it mounted."""
    if returned is None:
        return None
    is_serving = any(returned is module for module in serving)
    if callable(returned) and not is_serving:
        cleanup: Callable[[], Any] = returned
        return cleanup
    for name in ("cleanup", "close"):
        method = getattr(returned, name, None)
        if callable(method):
            bound: Callable[[], Any] = method
            return bound
    if not is_serving:
        logger.warning(
            "mount() of %r (%s) returned %s, which is neither a cleanup nor what it mounted; "
            "it is ignored",
            entry.module, entry.where, type(returned).__name__,
        )  # fmt: skip
    return None


# -- by kind --------------------------------------------------------------------------


async def _mount_required(startup: _Startup, entry: Entry, slot: str, title: str) -> None:
    attempt = _Attempt(startup, entry)
    try:
        await attempt.run()
        # Only what our own loader bound can be held to it; others may mount later.
        bound = isinstance(getattr(attempt.mount, "__module_id__", None), str)
        if bound and startup.coordinator.get(slot) is None:
            raise ValueError(f"Module {entry.module!r} mounted nothing at {slot!r}.")
    except Exception as error:
        attempt.register_cleanup()
        raise RuntimeError(
            f"Cannot initialize without {title}: {_safe_exception_str(error)}"
        ) from error
    attempt.keep()


async def _mount_approval(startup: _Startup, entry: Entry) -> None:
    """An approval module sets the approval system, or is one."""
    coordinator = startup.coordinator
    known = coordinator.approval_system
    attempt = _Attempt(startup, entry)
    try:
        await attempt.run()
        if coordinator.approval_system is known:
            if not callable(getattr(attempt.returned, "request_approval", None)):
                raise ValueError(f"Module {entry.module!r} offers no request_approval().")
            coordinator.approval_system = attempt.returned
    except BaseException as error:
        coordinator.approval_system = known
        if not isinstance(error, Exception):
            raise
        attempt.register_cleanup()
        raise RuntimeError(
            f"Cannot initialize without approval module: {_safe_exception_str(error)}"
        ) from error
    coordinator.register_cleanup(_give_back_approval(coordinator, known))
    attempt.keep(coordinator.approval_system)


def _give_back_approval(coordinator: Any, known: Any) -> Callable[[], None]:
    ours = coordinator.approval_system

    def give_back() -> None:
        if coordinator.approval_system is ours:
            coordinator.approval_system = known

    return give_back


async def _mount_optional(startup: _Startup, entry: Entry, kind: str) -> None:
    attempt = _Attempt(startup, entry)
    try:
        await attempt.run()
    except Exception as error:
        await attempt.undo()
        await _report(startup, entry, kind, error)
    else:
        attempt.keep()


async def _mount_provider(startup: _Startup, entry: Entry) -> None:
    coordinator = startup.coordinator
    attempt = _Attempt(startup, entry)
    try:
        await _consult(coordinator, "provider.before_load", entry)
        known = dict(coordinator.get("providers") or {})
        await attempt.run()
        if attempt.returned is None and not _changed(coordinator, known):
            logger.info("Provider %r mounted nothing, as without credentials", entry.module)
            startup.remember(attempt.before.record())
            return
        await _place_provider(entry, coordinator, known)
    except Exception as error:
        await attempt.undo()
        await _report(startup, entry, "provider", error)
        await _consult(coordinator, "provider.load_failure", entry, error)
    else:
        attempt.keep()


def _changed(coordinator: Any, known: dict[str, Any]) -> list[str]:
    now = coordinator.get("providers") or {}
    return [name for name, module in now.items() if known.get(name, coordinator) is not module]


async def _place_provider(entry: Entry, coordinator: Any, known: dict[str, Any]) -> None:
    """Check that a provider was mounted, and give it the name that the plan wants."""
    changed = _changed(coordinator, known)
    if not changed:
        raise ValueError("Provider mount did not install a new provider instance")
    if entry.instance_id is None:
        return
    default = entry.default_name
    if default not in changed:
        raise ValueError(
            "Named provider mount did not install a new instance at its default mount name"
        )
    if default == entry.instance_id:
        return
    await coordinator.mount(
        "providers", coordinator.get("providers", default), name=entry.instance_id
    )
    if default in known:
        await coordinator.mount("providers", known[default], name=default)
    else:
        await coordinator.unmount("providers", name=default)


async def _consult(coordinator: Any, capability: str, entry: Entry, *more: Any) -> None:
    """Let the app have its say; what it raises goes through."""
    callback = coordinator.get_capability(capability)
    if callback is not None:
        await callback(coordinator, deepcopy(entry.raw), *more)


# -- reports --------------------------------------------------------------------------


async def _report(startup: _Startup, entry: Entry, kind: str, error: Exception) -> None:
    message = _safe_exception_str(error)
    logger.warning("Failed to load %s '%s': %s", kind, entry.module, message, exc_info=error)
    payload = {
        "module_type": kind,
        "module_id": entry.module,
        "error": message,
        "reason_code": module_failure_reason(error),
    }
    if entry.instance_id is not None:
        payload["instance_id"] = entry.instance_id
    startup.note_failure({**payload, "entry": entry.where})
    await startup.coordinator.hooks.emit(MODULE_LOAD_FAILED, payload)


async def _announce_ready(startup: _Startup) -> None:
    """Call each module's `on_session_ready`, now that every other one is there."""
    coordinator = startup.coordinator
    for module_id, ready in [*coordinator.loader.get_on_session_ready_queue(), *startup.ready]:
        before = Mounting(coordinator)
        try:
            what = f"on_session_ready of module {module_id!r} did not return"
            await _in_time(ready(coordinator), startup.timeout, what)
        except Exception as error:
            message = _safe_exception_str(error)
            logger.warning(
                "on_session_ready for '%s' raised: %s", module_id, message, exc_info=error
            )
            payload = {"module_id": module_id, "error": message}
            await coordinator.hooks.emit(MODULE_ON_SESSION_READY_FAILED, payload)
        startup.remember(before.record())
    coordinator.loader.clear_on_session_ready_queue()


def _fork_payload(config: dict[str, Any], session_id: str, parent_id: str) -> dict[str, Any]:
    session = config.get("session") or {}
    payload: dict[str, Any] = {
        "parent": parent_id,
        "session_id": session_id,
        "child_id": session_id,
    }
    if session.get("metadata"):
        payload["metadata"] = session["metadata"]
    if session.get("raw"):
        payload["raw"] = redact_secrets(config)
    return payload


def _safe_exception_str(error: BaseException) -> str:
    """The text of an exception, even of one whose own text cannot be decoded."""
    try:
        return str(error)
    except UnicodeDecodeError:
        return repr(error)


async def _session_aenter(session: AmplifierSession) -> AmplifierSession:
    await session.initialize()
    return session
