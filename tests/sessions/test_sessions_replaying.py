"""Sessions run again: on the recorded answers of the model, with tools recorded or live."""

from pathlib import Path
from typing import Any

import pytest
from helpers_sessions import SESSION, calls, plan, session_of

from amplifier.sessions.loading import load_records
from amplifier.sessions.memory import MemoryStore
from amplifier.sessions.replaying import replay

TOOLS = [{"module": "tool-filesystem"}]


@pytest.fixture
def note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    note = tmp_path / "note.txt"
    note.write_text("before")
    return note


async def read_once() -> MemoryStore:
    store = MemoryStore()
    script = [calls("read_file", file_path="note.txt"), {"text": "It says so."}]
    async with session_of(store, plan(*script, tools=TOOLS)) as session:
        assert await session.execute("Read it.") == "It says so."
    return store


async def test_recorded_tools_answer_as_they_did(note: Path) -> None:
    store = await read_once()
    note.write_text("later!")

    assert await replay(await load_records(store, SESSION)) is None


async def test_live_tools_answer_as_they_do_now(note: Path) -> None:
    store = await read_once()
    assert await replay(await load_records(store, SESSION), live_tools=True) is None

    note.write_text("later!")

    found = await replay(await load_records(store, SESSION), live_tools=True)
    assert found is not None
    assert found.event == "tool:post"
    assert "before" in found.expected
    assert "later!" in found.found


class Person:
    """Answers as told, and remembers for how much."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    async def request_approval(self, *_: Any) -> str:
        return self.answers.pop(0)


@pytest.mark.parametrize("answers", [["Allow once", "Deny"], ["Deny", "Allow always"]])
async def test_questions_to_a_person_are_answered_as_they_were(
    note: Path, answers: list[str]
) -> None:
    store, person = MemoryStore(), Person(*answers)
    script = [
        calls("write_file", file_path="note.txt", content="one"),
        calls("write_file", file_path="note.txt", content="two"),
        {"text": "Done."},
    ]
    for number, step in enumerate(script[:2]):
        step["tool_calls"][0]["id"] = f"call_{number}"
    config = plan(*script, tools=TOOLS, hooks=[{"module": "hooks-approval"}])
    async with session_of(store, config) as session:
        session.coordinator.approval_system = person
        await session.execute("Write.")
    assert not person.answers

    assert await replay(await load_records(store, SESSION)) is None
