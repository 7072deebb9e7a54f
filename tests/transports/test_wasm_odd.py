"""Components that keep the contract only in part: told in one line, or made the best of."""

import os
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ChatRequest, HookResult
from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.cli import main
from amplifier_core.llm_errors import LLMError
from amplifier_core.transports.wasm.compile_cache import CompileCache
from amplifier_core.transports.wasm.engine import engine
from helpers_wasm import guest_dir, mounted, mounted_tool, saying, text_dir, tool_text

LOOP = "(loop $again (br $again))"
INFO = '{"id": "odd", "display_name": "Odd"}'
ANSWER = '{"content": [{"type": "text", "text": "Hello."}]}'
REQUEST = ChatRequest.model_validate({"messages": [{"role": "user", "content": "Hi"}]})


async def provider(folder: Path, **functions: str) -> Any:
    component = saying("provider", get_info=INFO, list_models="[]", **functions)
    coordinator = await mounted(text_dir(folder, component))
    return coordinator.get("providers")["odd"]


async def test_a_tool_without_a_name_is_refused(tmp_path: Path) -> None:
    path = text_dir(tmp_path, saying("tool", get_spec="{}", execute="{}"))

    with pytest.raises(RuntimeError, match="offers a tool without a name"):
        await mounted(path)


async def test_a_tool_without_its_function_fails_when_it_is_called(tmp_path: Path) -> None:
    path = text_dir(tmp_path, saying("tool", get_spec='{"name": "half"}'))

    async with mounted_tool(path) as tool:
        result = await tool.execute({})

    assert "it lacks that function" in result.error["message"]


async def test_a_tool_that_exports_something_else_by_that_name_fails(tmp_path: Path) -> None:
    whole = saying("tool", get_spec='{"name": "half"}')
    odd = whole.replace(
        "(instance $it", '(instance $no) (instance $it (export "execute" (instance $no))', 1
    )

    async with mounted_tool(text_dir(tmp_path, odd)) as tool:
        result = await tool.execute({})

    assert "is no function" in result.error["message"]


async def test_an_answer_of_an_unknown_type_is_told(tmp_path: Path) -> None:
    odd = """
    (component
      (core module $m (func (export "get-spec") (result i32) i32.const 1))
      (core instance $i (instantiate $m))
      (func $get-spec (result bool) (canon lift (core func $i "get-spec")))
      (instance $tool (export "get-spec" (func $get-spec)))
      (export "amplifier:modules/tool@1.0.0" (instance $tool)))
    """

    with pytest.raises(RuntimeError, match="a value of the unknown kind"):
        await mounted(text_dir(tmp_path, odd))


async def test_a_provider_need_not_read_tool_calls(tmp_path: Path) -> None:
    odd = await provider(tmp_path, complete=ANSWER)

    assert (await odd.complete(REQUEST)).content[0].text == "Hello."


@pytest.mark.parametrize("answer", ["{", "3", "(unreachable)", '[{"id": 1}]'])
async def test_tool_calls_that_cannot_be_read_are_left_out(tmp_path: Path, answer: str) -> None:
    odd = await provider(tmp_path, complete=ANSWER, parse_tool_calls=answer)

    assert not (await odd.complete(REQUEST)).tool_calls


@pytest.mark.parametrize("answer", ["[]", '{"content": 3}', "(unreachable)"])
async def test_an_answer_that_is_none_is_an_error_of_the_provider(
    tmp_path: Path, answer: str
) -> None:
    odd = await provider(tmp_path, complete=answer)

    with pytest.raises(LLMError, match="Provider complete failed"):
        await odd.complete(REQUEST)


@pytest.mark.parametrize("more", [{}, {"get_subscriptions": "(unreachable)"}])
async def test_a_hook_that_cannot_say_what_it_wants_hears_everything(
    tmp_path: Path, more: dict[str, str]
) -> None:
    denial = '{"action": "deny", "reason": "no", "append_to_last_tool_result": "yes"}'
    coordinator = await mounted(text_dir(tmp_path, saying("hook-handler", handle=denial, **more)))

    answer = await coordinator.hooks.emit("any:event", {})

    assert (answer.action, answer.reason) == ("deny", "no")


async def test_an_approval_module_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    component = saying("approval-provider", request_approval=LOOP)
    coordinator = await mounted(text_dir(tmp_path, component))

    with pytest.raises(ApprovalTimeoutError):
        await coordinator.approval_system.request_approval("May I?", ["Allow", "Deny"], 0.1, "deny")


async def test_a_context_that_has_no_list_of_messages_says_so(tmp_path: Path) -> None:
    functions = dict.fromkeys(
        ("add_message", "get_messages", "get_messages_for_request", "set_messages", "clear"), "{}"
    )
    coordinator = await mounted(text_dir(tmp_path, saying("context-manager", **functions)))
    context = coordinator.get("context")

    with pytest.raises(RuntimeError, match="answered with no list of messages"):
        await context.get_messages()
    assert repr(context) == "<WasmContext>"


async def test_a_component_that_is_far_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "module.wasm").open("wb") as file:
        file.truncate(2**32)

    with pytest.raises(Exception, match="is larger than"):
        await mounted(tmp_path)


# -- what the kernel answers ----------------------------------------------------------------


class Breaks:
    name = "breaks"
    description = "Raises."
    input_schema: dict[str, Any] = {}  # noqa: RUF012

    async def execute(self, input: Any) -> Any:
        raise ValueError("no luck")


async def test_a_tool_that_raises_is_told_to_the_orchestrator(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "orchestrator"))

    with pytest.raises(RuntimeError, match="execute-tool: no luck"):
        await coordinator.get("orchestrator").execute(
            'execute-tool {"name": "breaks"}', tools={"breaks": Breaks()}
        )


async def test_a_hook_that_asks_has_the_host_ask(tmp_path: Path) -> None:
    plan = {"session": {"orchestrator": "loop-basic", "context": "context-simple"}}
    async with AmplifierSession(plan) as session:
        coordinator = session.coordinator
        coordinator.hooks.register("some:event", lambda *_: HookResult(action="ask_user"))
        orchestrator = (await mounted(guest_dir(tmp_path, "orchestrator"))).get("orchestrator")

        said = await orchestrator.execute(
            'emit-hook {"event": "some:event"}', hooks=coordinator.hooks, coordinator=coordinator
        )

    assert "No approval system available" in said


# -- the compile cache -----------------------------------------------------------------------

CODE = tool_text().encode()


def test_what_cannot_be_kept_is_used_all_the_same(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path / "cache")
    cache.component(engine(), "digest", CODE)
    (entry,) = cache.folder.iterdir()
    entry.unlink()
    entry.mkdir()
    (entry / "in the way").touch()

    assert cache.component(engine(), "digest", CODE)
    assert list(cache.folder.iterdir()) == [entry]


def test_a_user_without_a_home_compiles_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AMPLIFIER_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)

    assert CompileCache().component(engine(), "digest", CODE)


def test_where_files_have_no_owners_the_cache_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "geteuid")
    cache = CompileCache(tmp_path / "cache")

    cache.component(engine(), "digest", CODE)

    assert len(list(cache.folder.iterdir())) == 1


# -- validation ------------------------------------------------------------------------------


def test_validating_a_module_behind_a_dead_endpoint_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "amplifier.toml").write_text(
        '[module]\ntransport = "grpc"\ntype = "tool"\n[grpc]\nendpoint = "127.0.0.1:9"\n'
    )

    assert main(["validate", str(tmp_path)]) == 1
    assert "127.0.0.1:9" in capsys.readouterr().out
