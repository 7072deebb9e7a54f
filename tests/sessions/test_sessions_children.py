"""Children go on where they ended, also in a later process."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from helpers_sessions import SESSION, calls, log_of, plan, session_of

from amplifier.cli import main
from amplifier.sessions.files import FileStore
from amplifier.sessions.loading import load
from amplifier.sessions.places import sessions_folder
from amplifier.sessions.resuming import bring_back
from amplifier.sessions.store import Held

AGENTS = {"reader": {"description": "Reads.", "instruction": "You read."}}
TOOLS = [{"module": "tool-task"}, {"module": "tool-delegate"}]


async def turn(folder: Path, agents: Any = AGENTS, tool: str = "task", **arguments: Any) -> Any:
    """One turn in which the model delegates; the tool's answer, and the session as it is then.

    The child has the same script as its parent. It may not delegate, is told so, and answers.
    """
    steps = [calls(tool, **arguments), {"text": "Done."}]
    store = FileStore(folder, "relaxed")
    exists = (await store.tail(SESSION)).next_seq
    earlier = await load(store, SESSION) if exists else None
    config = plan(*steps, tools=TOOLS, agents=agents)
    async with session_of(store, config, earlier) as session:
        if earlier is not None:
            await bring_back(session, earlier)
        await session.execute("Go.")
    state = await load(store, SESSION)
    return state.calls[-1].result, state


async def begun(folder: Path, tool: str = "task") -> str:
    result, _ = await turn(folder, agent="reader", instruction="Read it.", tool=tool)
    return str(result["output"]["session_id"])


@pytest.mark.parametrize("tool", ["task", "delegate"])
async def test_a_child_goes_on_in_a_later_process(tmp_path: Path, tool: str) -> None:
    child = await begun(tmp_path, tool)

    result, _ = await turn(tmp_path, session_id=child, instruction="Read on.", tool=tool)

    assert result["success"], result
    assert result["output"]["session_id"] == child
    state = await load(FileStore(tmp_path), child)
    assert [each.prompt.splitlines()[-1] for each in state.turns] == ["Read it.", "Read on."]
    assert state.messages[0] == {"role": "system", "content": "You read."}
    assert state.agent == "reader"


async def test_going_on_repeats_nothing_in_the_childs_log(tmp_path: Path) -> None:
    child = await begun(tmp_path)

    await turn(tmp_path, session_id=child, instruction="Read on.")

    log = log_of(tmp_path, child).read_text()
    assert log.count('"prompt":"Read it."') == 1
    assert "messages:replaced" not in log


async def test_a_child_that_goes_on_in_the_same_process_repeats_nothing_either(
    tmp_path: Path,
) -> None:
    child = f"{SESSION}-0123456789abcdef_reader"
    async with session_of(FileStore(tmp_path, "relaxed"), plan()) as parent:
        for prompt in ("Begin.", "Go on."):
            async with parent.fork(plan({"text": "Yes."}), child, is_resumed=True) as session:
                await session.execute(prompt)

    log = log_of(tmp_path, child).read_text()
    assert (log.count('"Begin."'), log.count('"Go on."')) == (1, 1)
    state = await load(FileStore(tmp_path), child)
    assert [each["role"] for each in state.messages] == ["user", "assistant"] * 2


async def test_of_an_agent_that_is_gone_the_model_is_told(tmp_path: Path) -> None:
    child = await begun(tmp_path)

    result, _ = await turn(tmp_path, agents={}, session_id=child, instruction="Read on.")

    assert "'reader' of that session is not there any more" in json.dumps(result)


async def test_the_sessions_of_others_cannot_be_asked_to_go_on(tmp_path: Path) -> None:
    await begun(tmp_path)
    other = f"{SESSION}-0123456789abcdef_reader"
    async with session_of(FileStore(tmp_path), plan(), session_id=other) as session:
        await session.execute("Mine.")

    result, _ = await turn(tmp_path, session_id=other, instruction="Tell me.")

    assert "There is no child session" in json.dumps(result)


async def test_an_interrupted_delegation_names_the_child_that_can_go_on(tmp_path: Path) -> None:
    child = await begun(tmp_path)
    log = log_of(tmp_path)
    lines = log.read_bytes().splitlines(keepends=True)
    spawned = next(at for at, line in enumerate(lines) if b":agent_spawned" in line)
    log.write_bytes(b"".join(lines[: spawned + 1]))

    result, state = await turn(tmp_path, session_id=child, instruction="Finish it.")

    answers = [each["content"] for each in state.messages if each["role"] == "tool"]
    assert "outcome unknown" in answers[0]
    assert child in answers[0]
    assert result["success"]


async def test_a_child_in_use_by_another_process_is_left_alone(tmp_path: Path) -> None:
    child = await begun(tmp_path)
    other = FileStore(tmp_path)
    await other.claim(child, {"pid": 4711})

    result, _ = await turn(tmp_path, session_id=child, instruction="Read on.")

    assert "is in use (pid 4711)" in json.dumps(result)
    other.close()


async def test_a_session_that_could_not_go_on_leaves_nothing_behind(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    async with session_of(store, plan()) as session:
        await session.execute("Hello.")
    state = await load(store, SESSION)
    other = FileStore(tmp_path)
    await other.claim(SESSION, {})
    session = session_of(FileStore(tmp_path), plan(), state)

    with pytest.raises(Held):
        await session.initialize()

    assert not session.initialized
    other.close()


async def test_lists_show_children_if_asked_and_both_sides_name_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    child = await begun(sessions_folder(work))

    def told(*arguments: str) -> Any:
        done = CliRunner().invoke(main, ["session", *arguments, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def listed(*options: str) -> list[str]:
        return sorted(each["session_id"] for each in told("list", *options))

    assert await asyncio.to_thread(listed) == [SESSION]
    assert await asyncio.to_thread(listed, "--children") == [SESSION, child]
    assert await asyncio.to_thread(listed, "--tree", SESSION) == [SESSION, child]
    assert (await asyncio.to_thread(told, "show", SESSION))["children"] == [child]
    shown = await asyncio.to_thread(told, "show", child)
    assert (shown["parent_id"], shown["agent"]) == (SESSION, "reader")
