"""One run of a child session within this process, from its start to its cleanup."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from copy import deepcopy
from typing import Any, NamedTuple

from amplifier_core import AmplifierSession, ModuleLoader

logger = logging.getLogger(__name__)

_SHARED_CAPABILITIES = (
    "session.working_dir",
    "mention_resolver",
    "mention_deduplicator",
    "bundle_package_paths",
    "model_role_resolver",
)
# What modules decided at run time about which tools need a person's consent.
_SHARED_STATE = ("require_approval_tools", "active_mode")
_RESOLVER = "module-source-resolver"
_SECONDS_TO_CLEAN_UP = 30.0


class NotStarted(Exception):
    """A child that would have lacked something it must not lack."""


class Ran(NamedTuple):
    """What a run leaves behind."""

    response: str
    messages: list[Any]
    status: str


class _BorrowedLoader(ModuleLoader):
    """Loads as the parent does, and leaves the parent's loader alone at the end."""

    def __init__(self, lender: Any) -> None:
        super().__init__()
        self._lender = lender

    async def load(self, *args: Any, **kwargs: Any) -> Any:
        return await self._lender.load(*args, **kwargs)

    def cleanup(self) -> None:
        pass


def new(
    parent: Any, plan: dict[str, Any], session_id: str, *, is_resumed: bool
) -> AmplifierSession:
    """A child of the session of `parent`, linked to its cancellation, not yet initialized."""
    # A run may change its plan, and the next run of this child needs it as it was.
    plan = {**plan, "session": deepcopy(plan["session"])}
    fork = getattr(parent.session, "fork", None)
    if fork is not None:
        child: AmplifierSession = fork(plan, session_id, is_resumed=is_resumed)
    else:
        child = _new_without_fork(parent, plan, session_id, is_resumed)
    lender = getattr(parent, "loader", None)
    if lender is not None:
        child.coordinator.loader = _BorrowedLoader(lender)
    return child


def _new_without_fork(
    parent: Any, plan: dict[str, Any], session_id: str, is_resumed: bool
) -> AmplifierSession:
    """The same on kernels whose sessions cannot fork by themselves."""
    child = AmplifierSession(
        plan,
        session_id=session_id,
        parent_id=parent.session_id,
        approval_system=parent.approval_system,
        display_system=parent.display_system,
        is_resumed=is_resumed,
    )
    token = child.coordinator.cancellation
    parent.cancellation.register_child(token)
    child.coordinator.register_cleanup(lambda: parent.cancellation.unregister_child(token))
    return child


async def run(
    parent: Any,
    child: AmplifierSession,
    messages: list[Any],
    instruction: str,
    call_id: str | None,
) -> Ran:
    """Give a child its past and an instruction; it is cleaned up whatever happens.

    Raises:
        NotStarted: a module that it needs did not come up.
    """
    try:
        await _bring_up(parent, child, call_id)
        context = child.coordinator.get("context")
        if not getattr(child, "has_own_past", False):
            await _remember(context, messages, child.is_resumed)
        response = await child.execute(instruction)
        was_cancelled = child.coordinator.cancellation.is_cancelled
        return Ran(
            response,
            list(await context.get_messages()),
            "cancelled" if was_cancelled else "success",
        )
    finally:
        await _to_the_end(child.cleanup())


async def _remember(context: Any, messages: list[Any], is_resumed: bool) -> None:
    if is_resumed and hasattr(context, "set_messages"):
        await context.set_messages(messages)
        return
    for message in messages:
        await context.add_message(message)


async def _bring_up(parent: Any, child: AmplifierSession, call_id: str | None) -> None:
    coordinator = child.coordinator
    resolver = parent.get(_RESOLVER)
    if resolver is not None:
        await coordinator.mount(_RESOLVER, resolver)
    for name in _SHARED_CAPABILITIES:
        value = parent.get_capability(name)
        if value is not None:
            coordinator.register_capability(name, value)
    for key in _SHARED_STATE:
        if key in parent.session_state:
            coordinator.session_state[key] = deepcopy(parent.session_state[key])
    fields = {"session_id": child.session_id, "parent_id": parent.session_id}
    if call_id is not None:
        fields["parent_tool_call_id"] = call_id
    coordinator.hooks.set_default_fields(**fields)
    try:
        await child.initialize()
    except Exception as error:
        raise NotStarted(str(error)) from error
    _refuse_missing_hooks(child)
    await _remove_foreign_tools(parent, coordinator)


def _refuse_missing_hooks(child: AmplifierSession) -> None:
    """A session does without a hook that fails to mount, but the hook may be a guard."""
    failed = getattr(getattr(child, "status", None), "failed_modules", None) or ()
    for each in failed:
        if each["module_type"] == "hook":
            raise NotStarted(f"its hook {each['module_id']!r} is missing: {each['error']}")


async def _remove_foreign_tools(parent: Any, coordinator: Any) -> None:
    """Take out what the parent does not have now, whatever its plan said at the start."""
    own = parent.get("tools") or {}
    for name in [name for name in coordinator.get("tools") or {} if name not in own]:
        logger.info("A child does not get tool %r, which its parent has not", name)
        await coordinator.unmount("tools", name=name)


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Finish `work` even if the task is cancelled meanwhile; the cancellation comes after."""
    task = asyncio.ensure_future(asyncio.wait_for(work, _SECONDS_TO_CLEAN_UP))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if not task.cancelled() and task.exception() is not None:
        logger.error("A child could not be cleaned up", exc_info=task.exception())
    if cancelled is not None:
        raise cancelled
