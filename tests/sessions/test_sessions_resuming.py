"""How a session goes on: with its past, whatever was cut off, and with nothing run twice."""

from typing import Any

import pytest
from amplifier_core import HookResult
from helpers_sessions import (
    SESSION,
    Counter,
    calls,
    mount_tools,
    plan,
    resume,
    run,
    session_of,
)

from amplifier.sessions.loading import load
from amplifier.sessions.memory import MemoryStore
from amplifier.sessions.resuming import bring_back
from amplifier.sessions.sentences import CUT_OFF, DONE, INTERRUPTED, NOT_DONE, NOT_STARTED


async def cut(store: MemoryStore, event: str, nth: int = 1) -> MemoryStore:
    """What is left if the process dies right after it has written the nth such record."""
    records = await store.read(SESSION)
    at = [each.seq for each in records if each.event == event][nth - 1]
    left = MemoryStore()
    kept = records[: at + 1]
    await left.append(SESSION, kept, 0, "k")
    return left


async def interrupted(event: str, *names: str, nth: int = 1, effect: str | None = None) -> Any:
    store = MemoryStore()
    tools = [Counter(name, effect) for name in sorted(set(names))]
    await run(store, "Go.", calls(*names), {"text": "Done."}, tools=tools)
    return await cut(store, event, nth)


def answer_of(messages: Any, call_id: str = "call_1") -> str:
    (found,) = [each for each in messages if each.tool_call_id == call_id]
    return str(found.content)


async def test_a_session_goes_on_with_its_past() -> None:
    store = MemoryStore()
    await run(store, "Go.", calls("count"), {"text": "Done."}, tools=[Counter()])

    answer, messages = await resume(store, "More.", {"text": "More done."})

    assert answer == "More done."
    roles = [each.role for each in messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert len((await load(store, SESSION)).turns) == 2


async def test_a_finished_call_is_reused() -> None:
    store, tool = await interrupted("tool:post", "count"), Counter()

    _, messages = await resume(store, "Go on.", {"text": "Done."}, tools=[tool])

    assert tool.runs == []
    assert answer_of(messages) == "count ran"
    assert messages[-2].content == CUT_OFF


@pytest.mark.parametrize("effect", ["pure", "idempotent"])
async def test_an_interrupted_call_that_does_no_harm_runs_again_with_the_same_key(
    effect: str,
) -> None:
    store = await interrupted("tool:pre", "count", effect=effect)
    tool = Counter(effect=effect)

    _, messages = await resume(store, "Go on.", {"text": "Done."}, tools=[tool])

    assert tool.runs == [f"{SESSION}:call_1"]
    assert answer_of(messages) == "count ran"


async def test_an_interrupted_call_is_not_repeated_and_the_model_is_told() -> None:
    store, tool = await interrupted("tool:pre", "count"), Counter()

    _, messages = await resume(store, "Go on.", {"text": "Done."}, tools=[tool])

    assert tool.runs == []
    assert answer_of(messages) == INTERRUPTED


async def test_a_call_that_was_planned_only_is_told_not_to_have_started() -> None:
    store, tool = await interrupted("message:added", "count", nth=2), Counter()

    _, messages = await resume(store, "Go on.", {"text": "Done."}, tools=[tool])

    assert tool.runs == []
    assert answer_of(messages) == NOT_STARTED


@pytest.mark.parametrize(
    ("said", "told", "runs"),
    [("done", DONE, 0), ("not done", NOT_DONE, 0), ("again", "count ran", 1)],
)
async def test_a_person_decides_what_became_of_an_interrupted_call(
    said: str, told: str, runs: int
) -> None:
    store, tool = await interrupted("tool:pre", "count"), Counter()

    async def person(call: Any) -> Any:
        return said

    _, messages = await resume(store, "Go on.", {"text": "Done."}, tools=[tool], ask=person)

    assert answer_of(messages) == told
    assert len(tool.runs) == runs


@pytest.mark.parametrize(("found", "told"), [("it is there", "it is there"), (None, NOT_DONE)])
async def test_a_tool_that_can_look_is_asked(found: Any, told: str) -> None:
    class Looking(Counter):
        async def check(self, input: dict[str, Any]) -> Any:
            return found

    store, tool = await interrupted("tool:pre", "count"), Looking()

    _, messages = await resume(store, "Go on.", {"text": "Done."}, tools=[tool])

    assert tool.runs == []
    assert answer_of(messages) == told


async def test_what_was_settled_once_is_not_settled_again() -> None:
    store = await interrupted("tool:pre", "count", effect="idempotent")
    tool = Counter(effect="idempotent")
    await resume(store, "Go on.", {"text": "Done."}, tools=[tool])

    _, messages = await resume(store, "And on.", {"text": "Done."}, tools=[tool])

    assert len(tool.runs) == 1
    assert answer_of(messages) == "count ran"
    assert [each.status for each in (await load(store, SESSION)).turns] == [
        "interrupted",
        "success",
        "success",
    ]


async def test_of_parallel_calls_each_is_settled_by_itself() -> None:
    store = await interrupted("tool:pre", "a", "b", nth=2)

    _, messages = await resume(store, "Go on.", {"text": "Done."})

    assert answer_of(messages, "call_1") == "a ran"
    assert answer_of(messages, "call_2") == INTERRUPTED


async def test_a_session_cut_off_after_its_prompt_goes_on() -> None:
    store = await interrupted("prompt:submit", "count")

    answer, messages = await resume(store, "Go on.", {"text": "Yes."})

    assert answer == "Yes."
    assert [each.role for each in messages] == ["user"]


async def test_a_tool_that_is_no_longer_harmless_is_not_run_again() -> None:
    store = await interrupted("tool:pre", "count", effect="idempotent")
    tool = Counter()

    _, messages = await resume(store, "Go on.", {"text": "Done."}, tools=[tool])

    assert tool.runs == []
    assert answer_of(messages) == INTERRUPTED


async def interrupted_with_input(store: Any, **arguments: Any) -> Any:
    tool = Counter(effect="idempotent")
    await run(store, "Go.", calls("count", **arguments), {"text": "Done."}, tools=[tool])
    return await cut(store, "tool:pre")


async def test_a_call_whose_input_held_a_secret_is_not_run_again_with_a_mask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    store = await interrupted_with_input(MemoryStore(), header="Bearer hunter2hunter2")
    tool = Counter(effect="idempotent")

    _, messages = await resume(store, "Go on.", {"text": "Done."}, tools=[tool])

    assert tool.runs == []
    assert answer_of(messages) == INTERRUPTED


async def test_a_call_whose_input_is_lost_in_part_is_not_run_again() -> None:
    store = await interrupted_with_input(MemoryStore(), text="x" * 100_000)  # without its values
    tool = Counter(effect="idempotent")

    _, messages = await resume(store, "Go on.", {"text": "Done."}, tools=[tool])

    assert tool.runs == []
    assert answer_of(messages) == INTERRUPTED


@pytest.mark.parametrize(("suffix", "runs"), [("!", 1), ("?", 0)])
async def test_a_repeated_call_is_changed_by_hooks_as_it_was_or_not_run(
    suffix: str, runs: int
) -> None:
    def changing(by: str) -> Any:
        def change(event: str, data: dict[str, Any]) -> HookResult:
            text = data["tool_input"]["text"] + by
            return HookResult(action="modify", data={**data, "tool_input": {"text": text}})

        return change

    first = MemoryStore()
    script = [calls("count", text="a"), {"text": "Done."}]
    async with session_of(first, plan(*script)) as session:
        await mount_tools(session, [Counter(effect="idempotent")])
        session.coordinator.hooks.register("tool:pre", changing("!"))
        await session.execute("Go.")
    store = await cut(first, "tool:pre")
    state, tool = await load(store, SESSION), Counter(effect="idempotent")
    async with session_of(store, plan(), state) as session:
        await mount_tools(session, [tool])
        session.coordinator.hooks.register("tool:pre", changing(suffix))
        unknown = await bring_back(session, state)

    assert tool.inputs == [{"text": "a!"}] * runs
    assert len(unknown) == 1 - runs
