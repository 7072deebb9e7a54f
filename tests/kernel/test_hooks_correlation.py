"""The id that joins the events of one model call is stamped on emit."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from amplifier_core import HookRegistry
from amplifier_core.correlation import current_request_id, reset_request_id
from amplifier_core.hooks import HookResult
from helpers_hooks import keeping


@pytest.fixture(autouse=True)
def _no_call_in_flight() -> Iterator[None]:
    reset_request_id()
    yield
    reset_request_id()


async def request_id_of(hooks: HookRegistry, event: str, data: dict[str, Any]) -> object:
    return ((await hooks.emit(event, data)).data or {}).get("request_id")


@pytest.fixture(params=["heard", "unheard"])
def hooks(request: pytest.FixtureRequest) -> HookRegistry:
    """A registry with a listener to everything, and one without: ids must be the same."""
    registry = HookRegistry()
    if request.param == "heard":
        registry.register("*", lambda event, data: None)
    return registry


async def test_one_id_joins_all_events_of_a_model_call(hooks: HookRegistry) -> None:
    opened = await request_id_of(hooks, "llm:request", {})

    assert UUID(str(opened)).version == 4
    for event in ("provider:retry", "provider:throttle", "llm:response"):
        assert await request_id_of(hooks, event, {}) == opened
    assert await request_id_of(hooks, "llm:response", {}) is None


@pytest.mark.parametrize("closing", ["llm:response", "provider:error"])
async def test_a_response_or_an_error_closes_the_call(hooks: HookRegistry, closing: str) -> None:
    opened = await request_id_of(hooks, "llm:request", {})
    assert current_request_id() == opened

    assert await request_id_of(hooks, closing, {}) == opened
    assert current_request_id() is None
    assert await request_id_of(hooks, "provider:retry", {}) is None


@pytest.mark.parametrize("event", ["llm:request", "llm:response", "provider:retry"])
async def test_an_id_in_the_data_wins(hooks: HookRegistry, event: str) -> None:
    await hooks.emit("llm:request", {})

    assert await request_id_of(hooks, event, {"request_id": "mine"}) == "mine"
    assert current_request_id() == (None if event == "llm:response" else "mine")


@pytest.mark.parametrize("given", ["", None, 5])
async def test_an_id_that_is_no_text_is_replaced(hooks: HookRegistry, given: object) -> None:
    request_id = await request_id_of(hooks, "llm:request", {"request_id": given})

    assert UUID(str(request_id)).version == 4


@pytest.mark.parametrize(
    "event", ["provider:request", "provider:response", "llm:stream_chunk", "tool:pre"]
)
async def test_other_events_carry_no_id_and_close_nothing(hooks: HookRegistry, event: str) -> None:
    opened = await request_id_of(hooks, "llm:request", {})

    assert await request_id_of(hooks, event, {}) is None
    assert await request_id_of(hooks, event, {"request_id": "mine"}) == "mine"
    assert current_request_id() == opened


async def test_the_data_of_the_caller_is_not_stamped(hooks: HookRegistry) -> None:
    data: dict[str, Any] = {"request_id": ""}
    await hooks.emit("llm:request", data)

    assert data == {"request_id": ""}


async def test_the_id_is_resolved_when_emit_is_called_not_when_it_is_awaited(
    hooks: HookRegistry,
) -> None:
    emitting = hooks.emit("llm:request", {})
    opened = current_request_id()
    assert opened is not None
    closing = hooks.emit("llm:response", {})
    assert current_request_id() is None

    assert ((await emitting).data or {})["request_id"] == opened
    assert ((await closing).data or {})["request_id"] == opened


async def test_an_emit_in_a_task_of_its_own_opens_the_call_of_the_caller(
    hooks: HookRegistry,
) -> None:
    task = asyncio.create_task(hooks.emit("llm:request", {}))
    opened = current_request_id()

    assert opened is not None
    assert ((await task).data or {})["request_id"] == opened
    assert await request_id_of(hooks, "llm:response", {}) == opened


async def test_calls_in_parallel_tasks_are_told_apart(hooks: HookRegistry) -> None:
    async def call() -> tuple[object, object]:
        opened = await request_id_of(hooks, "llm:request", {})
        await asyncio.sleep(0)
        return opened, await request_id_of(hooks, "llm:response", {})

    pairs = await asyncio.gather(*(call() for _ in range(5)))

    assert len({opened for opened, _ in pairs}) == 5
    assert all(opened == closed for opened, closed in pairs)


async def test_handlers_see_the_id_rather_than_a_default_field_of_that_name() -> None:
    hooks, seen = HookRegistry(), []
    hooks.set_default_fields(request_id="default")
    hooks.register("*", keeping(seen))
    await hooks.emit("llm:request", {})
    await hooks.emit("tool:pre", {})

    assert [data["request_id"] for data in seen] == [current_request_id(), "default"]


async def test_data_that_is_no_dict_is_neither_stamped_nor_opens_a_call(
    hooks: HookRegistry,
) -> None:
    result = await hooks.emit("llm:request", "text")

    assert result == HookResult(action="continue", data={})
    assert current_request_id() is None


async def test_collecting_stamps_nothing() -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("llm:request", keeping(seen))

    await hooks.emit_and_collect("llm:request", {"a": 1})

    assert seen == [{"a": 1}]
    assert current_request_id() is None


async def test_a_model_call_made_by_a_handler_leaves_that_of_the_caller_open() -> None:
    hooks = HookRegistry()

    async def call_a_model(event: str, data: Any) -> None:
        await hooks.emit("llm:request", {})
        await hooks.emit("llm:response", {})

    hooks.register("provider:retry", call_a_model)
    opened = await request_id_of(hooks, "llm:request", {})

    await hooks.emit("provider:retry", {})

    assert await request_id_of(hooks, "llm:response", {}) == opened
