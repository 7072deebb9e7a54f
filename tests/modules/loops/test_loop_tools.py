"""How the calls of one response are run, and what the model reads of their results."""

import asyncio
import json
from typing import Any

import pytest
from amplifier_core.correlation import tool_call
from amplifier_core.models import HookResult, ToolResult
from helpers_loops import (
    LOOPS,
    Stage,
    Tool,
    calls,
    check_history,
    deny,
    hangs,
    model_of,
    modify,
    says,
    stage,
)

PARALLEL_LOOPS = ("loop-basic", "loop-streaming")


def results(ready: Stage) -> list[Any]:
    return [each["content"] for each in ready.context.messages if each["role"] == "tool"]


async def only_result(answer: Any, **config: Any) -> Any:
    ready = await stage(calls("t"), says("done"), config=config, t=Tool(answer))
    assert await ready.run() == "done"
    check_history(ready.context.messages)
    [content] = results(ready)
    return content


# -- side by side -----------------------------------------------------------------------


@pytest.mark.parametrize("loop", PARALLEL_LOOPS)
async def test_results_are_stored_in_the_order_of_the_calls(loop: str) -> None:
    quick_is_over = asyncio.Event()

    async def slow(_: Any) -> str:
        await quick_is_over.wait()
        return "slow"

    async def quick(_: Any) -> str:
        quick_is_over.set()
        return "quick"

    ready = await stage(
        calls("slow", "quick"), says("done"), loop=loop, slow=Tool(slow), quick=Tool(quick)
    )
    await ready.run()

    assert results(ready) == ["slow", "quick"]


async def test_no_more_calls_run_at_once_than_the_cap_allows() -> None:
    running, most = 0, 0

    async def work(_: Any) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "ok"

    ready = await stage(
        calls(*["t"] * 7), says("done"), config={"max_parallel_tools": 3}, t=Tool(work)
    )
    await ready.run()

    assert most == 3
    assert results(ready) == ["ok"] * 7


async def test_loop_events_runs_one_call_after_the_other() -> None:
    log: list[str] = []

    async def work(input: dict[str, Any]) -> str:
        log.append(f"start {input['n']}")
        await asyncio.sleep(0)
        log.append(f"end {input['n']}")
        return "ok"

    tool = Tool(work, {"writes": ["path"]})
    pairs = [("t", {"n": n, "path": path}) for n, path in enumerate("aab")]
    ready = await stage(calls(*pairs), says("done"), loop="loop-events", t=tool)
    await ready.run()

    assert log == ["start 0", "end 0", "start 1", "end 1", "start 2", "end 2"]


async def test_calls_of_one_response_share_a_group_and_those_of_the_next_have_another() -> None:
    ready = await stage(calls("t", "t"), calls("t"), says("done"), t=Tool())
    await ready.run()

    first, second, third = (data["parallel_group_id"] for data in ready.payloads("tool:pre"))
    assert first == second != third


async def test_a_tool_can_tell_which_call_it_serves() -> None:
    seen: list[Any] = []

    async def look(_: Any) -> str:
        table = ready.coordinator._tool_dispatch_context  # type: ignore[attr-defined]
        seen.append((tool_call.get(), table[asyncio.current_task()]))
        return "ok"

    ready = await stage(calls("t", "t"), says("done"), t=Tool(look))
    await ready.run()

    assert [scope.call_id for scope, _ in seen] == ["c0", "c1"]
    group = ready.payloads("tool:pre")[0]["parallel_group_id"]
    assert [ids for _, ids in seen] == [
        {"tool_call_id": call, "parallel_group_id": group} for call in ("c0", "c1")
    ]
    assert tool_call.get() is None
    assert ready.coordinator._tool_dispatch_context == {}  # type: ignore[attr-defined]


async def test_on_a_kernel_without_call_scopes_the_table_still_tells(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("amplifier_modules.loops.calls._tool_call", None)
    seen: list[Any] = []

    async def look(_: Any) -> str:
        table = ready.coordinator._tool_dispatch_context  # type: ignore[attr-defined]
        seen.append((tool_call.get(), table[asyncio.current_task()]["tool_call_id"]))
        return "ok"

    ready = await stage(calls("t"), says("done"), t=Tool(look))
    await ready.run()

    assert seen == [(None, "c0")]


async def test_running_tools_are_registered_with_the_token_by_name_or_agent() -> None:
    seen: list[str] = []

    async def look(_: Any) -> str:
        seen.extend(ready.token.running_tool_names)
        return "ok"

    ready = await stage(
        calls("t"),
        calls(("delegate", {"agent": "scout"})),
        says("done"),
        t=Tool(look),
        delegate=Tool(look),
    )
    await ready.run()

    assert seen == ["t", "scout"]
    assert ready.token.running_tools == set()


# -- what goes wrong --------------------------------------------------------------------


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_missing_tool_is_an_error_that_names_those_there_are(loop: str) -> None:
    ready = await stage(calls("gone"), says("done"), loop=loop, b=Tool(), a=Tool())
    assert await ready.run() == "done"

    assert results(ready) == ["Tool 'gone' not found. Available tools: a, b."]
    error, post = ready.payload("tool:error"), ready.payload("tool:post")
    assert error["error"]["type"] == "ToolNotFound"
    assert error["result"] == post["result"]
    assert post["result"]["success"] is False


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_tool_that_raises_has_failed_and_its_error_is_told_once_then_posted(
    loop: str,
) -> None:
    ready = await stage(calls("t"), says("done"), loop=loop, t=Tool(OSError("disk full")))
    assert await ready.run() == "done"

    assert results(ready) == ["Error executing tool: disk full"]
    error, post = ready.payload("tool:error"), ready.payload("tool:post")
    assert error["error"] == {"type": "OSError", "msg": "disk full"}
    assert error["result"]["error"]["type"] == "OSError"
    assert error["result"] == post["result"]
    assert error["tool_call_id"] == post["tool_call_id"] == "c0"
    assert ready.names.index("tool:error") < ready.names.index("tool:post")


async def test_an_error_without_words_is_told_by_its_kind() -> None:
    assert await only_result(ValueError()) == "Error executing tool: ValueError"


async def test_a_missing_key_is_told_with_its_kind() -> None:
    assert await only_result(KeyError("path")) == "Error executing tool: KeyError: 'path'"


async def test_an_error_that_cannot_be_printed_is_told_by_its_kind() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert await only_result(Broken()) == "Error executing tool: Broken"


async def test_a_tool_that_cancels_itself_has_failed() -> None:
    assert await only_result(asyncio.CancelledError()) == "Error executing tool: CancelledError"


async def test_a_tool_that_takes_too_long_is_stopped_and_has_failed() -> None:
    ended = asyncio.Event()

    async def slow(_: Any) -> None:
        try:
            await hangs()
        finally:
            ended.set()

    content = await only_result(slow, tool_timeout=0.02)
    assert content == "Error executing tool: There was no answer within 0.02 s."
    assert ended.is_set()


async def test_a_tool_may_take_its_time_if_there_is_no_limit() -> None:
    assert await only_result("fine", tool_timeout=0) == "fine"


async def test_one_of_several_calls_that_takes_too_long_does_not_disturb_the_others() -> None:
    ready = await stage(
        calls("slow", "quick"),
        says("done"),
        config={"tool_timeout": 0.02},
        slow=Tool(hangs),
        quick=Tool("quick"),
    )
    await ready.run()

    late, quick = results(ready)
    assert "no answer within" in late
    assert quick == "quick"


@pytest.mark.parametrize(
    ("returned", "read"),
    [
        (ToolResult(output="text"), "text"),
        (ToolResult(output={"a": [1]}), '{"a": [1]}'),
        (ToolResult(output=None), "Success"),
        (ToolResult(success=False, error={"message": "no such file"}), "no such file"),
        (ToolResult(output="a\x00b\ud800c"), "abc"),
        ({"plain": True}, '{"plain": true}'),
        ([1, 2], "[1, 2]"),
        (None, "Success"),
        (7, "7"),
        (ToolResult(output={"when": asyncio.Lock}), None),
        (ToolResult(output={(1, 2): "odd key"}), "{}"),
    ],
)
async def test_whatever_a_tool_returns_the_model_reads_text(returned: Any, read: Any) -> None:
    content = await only_result(returned)

    assert content == read if read is not None else "asyncio.locks.Lock" in content


async def test_a_result_of_another_class_is_read_if_it_can_write_itself() -> None:
    class Own:
        content = ("not", "blocks")

        def get_serialized_output(self) -> str:
            return "my own words"

    own = Own()
    ready = await stage(calls("t"), says("done"), t=Tool(own))
    await ready.run()

    assert results(ready) == ["my own words"]
    assert ready.payload("tool:post")["result"] is own


async def test_a_result_that_cannot_be_put_into_words_is_named() -> None:
    class Silent:
        def __str__(self) -> str:
            raise RuntimeError

    content = await only_result(ToolResult(output=Silent()))
    assert content == "The tool returned ToolResult, which cannot be read."


PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}


async def test_pictures_of_a_result_are_read_by_the_model_and_kept_out_of_events() -> None:
    answer = ToolResult(output="a red dot", content=[PNG])
    ready = await stage(calls("t"), says("done"), t=Tool(answer))
    await ready.run()

    assert results(ready) == [[{"type": "text", "text": "a red dot"}, PNG]]
    assert "AAAA" not in json.dumps(ready.payload("tool:post")["result"])
    assert model_of(ready).last_messages[-1].content[1].type == "image"


async def test_text_beside_pictures_is_not_repeated() -> None:
    text = {"type": "text", "text": "see"}

    assert await only_result(ToolResult(output="see", content=[text, PNG])) == [text, PNG]
    assert await only_result(ToolResult(content=[PNG])) == [PNG]


# -- what hooks decide ------------------------------------------------------------------


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_denied_call_is_not_run_and_the_model_reads_why(loop: str) -> None:
    tool = Tool()
    ready = await stage(calls("t"), says("done"), loop=loop, t=tool)
    ready.on("tool:pre", deny("not here"))
    await ready.run()

    assert results(ready) == ["Denied by hook: not here"]
    error = ready.payload("tool:error")
    assert error["error"] == {"type": "Denied", "msg": "not here"}
    assert (error["tool_call_id"], "result" in error) == ("c0", False)
    assert tool.inputs == []
    assert "tool:post" not in ready.names


async def test_a_hook_may_change_the_input_of_a_call() -> None:
    tool = Tool()
    ready = await stage(calls(("t", {"path": "/etc"})), says("done"), t=tool)
    ready.on("tool:pre", modify(tool_input={"path": "/tmp"}))
    await ready.run()

    assert tool.inputs == [{"path": "/tmp"}]
    assert ready.payload("tool:post")["tool_input"] == {"path": "/tmp"}


async def test_an_input_that_is_changed_and_approved_is_the_one_that_is_used() -> None:
    class Approvals:
        async def request_approval(self, *_: Any) -> str:
            return "Allow"

    tool = Tool()
    ready = await stage(calls(("t", {"path": "/etc"})), says("done"), t=tool)
    ready.coordinator.approval_system = Approvals()
    ready.on("tool:pre", modify(tool_input={"path": "/tmp"}))
    ready.on("tool:pre", HookResult(action="ask_user"))
    await ready.run()

    assert tool.inputs == [{"path": "/tmp"}]


async def test_an_input_that_is_no_mapping_is_not_taken_over() -> None:
    tool = Tool()
    ready = await stage(calls(("t", {"a": 1})), says("done"), t=tool)
    ready.on("tool:pre", modify(tool_input="rm -rf"))
    await ready.run()

    assert tool.inputs == [{"a": 1}]


@pytest.mark.parametrize(
    ("left", "read"),
    [
        ("secret removed", "secret removed"),
        ({"output": "x"}, '{"output": "x"}'),
        (["x"], '["x"]'),
        (ToolResult(output={"a": 1}), '{"a": 1}'),
    ],
)
async def test_a_hook_may_replace_the_result_of_a_call(left: Any, read: str) -> None:
    ready = await stage(calls("t"), says("done"), t=Tool("secret"))
    ready.on("tool:post", modify(result=left))
    await ready.run()

    assert results(ready) == [read]


async def test_a_result_that_a_hook_hands_on_unchanged_is_read_as_it_is() -> None:
    ready = await stage(calls("t"), says("done"), t=Tool("plain"))
    ready.on("tool:post", lambda data: modify(result=dict(data["result"]))(data))
    await ready.run()

    assert results(ready) == ["plain"]


class BrokenApprovals:
    async def request_approval(self, *_: Any) -> str:
        raise ConnectionError("the desk is closed")


async def test_a_call_whose_approval_fails_is_not_run() -> None:
    tool = Tool()
    ready = await stage(calls("t"), says("done"), t=tool)
    ready.coordinator.approval_system = BrokenApprovals()
    ready.on("tool:pre", HookResult(action="ask_user"))

    assert await ready.run() == "done"
    assert tool.inputs == []
    assert results(ready) == ["The call could not be made: the desk is closed"]


async def test_a_result_is_kept_although_an_approval_after_it_fails() -> None:
    ready = await stage(calls("t"), says("done"), t=Tool("kept"))
    ready.coordinator.approval_system = BrokenApprovals()
    ready.on("tool:post", HookResult(action="ask_user"))
    await ready.run()

    assert results(ready) == ["kept"]


async def test_a_call_that_needs_approval_is_denied_without_a_coordinator() -> None:
    tool = Tool()
    ready = await stage(calls("t"), says("done"), t=tool)
    ready.loop.coordinator = None
    ready.on("tool:pre", HookResult(action="ask_user"))
    models = {"m": model_of(ready)}
    await ready.loop.execute("hi", ready.context, models, {"t": tool}, ready.hooks)

    assert tool.inputs == []
    assert results(ready) == ["Denied by hook: There is nobody to ask for approval."]


# -- how tools are offered --------------------------------------------------------------


async def test_all_mounted_tools_are_offered_by_their_mount_names() -> None:
    tool = Tool()
    tool.description = None  # type: ignore[assignment]
    tool.input_schema = lambda: None  # type: ignore[assignment]
    ready = await stage(says("done"), a=Tool(), b=tool)
    await ready.run()

    first, second = model_of(ready).requests[0].tools or []
    assert (first.name, first.description) == ("a", "A tool of the tests.")
    assert (second.name, second.description) == ("b", None)
    assert second.parameters == {"type": "object", "properties": {}}


async def test_without_tools_none_are_offered() -> None:
    ready = await stage(says("done"))
    await ready.run()

    assert model_of(ready).requests[0].tools is None


async def test_a_tool_mounted_by_another_one_is_offered_in_the_next_request() -> None:
    async def grow(_: Any) -> str:
        ready.coordinator.get("tools")["new"] = Tool()
        return "ok"

    ready = await stage(calls("t"), says("done"), t=Tool(grow))
    await ready.run()

    first, second = (
        [spec.name for spec in request.tools or []] for request in model_of(ready).requests
    )
    assert (first, second) == (["t"], ["t", "new"])


async def test_a_tool_may_be_offered_in_the_form_of_its_vendor() -> None:
    tool = Tool()
    tool.native_tool_spec = {"type": "web_search_20250305"}  # type: ignore[attr-defined]
    ready = await stage(says("done"), search=tool)
    await ready.run()

    [spec] = model_of(ready).requests[0].tools or []
    assert spec.model_extra == {"type": "web_search_20250305"}


async def test_a_vendor_form_that_fails_falls_back_to_the_usual_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Odd(Tool):
        @property
        def native_tool_spec(self) -> dict[str, Any]:
            raise RuntimeError

    ready = await stage(says("done"), odd=Odd())
    await ready.run()

    [spec] = model_of(ready).requests[0].tools or []
    assert (spec.name, spec.model_extra) == ("odd", {})
    assert "native_tool_spec" in caplog.text
