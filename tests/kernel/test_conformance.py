"""What code written for the public kernel counts on, across all parts of a session."""

import asyncio
import importlib
import importlib.util
import inspect
from collections.abc import Callable
from typing import Any

import amplifier_core
import pytest
from amplifier_core import (
    AmplifierSession,
    HookResult,
    _engine,
    _session_exec,
    _session_init,
    cancellation,
    capabilities,
    coordinator,
    events,
    hooks,
    session,
)
from helpers_modules import (
    Loop,
    Tool,
    entries,
    listen,
    mounts,
    plan,
    session_of,
)

# -- names ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "engine_name", "home"),
    [
        ("AmplifierSession", "RustSession", session),
        ("ModuleCoordinator", "RustCoordinator", coordinator),
        ("HookRegistry", "RustHookRegistry", hooks),
        ("CancellationToken", "RustCancellationToken", cancellation),
    ],
)
def test_a_class_is_the_same_wherever_it_is_imported_from(
    name: str, engine_name: str, home: Any
) -> None:
    found = getattr(amplifier_core, name)

    assert getattr(home, name) is found
    assert getattr(_engine, engine_name) is found
    assert getattr(amplifier_core, engine_name) is found
    assert found.__module__ == home.__name__


def test_the_engine_tells_the_truth_and_knows_every_constant() -> None:
    assert _engine.RUST_AVAILABLE is amplifier_core.RUST_AVAILABLE is False
    assert _engine.__version__ == amplifier_core.__version__
    assert _engine.ALL_EVENTS is events.ALL_EVENTS
    for home in (events, capabilities):
        for name in home.__all__:
            assert getattr(_engine, name) is getattr(home, name)


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (
            _session_init.initialize_session,
            ["config", "coordinator", "session_id", "parent_id"],
        ),
        (_session_init._session_aenter, ["session"]),
        (_session_exec.run_orchestrator, ["coordinator", "prompt"]),
        (
            _session_exec.emit_raw_field_if_configured,
            ["coordinator", "config", "session_id", "event_base"],
        ),
    ],
)
def test_the_steps_of_a_session_can_be_called_by_their_known_names(
    function: Callable[..., Any], parameters: list[str]
) -> None:
    assert list(inspect.signature(function).parameters) == parameters
    assert inspect.iscoroutinefunction(function)


@pytest.mark.parametrize("name", ["_hooks_bridge", "_rust_wrappers"])
def test_modules_that_were_given_up_long_ago_stay_away(name: str) -> None:
    assert importlib.util.find_spec(f"amplifier_core.{name}") is None


def test_hooks_offers_what_hook_modules_import_from_it() -> None:
    assert set(hooks.__all__) == {"HookRegistry", "ContextInjection", "HookResult"}


# -- calls ----------------------------------------------------------------------------


def _calls(session: AmplifierSession) -> dict[str, Callable[[], Any]]:
    """Every call of a session and its parts that is awaited."""
    hub = session.coordinator
    return {
        "initialize": session.initialize,
        "execute": lambda: session.execute("hello"),
        "mount": lambda: hub.mount("tools", Tool()),
        "unmount": lambda: hub.unmount("tools", name="echo"),
        "collect_contributions": lambda: hub.collect_contributions("channel"),
        "process_hook_result": lambda: hub.process_hook_result(HookResult(), "some:event"),
        "request_cancel": hub.request_cancel,
        "emit": lambda: hub.hooks.emit("some:event", {}),
        "emit_and_collect": lambda: hub.hooks.emit_and_collect("some:event", {}),
        "trigger_callbacks": hub.cancellation.trigger_callbacks,
        "coordinator.cleanup": hub.cleanup,
        "cleanup": session.cleanup,
        "__aenter__": session.__aenter__,
        "__aexit__": lambda: session.__aexit__(None, None, None),
    }


GIVES_NOTHING = [
    "initialize",
    "mount",
    "unmount",
    "request_cancel",
    "trigger_callbacks",
    "coordinator.cleanup",
    "cleanup",
    "__aexit__",
]


@pytest.mark.parametrize("name", _calls(session_of()))
async def test_every_async_call_gives_a_coroutine_that_can_be_a_task(name: str) -> None:
    coroutine = _calls(session_of())[name]()

    assert inspect.iscoroutine(coroutine)
    async with asyncio.timeout(5):
        await asyncio.create_task(coroutine)


@pytest.mark.parametrize("name", GIVES_NOTHING)
async def test_what_has_nothing_to_say_returns_none(name: str) -> None:
    assert await _calls(session_of())[name]() is None


@pytest.mark.parametrize("step", ["run_orchestrator", "emit_raw_field_if_configured"])
async def test_the_steps_of_a_turn_can_be_replaced_by_a_host(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    async def replacement(*arguments: Any) -> str:
        seen.append(arguments)
        return "replaced"

    monkeypatch.setattr(_session_exec, step, replacement)
    session = session_of(session_id="id")

    answer = await session.execute("hello")

    if step == "run_orchestrator":
        assert (answer, seen) == ("replaced", [(session.coordinator, "hello")])
    else:
        assert (answer, seen) == ("done", [(session.coordinator, session.config, "id")])


async def test_initialize_and_cleanup_of_one_session_can_be_replaced() -> None:
    """Hosts wrap these two on the instance, also for `async with`."""
    log: list[str] = []
    session = session_of()

    async def initialize() -> None:
        log.append("initialize")

    async def cleanup() -> None:
        log.append("cleanup")

    session.initialize = initialize  # type: ignore[method-assign]
    session.cleanup = cleanup  # type: ignore[method-assign]

    async with session as entered:
        assert entered is session

    assert log == ["initialize", "cleanup"]


# -- a whole life ---------------------------------------------------------------------


@pytest.mark.parametrize("is_resumed", [False, True])
async def test_the_events_of_a_life_come_in_order(is_resumed: bool) -> None:
    async def run(prompt: str, hooks: Any, coordinator: Any, **_: Any) -> str:
        await hooks.emit("execution:start", {"prompt": prompt})
        if prompt == "stop":
            await coordinator.request_cancel(immediate=True)
        await hooks.emit("execution:end", {"response": prompt})
        return prompt

    async def not_ready(coordinator: Any) -> None:
        raise ValueError("not ready")

    session = session_of(
        plan(session={"raw": True}, tools=entries("tool-missing", "tool-t")),
        {"loop": mounts("orchestrator", Loop(run)), "tool-t": mounts("tools", Tool)},
        {"tool-t": not_ready},
        parent_id="parent",
        is_resumed=is_resumed,
    )
    heard = listen(session)

    async with session:
        for prompt in ("go", "stop"):
            assert await session.execute(prompt) == prompt

    turn = ["execution:start", "execution:end"]
    assert [event for event, _ in heard] == [
        "module:load_failed",
        "module:on_session_ready_failed",
        "session:fork",
        "session:resume" if is_resumed else "session:start",
        "session:config",
        *turn,
        *turn,
        "cancel:completed",
        "session:end",
    ]
    assert {data["session_id"] for _, data in heard} == {session.session_id}
    assert {data["parent_id"] for _, data in heard} == {"parent"}
    assert heard[-2][1]["was_immediate"] is True
    assert heard[-1][1]["status"] == "cancelled"


async def test_a_hook_module_of_the_plan_hears_the_whole_life() -> None:
    heard: list[str] = []

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        return coordinator.hooks.register("*", lambda event, data: heard.append(event))

    async with session_of(plan(hooks=entries("hook-log")), {"hook-log": mount}) as session:
        await session.execute("hello")
    await session.coordinator.hooks.emit("after:the:end", {})

    assert heard == ["session:start", "session:end"]


@pytest.mark.parametrize("limit", [None, 3])
async def test_limits_of_the_plan_reach_hooks_through_the_session(limit: int | None) -> None:
    session = session_of(plan(session={"injection_size_limit": limit}))
    await session.initialize()
    result = HookResult(action="inject_context", context_injection="long text")

    carry_out = session.coordinator.process_hook_result(result, "tool:post", "hook")
    if limit is None:
        assert (await carry_out).action == "continue"
    else:
        with pytest.raises(ValueError, match="Context injection exceeds 3 characters"):
            await carry_out

    stored = await session.coordinator.get("context").get_messages()
    assert len(stored) == (limit is None)
