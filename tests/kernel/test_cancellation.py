"""The wish to stop: a state that only rises, passed on to children, and its callbacks."""

import asyncio
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from amplifier_core import CancellationState, CancellationToken
from hypothesis import given, settings
from hypothesis import strategies as st

# -- states ---------------------------------------------------------------------------


def token_in(state: str) -> CancellationToken:
    token = CancellationToken()
    if state != "none":
        getattr(token, f"request_{state}")()
    return token


@pytest.mark.parametrize("state", ["none", "graceful", "immediate"])
def test_a_token_tells_its_state_in_every_form(state: str) -> None:
    token = token_in(state)

    assert token.state == state
    assert CancellationState(token.state).value == state
    assert token.is_cancelled is (state != "none")
    assert token.is_graceful is (state == "graceful")
    assert token.is_immediate is (state == "immediate")


@pytest.mark.parametrize(
    ("before", "request_name", "changed", "after"),
    [
        ("none", "request_graceful", True, "graceful"),
        ("graceful", "request_graceful", False, "graceful"),
        ("immediate", "request_graceful", False, "immediate"),
        ("none", "request_immediate", True, "immediate"),
        ("graceful", "request_immediate", True, "immediate"),
        ("immediate", "request_immediate", False, "immediate"),
        ("none", "request_cancellation", None, "graceful"),
        ("graceful", "request_cancellation", None, "graceful"),
        ("immediate", "request_cancellation", None, "immediate"),
    ],
)
def test_requests_raise_the_state_and_tell_whether_they_did(
    before: str, request_name: str, changed: bool | None, after: str
) -> None:
    token = token_in(before)

    assert getattr(token, request_name)() is changed
    assert token.state == after


def test_the_states_have_names() -> None:
    assert {state.name: state.value for state in CancellationState} == {
        "NONE": "none",
        "GRACEFUL": "graceful",
        "IMMEDIATE": "immediate",
    }


@pytest.mark.parametrize("name", ["state", "is_cancelled", "running_tools", "anything"])
def test_attributes_cannot_be_set(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(CancellationToken(), name, "immediate")


def test_a_token_takes_no_arguments() -> None:
    with pytest.raises(TypeError):
        CancellationToken("immediate")  # type: ignore[call-arg]


# -- tools ----------------------------------------------------------------------------


def test_running_tools_are_listed_in_the_order_they_started() -> None:
    token = CancellationToken()
    for call_id, name in [("3", "bash"), ("1", "read"), ("2", "bash")]:
        token.register_tool_start(call_id, name)
    assert token.running_tools == {"1", "2", "3"}
    assert token.running_tool_names == ["bash", "read", "bash"]

    token.register_tool_start("1", "write")
    token.register_tool_complete("3")
    token.register_tool_complete("unknown")
    assert token.running_tools == {"1", "2"}
    assert token.running_tool_names == ["write", "bash"]


def test_the_lists_of_tools_are_snapshots() -> None:
    token = CancellationToken()
    token.register_tool_start("1", "bash")
    token.running_tools.clear()
    token.running_tool_names.clear()

    assert (token.running_tools, token.running_tool_names) == ({"1"}, ["bash"])


async def test_reset_clears_state_and_tools_and_keeps_children_and_callbacks() -> None:
    token, child, log = CancellationToken(), CancellationToken(), []
    token.register_child(child)
    token.on_cancel(lambda: log.append("called"))
    token.register_tool_start("1", "bash")
    token.request_immediate()

    token.reset()

    assert (token.state, token.running_tools, token.running_tool_names) == ("none", set(), [])
    assert child.state == "immediate"
    child.reset()
    token.request_graceful()
    assert child.state == "graceful"
    await token.trigger_callbacks()
    assert log == ["called"]


# -- children -------------------------------------------------------------------------


@pytest.mark.parametrize("own", ["none", "graceful", "immediate"])
@pytest.mark.parametrize("state", ["none", "graceful", "immediate"])
def test_a_new_child_takes_over_the_state_unless_its_own_is_higher(state: str, own: str) -> None:
    order = ["none", "graceful", "immediate"]
    child = token_in(own)
    token_in(state).register_child(child)

    assert child.state == max(state, own, key=order.index)


def test_requests_reach_children_and_their_children_but_never_parents() -> None:
    parent, child, grandchild = (CancellationToken() for _ in range(3))
    parent.register_child(child)
    child.register_child(grandchild)

    child.request_graceful()
    assert (parent.state, grandchild.state) == ("none", "graceful")
    parent.request_immediate()
    assert (child.state, grandchild.state) == ("immediate", "immediate")


def test_a_request_that_changes_nothing_is_not_passed_on() -> None:
    parent, child = token_in("graceful"), CancellationToken()
    parent.register_child(child)
    child.reset()

    parent.request_graceful()

    assert child.state == "none"


def test_an_unregistered_child_is_on_its_own_even_if_registered_twice() -> None:
    parent, child, other = (CancellationToken() for _ in range(3))
    for each in (child, other, child):
        parent.register_child(each)
    parent.unregister_child(child)
    parent.unregister_child(CancellationToken())

    parent.request_graceful()

    assert (child.state, other.state) == ("none", "graceful")


def test_cycles_of_children_end() -> None:
    a, b = CancellationToken(), CancellationToken()
    a.register_child(a)
    a.register_child(b)
    b.register_child(a)

    assert b.request_immediate() is True
    assert (a.state, b.state) == ("immediate", "immediate")


def test_chains_of_children_may_be_of_any_length() -> None:
    first = last = CancellationToken()
    for _ in range(5000):
        child = CancellationToken()
        last.register_child(child)
        last = child

    first.request_immediate()

    assert last.is_immediate


@pytest.mark.parametrize("child", [None, "token", object()])
def test_a_child_must_be_a_token(child: Any) -> None:
    token = token_in("graceful")

    with pytest.raises(TypeError, match=type(child).__name__):
        token.register_child(child)
    token.request_immediate()


def test_nothing_keeps_a_dropped_family_of_tokens_alive() -> None:
    parent = CancellationToken()
    parent.register_child(CancellationToken())
    gone = weakref.ref(parent)
    del parent

    assert gone() is None


# -- threads --------------------------------------------------------------------------


def in_threads(*works: Callable[[], object]) -> None:
    barrier = threading.Barrier(len(works), timeout=5)

    def together(work: Callable[[], object]) -> None:
        barrier.wait()
        work()

    threads = [threading.Thread(target=together, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)


def test_of_many_requests_at_once_exactly_one_succeeds() -> None:
    token, changed = CancellationToken(), []

    in_threads(*[lambda: changed.append(token.request_graceful())] * 8)

    assert sorted(changed) == [False] * 7 + [True]


def test_a_child_registered_while_a_request_is_made_never_misses_it() -> None:
    for _ in range(50):
        parent, child = CancellationToken(), CancellationToken()
        in_threads(parent.request_immediate, lambda p=parent, c=child: p.register_child(c))
        assert child.is_immediate


def test_a_request_that_interrupts_another_one_does_not_wait_for_it() -> None:
    class Interrupted(CancellationToken):
        """Stands for a signal that arrives while a request is being passed on."""

        def _raise_to(self, state: Any) -> bool:
            parent.request_immediate()
            return super()._raise_to(state)

    parent, child = token_in("graceful"), Interrupted()

    in_threads(lambda: parent.register_child(child))

    assert (parent.state, child.state) == ("immediate", "immediate")


# -- callbacks ------------------------------------------------------------------------


async def test_callbacks_run_in_order_each_time_whatever_the_state() -> None:
    token, log = CancellationToken(), []

    async def later() -> None:
        await asyncio.sleep(0)
        log.append("async")

    token.on_cancel(lambda: log.append("sync"))
    token.on_cancel(later)
    token.on_cancel(lambda: asyncio.ensure_future(later()))

    assert await token.trigger_callbacks() is None
    assert log == ["sync", "async", "async"]
    await token.trigger_callbacks()
    assert log == ["sync", "async", "async"] * 2


def test_a_request_calls_no_callback() -> None:
    token, log = CancellationToken(), []
    token.on_cancel(lambda: log.append("called"))

    token.request_immediate()

    assert log == []


async def test_a_callback_added_during_a_round_waits_for_the_next() -> None:
    token, log = CancellationToken(), []
    token.on_cancel(lambda: token.on_cancel(lambda: log.append("new")))

    await token.trigger_callbacks()
    assert log == []
    await token.trigger_callbacks()
    assert log == ["new"]


async def _broken_later() -> None:
    raise ValueError("broken")


def _broken() -> None:
    raise ValueError("broken")


@pytest.mark.parametrize("callback", [_broken, _broken_later, "not callable"])
async def test_a_callback_that_fails_is_logged_and_skipped(
    callback: Any, caplog: pytest.LogCaptureFixture
) -> None:
    token, log = CancellationToken(), []
    token.on_cancel(callback)
    token.on_cancel(lambda: log.append("next"))

    await token.trigger_callbacks()

    assert log == ["next"]
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("ERROR", "amplifier_core.cancellation")


async def test_a_callback_that_raises_cancelled_error_is_skipped() -> None:
    token, log = CancellationToken(), []

    async def cancelled() -> None:
        raise asyncio.CancelledError

    token.on_cancel(cancelled)
    token.on_cancel(lambda: log.append("next"))

    await token.trigger_callbacks()

    assert log == ["next"]


async def test_cancelling_the_task_ends_the_round_at_once() -> None:
    token, started, log = CancellationToken(), asyncio.Event(), []

    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            log.append("cancelled")

    token.on_cancel(wait)
    token.on_cancel(lambda: log.append("next"))
    task = asyncio.create_task(token.trigger_callbacks())

    async with asyncio.timeout(5):
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert log == ["cancelled"]


@pytest.mark.parametrize("fatal", [KeyboardInterrupt, SystemExit])
async def test_ctrl_c_and_exit_go_through_after_all_callbacks_ran(
    fatal: type[BaseException],
) -> None:
    token, log = CancellationToken(), []

    def stop(error: BaseException) -> Callable[[], None]:
        def callback() -> None:
            raise error

        return callback

    token.on_cancel(stop(fatal("first")))
    token.on_cancel(stop(SystemExit("second")))
    token.on_cancel(lambda: log.append("next"))

    with pytest.raises(fatal, match="first"):
        await token.trigger_callbacks()
    assert log == ["next"]


# -- any family of tokens -------------------------------------------------------------

SIZE = 5
STATES = ["none", "graceful", "immediate"]
ids = st.integers(0, SIZE - 1)
steps = st.one_of(
    st.tuples(st.sampled_from(["register_child", "register_child", "unregister_child"]), ids, ids),
    st.tuples(st.sampled_from(["request_graceful", "request_immediate", "reset"]), ids),
)


class FamilyModel:
    """Levels 0 to 2 on a graph; a level that does not rise is not passed on."""

    def __init__(self) -> None:
        self.level = [0] * SIZE
        self.edges: list[tuple[int, int]] = []

    def rise(self, who: int, level: int) -> bool:
        if self.level[who] >= level:
            return False
        self.level[who] = level
        for parent, child in self.edges:
            if parent == who:
                self.rise(child, level)
        return True

    def apply(self, what: str, who: int, child: int = -1) -> bool | None:
        if what == "register_child":
            self.edges.append((who, child))
            self.rise(child, self.level[who])
        elif what == "unregister_child":
            self.edges = [edge for edge in self.edges if edge != (who, child)]
        elif what == "reset":
            self.level[who] = 0
        else:
            return self.rise(who, STATES.index(what.removeprefix("request_")))
        return None


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.lists(steps, max_size=30))
def test_any_family_of_tokens_behaves_like_the_model_and_only_reset_lowers_a_state(
    history: list[tuple[Any, ...]],
) -> None:
    tokens, model = [CancellationToken() for _ in range(SIZE)], FamilyModel()
    for what, who, *children in history:
        before = [STATES.index(token.state) for token in tokens]

        outcome = getattr(tokens[who], what)(*(tokens[child] for child in children))

        after = [STATES.index(token.state) for token in tokens]
        assert outcome == model.apply(what, who, *children)
        assert after == model.level
        lowered = {each for each in range(SIZE) if after[each] < before[each]}
        assert lowered <= ({who} if what == "reset" else set())
