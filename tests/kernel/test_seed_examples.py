"""The examples that the public guides of Amplifier show, each run as it is written there.

Modules that the guides name without showing are stand-ins.
"""

import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ChatRequest, ChatResponse, HookResult, ToolCall
from amplifier_core.coordinator import ModuleCoordinator
from amplifier_core.interfaces import Tool
from amplifier_core.loader import ModuleLoader, ModuleValidationError
from amplifier_core.message_models import Message, TextBlock
from amplifier_core.models import ToolResult
from amplifier_core.testing import MockCoordinator
from helpers_loader import clean_imports, install, module_dir  # noqa: F401
from helpers_modules import (
    CONTEXT_SOURCE,
    LOOP_SOURCE,
    Memory,
    Provider,
    mounts,
    plan,
    provider_source,
    session_of,
    tool_source,
)

STAND_INS = {
    "loop-basic": LOOP_SOURCE,
    "loop-streaming": LOOP_SOURCE,
    "context-simple": CONTEXT_SOURCE,
    "provider-anthropic": provider_source("anthropic"),
    "tool-filesystem": tool_source("filesystem"),
    "tool-bash": tool_source("bash"),
}


@pytest.fixture
def installed(tmp_path: Path) -> None:
    """The modules that the guides name, installed as third parties install theirs."""
    for module_id, code in STAND_INS.items():
        install(tmp_path, module_id, code)


# -- applications ---------------------------------------------------------------------


@pytest.mark.usefixtures("installed")
async def test_an_application_defines_a_plan_and_runs_a_session_on_it() -> None:
    config = {
        "session": {"orchestrator": "loop-basic", "context": "context-simple"},
        "providers": [{"module": "provider-anthropic"}],
        "tools": [{"module": "tool-filesystem"}, {"module": "tool-bash"}],
    }

    async with AmplifierSession(config) as session:
        response = await session.execute("List files in current directory")

    assert response == "List files in current directory | anthropic | filesystem, bash"


@pytest.mark.usefixtures("installed")
async def test_a_session_is_created_initialized_executed_and_cleaned_up_in_four_steps() -> None:
    config = {"session": {"orchestrator": "loop-basic", "context": "context-simple"}}
    seen: list[str] = []

    session = AmplifierSession(config)
    await session.initialize()
    coordinator = session.coordinator
    await coordinator.mount("tools", MyTool())
    coordinator.hooks.register("tool:pre", lambda event, data: seen.append(event))
    await coordinator.hooks.emit("tool:pre", {"tool_name": "my-tool"})
    response = await session.execute("hello")
    await session.cleanup()

    assert response == "hello |  | my-tool"
    assert seen == ["tool:pre"]
    assert coordinator.get("orchestrator") is None


@pytest.mark.usefixtures("installed")
async def test_a_plan_gives_a_provider_its_name_source_and_config(tmp_path: Path) -> None:
    source = module_dir(tmp_path, "provider-elsewhere", provider_source("elsewhere"))
    config = {
        "session": {"orchestrator": "loop-streaming", "context": "context-simple"},
        "providers": [
            {
                "module": "provider-elsewhere",
                "name": "claude",
                "source": str(source),
                "config": {"model": "any"},
            }
        ],
        "tools": [],
        "hooks": [],
    }

    async with AmplifierSession(config) as session:
        assert list(session.coordinator.get("providers")) == ["claude"]


# -- modules --------------------------------------------------------------------------


class MyTool:
    def __init__(self, config: dict[str, Any] | None = None) -> None:
        self.config = config
        self.closed = False

    @property
    def name(self) -> str:
        return "my-tool"

    @property
    def description(self) -> str:
        return "Does something useful"

    @property
    def input_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"param": {"type": "string"}}}

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        return ToolResult(output=f"Processed: {input.get('param')}", error=None)

    async def close(self) -> None:
        self.closed = True


async def test_a_tool_keeps_the_contract_without_inheriting_it() -> None:
    tool: Tool = MyTool()

    result = await tool.execute({"param": "x"})

    assert (result.output, result.error, result.success) == ("Processed: x", None, True)


async def test_mount_returns_a_cleanup_that_runs_when_the_session_ends() -> None:
    instances: list[MyTool] = []

    async def mount(coordinator: ModuleCoordinator, config: dict[str, Any]) -> Any:
        instance = MyTool(config)
        instances.append(instance)
        await coordinator.mount("tools", instance, name="my-tool")

        async def cleanup() -> None:
            await instance.close()

        return cleanup

    config = plan(tools=[{"module": "my-tool", "config": {"option1": "value1", "debug": True}}])
    async with session_of(config, {"my-tool": mount}) as session:
        assert session.coordinator.get("tools", name="my-tool") is instances[0]
        assert instances[0].config == {"option1": "value1", "debug": True}
        assert not instances[0].closed

    assert instances[0].closed


async def test_mount_may_return_the_instance_instead_of_a_cleanup() -> None:
    instances: list[MyTool] = []

    async def mount(coordinator: Any, config: dict[str, Any]) -> MyTool:
        instance = MyTool(config)
        instances.append(instance)
        await coordinator.mount("tools", instance, name="my-module")
        return instance

    async with session_of(plan(tools=[{"module": "my-module"}]), {"my-module": mount}) as session:
        assert "my-module" in session.coordinator.get_all("tools")

    assert instances[0].closed


async def test_a_provider_without_a_key_does_not_block_other_modules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MY_API_KEY", raising=False)

    class MyModule(Provider):
        def cleanup(self) -> None: ...

    async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
        config = config or {}
        api_key = config.get("api_key") or os.environ.get("MY_API_KEY")

        if not api_key:
            return None

        module = MyModule(config=config)
        await coordinator.mount("providers", module, name="my-provider")
        return module.cleanup

    modules = {"my-provider": mount, "my-tool": mounts("tools", MyTool)}
    config = plan(providers=[{"module": "my-provider"}], tools=[{"module": "my-tool"}])
    for key, expected in ((None, []), ("test", ["my-provider"])):
        if key:
            monkeypatch.setenv("MY_API_KEY", key)
        async with session_of(config, modules) as session:
            assert list(session.coordinator.get("providers")) == expected
            assert list(session.coordinator.get("tools")) == ["my-tool"]
            assert session.status.failed_modules is None


async def test_a_tool_returns_structured_errors_instead_of_raising() -> None:
    class Failing(MyTool):
        async def _do_work(self, input: dict[str, Any]) -> None:
            raise ValueError("bad input")

        async def execute(self, input: dict[str, Any]) -> ToolResult:
            try:
                result = await self._do_work(input)
                return ToolResult(success=True, output=result)
            except ValueError as e:
                return ToolResult(success=False, error={"message": str(e), "type": "ValueError"})

    result = await Failing().execute({})

    assert not result.success
    assert result.error == {"message": "bad input", "type": "ValueError"}


async def test_a_mount_that_refuses_its_config_is_reported_and_the_session_goes_on() -> None:
    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        timeout = config.get("timeout", 30)
        if timeout <= 0:
            raise ValueError("timeout must be positive")

    config = plan(tools=[{"module": "tool-a", "config": {"timeout": 0}}, {"module": "tool-a"}])
    async with session_of(config, {"tool-a": mount}) as session:
        assert session.status.failed_modules is not None
        (failed,) = session.status.failed_modules

    assert (failed["entry"], failed["error"]) == ("tools[0]", "timeout must be positive")


# -- loading --------------------------------------------------------------------------


async def test_a_loader_discovers_loads_and_initializes(tmp_path: Path) -> None:
    session = session_of()
    coordinator = session.coordinator
    source = module_dir(tmp_path / "custom", "provider-anthropic", provider_source("anthropic"))

    loader = ModuleLoader(
        coordinator=session.coordinator,
        search_paths=[tmp_path / "custom"],
    )
    modules = await loader.discover()
    mount_fn = await loader.load(
        module_id="provider-anthropic",
        config={"api_key": "..."},
        source_hint=str(source),
        coordinator=session.coordinator,
    )
    cleanup = await loader.initialize(mount_fn, coordinator)

    assert "provider-anthropic" in [module.id for module in modules]
    assert coordinator.get("providers", name="anthropic") is not None
    assert cleanup is None


async def test_modules_are_found_by_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module_dir(tmp_path / "other", "tool-from-variable", tool_source("from-variable"))
    monkeypatch.setenv(
        "AMPLIFIER_MODULES", os.pathsep.join(["/path/to/modules", f"{tmp_path}/other"])
    )

    assert callable(await ModuleLoader().load("tool-from-variable", {}))


async def test_loading_validates_the_declared_type(tmp_path: Path) -> None:
    good, bad = tool_source("bash"), tool_source("bash").replace('"tool"', '"spoon"')
    module_dir(tmp_path, "tool-good", good)
    module_dir(tmp_path, "tool-bad", bad)
    loader = ModuleLoader(search_paths=[tmp_path])

    assert callable(await loader.load(module_id="tool-good", config={}))
    with pytest.raises(ModuleValidationError, match="unknown type 'spoon'"):
        await loader.load(module_id="tool-bad", config={})


async def test_a_tool_needs_no_input_schema(tmp_path: Path) -> None:
    code = tool_source("plain").replace('    input_schema = {"type": "object"}\n', "")
    module_dir(tmp_path, "tool-plain", code)
    coordinator = ModuleCoordinator()

    mount_fn = await ModuleLoader(search_paths=[tmp_path]).load("tool-plain", {})
    await mount_fn(coordinator)

    assert not hasattr(coordinator.get("tools", name="plain"), "input_schema")


async def test_a_source_resolver_is_asked_for_the_place_of_a_module(tmp_path: Path) -> None:
    place = module_dir(tmp_path, "tool-bash", tool_source("bash"))
    hint = "git+https://github.com/microsoft/amplifier-module-tool-bash@main"
    asked: list[Any] = []

    class Source:
        def resolve(self) -> Path:
            return place

    class Resolver:
        async def async_resolve(self, module_id: str, source_hint: Any = None, **_: Any) -> Source:
            asked.append((module_id, source_hint))
            return Source()

    coordinator = ModuleCoordinator()
    await coordinator.mount("module-source-resolver", Resolver())

    source_resolver = coordinator.get("module-source-resolver")
    source = await source_resolver.async_resolve("tool-bash", source_hint=hint)
    module_path = source.resolve()
    mount_fn = await ModuleLoader(coordinator=coordinator).load("tool-bash", {}, source_hint=hint)
    await mount_fn(coordinator)

    assert module_path == place
    assert asked == [("tool-bash", hint)] * 2
    assert list(coordinator.get_all("tools")) == ["bash"]


# -- the coordinator ------------------------------------------------------------------


async def test_modules_are_mounted_and_found_by_kind_and_name() -> None:
    coordinator = ModuleCoordinator()
    my_tool, my_provider, my_orchestrator = MyTool(), Provider(), object()

    await coordinator.mount("tools", my_tool, name="my-tool")
    await coordinator.mount("providers", my_provider, name="anthropic")
    await coordinator.mount("orchestrator", my_orchestrator)

    assert coordinator.get("providers", name="anthropic") is my_provider
    assert coordinator.get("orchestrator") is my_orchestrator
    assert coordinator.get_all("tools") == {"my-tool": my_tool}


async def test_capabilities_couple_modules_loosely() -> None:
    coordinator = ModuleCoordinator()

    events = coordinator.get_capability("observability.events") or []
    coordinator.register_capability("session.working_dir", "/path/to/project")
    coordinator.register_capability(
        "provider.model_info", {"context_window": 200_000, "max_output_tokens": 8192}
    )
    model_info = coordinator.get_capability("provider.model_info")
    budget = model_info["context_window"] - model_info["max_output_tokens"]

    assert events == []
    assert coordinator.check_capability("session.working_dir")
    assert coordinator.get_capability("session.working_dir") == "/path/to/project"
    assert not coordinator.check_capability("session.other")
    assert budget == 191_808


async def test_contributions_are_pulled_as_one_list() -> None:
    coordinator = ModuleCoordinator()
    coordinator.register_contributor(
        "observability.events", "mod-a", lambda: ["event:a1", "event:a2"]
    )
    coordinator.register_contributor("observability.events", "mod-b", lambda: ["event:b1"])

    all_events = coordinator.get_capability("observability.events")

    assert all_events == ["event:a1", "event:a2", "event:b1"]


# -- events ---------------------------------------------------------------------------


async def test_a_hook_denies_and_the_caller_learns_why() -> None:
    coordinator = MockCoordinator()

    async def approval_hook(event: str, data: dict[str, Any]) -> HookResult:
        if data["tool_input"]["command"].startswith("rm"):
            return HookResult(action="deny", reason="User denied")
        return HookResult(action="continue")

    async def use_tool(tool_name: str, command: str) -> str:
        payload = {"tool_name": tool_name, "tool_input": {"command": command}}
        hook_result = await coordinator.hooks.emit("tool:pre", payload)
        result = await coordinator.process_hook_result(hook_result, "tool:pre", tool_name)
        if result.action == "deny":
            return f"Operation denied: {result.reason}"
        return "done"

    coordinator.hooks.register("tool:pre", approval_hook)

    assert await use_tool("bash", "ls -la") == "done"
    assert await use_tool("bash", "rm -rf /") == "Operation denied: User denied"


async def test_modules_talk_by_events_of_their_own() -> None:
    coordinator = ModuleCoordinator()
    seen: list[Any] = []

    async def my_handler(event: str, data: dict[str, Any]) -> HookResult:
        seen.append((event, data["data"]))
        return HookResult(action="continue")

    coordinator.hooks.register("custom:event", my_handler)
    await coordinator.hooks.emit("custom:event", {"data": "..."})

    assert seen == [("custom:event", "...")]


async def test_a_hook_shows_what_a_provider_streams(capsys: pytest.CaptureFixture[str]) -> None:
    class Streaming(Provider):
        async def stream_complete(self, request: Any) -> AsyncIterator[dict[str, Any]]:
            for text in ("Hel", "lo"):
                yield {"text": text}
            yield {"response": "the whole of it"}

    async def streaming_hook(event: str, data: dict[str, Any]) -> HookResult:
        if event == "provider:stream":
            print(data["chunk"].get("text", ""), end="", flush=True)
        return HookResult(action="continue")

    hooks, provider, request = ModuleCoordinator().hooks, Streaming(), None
    hooks.register("provider:stream", streaming_hook)
    async with aclosing(provider.stream_complete(request)) as chunks:
        async for chunk in chunks:
            await hooks.emit("provider:stream", {"chunk": chunk})

    assert capsys.readouterr().out == "Hello"


# -- one turn -------------------------------------------------------------------------


class MyOrchestrator:
    """The loop as the overview draws it: ask, run tools, add results, until an answer."""

    async def execute(
        self, prompt: str, context: Any, providers: Any, tools: Any, hooks: Any
    ) -> str:
        provider = next(iter(providers.values()))
        await context.add_message({"role": "user", "content": prompt})
        while True:
            messages = [Message(**message) for message in await context.get_messages()]
            response = await provider.complete(ChatRequest(messages=messages))
            calls = provider.parse_tool_calls(response)
            if not calls:
                return str(response.content[0].text)
            for call in calls:
                await hooks.emit("tool:pre", {"tool_name": call.name, "tool_input": call.arguments})
                result = await tools[call.name].execute(call.arguments)
                await hooks.emit("tool:post", {"tool_name": call.name, "result": result})
                await context.add_message({"role": "tool", "content": str(result.output)})


class Scripted(Provider):
    """Asks for a tool, and then says what came out."""

    async def complete(self, request: Any, **options: Any) -> Any:
        last = request.messages[-1]
        if last.role == "tool":
            return ChatResponse(content=[TextBlock(text=f"It says: {last.content}")])
        call = ToolCall(id="1", name="my-tool", arguments={"param": last.content})
        return ChatResponse(content=[], tool_calls=[call])

    def parse_tool_calls(self, response: Any) -> list[Any]:
        return response.tool_calls or []


async def test_a_request_flows_through_context_provider_tool_and_back() -> None:
    memory = Memory()
    modules = {
        "loop": mounts("orchestrator", MyOrchestrator),
        "memory": mounts("context", memory),
        "provider-scripted": mounts("providers", Scripted, "scripted"),
        "my-tool": mounts("tools", MyTool),
    }
    config = plan(providers=[{"module": "provider-scripted"}], tools=[{"module": "my-tool"}])

    async with session_of(config, modules) as session:
        response = await session.execute("question")

    assert response == "It says: Processed: question"
    assert [message["role"] for message in memory.messages] == ["user", "tool"]
    assert session.status.tool_successes == 1
