"""What handlers may answer, and what several answers add up to."""

import asyncio
from typing import Any

from amplifier_core import ContextInjection, HookRegistry, HookResult
from facts import Facts, Listener, async_outcome, inject, said, until

DENY = HookResult(action="deny", reason="no", user_message="sorry", data={"d": 1})
ASK = HookResult(action="ask_user", approval_prompt="Really?", approval_options=["Allow", "Deny"])


async def _result(*answers: Any, data: Any = None) -> HookResult:
    hooks = HookRegistry()
    for number, answer in enumerate(answers):
        hooks.register("e", Listener(answer), number, f"h{number}")
    return await hooks.emit("e", {"a": 1} if data is None else data)


async def _said(*answers: Any) -> Facts:
    return said(await _result(*answers))


async def _ran(*answers: Any) -> list[str]:
    hooks, log = HookRegistry(), []
    for number, answer in enumerate(answers):
        hooks.register("e", Listener(answer, f"h{number}", log), number)
    await hooks.emit("e", {})
    return log


def _modify(**data: Any) -> HookResult:
    return HookResult(action="modify", data=data)


async def plain_answers() -> Facts:
    return {
        "none": await _said(None),
        "continue": await _said(HookResult()),
        "continue with data": await _said(HookResult(data={"b": 1})),
        "continue with a reason": await _said(HookResult(reason="because")),
        "several": await _said(None, HookResult(), None),
    }


async def messages_beside_continue() -> Facts:
    result = await _result(HookResult(user_message="hello"))
    return {
        "said": said(result),
        "carried": [each.text for each in getattr(result, "user_messages", [])],
    }


async def a_denial_ends_the_round() -> Facts:
    return {
        "ran": await _ran(None, DENY, None),
        "said": await _said(None, DENY, None),
        "first": await _said(DENY, HookResult(action="deny", reason="also no")),
    }


async def a_denial_after_a_question_wins() -> Facts:
    return {"said": await _said(ASK, DENY), "ran": await _ran(ASK, DENY, None)}


async def a_question_lets_later_handlers_run() -> Facts:
    return {"ran": await _ran(ASK, None, ASK), "said": await _said(ASK)}


async def the_first_question_counts() -> Facts:
    return {"said": await _said(ASK, HookResult(action="ask_user", approval_prompt="Second?"))}


async def questions_keep_their_fields() -> Facts:
    question = HookResult(
        action="ask_user",
        approval_prompt="p",
        approval_timeout=5,
        approval_default="allow",
        reason="r",
        user_message="m",
    )
    return {"said": await _said(question)}


async def injections_beside_a_denial() -> Facts:
    result = await _result(inject("careful"), DENY)
    return {
        "action": result.action,
        "reason": result.reason,
        "kept": [item.content for item in result.context_injections],
    }


async def injections_beside_a_question() -> Facts:
    result = await _result(inject("careful"), ASK, inject("more"))
    return {"action": result.action, "kept": [item.content for item in result.context_injections]}


async def modify_replaces_the_data() -> Facts:
    return {
        "one": await _said(_modify(b=2)),
        "chain": await _said(_modify(b=2), _modify(c=3)),
        "without data": await _said(HookResult(action="modify")),
        "empty data": await _said(HookResult(action="modify", data={})),
        "then continue": await _said(_modify(b=2), HookResult(data={"c": 3})),
    }


async def modified_data_reach_later_handlers() -> Facts:
    hooks, later = HookRegistry(), Listener()
    hooks.set_default_fields(session_id="s")
    hooks.register("e", Listener(_modify(b=2)), 0)
    hooks.register("e", later, 1)
    result = await hooks.emit("e", {"a": 1})
    return {"heard": later.heard, "result": result.data}


async def handlers_build_on_each_others_changes() -> Facts:
    hooks = HookRegistry()

    async def count(event: str, data: Facts) -> HookResult:
        return HookResult(action="modify", data={**data, "n": data.get("n", 0) + 1})

    for priority in range(20):
        hooks.register("e", count, priority)
    return {"n": (await hooks.emit("e", {})).data["n"]}


async def modified_data_beside_a_denial() -> Facts:
    plain_denial = HookResult(action="deny", reason="no")
    return {
        "own data": await _said(_modify(b=2), DENY),
        "none": await _said(_modify(b=2), plain_denial),
    }


async def modified_data_beside_a_question() -> Facts:
    return {"data": (await _result(_modify(b=2), ASK)).data}


async def modified_data_beside_an_injection() -> Facts:
    return {
        "before": (await _result(_modify(b=2), inject("x"))).data,
        "after": (await _result(inject("x"), _modify(b=2))).data,
    }


async def data_beside_a_plain_injection() -> Facts:
    return {"data": (await _result(inject("x"))).data}


async def data_beside_a_plain_question() -> Facts:
    return {"data": (await _result(ASK)).data}


async def one_injection() -> Facts:
    full = inject(
        "x",
        context_injection_role="user",
        ephemeral=True,
        reason="r",
        suppress_output=True,
        append_to_last_tool_result=True,
    )
    return {"plain": await _said(inject("x")), "full": await _said(full)}


async def a_message_beside_one_injection() -> Facts:
    result = await _result(inject("x", user_message="m", user_message_level="warning"))
    return {"message": result.user_message, "level": result.user_message_level}


async def several_injections_are_merged_in_order() -> Facts:
    first = inject("a", context_injection_role="user", ephemeral=True, suppress_output=True)
    last = inject("b", append_to_last_tool_result=True)
    return {
        "two": await _said(first, last),
        "three": await _said(inject("a"), inject("b"), inject("c")),
        "empty": await _said(inject(""), inject("b")),
    }


async def reasons_of_merged_injections() -> Facts:
    result = await _result(inject("a", reason="r1"), inject("b", reason="r2"))
    return {"reason": result.reason}


async def messages_of_merged_injections() -> Facts:
    result = await _result(inject("a", user_message="m1"), inject("b", user_message="m2"))
    shown = [each.text for each in getattr(result, "user_messages", [])]
    return {"single": result.user_message, "all": shown}


async def injections_given_as_a_list() -> Facts:
    items = [
        ContextInjection(content="a", role="user", hook_name="forged", event="forged"),
        ContextInjection(content="b", ephemeral=True),
    ]
    listed = HookResult(action="inject_context", context_injections=items)
    both = inject("scalar", context_injections=items)
    return {
        "list": await _said(listed),
        "list wins": await _said(both),
        "with others": await _said(inject("x"), listed),
    }


async def injections_that_say_nothing() -> Facts:
    return {
        "none": await _said(HookResult(action="inject_context")),
        "empty": await _said(inject("")),
        "text without the action": await _said(HookResult(context_injection="x")),
    }


async def injections_name_their_handler() -> Facts:
    result = await _result(inject("a"), inject("b"))
    return {"names": [[item.hook_name, item.event] for item in result.context_injections]}


async def answers_as_dicts() -> Facts:
    return {
        "empty": await _said({}),
        "deny": await _said({"action": "deny", "reason": "no"}),
        "modify": await _said({"action": "modify", "data": {"b": 1}}),
        "unknown keys": await _said({"source": "a"}),
        "inject": await _said({"action": "inject_context", "context_injection": "x"}),
    }


async def malformed_answers_deny() -> Facts:
    answers: Facts = {
        "unknown action": {"action": "explode"},
        "no action": {"action": None},
        "wrong type": {"action": "continue", "reason": 5},
        "text": "ok",
        "true": True,
        "number": 5,
        "list": [],
        "object": object(),
        "unvalidated": HookResult.model_construct(action="odd"),
    }
    return {name: await _said(answer) for name, answer in answers.items()}


async def malformed_answers_end_the_round() -> Facts:
    return {"ran": await _ran("ok", None)}


async def answers_of_subclasses() -> Facts:
    class Warm(HookResult):
        warmth: int = 1

    return {"deny": await _said(Warm(action="deny", reason="no")), "continue": await _said(Warm())}


async def futures_as_answers() -> Facts:
    future = asyncio.get_running_loop().create_future()
    future.set_result(HookResult(action="deny", reason="later"))
    hooks = HookRegistry()
    hooks.register("e", lambda event, data: future)
    return {"reason": (await hooks.emit("e", {})).reason}


async def a_handler_that_raises_is_skipped() -> Facts:
    return {
        "ran": await _ran(ValueError("boom"), None),
        "said": await _said(ValueError("boom"), DENY),
        "only": await _said(ValueError("boom")),
        "sync": await _said_sync(),
    }


async def _said_sync() -> Facts:
    hooks = HookRegistry()

    def boom(event: str, data: Any) -> None:
        raise ValueError("boom")

    hooks.register("e", boom)
    return said(await hooks.emit("e", {}))


async def a_handler_that_raises_cancelled_is_skipped() -> Facts:
    return {"ran": await _ran(asyncio.CancelledError(), None)}


async def a_handler_that_cannot_be_called_is_skipped() -> Facts:
    hooks, log = HookRegistry(), []
    hooks.register("e", 5, 0)
    hooks.register("e", lambda: None, 1)
    hooks.register("e", Listener(name="last", log=log), 2)
    return {"said": said(await hooks.emit("e", {})), "ran": log}


async def ctrl_c_in_a_sync_handler() -> Facts:
    hooks = HookRegistry()

    class Stop(KeyboardInterrupt):
        pass

    def stop(event: str, data: Any) -> None:
        raise Stop

    hooks.register("e", stop)
    # Not through a task: an event loop never hides a KeyboardInterrupt.
    coroutine = hooks.emit("e", {})
    try:
        return {"outcome": await async_outcome(lambda: coroutine)}
    finally:
        coroutine.close()


async def cancelling_the_emitter_cancels_the_handler() -> Facts:
    hooks, log = HookRegistry(), []
    started = asyncio.Event()

    async def hang(event: str, data: Any) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    hooks.register("e", hang, 0)
    hooks.register("e", Listener(name="later", log=log), 1)
    task = asyncio.ensure_future(hooks.emit("e", {}))
    await started.wait()
    task.cancel()
    facts = {"outcome": await async_outcome(lambda: task)}
    await until(lambda: log)
    return {**facts, "log": log}


async def many_emits_at_once() -> Facts:
    hooks, seen = HookRegistry(), []

    async def slow(event: str, data: Facts) -> HookResult:
        await asyncio.sleep(0)
        seen.append(data["n"])
        return HookResult(action="modify", data={"n": data["n"] * 2})

    hooks.register("e", slow)
    results = await asyncio.gather(*(hooks.emit("e", {"n": n}) for n in range(20)))
    return {"results": [result.data["n"] for result in results], "seen": sorted(seen)}
