"""What a session does with a plan that is wrong, or whose modules misbehave.

A malformed plan, or a module that a session cannot do without, ends the initialization
with one error. Any other module is left out, reported once, and the session goes on.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession
from amplifier_core.loader import ModuleLoader
from helpers_modules import (
    Events,
    MemoryLoader,
    Provider,
    Tool,
    entries,
    failing,
    forever,
    listen,
    module_directory,
    mounts,
    mounts_nothing,
    plan,
    session_of,
    tool_source,
)

REQUIRED = [
    ("loop", "orchestrator"),
    ("memory", "context manager"),
    ("approval", "approval module"),
]
OPTIONAL = [
    ("provider-x", "provider", "providers[0]"),
    ("tool-x", "tool", "tools[0]"),
    ("hook-x", "hook", "hooks[0]"),
]
FULL = plan(
    session={"approval": {"module": "approval"}, "mount_timeout": 0.01},
    providers=entries("provider-x"),
    tools=entries("tool-x", "tool-good"),
    hooks=entries("hook-x"),
)


class Approval:
    async def request_approval(self, *question: Any) -> str:
        return "Allow"


async def _approval(coordinator: Any, config: dict[str, Any]) -> Approval:
    return Approval()


def _session(module_id: str, mount: Any) -> tuple[AmplifierSession, Events]:
    """A session on FULL, all of whose modules are good except `module_id`."""
    good = {
        "approval": _approval,
        "provider-x": mounts("providers", Provider, "x"),
        "tool-x": mounts("tools", Tool, "x"),
        "tool-good": mounts("tools", Tool, "good"),
        "hook-x": mounts_nothing,
    }
    session = session_of(FULL, {**good, module_id: mount})
    return session, listen(session, "module:load_failed")


async def _failure(session: AmplifierSession) -> str:
    """The error that initialize() raises; nothing may be left of the attempt."""
    with pytest.raises(RuntimeError) as caught:
        async with asyncio.timeout(5):
            await session.initialize()
    summary = session.coordinator.to_dict()
    assert not session.initialized
    assert not summary["has_orchestrator"]
    assert not summary["has_context"]
    assert summary["tools"] == summary["providers"] == []
    assert session.coordinator.approval_system is None
    return str(caught.value)


# -- malformed plans ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (plan(tools="tool-bash"), "tools must be a list of modules, not str"),
        (plan(providers={"module": "p"}), "providers must be a list of modules, not dict"),
        (plan(hooks=[5]), "hooks[0] must be a mapping, not int"),
        (plan(tools=[{"config": {}}]), "tools[0] names no module"),
        (plan(tools=[{"module": "t", "confg": {}}]), "unknown key 'confg'. Did you mean 'config'?"),
        (plan(tools=[{"module": "t", "config": 5}]), "tools[0].config must be a mapping, not int"),
        (plan(session={"orchestrator": 5}), "session.orchestrator names no module"),
        (plan(session={"mount_timeout": "soon"}), "session.mount_timeout must be float"),
        (plan(providers=entries("p", "p")), "Found 2 entries for module 'p' without instance_id"),
    ],
)
async def test_a_malformed_plan_is_refused_before_any_module_is_loaded(
    config: dict[str, Any], message: str
) -> None:
    session = session_of(config)

    text = await _failure(session)

    loader: Any = session.loader
    assert text.startswith("Session initialization failed: ValueError: ")
    assert message in text
    assert loader.loaded == []


async def test_a_plan_can_be_mended_and_tried_again() -> None:
    config = plan(tools="tool-x")
    session = session_of(config, {"tool-x": mounts("tools", Tool, "x")})
    await _failure(session)

    config["tools"] = entries("tool-x")
    await session.initialize()

    assert list(session.coordinator.get("tools")) == ["x"]


# -- unknown modules ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "title"), [("orchestrator", "orchestrator"), ("context", "context manager")]
)
async def test_an_unknown_required_module_is_an_error_with_the_nearest_name(
    part: str, title: str, tmp_path: Path
) -> None:
    ids = {"orchestrator": "loop-standin", "context": "context-standin"}
    with module_directory(tmp_path) as modules:
        modules.write_session_modules(ids["orchestrator"], ids["context"])
        wrong = {**ids, part: ids[part].replace("standin", "standni")}
        session = AmplifierSession({"session": wrong}, ModuleLoader(search_paths=[tmp_path]))

        text = await _failure(session)

    assert f"Cannot initialize without {title}: Module {wrong[part]!r} was not found" in text
    assert f"Did you mean {ids[part]!r}?" in text


async def test_an_unknown_tool_is_reported_with_the_nearest_name_and_left_out(
    tmp_path: Path,
) -> None:
    with module_directory(tmp_path) as modules:
        modules.write_session_modules("loop-standin", "context-standin")
        modules.write("tool-standin", tool_source("standin"))
        config = {
            "session": {"orchestrator": "loop-standin", "context": "context-standin"},
            "tools": entries("tool-standni", "tool-standin"),
        }
        session = AmplifierSession(config, ModuleLoader(search_paths=[tmp_path]))
        heard = listen(session, "module:load_failed")

        await session.initialize()

    ((_, data),) = heard
    assert "Did you mean 'tool-standin'?" in data["error"]
    assert data["reason_code"] == "missing_source"
    assert list(session.coordinator.get("tools")) == ["standin"]


# -- modules that a session cannot do without -----------------------------------------


@pytest.mark.parametrize(("module_id", "title"), REQUIRED)
async def test_a_required_module_that_raises_ends_the_initialization(
    module_id: str, title: str
) -> None:
    session, heard = _session(module_id, failing(ValueError("no luck")))

    text = await _failure(session)

    assert text.endswith(f"RuntimeError: Cannot initialize without {title}: no luck")
    assert heard == []


@pytest.mark.parametrize(("module_id", "title"), REQUIRED)
async def test_a_required_module_that_hangs_is_given_up_after_the_deadline(
    module_id: str, title: str
) -> None:
    session, _ = _session(module_id, forever)

    text = await _failure(session)

    assert text.endswith(
        f"Cannot initialize without {title}: Module {module_id!r} was not mounted within 0.01 s. "
        "Raise session.mount_timeout if it needs longer."
    )


@pytest.mark.parametrize(
    ("slot", "title"), [("orchestrator", "orchestrator"), ("context", "context manager")]
)
async def test_a_required_module_that_mounts_nothing_has_failed(
    slot: str, title: str, tmp_path: Path
) -> None:
    with module_directory(tmp_path) as modules:
        modules.write_session_modules("loop-standin", "context-standin")
        modules.write("empty-standin", "async def mount(coordinator, config): pass\n")
        parts = {"orchestrator": "loop-standin", "context": "context-standin"}
        config = {"session": {**parts, slot: "empty-standin"}}

        text = await _failure(AmplifierSession(config, ModuleLoader(search_paths=[tmp_path])))

    assert text.endswith(f"{title}: Module 'empty-standin' mounted nothing at {slot!r}.")


@pytest.mark.parametrize("slot", ["orchestrator", "context"])
async def test_a_required_module_from_a_hosts_own_loader_may_mount_later(slot: str) -> None:
    module_id = {"orchestrator": "loop", "context": "memory"}[slot]
    session = session_of(modules={module_id: mounts_nothing})

    await session.initialize()

    assert session.initialized
    assert session.coordinator.get(slot) is None


# -- modules that a session can do without --------------------------------------------


async def _hangs_half_way(coordinator: Any, config: dict[str, Any]) -> None:
    await coordinator.mount("tools", Tool("half"))
    await coordinator.mount("providers", Provider(), name="half")
    coordinator.hooks.register("some:event", lambda event, data: None)
    coordinator.register_capability("half", True)
    await forever()


async def _own_timeout(coordinator: Any, config: dict[str, Any]) -> None:
    raise TimeoutError("the server is slow")


HANGS = "was not mounted within 0.01 s. Raise session.mount_timeout if it needs longer."


@pytest.mark.parametrize(("module_id", "kind", "where"), OPTIONAL)
@pytest.mark.parametrize(
    ("mount", "error"),
    [
        (failing(ValueError("no luck")), "no luck"),
        (_own_timeout, "the server is slow"),
        (forever, HANGS),
        (_hangs_half_way, HANGS),
    ],
)
async def test_any_other_module_that_fails_is_left_out_and_reported_once(
    module_id: str, kind: str, where: str, mount: Any, error: str
) -> None:
    session, heard = _session(module_id, mount)

    async with asyncio.timeout(5):
        await session.initialize()

    ((_, data),) = heard
    assert (data["module_type"], data["module_id"]) == (kind, module_id)
    assert data["error"].endswith(error)
    assert session.status.failed_modules is not None
    assert [each["entry"] for each in session.status.failed_modules] == [where]
    summary = session.coordinator.to_dict()
    assert "half" not in (*summary["tools"], *summary["providers"], *summary["capabilities"])
    assert "good" in summary["tools"]
    assert session.coordinator.hooks.list_handlers("some:event") == {"some:event": []}
    assert await session.execute("hello") == "done"


async def test_every_module_that_fails_is_reported_in_order_and_anew_each_time() -> None:
    session = session_of(FULL, {"approval": _approval})

    for _ in range(2):
        await session.initialize()
        assert session.status.failed_modules is not None
        assert [each["entry"] for each in session.status.failed_modules] == [
            "providers[0]", "tools[0]", "tools[1]", "hooks[0]",
        ]  # fmt: skip
        await session.cleanup()


@pytest.mark.parametrize(("module_id", "kind", "where"), OPTIONAL)
async def test_garbage_from_mount_is_ignored_with_a_warning_that_names_the_entry(
    module_id: str, kind: str, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    slots = {"provider": "providers", "tool": "tools"}

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        if kind in slots:
            await coordinator.mount(slots[kind], Provider(), name="x")
        return ["garbage"]

    session, heard = _session(module_id, mount)
    async with session:
        assert heard == []

    (warning,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert warning.startswith(f"mount() of {module_id!r} ({where}) returned list")


async def test_a_loader_that_returns_garbage_fails_the_module_and_not_the_session() -> None:
    class Odd(MemoryLoader):
        async def load(self, module_id: str, *args: Any, **hints: Any) -> Any:
            return 5 if module_id == "tool-x" else await super().load(module_id, *args, **hints)

    loader: Any = Odd()
    session = AmplifierSession(plan(tools=entries("tool-x")), loader)
    heard = listen(session, "module:load_failed")

    await session.initialize()

    assert heard[0][1]["error"] == "'int' object is not callable"


async def test_a_failure_that_cannot_be_put_into_words_is_reported_all_the_same() -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            return b"\xff".decode()

    session, heard = _session("tool-x", failing(Unreadable()))

    await session.initialize()

    assert heard[0][1]["error"] == "Unreadable()"
