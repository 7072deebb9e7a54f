"""Who listens: registering, ordering and removing the handlers of an event."""

import asyncio
import sys
import threading
from typing import Any
from uuid import UUID

import pytest
from amplifier_core import HookRegistry, events
from helpers_hooks import keeping, noting


def named(hooks: HookRegistry, event: str = "e") -> list[str]:
    return hooks.list_handlers(event)[event]


# -- the class ------------------------------------------------------------------------


def test_the_registry_offers_exactly_eight_event_names() -> None:
    names = {name: value for name, value in vars(HookRegistry).items() if name.isupper()}

    assert names == {
        "SESSION_START": events.SESSION_START,
        "SESSION_END": events.SESSION_END,
        "PROMPT_SUBMIT": events.PROMPT_SUBMIT,
        "TOOL_PRE": events.TOOL_PRE,
        "TOOL_POST": events.TOOL_POST,
        "CONTEXT_PRE_COMPACT": events.CONTEXT_PRE_COMPACT,
        "ORCHESTRATOR_COMPLETE": events.ORCHESTRATOR_COMPLETE,
        "USER_NOTIFICATION": events.USER_NOTIFICATION,
    }


def test_a_registry_is_made_without_arguments() -> None:
    with pytest.raises(TypeError):
        HookRegistry("e")  # type: ignore[call-arg]


def test_on_is_another_name_for_register() -> None:
    assert HookRegistry.on is HookRegistry.register


# -- order ----------------------------------------------------------------------------


async def test_lower_priorities_run_first_and_equal_ones_in_order_of_registration() -> None:
    hooks, log = HookRegistry(), []
    for name, priority in [("a", 5), ("b", -1), ("c", 5), ("d", 0), ("e", -1)]:
        hooks.register("e", noting(log, name), priority, name)

    await hooks.emit("e", {})

    assert log == ["b", "e", "d", "a", "c"]
    assert named(hooks) == log


def test_priorities_may_be_bools_and_integers_of_any_size() -> None:
    hooks = HookRegistry()
    hooks.register("e", print, 2**80, "last")
    hooks.register("e", print, True, "one")
    hooks.register("e", print, name="zero")
    hooks.register("e", print, -(2**80), "first")

    assert named(hooks) == ["first", "zero", "one", "last"]


async def test_arguments_may_be_given_by_keyword() -> None:
    hooks, log = HookRegistry(), []
    hooks.register("e", noting(log, "second"))
    hooks.register(name="n", priority=-1, handler=noting(log, "first"), event="e")

    await hooks.emit("e", {})

    assert log == ["first", "second"]
    assert named(hooks)[0] == "n"


# -- what is refused ------------------------------------------------------------------


@pytest.mark.parametrize("priority", [1.0, None, "1"])
def test_a_priority_must_be_an_integer(priority: Any) -> None:
    hooks = HookRegistry()

    with pytest.raises(TypeError, match="priority"):
        hooks.register("e", print, priority)
    assert hooks.list_handlers() == {}


@pytest.mark.parametrize("event", [5, None, b"e", [5]])
def test_an_event_must_be_a_name_or_several(event: Any) -> None:
    hooks = HookRegistry()

    with pytest.raises(TypeError):
        hooks.register(event, print)
    assert hooks.list_handlers() == {}


def test_a_list_with_a_bad_event_registers_nothing() -> None:
    hooks = HookRegistry()

    with pytest.raises(TypeError):
        hooks.register(["e", 5], print)  # type: ignore[list-item]
    assert hooks.list_handlers() == {}


def test_a_handler_name_must_be_a_string() -> None:
    with pytest.raises(TypeError, match="name"):
        HookRegistry().register("e", print, 0, 5)  # type: ignore[call-overload]


@pytest.mark.parametrize("timeout", [0, -1, -0.5])
def test_the_time_limit_of_a_handler_must_be_positive(timeout: float) -> None:
    with pytest.raises(ValueError, match=f"got {timeout!r}"):
        HookRegistry().register("e", print, timeout=timeout)


async def test_a_handler_that_is_not_callable_fails_alone_when_the_event_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks, log = HookRegistry(), []
    hooks.register("e", "not callable", name="text")  # type: ignore[call-overload]
    hooks.register("e", noting(log, "later"))

    assert (await hooks.emit("e", {})).action == "continue"
    assert log == ["later"]
    assert "'text'" in caplog.text


# -- names ----------------------------------------------------------------------------


def test_a_handler_without_a_name_gets_a_unique_one_that_tells_its_event() -> None:
    hooks = HookRegistry()
    hooks.register("tool:pre", print)
    hooks.register("tool:pre", print)
    first, second = named(hooks, "tool:pre")

    assert first != second
    for name in (first, second):
        assert name.startswith("_auto_tool:pre_")
        assert UUID(name.removeprefix("_auto_tool:pre_")).version == 4


def test_an_empty_name_is_a_name() -> None:
    hooks = HookRegistry()
    hooks.register("e", print, name="")

    assert named(hooks) == [""]


def test_unregistering_by_name_removes_every_handler_of_that_name() -> None:
    hooks = HookRegistry()
    for event in ("e", "e", "f", "*"):
        hooks.register(event, print, name="n")
    hooks.register("f", print, name="other")

    hooks.unregister("n")

    assert hooks.list_handlers() == {"f": ["other"]}


def test_unregistering_an_unknown_name_does_nothing() -> None:
    hooks = HookRegistry()
    hooks.register("e", print, name="n")

    hooks.unregister("m")

    assert named(hooks) == ["n"]


@pytest.mark.parametrize("name", [None, 5])
def test_unregistering_takes_a_string(name: Any) -> None:
    with pytest.raises(TypeError, match="handler name"):
        HookRegistry().unregister(name)


# -- taking back ----------------------------------------------------------------------


def test_the_returned_callable_removes_only_its_own_registration_and_only_once() -> None:
    hooks = HookRegistry()
    hooks.register("e", print, name="n")
    take_back = hooks.register("e", print, 1, "n")
    hooks.register("e", print, 2, "m")

    assert take_back() is None
    assert named(hooks) == ["n", "m"]
    assert take_back() is None
    assert named(hooks) == ["n", "m"]


def test_the_returned_callable_does_nothing_after_unregistering_by_name() -> None:
    hooks = HookRegistry()
    take_back = hooks.register("e", print, name="n")
    hooks.unregister("n")
    hooks.register("e", print, name="n")

    take_back()

    assert named(hooks) == ["n"]


def test_the_returned_callable_tells_the_name() -> None:
    hooks = HookRegistry()

    assert repr(hooks.register("e", print, name="n")) == "<unregister 'n'>"
    unnamed = hooks.register("f", print)
    assert repr(unnamed) == f"<unregister {named(hooks, 'f')[0]!r}>"


async def test_a_removed_handler_is_not_called() -> None:
    hooks, log = HookRegistry(), []
    take_back = hooks.register("e", noting(log, "gone"))
    hooks.register("e", noting(log, "kept"))
    take_back()

    await hooks.emit("e", {})

    assert log == ["kept"]


# -- listing --------------------------------------------------------------------------


def test_an_event_without_handlers_is_listed_only_when_asked_for() -> None:
    hooks = HookRegistry()
    hooks.register("e", print)()

    assert hooks.list_handlers("e") == {"e": []}
    assert hooks.list_handlers() == {}


def test_the_list_of_handlers_is_a_snapshot() -> None:
    hooks = HookRegistry()
    hooks.register("e", print, name="n")
    hooks.list_handlers()["e"].clear()

    assert hooks.list_handlers() == {"e": ["n"]}


# -- several events at once -----------------------------------------------------------


@pytest.mark.parametrize("kind", [list, tuple, set, iter], ids=lambda kind: kind.__name__)
async def test_one_call_registers_for_several_events_and_one_takes_all_back(kind: Any) -> None:
    hooks, log = HookRegistry(), []
    take_back = hooks.register(kind(["e", "f"]), noting(log, "x"), name="n")
    assert hooks.list_handlers() == {"e": ["n"], "f": ["n"]}

    await hooks.emit("e", {})
    await hooks.emit("f", {})
    assert log == ["x", "x"]

    take_back()
    assert hooks.list_handlers() == {}


async def test_all_known_events_can_be_registered_at_once() -> None:
    hooks = HookRegistry()
    hooks.on(events.ALL_EVENTS, print, name="n")

    assert hooks.list_handlers() == {event: ["n"] for event in events.ALL_EVENTS}


def test_no_events_register_nothing() -> None:
    hooks = HookRegistry()
    hooks.register([], print, name="n")()

    assert hooks.list_handlers() == {}


# -- every event ----------------------------------------------------------------------


async def test_a_star_listens_to_every_event() -> None:
    hooks, heard = HookRegistry(), []
    hooks.register("*", lambda event, data: heard.append(event))
    hooks.register("known", print, name="own", priority=1)
    hooks.unregister("own")

    for event in ("known", "never registered", "*"):
        await hooks.emit(event, {})

    assert heard == ["known", "never registered", "*"]


async def test_star_handlers_and_others_share_one_order() -> None:
    hooks, log = HookRegistry(), []
    for event, name, priority in [
        ("*", "star 1", 1), ("e", "own 1", 1), ("*", "star 1 later", 1),
        ("e", "own 0", 0), ("*", "star 2", 2), ("*", "star -1", -1), ("e", "own 3", 3),
    ]:  # fmt: skip
        hooks.register(event, noting(log, name), priority, name)

    await hooks.emit("e", {})
    assert log == ["star -1", "own 0", "star 1", "own 1", "star 1 later", "star 2", "own 3"]

    log.clear()
    await hooks.emit("f", {})
    assert log == ["star -1", "star 1", "star 1 later", "star 2"]


async def test_a_removed_star_handler_hears_nothing_more() -> None:
    hooks, log = HookRegistry(), []
    hooks.register("e", noting(log, "own"))
    take_back = hooks.register("*", noting(log, "star"))
    take_back()

    await hooks.emit("e", {})
    await hooks.emit("f", {})

    assert log == ["own"]


async def test_a_handler_registered_for_an_event_and_for_all_is_called_for_each() -> None:
    hooks, log = HookRegistry(), []
    hooks.register(["e", "*"], noting(log, "x"))

    await hooks.emit("e", {})

    assert log == ["x", "x"]


async def test_a_star_after_a_prefix_is_an_ordinary_name() -> None:
    hooks, log = HookRegistry(), []
    hooks.register("tool:*", noting(log, "x"))

    await hooks.emit("tool:pre", {})
    assert log == []
    await hooks.emit("tool:*", {})
    assert log == ["x"]


# -- decorating -----------------------------------------------------------------------


async def test_without_a_handler_registering_is_a_decorator() -> None:
    hooks, log = HookRegistry(), []

    @hooks.on("e", priority=1, name="n")
    @hooks.on(["e", "f"])
    async def handler(event: str, data: Any) -> None:
        log.append(event)

    assert asyncio.iscoroutinefunction(handler)
    await hooks.emit("e", {})
    await hooks.emit("f", {})

    assert log == ["e", "e", "f"]
    assert named(hooks)[1] == "n"
    hooks.unregister("n")
    assert len(named(hooks)) == 1


async def test_a_decorated_guard_is_a_guard_with_its_time_limit() -> None:
    hooks = HookRegistry()

    @hooks.register("e", name="n", guard=True, timeout=0.001)
    async def handler(event: str, data: Any) -> None:
        await asyncio.Event().wait()

    result = await hooks.emit("e", {})

    assert (result.action, "'n'" in str(result.reason)) == ("deny", True)


# -- changes while an event is under way ----------------------------------------------


@pytest.mark.parametrize("event", ["e", "*"])
async def test_a_handler_registered_during_an_emit_hears_the_next_one(event: str) -> None:
    hooks, log = HookRegistry(), []

    def register_another(_: str, data: Any) -> None:
        log.append("first")
        hooks.register(event, noting(log, "new"), 5)

    hooks.register("e", register_another)
    hooks.register("e", noting(log, "last"), 9)

    await hooks.emit("e", {})
    assert log == ["first", "last"]

    await hooks.emit("e", {})
    assert log[2:] == ["first", "new", "last"]


async def test_a_handler_removed_during_an_emit_still_hears_this_one() -> None:
    hooks, log = HookRegistry(), []
    hooks.register("e", lambda event, data: hooks.unregister("doomed"), -1)
    hooks.register("e", noting(log, "doomed"), name="doomed")

    await hooks.emit("e", {})
    await hooks.emit("e", {})

    assert log == ["doomed"]


async def test_a_change_between_calling_and_awaiting_emit_comes_too_late() -> None:
    hooks, seen = HookRegistry(), []
    hooks.register("e", keeping(seen), name="n")
    emitting = hooks.emit("e", {})
    hooks.unregister("n")

    await emitting

    assert len(seen) == 1


@pytest.fixture
def _eager_thread_switches() -> Any:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_eager_thread_switches")
def test_threads_that_register_and_remove_at_once_lose_nothing() -> None:
    def work(hooks: HookRegistry) -> None:
        taken_back = [hooks.register("e", print, name="gone") for _ in range(40)]
        hooks.register("e", print, name="kept")
        for take_back in taken_back:
            take_back()

    for _ in range(60):
        hooks = HookRegistry()
        threads = [threading.Thread(target=work, args=(hooks,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(5)
        assert hooks.list_handlers() == {"e": ["kept"] * 8}
