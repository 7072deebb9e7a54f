"""process_hook_result: what becomes of injections, messages and questions."""

import asyncio
from types import SimpleNamespace
from typing import Any

from amplifier_core import ContextInjection, HookResult, ModuleCoordinator
from amplifier_core.approval import ApprovalTimeoutError
from facts import Facts, Memory, async_message, async_outcome, inject, said


class Approvals:
    """Gives the same answer to every question."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    async def request_approval(self, *arguments: Any) -> Any:
        self.asked.append(list(arguments))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Display:
    def __init__(self, error: BaseException | None = None) -> None:
        self.shown: list[Any] = []
        self.error = error

    def show_message(self, *arguments: Any) -> None:
        self.shown.append(list(arguments))
        if self.error is not None:
            raise self.error


async def _made(limits: Facts | None = None, **systems: Any) -> tuple[ModuleCoordinator, Memory]:
    config = {"session": limits or {}}
    made = ModuleCoordinator(SimpleNamespace(session_id="s", parent_id=None, config=config))
    made.approval_system = systems.get("approvals")
    made.display_system = systems.get("display")
    memory = Memory()
    await made.mount("context", memory)
    return made, memory


async def _injected(result: HookResult, **limits: Any) -> Facts:
    made, memory = await _made(limits)
    outcome = await async_message(lambda: made.process_hook_result(result, "tool:pre", "hook"))
    for each in memory.messages:
        each["metadata"]["timestamp"] = each["metadata"]["timestamp"][-6:]
    return {
        "left": said(outcome) if isinstance(outcome, HookResult) else outcome,
        "stored": memory.messages,
        "counted": made._current_turn_injections,
        "same": outcome is result,
    }


async def _answered(answer: Any, **fields: Any) -> Any:
    approvals = Approvals(answer)
    made, _ = await _made(approvals=approvals)
    question = HookResult(action="ask_user", **fields)
    outcome = await async_message(lambda: made.process_hook_result(question, "tool:pre", "hook"))
    return said(outcome) if isinstance(outcome, HookResult) else outcome


async def a_stored_injection() -> Facts:
    return await _injected(inject("be careful"))


async def a_stored_injection_with_a_role() -> Facts:
    return await _injected(
        inject("be careful", context_injection_role="user", reason="r", data={"a": 1})
    )


async def an_ephemeral_injection() -> Facts:
    return await _injected(inject("be careful", ephemeral=True, append_to_last_tool_result=True))


async def an_empty_injection() -> Facts:
    return {
        "empty": await _injected(inject("")),
        "none": await _injected(HookResult(action="inject_context")),
        "control characters": await _injected(inject("\x00\x07")),
    }


async def injections_are_cleaned() -> Facts:
    facts = await _injected(inject("a\x00b\x1b[31m\tc\nd\r\x85e"))
    return {"content": facts["stored"][0]["content"], "counted": facts["counted"]}


async def injections_with_broken_text() -> Facts:
    return {"left": (await _injected(inject("a\ud800b")))["left"]}


async def a_list_of_injections() -> Facts:
    items = [
        ContextInjection(content="stored", role="user", hook_name="h1", event="e1"),
        ContextInjection(content="shown", ephemeral=True, hook_name="h2", event="e2"),
        ContextInjection(content="", hook_name="h3"),
        ContextInjection(content="also shown", role="assistant", ephemeral=True),
    ]
    return await _injected(HookResult(action="inject_context", context_injections=items))


async def a_list_without_ephemeral_items() -> Facts:
    items = [ContextInjection(content="a"), ContextInjection(content="b")]
    return await _injected(inject("ignored", context_injections=items, user_message="m"))


async def injections_over_the_size_limit() -> Facts:
    items = [ContextInjection(content="ok"), ContextInjection(content="far too long")]
    return {
        "one": await _injected(inject("far too long"), injection_size_limit=5),
        "exact": (await _injected(inject("12345"), injection_size_limit=5))["stored"][0]["content"],
        "all or nothing": await _injected(
            HookResult(action="inject_context", context_injections=items), injection_size_limit=5
        ),
        "cleaned first": (await _injected(inject("12345\x00"), injection_size_limit=5))["left"],
        "no limit": len((await _injected(inject("x" * 50_000)))["stored"]),
    }


async def injections_over_the_budget() -> Facts:
    made, memory = await _made({"injection_budget_per_turn": 2})
    for _ in range(3):
        await made.process_hook_result(inject("12345678"), "e")
    facts = {"stored": len(memory.messages), "counted": made._current_turn_injections}
    made.reset_turn()
    return {**facts, "after reset": made._current_turn_injections}


async def ephemeral_injections_count() -> Facts:
    return {"counted": (await _injected(inject("12345678", ephemeral=True)))["counted"]}


async def limits_of_a_wrong_type() -> Facts:
    made, _ = await _made({"injection_size_limit": "5"})
    return {"text": await async_outcome(lambda: made.process_hook_result(inject("x"), "e"))}


async def injections_without_a_context() -> Facts:
    made = ModuleCoordinator()
    kept = await made.process_hook_result(inject("x"), "e", "hook")
    await made.mount("context", object())
    odd = await made.process_hook_result(inject("x"), "e", "hook")
    return {
        "none": said(kept),
        "no add_message": said(odd),
        "counted": made._current_turn_injections,
    }


async def a_context_that_fails() -> Facts:
    made, memory = await _made()

    async def refuse(message: Facts) -> None:
        raise ValueError("full")

    memory.add_message = refuse
    return {"outcome": await async_message(lambda: made.process_hook_result(inject("x"), "e"))}


async def a_sync_context() -> Facts:
    made, memory = await _made()
    memory.add_message = memory.messages.append
    await made.process_hook_result(inject("x"), "e")
    return {"stored": [each["content"] for each in memory.messages]}


async def the_name_of_the_hook() -> Facts:
    made, memory = await _made()
    await made.process_hook_result(inject("x"), "e")
    await made.process_hook_result(result=inject("x"), event="e", hook_name="n")
    return {"names": [each["metadata"]["hook_name"] for each in memory.messages]}


async def other_actions_come_back_as_they_are() -> Facts:
    made, _ = await _made()
    facts = {}
    for action in ("continue", "deny", "modify"):
        result = HookResult(action=action, data={"a": 1}, reason="r")
        facts[action] = (await made.process_hook_result(result, "e")) is result
    return facts


async def results_that_are_none_of_ours() -> Facts:
    made, _ = await _made()
    return {
        "dict": await async_outcome(lambda: made.process_hook_result({"action": "continue"}, "e")),
        "none": await async_outcome(lambda: made.process_hook_result(None, "e")),
    }


async def messages_are_shown() -> Facts:
    display = Display()
    made, _ = await _made(display=display)
    for action in ("continue", "deny", "modify", "inject_context"):
        result = HookResult(action=action, user_message=action, context_injection="x")
        await made.process_hook_result(result, "e", "hook")
    named = HookResult(user_message="named", user_message_level="error", user_message_source="src")
    await made.process_hook_result(named, "e", "hook")
    await made.process_hook_result(HookResult(user_message=""), "e", "hook")
    return {"shown": display.shown}


async def a_display_that_fails_is_ignored() -> Facts:
    made, _ = await _made(display=Display(ValueError("boom")))
    result = HookResult(user_message="m")
    return {"same": (await made.process_hook_result(result, "e")) is result}


async def an_async_display() -> Facts:
    shown = []

    class Later:
        async def show_message(self, text: str, level: str, source: str) -> None:
            shown.append(text)

    made, _ = await _made(display=Later())
    await made.process_hook_result(HookResult(user_message="m"), "e")
    return {"shown": shown}


async def a_display_that_uses_the_coordinator() -> Facts:
    seen = []

    class Curious:
        def show_message(self, text: str, level: str, source: str) -> None:
            seen.append(made.session_id)
            made.session_state = {"seen": True}
            seen.append(made.session_state)

    made, _ = await _made(display=Curious())
    await made.process_hook_result(HookResult(user_message="m"), "e")
    return {"seen": seen}


async def answers_to_a_question() -> Facts:
    answers = ["Allow", "allow", "ALLOW ONCE", "Allow always", "Deny", "deny", "Yes", "", "allowed"]
    return {
        answer or "(empty)": await _answered(answer, approval_prompt="Run it?")
        for answer in answers
    }


async def how_a_question_is_asked() -> Facts:
    approvals = Approvals("Allow")
    made, _ = await _made(approvals=approvals)
    await made.process_hook_result(HookResult(action="ask_user"), "e")
    await made.process_hook_result(
        HookResult(
            action="ask_user",
            approval_prompt="p",
            approval_options=["Allow once", "Never"],
            approval_timeout=5,
            approval_default="allow",
        ),
        "e",
    )
    await made.process_hook_result(HookResult(action="ask_user", approval_prompt=""), "e")
    return {"asked": approvals.asked}


async def questions_nobody_can_answer() -> Facts:
    made, _ = await _made()
    question = HookResult(action="ask_user", approval_default="allow")
    return {"said": said(await made.process_hook_result(question, "e"))}


async def questions_that_time_out() -> Facts:
    late = ApprovalTimeoutError("late")
    return {
        "deny": await _answered(late, approval_prompt="Run it?"),
        "allow": await _answered(late, approval_default="allow"),
        "no prompt": await _answered(late),
    }


async def questions_that_fail() -> Facts:
    return {
        "error": await _answered(RuntimeError("broken")),
        "timeout": await _answered(TimeoutError("t")),
        "cancelled": await _answered(asyncio.CancelledError()),
        "no text": str(await _answered(True))[:16],
        "dict": str(await _answered({"approved": True}))[:16],
    }


async def long_prompts_are_cut_in_reasons() -> Facts:
    return {
        "denied": await _answered("Deny", approval_prompt="x" * 300),
        "exact": await _answered("Deny", approval_prompt="x" * 200),
        "timeout": await _answered(ApprovalTimeoutError(), approval_prompt="y" * 201),
    }


async def a_question_shows_no_message_and_injects_nothing() -> Facts:
    display = Display()
    made, memory = await _made(approvals=Approvals("Allow"), display=display)
    question = HookResult(action="ask_user", user_message="m", context_injection="x")
    result = await made.process_hook_result(question, "e")
    return {"said": said(result), "shown": display.shown, "stored": memory.messages}


async def a_sync_approval_system() -> Facts:
    approvals = SimpleNamespace(request_approval=lambda *arguments: "Allow")
    made, _ = await _made(approvals=approvals)
    return {"said": said(await made.process_hook_result(HookResult(action="ask_user"), "e"))}


async def approval_timeouts_are_left_to_the_app() -> Facts:
    class Slow:
        async def request_approval(self, *arguments: Any) -> str:
            await asyncio.sleep(0.02)
            return "Allow"

    made, _ = await _made(approvals=Slow())
    question = HookResult(action="ask_user", approval_timeout=0.001)
    return {"said": said(await made.process_hook_result(question, "e"))}


async def from_an_event_to_its_effects() -> Facts:
    display = Display()
    made, memory = await _made(display=display)

    async def remind(event: str, data: Facts) -> HookResult:
        return inject(f"mind {data['tool']}", user_message="reminded")

    async def whisper(event: str, data: Facts) -> HookResult:
        return inject("psst", ephemeral=True)

    made.hooks.register("tool:pre", remind, 0, "remind")
    made.hooks.register("tool:pre", whisper, 1, "whisper")
    result = await made.hooks.emit("tool:pre", {"tool": "bash"})
    left = await made.process_hook_result(result, "tool:pre", "orchestrator")
    return {
        "left": [left.action, left.context_injection, left.ephemeral],
        "stored": [[m["role"], m["content"], m["metadata"]["hook_name"]] for m in memory.messages],
        "shown": [each[0] for each in display.shown],
    }
