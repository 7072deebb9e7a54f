"""The life of one session: initialize, execute, cleanup.

A session owns a coordinator and lends it to modules. It decides nothing about the
conversation: that is the orchestrator's work.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from . import _session_exec, _session_init
from ._session_init import _safe_exception_str, initialize_session
from ._session_status import count_event
from .coordinator import ModuleCoordinator
from .events import CANCEL_COMPLETED, SESSION_END, SESSION_RESUME, SESSION_START
from .loader import ModuleLoader
from .models import SessionStatus
from .utils.truncate import redact_secrets

if TYPE_CHECKING:
    from .approval import ApprovalSystem
    from .display import DisplaySystem

__all__ = [
    "AmplifierSession",
    "ModuleCoordinator",
    "ModuleLoader",
    "SessionStatus",
    "initialize_session",
    "redact_secrets",
]

logger = logging.getLogger(__name__)


class AmplifierSession:
    """A mount plan brought to life.

    Use it as an async context manager, or call `initialize()`, `execute()` as often as
    you like, and `cleanup()`.
    """

    def __init__(
        self,
        config: dict[str, Any],
        loader: ModuleLoader | None = None,
        session_id: str | None = None,
        parent_id: str | None = None,
        approval_system: ApprovalSystem | None = None,
        display_system: DisplaySystem | None = None,
        is_resumed: bool = False,
    ) -> None:
        _check_config(config)
        if session_id is not None and not isinstance(session_id, str):
            raise TypeError(f"session_id must be a str, not {type(session_id).__name__}.")
        self.config = config
        self.session_id = session_id or str(uuid4())
        self.parent_id = parent_id
        self.coordinator = ModuleCoordinator(self, approval_system, display_system)
        self.coordinator.loader = loader
        self.status = SessionStatus(session_id=self.session_id)
        self._is_resumed = is_resumed
        self._initialized = False
        self._initializing: asyncio.Future[Exception | None] | None = None
        self._initializer: asyncio.Task[Any] | None = None
        self._announced = False
        self._ended = False
        self._children: list[AmplifierSession] = []
        hooks = self.coordinator.hooks
        hooks.set_default_fields(session_id=self.session_id, parent_id=parent_id)
        hooks._tap = self._count

    def _count(self, event: str, data: Any) -> None:
        count_event(self.status, event, data)

    @property
    def is_resumed(self) -> bool:
        return self._is_resumed

    @property
    def initialized(self) -> bool:
        return self._initialized

    @property
    def loader(self) -> ModuleLoader:
        """The loader given at construction, or one made when first needed."""
        if self.coordinator.loader is None:
            self.coordinator.loader = ModuleLoader(coordinator=self.coordinator)
        return self.coordinator.loader

    # -- initialize -------------------------------------------------------------------

    async def initialize(self) -> None:
        """Mount all modules of the plan. Does nothing when that has been done.

        Concurrent callers share one run. A run that fails leaves nothing mounted.

        Raises:
            RuntimeError: the plan is malformed, or a module that it cannot do without
                failed; the cause is chained.
        """
        while not self._initialized:
            if self._initializing is None:
                await self._run_initialize()
                return
            if self._is_initializing_here():
                raise RuntimeError(
                    "A module waits for the session that is mounting it. "
                    "Use the session once it is initialized, as in a hook on 'session:start'."
                )
            error = await asyncio.shield(self._initializing)
            if error is not None:
                raise _initialization_error(error) from error

    def _is_initializing_here(self) -> bool:
        return self._initializer is asyncio.current_task()

    async def _run_initialize(self) -> None:
        # Others wait for this future; its value is the failure, if there was one.
        waiting = self._initializing = asyncio.get_running_loop().create_future()
        self._initializer = asyncio.current_task()
        self._ended = False
        failure: Exception | None = None
        try:
            # Looked up when called, so that an app can replace the step.
            await _session_init.initialize_session(
                self.config, self.coordinator, self.session_id, self.parent_id
            )
            self._initialized = True
        except Exception as error:
            failure = error
            raise _initialization_error(error) from error
        finally:
            self._initializing = self._initializer = None
            waiting.set_result(failure)

    # -- execute ----------------------------------------------------------------------

    async def execute(self, prompt: str) -> str:
        """Run one turn and return the orchestrator's answer; initializes if need be.

        Whatever the orchestrator raises reaches the caller as it is. Cancelling the task
        that awaits this cancels the orchestrator.
        """
        if not isinstance(prompt, str):
            raise TypeError(f"A prompt must be a str, not {type(prompt).__name__}.")
        if not self._initialized:
            await self.initialize()
        await self._announce()
        self.status.status = "running"
        try:
            answer = await _session_exec.run_orchestrator(self.coordinator, prompt)
        except BaseException as error:
            await self._turn_failed(error)
            raise
        cancelled = self.coordinator.cancellation.is_cancelled
        self.status.status = "cancelled" if cancelled else "completed"
        if cancelled:
            await self._emit_cancelled({})
        return answer

    async def _announce(self) -> None:
        if self._announced:
            return
        self._announced = True
        payload: dict[str, Any] = {"session_id": self.session_id, "parent_id": self.parent_id}
        metadata = self.config["session"].get("metadata")
        if metadata:
            payload["metadata"] = metadata
        hooks = self.coordinator.hooks
        await hooks.emit(SESSION_RESUME if self._is_resumed else SESSION_START, payload)
        await _session_exec.emit_raw_field_if_configured(
            self.coordinator, self.config, self.session_id, _session_exec.SESSION_CONFIG
        )

    async def _turn_failed(self, error: BaseException) -> None:
        text = f"{type(error).__name__}: {_safe_exception_str(error)}"
        if self.coordinator.cancellation.is_cancelled:
            self.status.status = "cancelled"
            await self._emit_cancelled({"error": text})
        elif isinstance(error, asyncio.CancelledError):
            self.status.status = "cancelled"
        else:
            self.status.status = "failed"
            self.status.last_error = {
                "message": _safe_exception_str(error),
                "type": type(error).__name__,
            }
            logger.error("Execution failed: %s", text)

    async def _emit_cancelled(self, extra: dict[str, Any]) -> None:
        was_immediate = self.coordinator.cancellation.is_immediate
        payload = {"was_immediate": was_immediate, **extra}
        await self.coordinator.hooks.emit(CANCEL_COMPLETED, payload)

    # -- cleanup ----------------------------------------------------------------------

    async def cleanup(self, *, cascade_children: bool = False) -> None:
        """End the session: tell the hooks, run the cleanups, unmount the modules.

        Every step runs even if another fails, and none runs twice. Afterwards the session
        may be initialized again.
        """
        # What a running initialize mounts from now on, nobody would take out again.
        while self._initializing is not None and not self._is_initializing_here():
            await asyncio.shield(self._initializing)
        first, self._ended = not self._ended, True
        # A stack runs every step whatever another one raises, and the last one first.
        async with AsyncExitStack() as steps:
            steps.push_async_callback(self.coordinator._unmount_modules)
            steps.push_async_callback(self._run_cleanups, with_loader=first)
            if first and self._initialized:
                steps.push_async_callback(self._emit_end)
            for child in self._children if cascade_children else ():
                steps.push_async_callback(child.cleanup, cascade_children=True)

    async def _run_cleanups(self, with_loader: bool) -> None:
        clean_loader = getattr(self.coordinator.loader, "cleanup", None)
        if with_loader and callable(clean_loader):
            self.coordinator._cleanup_fns.insert(0, clean_loader)
        try:
            await self.coordinator.cleanup()
        finally:
            self._initialized = False

    async def _emit_end(self) -> None:
        self.status.ended_at = datetime.now()
        payload = {"session_id": self.session_id, "status": self.status.status}
        await self.coordinator.hooks.emit(SESSION_END, payload)

    async def __aenter__(self) -> Self:
        try:
            await self.initialize()
        except BaseException:
            await self.cleanup()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.cleanup()

    # -- children ---------------------------------------------------------------------

    def fork(
        self, config: dict[str, Any] | None = None, session_id: str | None = None, **options: Any
    ) -> AmplifierSession:
        """A child session, not yet initialized, that stops when this one is cancelled.

        It gets this session's config and approval and display systems unless others are
        given; `options` are those of the constructor.
        """
        parent = self.coordinator
        options.setdefault("approval_system", parent.approval_system)
        options.setdefault("display_system", parent.display_system)
        child = type(self)(
            self.config if config is None else config,
            session_id=session_id,
            parent_id=self.session_id,
            **options,
        )
        parent.cancellation.register_child(child.coordinator.cancellation)
        self._children.append(child)
        child.coordinator.register_cleanup(lambda: self._release(child))
        return child

    def _release(self, child: AmplifierSession) -> None:
        self.coordinator.cancellation.unregister_child(child.coordinator.cancellation)
        self._children[:] = [kept for kept in self._children if kept is not child]


def _initialization_error(error: Exception) -> RuntimeError:
    text = _safe_exception_str(error)
    return RuntimeError(f"Session initialization failed: {type(error).__name__}: {text}")


def _check_config(config: Any) -> None:
    """Refuse what cannot be a mount plan; its modules are checked when they are mounted."""
    if config is not None and not isinstance(config, dict):
        raise TypeError(f"A mount plan must be a dict, not {type(config).__name__}.")
    if not config:
        raise ValueError("Configuration is required")
    session = config.get("session")
    for part in ("orchestrator", "context"):
        if not isinstance(session, dict) or not session.get(part):
            raise ValueError(f"Configuration must specify session.{part}")
