"""Bringing a session up: order, sharing one run, and taking everything back."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core import AmplifierSession, _session_init
from amplifier_core._session_init import _session_aenter, initialize_session
from amplifier_core.loader import ModuleLoader
from amplifier_core.testing import MockCoordinator
from helpers_modules import (
    Loop,
    Memory,
    MemoryLoader,
    Named,
    Tool,
    entries,
    failing,
    forever,
    listen,
    mounts,
    mounts_nothing,
    plan,
    session_of,
    until,
)

FULL = plan(
    session={"approval": {"module": "approval"}},
    providers=entries("provider-a", "provider-b"),
    tools=entries("tool-a", "tool-b"),
    hooks=entries("hook-a"),
)
IN_ORDER = [
    "loop", "memory", "approval", "provider-a", "provider-b", "tool-a", "tool-b", "hook-a",
]  # fmt: skip


def _loader(session: AmplifierSession) -> MemoryLoader:
    loader = session.coordinator.loader
    assert isinstance(loader, MemoryLoader)
    return loader


def _everything(log: list[str]) -> dict[str, Any]:
    """A mount function for each module of FULL that notes its id."""

    def noting(module_id: str) -> Any:
        async def mount(coordinator: Any, config: dict[str, Any]) -> None:
            log.append(module_id)
            if module_id == "approval":
                coordinator.approval_system = Named()
            elif module_id.startswith("provider"):
                await coordinator.mount("providers", Named(), name=module_id)

        return mount

    return {module_id: noting(module_id) for module_id in IN_ORDER}


def _counting(calls: list[str], gate: asyncio.Event | None = None) -> dict[str, Any]:
    """An orchestrator whose mount is counted, and waits for `gate` if there is one."""

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        calls.append("loop")
        if gate is not None:
            await gate.wait()
        await coordinator.mount("orchestrator", Loop())

    return {"loop": mount}


# -- order and arguments --------------------------------------------------------------


async def test_modules_are_mounted_in_order_and_then_get_ready_in_the_same_order() -> None:
    log: list[str] = []

    def ready(module_id: str) -> Any:
        async def on_session_ready(coordinator: Any) -> None:
            log.append(f"{module_id} ready")

        return on_session_ready

    session = session_of(FULL, _everything(log), {each: ready(each) for each in IN_ORDER})

    await session.initialize()

    assert log == [*IN_ORDER, *(f"{each} ready" for each in IN_ORDER)]
    assert session.initialized


async def test_each_module_gets_its_config_and_source() -> None:
    config = {
        "session": {
            "orchestrator": {"module": "loop", "source": "loop-src", "config": {"a": 1}},
            "context": "memory",
            "context_source": "memory-src",
        },
        "context": {"config": {"b": 2}},
        "tools": [{"module": "tool-t", "source": "tool-src", "config": {"c": 3}}],
        "hooks": [{"module": "hook-h"}],
    }
    session = session_of(config, {"tool-t": mounts("tools", Tool), "hook-h": mounts_nothing})

    await session.initialize()

    assert _loader(session).loaded == [
        ("loop", {"a": 1}, "loop-src"),
        ("memory", {"b": 2}, "memory-src"),
        ("tool-t", {"c": 3}, "tool-src"),
        ("hook-h", {}, None),
    ]


async def test_initialize_returns_nothing_and_does_its_work_once() -> None:
    calls: list[str] = []
    session = session_of(modules=_counting(calls))

    assert await session.initialize() is None
    assert await session.initialize() is None

    assert calls == ["loop"]


async def test_the_step_that_mounts_can_be_replaced_by_a_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    async def replacement(*arguments: Any) -> None:
        seen.append(arguments)

    monkeypatch.setattr(_session_init, "initialize_session", replacement)
    session = session_of(session_id="id", parent_id="parent")

    await session.initialize()

    assert seen == [(session.config, session.coordinator, "id", "parent")]
    assert session.initialized


async def test_a_bare_coordinator_can_be_initialized_and_gets_a_loader_if_it_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    coordinator = MockCoordinator()

    with pytest.raises(RuntimeError, match="Cannot initialize without orchestrator"):
        await initialize_session(plan(), coordinator, "id", None)

    assert isinstance(coordinator.loader, ModuleLoader)


async def test_a_stand_in_for_a_coordinator_is_enough() -> None:
    """Hosts test their loaders with objects that only look like a coordinator."""
    cleanups: list[Any] = []
    slots: dict[str, Any] = {}

    async def mount(point: str, module: Any, name: str | None = None) -> None:
        slots[point] = module

    stand_in = SimpleNamespace(
        loader=MemoryLoader(), mount=mount, get=slots.get, register_cleanup=cleanups.append
    )

    await initialize_session(plan(), stand_in, "id", None)

    assert set(slots) == {"orchestrator", "context"}


async def test_a_stand_in_for_a_coordinator_sees_the_same_failures() -> None:
    loader = MemoryLoader({"loop": failing(ValueError("broken"))})

    with pytest.raises(RuntimeError, match="Cannot initialize without orchestrator: broken"):
        await initialize_session(plan(), SimpleNamespace(loader=loader), "id", None)


# -- one shared run -------------------------------------------------------------------


async def test_concurrent_callers_share_one_run() -> None:
    calls: list[str] = []
    gate = asyncio.Event()
    session = session_of(modules=_counting(calls, gate))
    running = [asyncio.create_task(session.initialize()) for _ in range(3)]
    await until(lambda: calls)
    gate.set()

    async with asyncio.timeout(5):
        await asyncio.gather(*running)

    assert calls == ["loop"]
    assert session.initialized


async def test_a_turn_waits_for_an_initialize_that_runs_elsewhere() -> None:
    calls: list[str] = []
    gate = asyncio.Event()
    session = session_of(modules=_counting(calls, gate))
    running = asyncio.create_task(session.initialize())
    await until(lambda: calls)
    turn = asyncio.create_task(session.execute("hello"))
    gate.set()

    async with asyncio.timeout(5):
        assert await turn == "done"
        await running

    assert calls == ["loop"]


async def test_those_who_wait_for_a_failing_run_get_the_same_error() -> None:
    gate = asyncio.Event()
    cause = ValueError("broken")

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        await gate.wait()
        raise cause

    session = session_of(modules={"loop": mount})
    running = [asyncio.create_task(session.initialize()) for _ in range(3)]
    await until(lambda: _loader(session).loaded)
    gate.set()

    async with asyncio.timeout(5):
        errors = await asyncio.gather(*running, return_exceptions=True)

    assert len({str(error) for error in errors}) == 1
    for error in errors:
        assert isinstance(error, RuntimeError)
        assert error.__cause__ is not None
        assert error.__cause__.__cause__ is cause
    assert len(_loader(session).loaded) == 1


async def test_one_who_waits_takes_over_when_the_running_initialize_is_cancelled() -> None:
    calls: list[str] = []
    gate = asyncio.Event()
    session = session_of(modules=_counting(calls, gate))
    first = asyncio.create_task(session.initialize())
    await until(lambda: calls)
    second = asyncio.create_task(session.initialize())
    await asyncio.sleep(0)

    first.cancel()
    gate.set()
    async with asyncio.timeout(5):
        await second
        with pytest.raises(asyncio.CancelledError):
            await first

    assert session.initialized
    assert calls == ["loop", "loop"]


async def test_cancelling_one_who_waits_leaves_the_run_alone() -> None:
    calls: list[str] = []
    gate = asyncio.Event()
    session = session_of(modules=_counting(calls, gate))
    first = asyncio.create_task(session.initialize())
    await until(lambda: calls)
    second = asyncio.create_task(session.initialize())
    await asyncio.sleep(0)

    second.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await second
        gate.set()
        await first

    assert session.initialized
    assert calls == ["loop"]


@pytest.mark.parametrize("use", ["initialize", "execute"])
async def test_a_module_that_waits_for_the_session_mounting_it_fails_at_once(use: str) -> None:
    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        session = coordinator.session
        await (session.initialize() if use == "initialize" else session.execute("early"))

    session = session_of(plan(tools=entries("tool-eager")), {"tool-eager": mount})
    heard = listen(session, "module:load_failed")

    async with asyncio.timeout(5):
        await session.initialize()

    assert "A module waits for the session that is mounting it." in heard[0][1]["error"]


# -- failing and unwinding ------------------------------------------------------------


async def test_a_failed_run_names_the_cause_and_chains_it() -> None:
    cause = ValueError("no memory")
    session = session_of(modules={"memory": failing(cause)})

    with pytest.raises(RuntimeError) as caught:
        await session.initialize()

    assert str(caught.value) == (
        "Session initialization failed: RuntimeError: "
        "Cannot initialize without context manager: no memory"
    )
    assert caught.value.__cause__ is not None
    assert caught.value.__cause__.__cause__ is cause
    assert not session.initialized


async def test_cancelling_a_run_takes_everything_back_and_a_later_one_works() -> None:
    gate = asyncio.Event()
    log: list[str] = []

    async def tool(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.mount("tools", Tool("waiting"))
        coordinator.hooks.register("some:event", lambda event, data: None)
        coordinator.register_capability("waiting", True)
        coordinator.register_contributor("channel", "waiting", list)
        coordinator.register_cleanup(lambda: log.append("cleaned"))
        log.append("mounted")
        await gate.wait()

    session = session_of(plan(tools=entries("tool-waiting")), {"tool-waiting": tool})
    coordinator = session.coordinator
    running = asyncio.create_task(session.initialize())
    await until(lambda: log)

    running.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await running

    assert log == ["mounted", "cleaned"]
    assert not session.initialized
    assert coordinator.get("orchestrator") is coordinator.get("context") is None
    assert coordinator.get("tools") == coordinator.hooks.list_handlers() == {}
    assert coordinator.channels == {}
    assert not coordinator.check_capability("waiting")
    gate.set()
    await session.initialize()
    assert list(coordinator.get("tools")) == ["waiting"]


async def test_cancelling_a_run_while_it_announces_the_child_takes_everything_back() -> None:
    session = session_of(parent_id="parent")
    reached = asyncio.Event()

    async def slow(event: str, data: dict[str, Any]) -> None:
        reached.set()
        await forever()

    session.coordinator.hooks.register("session:fork", slow)
    running = asyncio.create_task(session.initialize())
    async with asyncio.timeout(5):
        await reached.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    assert session.coordinator.get("orchestrator") is None


@pytest.mark.parametrize("error", [asyncio.CancelledError(), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("module_id", ["loop", "provider-x", "tool-x"])
def test_what_must_not_be_swallowed_goes_through_initialize(
    error: BaseException, module_id: str
) -> None:
    config = plan(providers=entries("provider-x"), tools=entries("tool-x"))
    session = session_of(config, {module_id: failing(error)})

    with pytest.raises(type(error)):
        asyncio.run(session.initialize())

    assert not session.initialized
    assert session.coordinator.get("orchestrator") is None


async def test_what_the_app_put_in_before_survives_a_failed_run() -> None:
    app_tool, app_loop = Tool("app"), Loop()
    config = plan(providers=[{"module": "provider-x"}])

    async def abort(coordinator: Any, entry: Any, error: Exception) -> None:
        raise LookupError("abort")

    session = session_of(config, {"memory": mounts("context", Memory)})
    coordinator = session.coordinator
    await coordinator.mount("tools", app_tool)
    await coordinator.mount("orchestrator", app_loop)
    coordinator.register_capability("provider.load_failure", abort)

    with pytest.raises(RuntimeError, match="LookupError: abort"):
        await session.initialize()

    assert coordinator.get("tools") == {"app": app_tool}
    assert coordinator.get("orchestrator") is app_loop
    assert coordinator.get_capability("provider.load_failure") is abort


async def test_the_older_way_to_enter_a_session_still_works() -> None:
    session = session_of()

    assert await _session_aenter(session) is session
    assert session.initialized


async def test_a_bare_coordinator_hears_of_failed_modules_though_it_keeps_no_status() -> None:
    coordinator = MockCoordinator()
    loader: Any = MemoryLoader()
    coordinator.loader = loader
    heard: list[str] = []
    coordinator.hooks.register(
        "module:load_failed", lambda event, data: heard.append(data["module_id"])
    )

    await initialize_session(plan(tools=entries("tool-missing")), coordinator, "id", None)

    assert heard == ["tool-missing"]
