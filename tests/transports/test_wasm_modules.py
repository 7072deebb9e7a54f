"""Components of every kind, used as sessions and loops use modules."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession
from amplifier_core.interfaces import ApprovalRequest
from amplifier_core.llm_errors import LLMError
from amplifier_core.message_models import ChatRequest
from amplifier_core.models import HookResult, ToolResult
from helpers_wasm import guest_dir, mounted, mounted_tool


async def test_a_tool_describes_itself_and_echoes_its_input(tmp_path: Path) -> None:
    async with mounted_tool(guest_dir(tmp_path, "tool")) as tool:
        assert (tool.name, tool.description) == ("echo-tool", "Echoes its input.")
        assert tool.input_schema == {"type": "object", "properties": {"input": {"type": "string"}}}
        assert tool.annotations == {"effect": "pure"}
        assert tool.get_spec()["parameters"] == tool.input_schema
        assert repr(tool) == "<WasmTool 'echo-tool'>"

        result = await tool.execute({"input": "käse 🧀 \u0000"})

    assert isinstance(result, ToolResult)
    assert result.success
    assert result.output == {"input": "käse 🧀 \u0000"}


async def test_a_tool_takes_keywords_and_values_that_json_lacks(tmp_path: Path) -> None:
    async with mounted_tool(guest_dir(tmp_path, "tool")) as tool:
        assert (await tool.execute(text="by name")).output == {"text": "by name"}
        assert (await tool.execute({"where": Path("a/b")})).output == {"where": "a/b"}
        assert (await tool.execute({"half": "\ud800"})).output == {"half": "?"}


async def test_100_kb_go_in_and_come_out_unchanged(tmp_path: Path) -> None:
    payload = "ünïcode " * 12_500
    async with mounted_tool(guest_dir(tmp_path, "tool")) as tool:
        result = await tool.execute({"input": payload})

    assert result.output == {"input": payload}


async def test_calls_of_a_tool_share_no_memory_and_run_side_by_side(tmp_path: Path) -> None:
    async with mounted_tool(guest_dir(tmp_path, "tool")) as tool:
        results = await asyncio.gather(*(tool.execute({"do": "count"}) for _ in range(20)))

    assert [each.output for each in results] == [1] * 20


async def test_a_provider_answers_and_reads_its_tool_calls(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "provider"))
    provider = coordinator.get("providers", "echo-provider")

    assert provider.get_info().defaults == {"context_window": 4096}
    assert [each.id for each in await provider.list_models()] == ["echo-model"]
    plain = await provider.complete(_request("Hello"), temperature=0.5)
    calling = await provider.complete(_request("Please call echo-tool."))

    assert plain.content[0].text == "Echo response from WASM provider"
    assert plain.usage.output_tokens == 5
    assert provider.parse_tool_calls(plain) == []
    assert [each.name for each in provider.parse_tool_calls(calling)] == ["echo-tool"]


async def test_a_provider_fails_as_providers_do(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "provider"))
    provider = coordinator.get("providers", "echo-provider")

    with pytest.raises(LLMError, match="Provider complete failed: I would rather not") as caught:
        await provider.complete(_request("refuse me"))

    assert isinstance(caught.value, RuntimeError)
    assert caught.value.provider == "echo-provider"


async def test_a_hook_listens_to_what_its_config_says(tmp_path: Path) -> None:
    config = {"event": "prompt:submit", "priority": -5, "wasm": {"timeout": 5}}
    coordinator = await mounted(guest_dir(tmp_path, "hook"), config)

    heard = await coordinator.hooks.emit("prompt:submit", {"prompt": "hi"})
    unheard = await coordinator.hooks.emit("tool:pre", {})

    assert (heard.action, heard.reason) == ("deny", "Denied by WASM hook")
    assert unheard.action == "continue"


async def test_a_hook_may_capitalise_its_words(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "hook"))

    result = await coordinator.hooks.emit("tool:pre", {"do": "inject"})

    assert result.action == "inject_context"
    assert result.context_injection == "Remember this."
    assert (result.context_injection_role, result.user_message_level) == ("system", "info")
    assert result.append_to_last_tool_result is False


@pytest.mark.parametrize("do", ["refuse", "trap", "garbage", "invent"])
async def test_a_failing_hook_is_skipped_unless_it_is_a_guard(tmp_path: Path, do: str) -> None:
    path = guest_dir(tmp_path, "hook")
    observer = await mounted(path)
    guard = await mounted(path, {"wasm": {"guard": True}})

    skipped: HookResult = await observer.hooks.emit("tool:pre", {"do": do})
    denied: HookResult = await guard.hooks.emit("tool:pre", {"do": do})

    assert (skipped.action, denied.action) == ("continue", "deny")


async def test_a_context_keeps_the_conversation(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "context"))
    context = coordinator.get("context")
    messages = [{"role": "user", "content": text} for text in ("one", "zwei ü", "three")]

    for message in messages:
        await context.add_message(message)

    assert await context.get_messages() == messages
    assert await context.get_messages_for_request(token_budget=2) == messages[1:]
    assert await context.get_messages_for_request(provider=None) == messages
    await context.set_messages(messages[:1])
    assert await context.get_messages() == messages[:1]
    await context.clear()
    assert await context.get_messages() == []


async def test_a_context_that_died_gets_its_messages_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "context"))
    context = coordinator.get("context")
    await context.add_message({"role": "user", "content": "one"})

    with pytest.raises(RuntimeError, match="add_message failed: 'guest' failed: wasm trap"):
        await context.add_message({"role": "user", "content": "trap me"})
    await context.add_message({"role": "user", "content": "two"})

    assert [each["content"] for each in await context.get_messages()] == ["one", "two"]
    assert "gets its 1 messages back" in caplog.text


async def test_a_refusal_leaves_a_context_as_it_was(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "context"))
    context = coordinator.get("context")
    await context.add_message({"role": "user", "content": "one"})

    with pytest.raises(RuntimeError, match="add_message failed: I would rather not"):
        await context.add_message({"role": "user", "content": "refuse me"})

    assert [each["content"] for each in await context.get_messages()] == ["one"]


@pytest.mark.slow
async def test_a_context_takes_more_in_its_life_than_one_call_may_carry(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "context"))
    context = coordinator.get("context")

    for _ in range(4):
        await context.set_messages([{"role": "user", "content": "x" * 500_000}])
        assert len((await context.get_messages())[0]["content"]) == 500_000


async def test_an_approval_module_answers_both_kinds_of_questions(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "approval"))
    approval = coordinator.approval_system

    low = await approval.request_approval(_question("low"))
    high = await approval.request_approval(_question("high"))
    by_text = await approval.request_approval("Delete it?", ["Allow once", "Deny"], 30.0, "deny")

    assert (low.approved, low.reason) == (True, "harmless")
    assert (high.approved, high.reason) == (False, "too risky")
    assert by_text == "Deny"


async def test_an_approval_module_that_fails_denies(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "approval"))
    approval = coordinator.approval_system

    answer = await approval.request_approval(_question("low", action="trap me"))

    assert answer.approved is False
    assert await approval.request_approval("trap me", ["Allow", "Deny"], 5.0, "allow") == "Deny"


async def test_a_session_of_components_alone_runs_a_turn_with_a_tool(tmp_path: Path) -> None:
    async with AmplifierSession(_plan(tmp_path)) as session:
        answer = await session.execute("Please call echo-tool.")
        messages = await session.coordinator.get("context").get_messages()

    assert answer == "Echo response from WASM provider"
    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[2]["content"] == '{"input":"from the model"}'


async def test_a_hook_stops_a_tool_of_an_orchestrator_in_a_component(tmp_path: Path) -> None:
    plan = _plan(tmp_path)
    plan["hooks"] = [{"module": "deny", "source": str(_dir(tmp_path, "hook"))}]

    async with AmplifierSession(plan) as session:
        await session.execute("Please call echo-tool.")
        messages = await session.coordinator.get("context").get_messages()

    assert messages[2]["content"] == '"Denied by WASM hook"'


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ('execute-tool {"name": "echo-tool", "input": {"a": 1}}', '"output": {"a": 1}'),
        ('execute-tool {"name": "nope"}', "execute-tool: tool not found: nope"),
        ("execute-tool {", "execute-tool: bad request: "),
        ("execute-tool {}", "execute-tool: missing 'name' field"),
        ('complete-with-provider {"name": "nope"}', "complete-with-provider: provider not found"),
        ('complete-with-provider {"name": "echo-provider"}', "complete-with-provider: bad request"),
        ('emit-hook {"event": "some:event"}', '"action": "continue"'),
        ('emit-hook {"event": "some:event", "data": 3}', "emit-hook: bad request"),
        ("get-messages -", "[]"),
        ('add-message {"role": "user", "content": "x"}', "null"),
        ("add-message 3", "add-message: bad request"),
        ('get-capability {"name": "nope"}', "get-capability: not found: nope"),
        ('get-capability {"name": "colour"}', '"blue"'),
        ('get-capability {"name": "amplifier.tools"}', '[{"name": "echo-tool", "description"'),
        ('get-capability {"name": "amplifier.providers"}', '[{"name": "echo-provider", "info"'),
        ('register-capability {"name": "colour", "value": "red"}', "null"),
    ],
)
async def test_what_the_kernel_answers_to_an_orchestrator(
    tmp_path: Path, prompt: str, expected: str
) -> None:
    async with AmplifierSession(_plan(tmp_path)) as session:
        session.coordinator.register_capability("colour", "blue")
        try:
            answer = await session.execute(prompt)
        except RuntimeError as error:
            answer = str(error)

    assert expected in answer


async def test_an_orchestrator_without_a_context_is_told_so(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "orchestrator"))

    with pytest.raises(RuntimeError, match="get-messages: no context manager mounted"):
        await coordinator.get("orchestrator").execute("get-messages -")


def _request(text: str) -> ChatRequest:
    return ChatRequest.model_validate({"messages": [{"role": "user", "content": text}]})


def _question(risk: str, action: str = "delete") -> ApprovalRequest:
    return ApprovalRequest(tool_name="files", action=action, risk_level=risk, timeout=5.0)


def _dir(tmp_path: Path, guest: str) -> Path:
    (tmp_path / guest).mkdir()
    return guest_dir(tmp_path / guest, guest)


def _plan(tmp_path: Path) -> dict[str, Any]:
    def entry(guest: str) -> dict[str, Any]:
        return {"module": f"{guest}-guest", "source": str(_dir(tmp_path, guest))}

    session = {"orchestrator": entry("orchestrator"), "context": entry("context")}
    return {"session": session, "providers": [entry("provider")], "tools": [entry("tool")]}
