"""`hooks-approval`: no tool runs unless a rule or a person allows it.

A guard on `tool:pre`. It judges a call by the config and by what the tool says of itself,
asks a person where that does not settle it, and denies when there is nobody to ask or
anything goes wrong. A second look after all other hooks makes sure that what runs is what
was approved.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from amplifier_core.events import APPROVAL_DENIED, APPROVAL_GRANTED, APPROVAL_REQUIRED, TOOL_PRE
from amplifier_core.interfaces import ApprovalRequest
from amplifier_core.models import HookResult

from amplifier_modules.shell.approval_asking import (
    Answer,
    ask_in_dialogue,
    ask_provider,
    request_for,
)
from amplifier_modules.shell.approval_audit import AuditFailed, AuditFile
from amplifier_modules.shell.approval_explain import explain
from amplifier_modules.shell.approval_facts import Facts, Unjudgeable
from amplifier_modules.shell.approval_memory import Memory, fingerprint
from amplifier_modules.shell.policy import MODULE, ApprovalSettings
from amplifier_modules.shell.policy_calls import Call, CallPolicy
from amplifier_modules.shell.policy_commands import may_move
from amplifier_modules.shell.rules_places import Places
from amplifier_modules.shell.verdict import Verdict

__all__ = ["ApprovalGuard", "explain", "mount"]

__amplifier_module_type__ = "hook"

logger = logging.getLogger(__name__)

_EARLY = -10
_LAST = 1_000_000
_MOST_UNDER_WAY = 512
_SILENT = ("built-in: reads in the project", "policy_driven_only")


class ApprovalGuard:
    """Decides on every call of a tool in one session."""

    def __init__(self, coordinator: Any, settings: ApprovalSettings) -> None:
        self._coordinator = coordinator
        self._settings = settings
        self._policy = CallPolicy(settings)
        self._facts = Facts(coordinator, settings)
        self._audit = AuditFile(settings.audit.path) if settings.audit.enabled else None
        self._provider: Any = None
        # One question at a time: a person answers the one that is on the screen.
        self._asking = asyncio.Lock()
        self._passed: dict[object, str] = {}
        self.memory = Memory()

    def register_provider(self, provider: Any) -> None:
        """Ask `provider` from now on; it has `request_approval(request)`."""
        if not callable(getattr(provider, "request_approval", None)):
            raise TypeError("An approval provider needs a method request_approval(request).")
        self._provider = provider

    # -- hooks ----------------------------------------------------------------------------

    async def before_call(self, event: str, data: dict[str, Any]) -> HookResult:
        """Let a call pass or deny it."""
        return await self._closed(self._decide(data))

    async def before_run(self, event: str, data: dict[str, Any]) -> HookResult:
        """Decide again if another hook changed the call after it was approved."""
        return await self._closed(self._decide_if_changed(data))

    async def _closed(self, decision: Any) -> HookResult:
        try:
            result: HookResult = await decision
            return result
        except (AuditFailed, Unjudgeable) as error:
            return HookResult(action="deny", reason=str(error))
        except Exception as error:
            # The text of an unknown error may hold a secret; the log has the traceback.
            logger.exception("The approval guard failed")
            return HookResult(
                action="deny", reason=f"The approval guard failed ({type(error).__name__})."
            )

    async def _decide_if_changed(self, data: dict[str, Any]) -> HookResult:
        passed = self._passed.pop(_call_key(data), None)
        if passed is not None and passed == self._print_of(data):
            return HookResult()
        return await self._decide(data)

    async def _decide(self, data: dict[str, Any]) -> HookResult:
        call = self._facts.call(data)
        places = self._facts.places(call)
        verdict = self._policy.judge(call, places)
        before = self._print_of(data)
        if not (verdict.action == "allow" and verdict.rule in _SILENT):
            denial = await self._settle(call, places, verdict)
            if denial is not None:
                return denial
        self._note(data, before, call)
        return HookResult()

    def _print_of(self, data: Mapping[str, Any]) -> str:
        """The call and where it would run: a parallel call may move the shell meanwhile."""
        folder = self._facts.told_folder(str(data.get("tool_name")))
        name, given = data.get("tool_name"), data.get("tool_input")
        return fingerprint({"name": name, "input": given, "folder": folder})

    def _note(self, data: dict[str, Any], before: str, call: Call) -> None:
        while len(self._passed) >= _MOST_UNDER_WAY:
            del self._passed[next(iter(self._passed))]
        self._passed[_call_key(data)] = before
        if call.is_shell and may_move(str(call.input.get("command") or "")):
            self._facts.has_moved = True

    # -- deciding -------------------------------------------------------------------------

    async def _settle(self, call: Call, places: Places, verdict: Verdict) -> HookResult | None:
        """Announce, ask if needed, write down; the denial, or None if it may go on."""
        request = request_for(call, self._settings.default_timeout)
        about = {"action": request.action, "risk_level": request.risk_level}
        heard = await self._emit(APPROVAL_REQUIRED, call, verdict, verdict.reason, **about)
        if heard is not None and heard.action == "deny":
            answer = Answer(False, heard.reason or "a hook denied it")
        elif verdict.action == "ask":
            async with self._asking:
                answer = await self._answer(call, places, verdict, request)
        else:
            answer = Answer(verdict.action == "allow", verdict.reason)
        self._write_down(request, verdict, answer)
        event = APPROVAL_GRANTED if answer.approved else APPROVAL_DENIED
        await self._emit(event, call, verdict, answer.reason, **about)
        if answer.approved:
            return None
        text = f"Not approved: {answer.reason.rstrip('.')}. The rule is {verdict.rule!r}."
        return HookResult(action="deny", reason=text)

    async def _answer(
        self, call: Call, places: Places, verdict: Verdict, request: ApprovalRequest
    ) -> Answer:
        known = self.memory.recall(call, verdict, places.folder)
        if known is not None:
            return Answer(known.approved, f"remembered: {known.reason}")
        answer = await self._ask(request, verdict, places.folder)
        if answer.remember:
            self.memory.keep(call, verdict, places.folder, answer.approved, answer.reason)
        return answer

    async def _ask(self, request: ApprovalRequest, verdict: Verdict, folder: str | None) -> Answer:
        dialogue = getattr(self._coordinator, "approval_system", None)
        try:
            if self._provider is not None:
                return await ask_provider(self._provider, request)
            if dialogue is not None:
                return await ask_in_dialogue(dialogue, request, verdict, folder)
        except TimeoutError:
            allowed = self._settings.default_action == "allow"
            return Answer(allowed, "nobody answered in time")
        except Exception as error:
            logger.exception("The question about %r could not be asked", request.tool_name)
            return Answer(False, f"the question could not be asked ({type(error).__name__})")
        hint = "There is nobody to ask: run it in a terminal, or add a rule to 'allow'."
        return Answer(False, f"{verdict.reason} {hint}")

    # -- telling --------------------------------------------------------------------------

    async def _emit(
        self, event: str, call: Call, verdict: Verdict, reason: str, **about: str
    ) -> HookResult | None:
        facts = {"tool_name": call.tool_name, **about, "reason": reason, "rule": verdict.rule}
        result: HookResult | None = await self._coordinator.hooks.emit(event, facts)
        return result

    def _write_down(self, request: ApprovalRequest, verdict: Verdict, answer: Answer) -> None:
        if self._audit is not None:
            self._audit.append(
                request.model_dump(),
                answer._asdict(),
                rule=verdict.rule,
                session_id=getattr(self._coordinator, "session_id", None),
            )


def _call_key(data: Mapping[str, Any]) -> object:
    given = data.get("tool_call_id")
    return given if isinstance(given, str) and given else id(asyncio.current_task())


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Callable[[], None]:
    """Guard every call of a tool in this session."""
    guard = ApprovalGuard(coordinator, ApprovalSettings.read(config, MODULE))
    handlers = ((guard.before_call, _EARLY, MODULE), (guard.before_run, _LAST, f"{MODULE}-last"))
    undo = [_register(coordinator.hooks, *each) for each in handlers]
    coordinator.register_capability("approval.register_provider", guard.register_provider)
    coordinator.register_capability("approval.remembered", guard.memory.listed)
    coordinator.register_capability("approval.forget", guard.memory.forget)

    def cleanup() -> None:
        for each in undo:
            each()

    return cleanup


def _register(hooks: Any, handler: Any, priority: int, name: str) -> Callable[[], None]:
    try:
        undo = hooks.register(TOOL_PRE, handler, priority=priority, name=name, guard=True)
    except TypeError:
        # The public kernel has no guards; the handlers deny on failure by themselves.
        undo = hooks.register(TOOL_PRE, handler, priority=priority, name=name)
    return undo if callable(undo) else lambda: hooks.unregister(name)
