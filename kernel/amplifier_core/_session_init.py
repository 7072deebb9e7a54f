"""Brings a session up: mounts every module of the plan, in order, and lets them get ready.

The orchestrator and the context must come up. Any other module that fails is taken out
again, reported, and the session goes on without it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from copy import deepcopy
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from ._mount_plan import Entry, read_mount_plan
from ._mounting import Mounted, Mounting
from .events import MODULE_LOAD_FAILED, MODULE_ON_SESSION_READY_FAILED, SESSION_FORK
from .loader import ModuleLoader, ReadyFunction, module_failure_reason
from .models import SessionStatus
from .utils.deadline import finish_within
from .utils.truncate import redact_secrets

if TYPE_CHECKING:
    from .session import AmplifierSession

logger = logging.getLogger(__name__)

SessionT = TypeVar("SessionT", bound="AmplifierSession")
T = TypeVar("T")

# What a session cannot do without, as error messages call it.
_REQUIRED = {
    "orchestrator": "orchestrator",
    "context": "context manager",
    "approval": "approval module",
}


async def initialize_session(
    config: dict[str, Any], coordinator: Any, session_id: str, parent_id: str | None
) -> None:
    """Mount the plan in `config` on `coordinator`; on failure nothing of it stays mounted.

    Raises:
        ValueError: the plan is malformed.
        RuntimeError: the orchestrator, the context or the approval module did not come up.
    """
    plan = read_mount_plan(config)
    if coordinator.loader is None:
        coordinator.loader = ModuleLoader(coordinator=coordinator)
    before = Mounting(coordinator)
    startup = _Startup(coordinator, plan.mount_timeout)
    try:
        for entry in plan.entries:
            await startup.mount(entry)
        await startup.announce_ready()
        if parent_id:
            await coordinator.hooks.emit(SESSION_FORK, _fork_payload(config, session_id, parent_id))
    except BaseException:
        coordinator.loader.clear_on_session_ready_queue()
        await before.undo()
        raise
    # A stand-in for a coordinator keeps no such list: nothing is ever taken out of it.
    getattr(coordinator, "_mounted", []).append(before.record())
    logger.info("Session %s initialized successfully", session_id)


class _Startup:
    """One run of the above: where modules go, and who wants to be told when all are there."""

    def __init__(self, coordinator: Any, timeout: float) -> None:
        self.coordinator = coordinator
        self.timeout = timeout
        self._ready: list[tuple[str, ReadyFunction]] = []

    async def mount(self, entry: Entry) -> None:
        """Make one module part of the session, or take out again what it left behind."""
        before = Mounting(self.coordinator)
        try:
            await self._load_and_mount(entry, before)
        except Exception as error:
            if entry.kind in _REQUIRED:
                # The whole run is undone, and this with it.
                raise RuntimeError(
                    f"Cannot initialize without {_REQUIRED[entry.kind]}: "
                    f"{_safe_exception_str(error)}"
                ) from error
            await before.undo()
            await self._report(entry, error)
            if entry.kind == "provider":
                await self._consult("provider.load_failure", entry, error)

    async def _load_and_mount(self, entry: Entry, before: Mounting) -> None:
        coordinator, serves = self.coordinator, True
        providers = dict(coordinator.get("providers") or {}) if entry.kind == "provider" else {}
        approval = coordinator.approval_system if entry.kind == "approval" else None
        if entry.kind == "provider":
            await self._consult("provider.before_load", entry)
        mounting = self._load_and_call(entry, before)
        failure = f"Module {entry.module!r} was not mounted"
        mount, returned = await _in_time(mounting, self.timeout, failure)
        try:
            if entry.kind == "provider":
                serves = await _settle_provider(coordinator, entry, providers, returned)
            elif entry.kind == "approval":
                _settle_approval(coordinator, entry, approval, returned)
            elif entry.kind in _REQUIRED:
                _check_slot(coordinator, entry, mount)
        finally:
            if returned is not None:
                _register_cleanup(coordinator, entry, before.record(), returned)
        ready = getattr(mount, "__on_session_ready__", None) if serves else None
        if ready and isinstance(coordinator.loader, ModuleLoader):
            # Sessions that come up at the same time may share a loader, but not its queue.
            self._ready.append(ready)
        elif ready:
            coordinator.loader.enqueue_on_session_ready(*ready)

    async def _load_and_call(self, entry: Entry, before: Mounting) -> tuple[Any, Any]:
        loader = self.coordinator.loader
        if entry.raw.get("isolation"):
            from .transports.isolation import Apart

            loader = Apart(entry, loader)
        mount = await loader.load(
            entry.module, entry.config, source_hint=entry.source, coordinator=self.coordinator
        )
        # What our own loader bound need not look at the coordinator once more.
        watched = getattr(mount, "__mount_watched__", None)
        return mount, await (watched(before) if watched else mount(self.coordinator))

    async def _consult(self, capability: str, entry: Entry, *more: Any) -> None:
        """Let the app have its say on a provider; what it raises goes through."""
        callback = self.coordinator.get_capability(capability)
        if callback is not None:
            await callback(self.coordinator, deepcopy(entry.raw), *more)

    async def announce_ready(self) -> None:
        """Call each module's `on_session_ready`, now that every other one is there."""
        coordinator = self.coordinator
        for module_id, ready in [*coordinator.loader.get_on_session_ready_queue(), *self._ready]:
            try:
                failure = f"on_session_ready of module {module_id!r} did not return"
                await _in_time(ready(coordinator), self.timeout, failure)
            except Exception as error:
                text = _safe_exception_str(error)
                logger.warning("on_session_ready of '%s': %s", module_id, text, exc_info=error)
                payload = {"module_id": module_id, "error": text}
                await coordinator.hooks.emit(MODULE_ON_SESSION_READY_FAILED, payload)
        coordinator.loader.clear_on_session_ready_queue()

    async def _report(self, entry: Entry, error: Exception) -> None:
        text = _safe_exception_str(error)
        logger.warning("Failed to load %s '%s': %s", entry.kind, entry.module, text, exc_info=error)
        payload = {"module_type": entry.kind, "module_id": entry.module, "error": text}
        named = {} if entry.instance_id is None else {"instance_id": entry.instance_id}
        payload |= {"reason_code": module_failure_reason(error), **named}
        status = getattr(self.coordinator.session, "status", None)
        if isinstance(status, SessionStatus):
            failed = {**payload, "entry": entry.where}
            status.failed_modules = [*(status.failed_modules or ()), failed]
        await self.coordinator.hooks.emit(MODULE_LOAD_FAILED, payload)


async def _in_time(work: Awaitable[T], timeout: float, failure: str) -> T:
    began = monotonic()
    try:
        return await finish_within(timeout, work)
    except TimeoutError as error:
        if monotonic() - began < timeout:
            raise  # the module's own
        raise TimeoutError(
            f"{failure} within {timeout:g} s. Raise session.mount_timeout if it needs longer."
        ) from error


def _register_cleanup(coordinator: Any, entry: Entry, record: Mounted, returned: Any) -> None:
    """Keep the cleanup that `mount()` handed out: a function, or a method of what it mounted."""
    serving = [*record.modules(), *(system for _, system, _ in record.systems)]
    is_serving = any(returned is each for each in serving)
    methods = [getattr(returned, name, None) for name in ("cleanup", "close")]
    cleanup = next(filter(callable, methods if is_serving else [returned, *methods]), None)
    if cleanup is not None:
        coordinator.register_cleanup(cleanup)
    elif not is_serving:
        logger.warning(
            "mount() of %r (%s) returned %s, which is no cleanup and not mounted; ignoring it",
            entry.module, entry.where, type(returned).__name__,
        )  # fmt: skip


def _check_slot(coordinator: Any, entry: Entry, mount: Any) -> None:
    # Only what our own loader bound can be held to it; others may mount later.
    if hasattr(mount, "__module_id__") and coordinator.get(entry.kind) is None:
        raise ValueError(f"Module {entry.module!r} mounted nothing at {entry.kind!r}.")


def _settle_approval(coordinator: Any, entry: Entry, known: Any, returned: Any) -> None:
    """An approval module sets the approval system, or is one."""
    from .transports.approvals import asked_either_way

    system = coordinator.approval_system
    if system is known and not callable(getattr(returned, "request_approval", None)):
        raise ValueError(f"Module {entry.module!r} offers no request_approval().")
    coordinator.approval_system = asked_either_way(returned if system is known else system)


async def _settle_provider(
    coordinator: Any, entry: Entry, known: dict[str, Any], returned: Any
) -> bool:
    """Give a provider the name that the plan wants; False if there is none to be named."""
    now = coordinator.get("providers") or {}
    changed = [name for name, each in now.items() if known.get(name, coordinator) is not each]
    if not changed and returned is None:
        logger.info("Provider %r mounted nothing, as without credentials", entry.module)
        return False
    if not changed:
        raise ValueError("Provider mount did not install a new provider instance")
    default, wanted = entry.module.removeprefix("provider-"), entry.instance_id
    if wanted is not None and default not in changed:
        raise ValueError(
            "Named provider mount did not install a new instance at its default mount name"
        )
    if wanted not in (None, default):
        await coordinator.mount("providers", now[default], name=wanted)
        if default in known:
            await coordinator.mount("providers", known[default], name=default)
        else:
            await coordinator.unmount("providers", name=default)
    return True


def _fork_payload(config: dict[str, Any], session_id: str, parent_id: str) -> dict[str, Any]:
    raw = {"raw": redact_secrets(config)} if (config.get("session") or {}).get("raw") else {}
    payload = {"parent": parent_id, "session_id": session_id, "child_id": session_id, **raw}
    return with_metadata(config, payload)


def with_metadata(config: dict[str, Any], payload: dict[str, Any]) -> dict[str, Any]:
    metadata = (config.get("session") or {}).get("metadata")
    return {**payload, "metadata": metadata} if metadata else payload


def _safe_exception_str(error: BaseException) -> str:
    """The text of an exception, even of one whose own text cannot be decoded."""
    try:
        return str(error)
    except UnicodeDecodeError:
        return repr(error)


async def _session_aenter(session: SessionT) -> SessionT:
    """Begin an `async with`: bring the session up, or run its cleanups if that fails."""
    try:
        await session.initialize()
    except BaseException:
        await session.cleanup()
        raise
    return session
