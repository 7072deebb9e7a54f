"""What a session writes down while it runs, and what it does when it cannot."""

import asyncio
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import HookResult
from helpers_sessions import SESSION, Counter, calls, log_of, mount_tools, plan, run, session_of

from amplifier.sessions.disk import Disk
from amplifier.sessions.files import FileStore
from amplifier.sessions.loading import load, load_records
from amplifier.sessions.memory import MemoryStore
from amplifier.sessions.store import Fenced, Held, Unavailable, Unknown
from amplifier.sessions.verifying import verify


async def events_of(store: Any) -> list[str]:
    return [each.event for each in await store.read(SESSION)]


async def test_a_turn_is_written_in_the_order_it_happens() -> None:
    store, tool = MemoryStore(), Counter()

    await run(store, "Count.", calls("count"), {"text": "Done."}, tools=[tool])

    assert await events_of(store) == [
        "session:created",
        "session:claimed",
        "session:composed",
        "prompt:submit",
        "message:added",
        "message:added",
        "tool:pre",
        "tool:post",
        "message:added",
        "message:added",
        "turn:end",
        "session:end",
    ]


async def test_the_transcript_is_what_the_context_had() -> None:
    store = MemoryStore()
    async with session_of(store, plan(calls("count", n=1), {"text": "Done."})) as session:
        await mount_tools(session, [Counter()])
        await session.execute("Count.")
        held = await session.coordinator.get("context").get_messages()

    state = await load(store, SESSION)

    for message in held:
        del message["metadata"]
    assert state.messages == held
    assert state.status == "success"


async def test_a_message_is_stored_once(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    arguments, prompt = "an argument of the call", "a prompt of the user"

    await run(store, prompt, calls("count", text=arguments), {"text": "Done."}, tools=[Counter()])

    lines = log_of(tmp_path).read_text().splitlines()
    content = "".join(line for line in lines if '"session:composed"' not in line)
    assert content.count(arguments) == 1
    assert content.count(prompt) == 1
    assert content.count("count ran") == 1


async def test_a_session_that_nobody_asked_anything_leaves_no_trace(tmp_path: Path) -> None:
    async with session_of(FileStore(tmp_path), plan()):
        pass

    assert not list(tmp_path.iterdir())


async def test_the_intent_is_written_after_hooks_changed_it_and_before_the_tool_runs() -> None:
    store = MemoryStore()
    seen: list[list[str]] = []

    class Watching(Counter):
        async def execute(self, input: dict[str, Any]) -> Any:
            seen.append(await events_of(store))
            return await super().execute(input)

    def change(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="modify", data={**data, "tool_input": {"n": 2}})

    tool = Watching()
    async with session_of(store, plan(calls("count", n=1), {"text": "Done."})) as session:
        await mount_tools(session, [tool])
        session.coordinator.hooks.register("tool:pre", change, priority=999)
        await session.execute("Count.")

    intent = next(each for each in await store.read(SESSION) if each.event == "tool:pre")
    assert intent.data["tool_input"] == {"n": 2}
    assert tool.inputs == [{"n": 2}]
    assert seen[0][-1] == "tool:pre"


class Approves:
    """A person who looks at the log before answering."""

    def __init__(self, store: Any, answer: str) -> None:
        self.store, self.answer = store, answer
        self.calls: list[str] = []

    async def request_approval(self, prompt: str, options: Any, *_: Any) -> str:
        state = await load(self.store, SESSION)
        self.calls = [each.state for each in state.calls]
        return self.answer


@pytest.mark.parametrize(("answer", "runs"), [("Allow", 1), ("Deny", 0)])
async def test_a_call_that_waits_for_an_answer_has_not_started(answer: str, runs: int) -> None:
    store, tool = MemoryStore(), Counter()
    person = Approves(store, answer)

    def ask(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="ask_user", approval_prompt="Really?")

    async with session_of(store, plan(calls("count"), {"text": "Done."})) as session:
        session.coordinator.approval_system = person
        await mount_tools(session, [tool])
        session.coordinator.hooks.register("tool:pre", ask)
        await session.execute("Count.")

    assert person.calls == ["asked"]
    assert len(tool.runs) == runs
    assert not (await load(store, SESSION)).open_calls


class FullDisk(Disk):
    """Has room for so many writes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def append(self, handle: int, content: bytes) -> None:
        self.room -= 1
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().append(handle, content)


@pytest.mark.parametrize("room", [0, 1, 2, 3, 4])
async def test_on_a_full_disk_nothing_starts_that_is_not_written(tmp_path: Path, room: int) -> None:
    store, tool = FileStore(tmp_path, disk=FullDisk(room)), Counter()
    script = [calls("count"), calls("count"), {"text": "Done."}]

    with pytest.raises(Unavailable, match="No space left"):
        await run(store, "Count.", *script, tools=[tool])

    # Prompt, reply with its intent, result, the next reply with its intent.
    assert len(tool.runs) == room // 2
    if room:
        state = await load(FileStore(tmp_path), SESSION)
        assert len([each for each in state.calls if each.state != "planned"]) == len(tool.runs)


async def test_a_writer_that_was_overtaken_can_start_nothing(tmp_path: Path) -> None:
    tool = Counter()

    class Overtaken(Counter):
        async def execute(self, input: dict[str, Any]) -> Any:
            from amplifier.sessions.record import new_record

            other = FileStore(tmp_path)
            end = (await other.tail(SESSION)).next_seq
            await other.append(SESSION, [new_record(end, "session:claimed", {}, key="x")], end, "x")
            return await super().execute(input)

    script = [calls("overtaken"), calls("count"), {"text": "Done."}]
    with pytest.raises(Fenced):
        await run(FileStore(tmp_path), "Go.", *script, tools=[Overtaken("overtaken"), tool])

    assert tool.runs == []


async def test_a_session_that_was_overtaken_before_it_began_is_unwound(tmp_path: Path) -> None:
    await run(FileStore(tmp_path), "Hello.")
    state = await load(FileStore(tmp_path), SESSION)
    await run_on(tmp_path, state)
    session = session_of(FileStore(tmp_path), plan(), state)

    with pytest.raises(Fenced):
        await session.initialize()

    assert not session.initialized
    assert not session.coordinator.get("providers")
    await FileStore(tmp_path).claim(SESSION, {})


async def run_on(folder: Path, state: Any) -> None:
    async with session_of(FileStore(folder), plan(), state) as session:
        await session.execute("And on.")


async def test_an_append_of_unknown_outcome_is_made_once_more() -> None:
    class Doubtful(MemoryStore):
        doubts = 2

        def append_now(self, *args: Any) -> int:
            end = super().append_now(*args)
            self.doubts -= 1
            if self.doubts >= 0:
                raise Unknown("The answer was lost.")
            return end

    store, tool = Doubtful(), Counter()

    assert await run(store, "Go.", calls("count"), {"text": "Done."}, tools=[tool]) == "Done."

    records = await store.read(SESSION)
    assert [each.seq for each in records] == list(range(len(records)))
    assert len(tool.runs) == 1


async def test_a_second_process_is_told_who_holds_the_session(tmp_path: Path) -> None:
    await run(FileStore(tmp_path), "Hello.")
    state = await load(FileStore(tmp_path), SESSION)
    async with session_of(FileStore(tmp_path), plan(), state):
        with pytest.raises(Held, match=f"pid {os.getpid()}.*session fork"):
            await session_of(FileStore(tmp_path), plan(), state).initialize()


async def test_values_of_known_keys_are_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    hooks = [{"module": "hooks-redaction", "config": {}}]
    config = plan({"text": 'Your key is hunter2hunter2, not "zq\\"zq\\"zq".'}, hooks=hooks)
    config["secret"] = {"password": 'zq"zq"zq'}
    async with session_of(FileStore(tmp_path), config) as session:
        await session.execute("Is it hunter2hunter2? " + "x" * 100_000 + "hunter2hunter2")

    written = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert b"hunter2" not in written
    assert b'zq\\"zq' not in written
    assert b"[REDACTED]" in written


async def test_secrets_of_the_plan_are_known_by_many_names(tmp_path: Path) -> None:
    words = {name: f"value-of-{name.lower()}" for name in ("x-api-key", "clientSecret", "a.token")}
    headers = {"Authorization": "Bearer abc123def456"}
    config = plan({"text": f"{[*words.values()]} abc123def456"}, odd={"headers": headers, **words})
    async with session_of(FileStore(tmp_path), config) as session:
        await session.execute("Tell me.")

    written = log_of(tmp_path).read_text()
    assert "value-of-" not in written
    assert "abc123def456" not in written


async def test_a_result_that_hooks_keep_from_the_log_is_written_with_its_message(
    tmp_path: Path,
) -> None:
    store, seen = FileStore(tmp_path), []

    def deny(event: str, data: dict[str, Any]) -> HookResult:
        return HookResult(action="deny", reason="nobody shall know")

    async def look(event: str, data: dict[str, Any]) -> HookResult:
        seen.append((await load(FileStore(tmp_path), SESSION)).calls)
        return HookResult()

    async with session_of(store, plan(calls("count"), {"text": "Done."})) as session:
        await mount_tools(session, [Counter()])
        session.coordinator.hooks.register("tool:post", deny)
        session.coordinator.hooks.register("provider:request", look)
        await session.execute("Count.")

    assert [each.state for each in seen[1]] == ["finished"]


async def test_large_values_are_put_beside_the_log_and_come_back(tmp_path: Path) -> None:
    text = "y" * 300_000
    store = FileStore(tmp_path)

    await run(store, text, {"text": "Long."})
    await store.release(await store.claim(SESSION, {}))

    assert log_of(tmp_path).stat().st_size < 5_000
    assert (await load(store, SESSION)).messages[0]["content"] == text
    assert len(await load_records(store, SESSION)) == len(await store.read(SESSION))


async def test_a_large_value_may_look_like_a_reference(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    text = 'echo "$blob" "$literal" # ' + "z" * 70_000
    config = {"$blob": "x", "$literal": {"$blob": ["y", text]}}

    await run(store, text, calls("count", **config), {"text": "Done."}, tools=[Counter()])

    state = await load(store, SESSION)
    assert state.messages[0]["content"] == text
    assert state.calls[0].input == config
    assert verify(store, SESSION).missing_values == []


async def test_results_are_written_while_other_calls_still_run(tmp_path: Path) -> None:
    class Last(Counter):
        async def execute(self, input: dict[str, Any]) -> Any:
            for _ in range(6_000):
                if (await events_of(FileStore(tmp_path))).count("tool:post") == 2:
                    return await super().execute(input)
                await asyncio.sleep(0.005)
            raise TimeoutError

    tools = [Last("last"), Counter("one"), Counter("two")]
    script = [calls("last", "one", "two"), {"text": "Done."}]

    await run(FileStore(tmp_path), "Go.", *script, tools=tools)

    assert all(len(each.runs) == 1 for each in tools)


async def test_pieces_of_a_stream_are_not_stored(tmp_path: Path) -> None:
    step = {"stream": [f"word{n} " for n in range(100)]}
    await run(FileStore(tmp_path), "Hello.", step)

    names = [json.loads(line)["event"] for line in log_of(tmp_path).read_text().splitlines()]
    assert len(names) < 12


async def test_a_child_has_a_log_of_its_own_that_names_its_parent(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    async with session_of(store, plan()) as parent:
        async with parent.fork(plan({"text": "I am the child."}), "child") as child:
            await child.execute("Work.")
        await parent.execute("Hello.")

    state = await load(store, "child")
    assert state.parent_id == SESSION
    assert state.messages[-1]["content"][0]["text"] == "I am the child."


async def test_the_module_that_logs_events_gets_another_file(tmp_path: Path) -> None:
    await run(FileStore(tmp_path), "Hello.", hooks=[{"module": "hooks-logging"}])

    assert (tmp_path / SESSION / "log.jsonl").exists()
    assert (await FileStore(tmp_path).tail(SESSION)).torn_bytes == 0


async def test_forgetting_the_conversation_is_written_too() -> None:
    store = MemoryStore()
    async with session_of(store, plan({"text": "One."}, {"text": "Two."})) as session:
        await session.execute("First.")
        await session.coordinator.get("context").clear()
        await session.execute("Second.")

    assert [each["role"] for each in (await load(store, SESSION)).messages] == ["user", "assistant"]
