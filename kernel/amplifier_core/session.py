"""The life of one session: initialize, execute, cleanup.

A session owns a coordinator and lends it to modules. It decides nothing about the
conversation: that is the orchestrator's work.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from . import _session_exec, _session_init
from ._session_init import _safe_exception_str, initialize_session
from .coordinator import ModuleCoordinator, _read_only
from .events import CANCEL_COMPLETED, SESSION_END, SESSION_RESUME, SESSION_START
from .loader import ModuleLoader
from .models import SessionStatus
from .utils.truncate import redact_secrets

if TYPE_CHECKING:
    from .approval import ApprovalSystem
    from .display import DisplaySystem

__all__ = [
    "AmplifierSession", "ModuleCoordinator", "ModuleLoader", "SessionStatus",
    "initialize_session", "redact_secrets",
]  # fmt: skip

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
        self.config = config
        self.session_id = str(uuid4()) if session_id in (None, "") else session_id
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
        hooks._tap = MethodType(_session_exec.count_event, self.status)

    is_resumed: bool = _read_only("_is_resumed")
    initialized: bool = _read_only("_initialized")

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
                failure = await self._run_initialize()
            elif self._is_initializing_here():
                raise RuntimeError(
                    "A module waits for the session that is mounting it. "
                    "Use the session once it is initialized, as in a hook on 'session:start'."
                )
            else:
                failure = await asyncio.shield(self._initializing)
            if failure is not None:
                text = f"Session initialization failed: {_described(failure)}"
                raise RuntimeError(text) from failure

    def _is_initializing_here(self) -> bool:
        return self._initializer is asyncio.current_task()

    async def _run_initialize(self) -> Exception | None:
        """The failure, if there was one; others wait for it in a future."""
        waiting = self._initializing = asyncio.get_running_loop().create_future()
        self._initializer = asyncio.current_task()
        self._ended = False
        self.status.failed_modules = None
        failure: Exception | None = None
        try:
            # Looked up when called, so that an app can replace the step.
            await _session_init.initialize_session(
                self.config, self.coordinator, self.session_id, self.parent_id
            )
            self._initialized = True
        except Exception as error:
            failure = error
        finally:
            self._initializing = self._initializer = None
            waiting.set_result(failure)
        return failure

    # -- execute ----------------------------------------------------------------------

    async def execute(self, prompt: str) -> str:
        """Run one turn and return the orchestrator's answer; initializes if need be.

        Whatever the orchestrator raises reaches the caller as it is. Cancelling the task
        that awaits this cancels the orchestrator.
        """
        if not isinstance(prompt, str):
            raise TypeError(f"A prompt must be a str, not {type(prompt).__name__}.")
        await self.initialize()
        await self._announce()
        self.status.status = "running"
        try:
            answer = await _session_exec.run_orchestrator(self.coordinator, prompt)
        except BaseException as error:
            await self._finish_turn(error)
            raise
        await self._finish_turn(None)
        return answer

    async def _announce(self) -> None:
        if self._announced:
            return
        self._announced = True
        event = SESSION_RESUME if self._is_resumed else SESSION_START
        ids = {"session_id": self.session_id, "parent_id": self.parent_id}
        coordinator, config = self.coordinator, self.config
        await coordinator.hooks.emit(event, _session_init.with_metadata(config, ids))
        await _session_exec.emit_raw_field_if_configured(coordinator, config, self.session_id)

    async def _finish_turn(self, error: BaseException | None) -> None:
        status, token = self.status, self.coordinator.cancellation
        if token.is_cancelled:
            status.status = "cancelled"
            extra = {} if error is None else {"error": _described(error)}
            payload = {"was_immediate": token.is_immediate, **extra}
            await self.coordinator.hooks.emit(CANCEL_COMPLETED, payload)
        elif error is None:
            status.status = "completed"
        elif isinstance(error, asyncio.CancelledError):
            status.status = "cancelled"
        else:
            status.status = "failed"
            message = _safe_exception_str(error)
            status.last_error = {"message": message, "type": type(error).__name__}
            logger.error("Execution failed: %s", _described(error))

    # -- cleanup ----------------------------------------------------------------------

    async def cleanup(self, *, cascade_children: bool = False) -> None:
        """End the session: tell the hooks, run the cleanups, unmount the modules.

        Every step runs even if another fails, and none runs twice. Afterwards the session
        may be initialized again.
        """
        # What a running initialize mounts from now on, nobody would take out again.
        while self._initializing is not None and not self._is_initializing_here():
            await asyncio.shield(self._initializing)
        coordinator, first = self.coordinator, not self._ended
        self._ended = True
        clean_loader: Any = getattr(coordinator.loader, "cleanup", None)
        if first:
            coordinator._cleanup_fns.insert(0, clean_loader)
        try:
            if cascade_children:
                await self._cleanup_children()
        finally:
            try:
                if first and self._initialized:
                    self.status.ended_at = datetime.now()
                    ended = {"session_id": self.session_id, "status": self.status.status}
                    await coordinator.hooks.emit(SESSION_END, ended)
            finally:
                try:
                    await coordinator.cleanup()
                finally:
                    self._initialized = False
                    await coordinator._unmount_modules()

    async def _cleanup_children(self) -> None:
        # A stack runs every step whatever another one raises, and the last one first.
        async with AsyncExitStack() as steps:
            for child in self._children:
                steps.push_async_callback(child.cleanup, cascade_children=True)

    __aenter__ = _session_init._session_aenter

    async def __aexit__(self, *_: object) -> None:
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
        config = self.config if config is None else config
        child = type(self)(config, session_id=session_id, parent_id=self.session_id, **options)
        parent.cancellation.register_child(child.coordinator.cancellation)
        self._children.append(child)
        child.coordinator.register_cleanup(partial(self._release, child))
        return child

    def _release(self, child: AmplifierSession) -> None:
        self.coordinator.cancellation.unregister_child(child.coordinator.cancellation)
        self._children[:] = [kept for kept in self._children if kept is not child]


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {_safe_exception_str(error)}"


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
