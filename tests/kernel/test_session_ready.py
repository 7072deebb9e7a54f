"""The last step of coming up: every module may get ready, now that all others are there."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession
from amplifier_core.loader import ModuleLoader
from helpers_modules import (
    Tool,
    entries,
    failing,
    forever,
    listen,
    module_directory,
    mounts_nothing,
    plan,
    session_of,
    tool_source,
    until,
)


def _failing(error: BaseException) -> Any:
    async def on_session_ready(coordinator: Any) -> None:
        raise error

    return on_session_ready


async def test_a_module_that_fails_to_get_ready_is_reported_and_the_others_go_on() -> None:
    log: list[str] = []

    async def fine(coordinator: Any) -> None:
        log.append("fine")

    session = session_of(
        plan(tools=entries("tool-a", "tool-b")),
        {"tool-a": mounts_nothing, "tool-b": mounts_nothing},
        {"tool-a": _failing(ValueError("not ready")), "tool-b": fine},
    )
    heard = listen(session)

    await session.initialize()

    event, data = heard[0]
    assert event == "module:on_session_ready_failed"
    assert (data["module_id"], data["error"]) == ("tool-a", "not ready")
    assert log == ["fine"]
    assert session.initialized


async def test_a_module_that_hangs_while_getting_ready_is_given_up_after_the_deadline() -> None:
    session = session_of(plan(session={"mount_timeout": 0.01}), ready={"loop": forever})
    heard = listen(session, "module:on_session_ready_failed")

    async with asyncio.timeout(5):
        await session.initialize()

    assert heard[0][1]["error"] == (
        "on_session_ready of module 'loop' did not return within 0.01 s. "
        "Raise session.mount_timeout if it needs longer."
    )


async def test_cancellation_while_getting_ready_takes_everything_back() -> None:
    session = session_of(ready={"loop": _failing(asyncio.CancelledError())})

    with pytest.raises(asyncio.CancelledError):
        await session.initialize()

    assert session.coordinator.get("orchestrator") is None
    assert session.loader.get_on_session_ready_queue() == []


async def test_only_modules_that_were_mounted_get_ready() -> None:
    called: list[str] = []

    async def ready(coordinator: Any) -> None:
        called.append("ready")

    session = session_of(
        plan(tools=entries("tool-broken")),
        {"tool-broken": failing(ValueError("broken"))},
        {"tool-broken": ready},
    )

    await session.initialize()

    assert called == []


async def test_what_a_module_adds_while_getting_ready_is_taken_out_at_the_end() -> None:
    async def ready(coordinator: Any) -> None:
        await coordinator.mount("tools", Tool("late"))

    session = session_of(ready={"loop": ready})
    await session.initialize()
    assert list(session.coordinator.get("tools")) == ["late"]

    await session.cleanup()

    assert session.coordinator.get("tools") == {}


async def test_sessions_that_share_a_loader_do_not_share_who_gets_ready(tmp_path: Path) -> None:
    source = tool_source("waiting") + (
        "\nasync def on_session_ready(coordinator):\n"
        "    coordinator.session_state.setdefault('ready', []).append(coordinator.session_id)\n"
        "    await coordinator.session_state['gate'].wait()\n"
    )
    with module_directory(tmp_path) as modules:
        modules.write_session_modules("shared-loop", "shared-context")
        modules.write("tool-shared-ready", source)
        loader = ModuleLoader(search_paths=[tmp_path])
        config = {
            "session": {"orchestrator": "shared-loop", "context": "shared-context"},
            "tools": entries("tool-shared-ready"),
        }
        sessions = [AmplifierSession(config, loader=loader, session_id=f"s{n}") for n in range(5)]
        gate = asyncio.Event()
        for session in sessions:
            session.coordinator.session_state["gate"] = gate
        running = [asyncio.create_task(session.initialize()) for session in sessions]
        await until(lambda: all("ready" in s.coordinator.session_state for s in sessions))
        gate.set()
        async with asyncio.timeout(5):
            await asyncio.gather(*running)

    ready = [session.coordinator.session_state["ready"] for session in sessions]
    assert ready == [["s0"], ["s1"], ["s2"], ["s3"], ["s4"]]


async def test_functions_that_a_host_queued_on_the_loader_are_called_once(tmp_path: Path) -> None:
    called: list[str] = []

    async def ready(coordinator: Any) -> None:
        called.append(coordinator.session_id)

    with module_directory(tmp_path) as modules:
        modules.write_session_modules("queued-loop", "queued-context")
        loader = ModuleLoader(search_paths=[tmp_path])
        loader.enqueue_on_session_ready("host", ready)
        config = {"session": {"orchestrator": "queued-loop", "context": "queued-context"}}
        for session_id in ("first", "second"):
            await AmplifierSession(config, loader=loader, session_id=session_id).initialize()

    assert called == ["first"]
