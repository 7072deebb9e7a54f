"""Rarer ends of the gRPC transport: TLS, failures of the small services, odd places."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest
from amplifier_core import AmplifierSession, ModuleCoordinator, _engine
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc
from amplifier_core.llm_errors import LLMError
from amplifier_core.loader import ModuleLoader
from amplifier_core.message_models import ChatRequest, Message
from amplifier_core.transports import transport_loader
from amplifier_core.transports.process import ModuleProcess
from amplifier_core.transports.settings import ProcessSettings
from helpers_grpc import Lifecycle, grpc_dir, serving
from helpers_isolation import TOOLS, apart, python_module
from helpers_sidecar import sidecar_dir

ASKED = ChatRequest(messages=[Message(role="user", content="hi")])
GUESTS = Path(__file__).with_name("wasm_guests")


class Tool(rpc.ToolServiceServicer):
    async def GetSpec(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.ToolSpec(name="far", description="Far.")

    async def Execute(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.ToolExecuteResponse(success=True, output=b'"fine"')


async def mounted(path: Path, module_id: str = "tool-far") -> Any:
    coordinator = ModuleCoordinator()
    mount = await ModuleLoader().load(module_id, {}, path, coordinator)
    return coordinator, await mount(coordinator)


def certificate(folder: Path) -> Any:
    """Credentials of a server that calls itself localhost; its certificate is in `ca.pem`."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    more = ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "ca.pem"]
    subprocess.run([*command.split(), *more], cwd=folder, check=True, capture_output=True)
    pair = ((folder / "key.pem").read_bytes(), (folder / "ca.pem").read_bytes())
    return grpc.ssl_server_credentials([pair])


async def test_a_server_with_a_certificate_is_reached_over_https(tmp_path: Path) -> None:
    async with serving(Tool(), credentials=certificate(tmp_path)) as port:
        path = grpc_dir(tmp_path, f"https://localhost:{port}", "tool", 'ca = "ca.pem"')
        coordinator, cleanup = await mounted(path)

        assert (await coordinator.get("tools", "far").execute({})).output == "fine"
        await cleanup()


async def test_a_server_with_an_unknown_certificate_is_not_trusted(tmp_path: Path) -> None:
    async with serving(Tool(), credentials=certificate(tmp_path)) as port:
        path = grpc_dir(tmp_path, f"https://localhost:{port}", "tool", "connect_timeout = 0.5")

        with pytest.raises(RuntimeError, match="Nothing answers"):
            await mounted(path)


async def test_a_tool_that_was_unmounted_is_not_connected_again(tmp_path: Path) -> None:
    async with serving(Tool()) as port:
        coordinator, cleanup = await mounted(grpc_dir(tmp_path, port, "tool"))
        tool = coordinator.get("tools", "far")
        await cleanup()
        await cleanup()

        assert "has been unmounted" in (await tool.execute({})).output
        assert repr(tool) == f"<RemoteTool 'far' at 127.0.0.1:{port}>"


class Rude(Lifecycle):
    """Fails in whatever it is told to."""

    fails: str = ""

    async def HealthCheck(self, request: Any, context: Any) -> Any:  # noqa: N802
        if self.fails == "health":
            await context.abort(grpc.StatusCode.INTERNAL, "no pulse")
        return self.health

    async def Cleanup(self, request: Any, context: Any) -> Any:  # noqa: N802
        await context.abort(grpc.StatusCode.INTERNAL, "never")


async def test_a_broken_lifecycle_is_reported_at_the_start_and_ignored_at_the_end(
    tmp_path: Path,
) -> None:
    rude = Rude()
    async with serving(Tool(), rude) as port:
        path = grpc_dir(tmp_path, port, "tool")
        _, cleanup = await mounted(path)
        await cleanup()
        rude.fails = "health"

        with pytest.raises(RuntimeError, match="no pulse"):
            await mounted(path)


class Odd(rpc.ProviderServiceServicer):
    """A provider with a name, if given one, and little else."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.models: grpc.StatusCode = grpc.StatusCode.UNIMPLEMENTED

    async def GetInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.ProviderInfo(id=self.name)

    async def ListModels(self, request: Any, context: Any) -> Any:  # noqa: N802
        await context.abort(self.models, "no list")

    async def Complete(self, request: Any, context: Any) -> Any:  # noqa: N802
        return pb.ChatResponse(content='[{"type": "hologram"}]')

    async def CompleteStreaming(self, request: Any, context: Any) -> Any:  # noqa: N802
        yield pb.ChatResponse()
        await context.abort(grpc.StatusCode.INTERNAL, "broke off")


async def test_an_odd_provider_fails_like_a_provider(tmp_path: Path) -> None:
    odd = Odd("odd")
    async with serving(odd) as port:
        path = grpc_dir(tmp_path, port, "provider")
        coordinator, cleanup = await mounted(path, "provider-odd")
        provider = coordinator.get("providers", "odd")

        assert await provider.list_models() == []
        odd.models = grpc.StatusCode.INTERNAL
        with pytest.raises(LLMError, match="no list"):
            await provider.list_models()
        with pytest.raises(LLMError, match="cannot be read"):
            await provider.complete(ASKED.model_dump())
        with pytest.raises(LLMError, match="broke off"):
            async for _ in provider.stream_complete(ASKED):
                pass
        assert repr(provider) == f"<RemoteProvider 'odd' at 127.0.0.1:{port}>"
        await cleanup()
        with pytest.raises(LLMError, match="has been unmounted"):
            async for _ in provider.stream_complete(ASKED):
                pass


async def test_a_provider_without_an_id_is_refused(tmp_path: Path) -> None:
    async with serving(Odd("")) as port:
        with pytest.raises(RuntimeError, match="a provider without id"):
            await mounted(grpc_dir(tmp_path, port, "provider"))


async def test_remote_hooks_and_approvals_can_be_told_apart(tmp_path: Path) -> None:
    class Broken(rpc.HookServiceServicer):
        async def GetSubscriptions(self, request: Any, context: Any) -> Any:  # noqa: N802
            await context.abort(grpc.StatusCode.INTERNAL, "no list")

    class Judge(rpc.ApprovalServiceServicer):
        pass

    async with serving(Broken(), Judge()) as port:
        with pytest.raises(RuntimeError, match="no list"):
            await mounted(grpc_dir(tmp_path / "hook", port, "hook"))
        coordinator, cleanup = await mounted(grpc_dir(tmp_path / "judge", port, "approval"))
        assert repr(coordinator.approval_system) == f"<RemoteApproval at 127.0.0.1:{port}>"
        await cleanup()
    hooks, done = await _hooks(tmp_path)
    assert repr(hooks).startswith("<RemoteHook at 127.0.0.1:")
    await done()


async def _hooks(folder: Path) -> Any:
    class Watch(rpc.HookServiceServicer):
        pass

    async with serving(Watch()) as port:
        coordinator, cleanup = await mounted(grpc_dir(folder / "watch", port, "hook"), "hooks-x")
        (registration,) = coordinator.hooks._all()
        return registration.handler, cleanup


# -- processes ------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_sidecar_that_refuses_a_call_is_not_said_to_be_dead(tmp_path: Path) -> None:
    coordinator, cleanup = await mounted(sidecar_dir(tmp_path), "tool-side")

    refused = await coordinator.get("tools", "side").execute({"do": "refuse"})

    assert "not now" in refused.output
    assert "The next call connects again." in refused.output
    await cleanup()


async def test_a_process_that_cannot_even_be_forked_leaves_nothing() -> None:
    process = ModuleProcess("x", ["x"], ProcessSettings(), Path("/nonexistent"))

    with pytest.raises(FileNotFoundError):
        await process.start({})


LOOP = """\
from amplifier_core.message_models import ChatRequest, Message


class Loop:
    def __init__(self, coordinator):
        self.coordinator = coordinator

    async def execute(self, prompt, context, providers, tools, hooks):
        provider = providers["mock"]
        request = ChatRequest(messages=[Message(role="user", content=prompt)])
        said = [provider.get_info().id, await provider.list_models()]
        said.append(provider.parse_tool_calls(await provider.complete(request)))
        for ask in (provider.complete, self.stream(provider)):
            try:
                await ask(request)
            except Exception as error:
                said.append(type(error).__name__)
        said.append(self.coordinator.get_capability("odd"))
        said.append(len(await context.get_messages()))
        return repr(said)

    def stream(self, provider):
        async def ask(request):
            async for chunk in provider.stream_complete(request):
                pass

        return ask


async def mount(coordinator, config):
    await coordinator.mount("orchestrator", Loop(coordinator))
"""


@pytest.mark.slow
async def test_a_loop_elsewhere_sees_failures_as_such(tmp_path: Path) -> None:
    failure = {"error": {"type": "RateLimitError", "message": "Slow down."}}
    script = {"script": [{"text": "one"}, failure, failure]}
    source = python_module(tmp_path, "loop-curious", LOOP)
    plan = {
        "session": {"orchestrator": apart("loop-curious", source), "context": "context-simple"},
        "providers": [{"module": "provider-mock", "config": script}],
    }
    async with AmplifierSession(plan) as session:
        session.coordinator.register_capability("odd", object())

        answer = await session.execute("hi")

        assert answer == "['mock', [], [], 'RateLimitError', 'RateLimitError', None, 0]"


class OwnLoader:
    """A loader of an app, which knows nothing of processes."""

    async def load(self, *arguments: Any, **more: Any) -> Any:
        return await ModuleLoader().load(*arguments, **more)

    def get_on_session_ready_queue(self) -> list[Any]:
        return []

    def enqueue_on_session_ready(self, module_id: str, ready: Any) -> None: ...

    def clear_on_session_ready_queue(self) -> None: ...


@pytest.mark.slow
@pytest.mark.parametrize("how", ["search path", "own loader"])
async def test_a_module_is_found_for_its_process_wherever_it_is(tmp_path: Path, how: str) -> None:
    source = python_module(tmp_path, "tool-found", TOOLS)
    own: Any = OwnLoader()
    loader = own if how == "own loader" else ModuleLoader(search_paths=[tmp_path])
    entry = apart("tool-found", source if how == "own loader" else None)
    plan = {
        "session": {"orchestrator": "loop-basic", "context": "context-simple"},
        "tools": [entry],
    }
    async with AmplifierSession(plan, loader=loader) as session:
        assert session.status.failed_modules is None
        assert "one" in session.coordinator.get_all("tools")


# -- places ---------------------------------------------------------------------------


def test_a_transport_whose_own_code_is_broken_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "amplifier_core.transports.sidecar", None)

    with pytest.raises(ModuleNotFoundError):
        transport_loader("rust")


def test_a_component_is_described_by_what_it_exports(tmp_path: Path) -> None:
    pytest.importorskip("wasmtime")
    shutil.copy(GUESTS / "tool.wasm", tmp_path / "it.wasm")

    told = _engine.resolve_module(str(tmp_path))

    assert (told["transport"], told["module_type"]) == ("wasm", "tool")
    assert told["artifact_path"] == str(tmp_path.resolve() / "it.wasm")
