"""What a module gets to work with: mount points, capabilities, channels, hooks.

The coordinator keeps books and carries out what hooks decided. It never picks a module
and never calls one on its own account, except to clean up.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from operator import attrgetter, index
from typing import TYPE_CHECKING, Any, Self

from ._hook_answers import brief
from ._hook_effects import apply_hook_result
from .cancellation import CancellationToken, being_cancelled
from .hooks import HookRegistry
from .models import HookResult
from .utils.checks import typed

if TYPE_CHECKING:
    from ._mounting import Mounted
    from .approval import ApprovalSystem
    from .display import DisplaySystem
    from .loader import ModuleLoader

__all__ = ["ModuleCoordinator"]

logger = logging.getLogger(__name__)

SINGLE_SLOTS = ("orchestrator", "context", "module-source-resolver")
NAMED_SLOTS = ("providers", "tools")
# Some module guides mount the loop and the context as parts of "session".
_SESSION_PARTS = ("orchestrator", "context")


def _read_only(field: str) -> Any:
    return property(attrgetter(field))


def _replaceable_dict(field: str) -> Any:
    def replace(self: ModuleCoordinator, value: Any) -> None:
        setattr(self, field, typed(field.lstrip("_"), value, dict))

    return property(attrgetter(field), replace)


class ModuleCoordinator:
    """The infrastructure of one session, handed to every module's `mount()`.

    Instances take any further attribute: modules may keep state of their own on them.
    """

    # "__dict__" holds only what modules add; the slots keep a session small.
    __slots__ = (
        "__dict__", "__weakref__", "_cancellation", "_capabilities", "_channels", "_cleanups",
        "_config", "_hooks", "_injected_tokens", "_mount_points", "_mounted", "_parent_id",
        "_session", "_session_id", "_session_state", "approval_system", "display_system", "loader",
    )  # fmt: skip

    def __new__(
        cls,
        session: Any = None,
        approval_system: ApprovalSystem | None = None,
        display_system: DisplaySystem | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Self:
        # State is built here, not in __init__: test doubles override __init__ freely.
        self = super().__new__(cls)
        self._set_up()
        has_own_init = cls.__init__ is not ModuleCoordinator.__init__
        if has_own_init and session is not None and not hasattr(session, "session_id"):
            # These arguments are the subclass's and mean something else.
            session = approval_system = display_system = None
        self._bind(session, approval_system, display_system)
        return self

    def __init__(
        self,
        session: Any = None,
        approval_system: ApprovalSystem | None = None,
        display_system: DisplaySystem | None = None,
    ) -> None:
        if session is not None or approval_system is not None or display_system is not None:
            self._bind(session, approval_system, display_system)

    def _set_up(self) -> None:
        self._hooks = HookRegistry()
        self._mount_points: dict[str, Any] = {
            "orchestrator": None,
            "providers": {},
            "tools": {},
            "context": None,
            "hooks": self._hooks,
            "module-source-resolver": None,
        }
        self._cancellation = CancellationToken()
        self._capabilities: dict[str, Any] = {}
        self._channels: dict[str, list[dict[str, Any]]] = {}
        self._session_state: dict[str, Any] = {}
        self._cleanups: list[Callable[[], Any]] = []
        self._injected_tokens = 0
        self._mounted: list[Mounted] = []
        self.loader: ModuleLoader | None = None

    def _bind(self, session: Any, approval_system: Any, display_system: Any) -> None:
        self._session = session
        self._session_id = ""
        self._parent_id: str | None = None
        self._config: Any = {}
        if session is not None:
            self._session_id = typed("session_id", session.session_id, str)
            if session.parent_id is not None:
                self._parent_id = typed("parent_id", session.parent_id, str)
            self._config = session.config
        self.approval_system: ApprovalSystem | None = approval_system
        self.display_system: DisplaySystem | None = display_system

    # -- the session ------------------------------------------------------------------

    session: Any = _read_only("_session")
    session_id: str = _read_only("_session_id")
    parent_id: str | None = _read_only("_parent_id")
    #: The mount plan: the session's own object, so later changes are seen.
    config: Any = _read_only("_config")
    hooks: HookRegistry = _read_only("_hooks")
    cancellation: CancellationToken = _read_only("_cancellation")
    #: Contributors by channel, each as `{"name": ..., "callback": ...}`.
    channels: dict[str, list[dict[str, Any]]] = _read_only("_channels")
    _cleanup_fns: list[Callable[[], Any]] = _read_only("_cleanups")

    #: A dict that modules share; the kernel never looks into it.
    session_state: dict[str, Any] = _replaceable_dict("_session_state")
    #: The live slots. Changing them directly is allowed and takes effect at once.
    mount_points: dict[str, Any] = _replaceable_dict("_mount_points")

    @property
    def injection_budget_per_turn(self) -> int | None:
        """Tokens that hooks may inject per turn before a warning; None means no limit."""
        return self._session_limit("injection_budget_per_turn")

    @property
    def injection_size_limit(self) -> int | None:
        """Characters that one injection may have; None means no limit."""
        return self._session_limit("injection_size_limit")

    def _session_limit(self, key: str) -> int | None:
        section = self._config.get("session") if isinstance(self._config, Mapping) else None
        limit = section.get(key) if isinstance(section, Mapping) else None
        return None if limit is None else _not_negative(f"session.{key}", limit)

    @property
    def _current_turn_injections(self) -> int:
        return self._injected_tokens

    @_current_turn_injections.setter
    def _current_turn_injections(self, value: int) -> None:
        self._injected_tokens = _not_negative("The injection counter", index(value))

    def _set_session(self, session: Any) -> None:
        self._session = session

    # -- mounting ---------------------------------------------------------------------

    def mount(
        self, mount_point: str, module: Any, name: str | None = None
    ) -> Coroutine[Any, Any, None]:
        """Put `module` into a slot, at once; awaiting the result is a formality.

        `providers` and `tools` hold many by name, taken from `module.name` if not given;
        an existing one of that name is replaced. Other slots hold one.
        """
        if mount_point == "session" and name in _SESSION_PARTS:
            mount_point = name or ""
        slot = self._slot(mount_point)
        if mount_point == "hooks":
            raise ValueError("Hooks should be registered directly with the HookRegistry")
        if not _holds_many(mount_point, slot):
            self._mount_points[mount_point] = module
            return _done()
        name = _name_of(module, mount_point) if name is None else typed("name", name, str)
        if slot is None:
            slot = self._mount_points[mount_point] = {}
        slot[name] = module
        return _done()

    def unmount(self, mount_point: str, name: str | None = None) -> Coroutine[Any, Any, None]:
        """Empty a slot, or take one module out of it, at once. Runs no cleanup."""
        slot = self._slot(mount_point)
        if _holds_many(mount_point, slot):
            if name is None:
                raise ValueError(f"Name required to unmount from {mount_point}")
            if slot:
                slot.pop(name, None)
        elif mount_point != "hooks":
            self._mount_points[mount_point] = None
        return _done()

    def get(self, mount_point: str, name: str | None = None) -> Any:
        """The module in a single slot; one module, or the live dict, of the others."""
        slot = self._slot(mount_point)
        if name is None or slot is None or not _holds_many(mount_point, slot):
            return slot
        return slot.get(name)

    def get_all(self, mount_point: str) -> dict[str, Any]:
        """The modules of a slot by name, as a copy; a single slot counts as its own name."""
        slot = self._slot(mount_point)
        if _holds_many(mount_point, slot):
            return dict(slot or {})
        return {} if slot is None else {mount_point: slot}

    get_mounted = get_all

    def _slot(self, mount_point: str) -> Any:
        try:
            return self._mount_points[mount_point]
        except KeyError:
            raise ValueError(f"Unknown mount point: {mount_point}") from None

    # -- capabilities and contributions -----------------------------------------------

    def register_capability(self, name: str, value: Any) -> None:
        """Offer `value` to other modules under `name`; replaces what was there."""
        self._capabilities[typed("A capability's name", name, str)] = value

    def get_capability(self, name: str) -> Any:
        """The capability `name`, or None.

        For a channel that has contributors but no capability of that name: what the
        contributors give, in one flat list. Contributors that are async are left out
        here; `collect_contributions` asks them too.
        """
        if name in self._capabilities or name not in self._channels:
            return self._capabilities.get(name)
        return self._flat_contributions(name)

    def check_capability(self, name: str) -> bool:
        """Whether a capability of that name was registered, even one whose value is None."""
        return name in self._capabilities

    def register_contributor(self, channel: str, name: str, callback: Callable[[], Any]) -> None:
        """Answer with `callback()` whenever someone collects `channel`."""
        contributor = {"name": typed("A contributor's name", name, str), "callback": callback}
        self._channels.setdefault(typed("A channel", channel, str), []).append(contributor)

    async def collect_contributions(self, channel: str) -> list[Any]:
        """What the contributors of `channel` give, in order; None and failures left out."""
        collected: list[Any] = []
        for contributor in self._channels.get(channel, []):
            try:
                given = contributor["callback"]()
                if inspect.isawaitable(given):
                    given = await given
            except Exception as error:
                _log_contributor(contributor, channel, error)
            except asyncio.CancelledError as error:
                if being_cancelled():
                    raise
                _log_contributor(contributor, channel, error)
                break
            else:
                if given is not None:
                    collected.append(given)
        return collected

    def _flat_contributions(self, channel: str) -> list[Any]:
        flat: list[Any] = []
        for contributor in self._channels[channel]:
            try:
                given = contributor["callback"]()
            except Exception as error:
                _log_contributor(contributor, channel, error)
                continue
            if inspect.iscoroutine(given):
                given.close()
            elif given is not None and not inspect.isawaitable(given):
                flat += given if isinstance(given, list | tuple) else [given]
        return flat

    # -- cleaning up ------------------------------------------------------------------

    def register_cleanup(self, cleanup_fn: Callable[[], Any] | None) -> None:
        """Call `cleanup_fn()`, sync or async, when the session ends; last in, first out."""
        if callable(cleanup_fn):
            self._cleanups.append(cleanup_fn)

    async def cleanup(self) -> None:
        """Run every registered cleanup once, newest first; one that fails is logged."""
        await self._run_cleanups(0)

    async def _run_cleanups(self, keep: int) -> None:
        """Run and drop the cleanups after the first `keep`.

        What must not be swallowed (Ctrl-C, exit, cancellation) is raised when all have run.
        """
        fatal: BaseException | None = None
        while len(self._cleanups) > keep:
            cleanup = self._cleanups.pop()
            try:
                outcome = cleanup() if callable(cleanup) else None
                if inspect.isawaitable(outcome):
                    await outcome
            except Exception as error:
                logger.exception("Error during cleanup: %s: %s", type(error).__name__, error)
            except BaseException as error:
                fatal = fatal or error
        if fatal is not None:
            raise fatal

    async def _unmount_modules(self) -> None:
        """Take out what the session's own modules put in, newest first."""
        while self._mounted:
            await self._mounted.pop().remove(self)

    # -- what hooks decided -----------------------------------------------------------

    async def process_hook_result(
        self, result: HookResult, event: str, hook_name: str = "unknown"
    ) -> HookResult:
        """Carry out what an emit decided: inject, show, ask. Returns what is left to do.

        `deny` and `continue` come back as they are. After an injection, only what must
        not be stored is still in the result; after a question, it is the answer.

        Raises:
            ValueError: an injection is longer than `session.injection_size_limit`.
        """
        if brief(result) is not None:
            return result
        return await apply_hook_result(self, result, event, hook_name)

    async def request_cancel(self, immediate: bool = False) -> None:
        """Ask the running turn to stop; the orchestrator sees it at its next look."""
        token = self._cancellation
        token.request_immediate() if immediate else token.request_graceful()

    def reset_turn(self) -> None:
        """Begin a new turn's injection budget."""
        self._injected_tokens = 0

    def to_dict(self) -> dict[str, Any]:
        """What is mounted, by name; for status displays."""
        return {
            "tools": list(self._mount_points.get("tools") or ()),
            "providers": list(self._mount_points.get("providers") or ()),
            "has_orchestrator": self._mount_points.get("orchestrator") is not None,
            "has_context": self._mount_points.get("context") is not None,
            "capabilities": list(self._capabilities),
            "has_approval_provider": self.approval_system is not None,
            "has_display_service": self.display_system is not None,
        }


async def _done() -> None:
    return None


def _holds_many(mount_point: str, slot: Any) -> bool:
    """Whether a slot keeps modules by name; one that an app added does if it is a dict."""
    if mount_point in NAMED_SLOTS:
        return True
    return isinstance(slot, dict) and mount_point not in SINGLE_SLOTS


def _not_negative(what: str, value: Any) -> int:
    if typed(what, value, int) < 0:
        raise OverflowError(f"{what} must not be negative, got {value}.")
    return int(value)


def _name_of(module: Any, mount_point: str) -> str:
    try:
        name = module.name
    except Exception:
        raise ValueError(f"Name required for {mount_point}") from None
    return typed("A module's name", name, str)


def _log_contributor(contributor: dict[str, Any], channel: str, error: BaseException) -> None:
    name, text = contributor["name"], str(error) or type(error).__name__
    logger.warning("Contributor '%s' on channel '%s' failed: %s", name, channel, text)
