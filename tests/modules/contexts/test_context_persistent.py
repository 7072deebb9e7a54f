"""context-persistent goes on where its file ends, whatever happened to the process before."""

import json
import logging
import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.testing import MockCoordinator
from helpers_contexts import (
    add_all,
    assistant,
    contents,
    persistent_context,
    recorded,
    system,
    turns,
    user,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_modules.contexts import persistent
from amplifier_modules.contexts.persistent import project_slug


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "transcript.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_each_message_is_in_the_file_as_soon_as_it_is_added(path: Path) -> None:
    async with persistent_context(transcript_path=str(path)) as context:
        assert not path.exists()
        for count, message in enumerate(turns(2), start=1):
            await context.add_message(message)
            assert len(lines(path)) == count
            assert lines(path)[-1]["content"] == message["content"]
            assert lines(path)[-1]["timestamp"] == lines(path)[-1]["metadata"]["timestamp"]

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_new_process_has_the_same_history(path: Path) -> None:
    odd = {"role": "user", "content": "half \ud83d of a pair, ümläut \u2028", "timestamp": "mine"}
    async with persistent_context(transcript_path=str(path)) as context:
        await add_all(context, [system("rules"), *turns(2), odd])
        before = await context.get_messages()

    async with persistent_context(transcript_path=str(path)) as context:
        assert await context.get_messages() == before
        assert await context.get_messages_for_request() == before


async def test_what_json_cannot_hold_is_written_as_text(path: Path) -> None:
    async with persistent_context(transcript_path=str(path)) as context:
        await context.add_message({**user("hi"), "metadata": {"cost": Path("a/b")}})

    assert lines(path)[0]["metadata"]["cost"] == "a/b"


async def test_files_with_the_timestamp_at_the_top_only_are_read(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"role": "user", "content": "hi", "timestamp": "2026-01-01T00:00:00Z"}\n')

    async with persistent_context(transcript_path=str(path)) as context:
        (message,) = await context.get_messages()

    assert message["metadata"]["timestamp"] == "2026-01-01T00:00:00Z"


async def test_the_file_is_read_once_and_not_at_every_request(path: Path) -> None:
    async with persistent_context(transcript_path=str(path)) as context:
        await context.add_message(user("hi"))
        path.unlink()

        assert contents(await context.get_messages()) == ["hi"]
        assert contents(await context.get_messages_for_request()) == ["hi"]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
async def test_a_crash_at_any_byte_costs_at_most_the_last_message(cut: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "transcript.jsonl")
        async with persistent_context(transcript_path=str(path)) as context:
            await add_all(context, turns(1, size=2))
            before = await context.get_messages()
        written = path.read_bytes()
        cut %= len(written) + 1
        path.write_bytes(written[:cut])
        whole = sum(1 for line in written[:cut].split(b"\n") if _is_json(line))

        async with persistent_context(transcript_path=str(path)) as context:
            assert await context.get_messages() == before[:whole]
            await context.add_message(user("after the crash"))
        async with persistent_context(transcript_path=str(path)) as context:
            assert contents(await context.get_messages()) == [
                *contents(before[:whole]),
                "after the crash",
            ]


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


async def test_a_whole_last_line_without_its_end_is_kept(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"role": "user", "content": "a"}')

    async with persistent_context(transcript_path=str(path)) as context:
        await context.add_message(user("b"))

    assert contents(lines(path)) == ["a", "b"]


async def test_broken_lines_are_skipped_with_a_warning(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.mkdir()
    path.write_bytes(
        b'{"role": "user", "content": "a"}\n{"ro\xff\n[1]\n{"no": "role"}\n\n{"role": '
    )

    with caplog.at_level(logging.WARNING):
        async with persistent_context(transcript_path=str(path)) as context:
            assert contents(await context.get_messages()) == ["a"]

    assert [record.args[0] for record in caplog.records if record.args] == [2, 3, 4, 6]
    assert path.read_bytes().endswith(b'{"no": "role"}\n\n')


async def test_a_disk_that_fills_up_leaves_history_and_file_in_step(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with persistent_context(transcript_path=str(path)) as context:
        await context.add_message(user("first"))
        write = os.write

        def half_a_line(file: int, data: bytes) -> int:
            if len(data) < 20:
                raise OSError(28, "No space left on device")
            return write(file, data[: len(data) - 10])

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", half_a_line)
            with pytest.raises(OSError, match="No space left"):
                await context.add_message(user("second"))
        await context.add_message(user("third"))
        assert contents(await context.get_messages()) == ["first", "third"]

    async with persistent_context(transcript_path=str(path)) as context:
        assert contents(await context.get_messages()) == ["first", "third"]


# -- replacing and clearing -----------------------------------------------------------


async def test_set_messages_replaces_the_file_of_a_new_conversation(path: Path) -> None:
    async with persistent_context(transcript_path=str(path)) as context:
        await context.add_message(user("draft"))
        await context.set_messages([user("a"), assistant("b")])
        await context.add_message(user("c"))

        assert contents(await context.get_messages()) == ["a", "b", "c"]
    assert contents(lines(path)) == ["a", "b", "c"]
    assert os.listdir(path.parent) == [path.name]


async def test_set_messages_is_ignored_when_the_file_was_loaded(path: Path) -> None:
    async with persistent_context(transcript_path=str(path)) as context:
        await context.add_message(user("kept"))
    async with persistent_context(transcript_path=str(path)) as context:
        await context.set_messages([user("from the app")])
        assert contents(await context.get_messages()) == ["kept"]

        await context.clear()
        await context.set_messages([user("from the app")])
        assert contents(await context.get_messages()) == ["from the app"]
    assert contents(lines(path)) == ["from the app"]


async def test_clear_empties_the_file_and_writing_goes_on(path: Path) -> None:
    async with persistent_context(transcript_path=str(path)) as context:
        await context.clear()
        assert not path.exists()
        await add_all(context, turns(1))
        await context.clear()
        assert path.read_bytes() == b""
        await context.add_message(user("new"))

        assert contents(await context.get_messages()) == ["new"]
    assert contents(lines(path)) == ["new"]


async def test_a_file_that_cannot_be_replaced_stays_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError("locked")

    async with persistent_context(transcript_path=str(path)) as context:
        await context.add_message(user("kept"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", refuse)
            with pytest.raises(PermissionError):
                await context.clear()

        assert contents(await context.get_messages()) == ["kept"]
    assert contents(lines(path)) == ["kept"]
    assert os.listdir(path.parent) == [path.name]


async def test_compaction_does_not_touch_the_file(path: Path) -> None:
    async with persistent_context(transcript_path=str(path)) as context:
        await add_all(context, turns(40))
        before = path.read_bytes()
        await context.get_messages_for_request(token_budget=4_000)

        assert path.read_bytes() == before


# -- memory files ---------------------------------------------------------------------


async def test_a_new_conversation_begins_with_the_memory_files(
    path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "facts.md").write_text("The sky is blue.")
    (tmp_path / "broken.md").write_bytes(b"\xff\xfe")
    coordinator = MockCoordinator()
    coordinator.register_capability("session.working_dir", str(tmp_path))
    config = {
        "transcript_path": str(path),
        "memory_files": ["facts.md", "missing.md", str(tmp_path / "broken.md")],
    }
    async with persistent_context(coordinator, **config) as context:
        await context.set_system_prompt_factory(lambda: "prompt")
        prompt, memory = await context.get_messages_for_request()

    assert (prompt["content"], memory["role"]) == ("prompt", "system")
    assert memory["content"] == "[Context from facts.md]\n\nThe sky is blue."
    assert "missing.md" in caplog.text
    assert "broken.md" in caplog.text


async def test_a_resumed_conversation_does_not_read_them_again(path: Path, tmp_path: Path) -> None:
    memory = tmp_path / "facts.md"
    memory.write_text("old")
    config = {"transcript_path": str(path), "memory_files": [str(memory)]}
    async with persistent_context(**config) as context:
        before = await context.get_messages()
    memory.write_text("new")

    async with persistent_context(**config) as context:
        assert await context.get_messages() == before


async def test_memory_files_that_do_not_fit_are_listed_with_their_sizes(
    path: Path, tmp_path: Path
) -> None:
    for name, count in (("a.md", 100), ("b.md", 3_000)):
        (tmp_path / name).write_text("word " * count)
    files = [str(tmp_path / "a.md"), str(tmp_path / "b.md")]
    config = {"transcript_path": str(path), "memory_files": files, "max_tokens": 1_000}
    coordinator = MockCoordinator()

    with pytest.raises(ContextLengthError, match=r"a\.md: 1\d\d, .*b\.md: 3,?9\d\d"):
        await persistent.mount(coordinator, config)

    assert not path.exists()
    assert coordinator.get("context") is None
    assert coordinator.hooks.list_handlers() == {}


# -- where the file is ----------------------------------------------------------------


async def written_to(coordinator: MockCoordinator) -> None:
    async with persistent_context(coordinator) as context:
        await context.add_message(user("hi"))


async def test_by_default_it_is_in_the_folder_of_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))
    coordinator = MockCoordinator()
    coordinator.register_capability("session.working_dir", "/srv/my project")

    await written_to(coordinator)

    folder = tmp_path / "projects" / "-srv-my project" / "sessions" / "test-session"
    assert contents(lines(folder / "context-messages.jsonl")) == ["hi"]


async def test_without_a_working_directory_that_of_the_process_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AMPLIFIER_HOME", raising=False)
    monkeypatch.chdir(tmp_path)

    await written_to(MockCoordinator())

    slug = str(tmp_path).replace(os.sep, "-")
    assert list((tmp_path / ".amplifier" / "projects" / slug).rglob("*.jsonl"))


async def test_an_app_that_names_the_folder_of_the_session_is_followed(tmp_path: Path) -> None:
    coordinator = MockCoordinator()
    coordinator.register_capability("session.dir", str(tmp_path))

    await written_to(coordinator)

    assert contents(lines(tmp_path / "context-messages.jsonl")) == ["hi"]


@pytest.mark.parametrize("session_id", ["", ".", "..", "../../escape"])
async def test_no_session_id_leads_out_of_the_folder(
    session_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))

    class Elsewhere(MockCoordinator):
        session_id = property(lambda self: session_id)  # type: ignore[assignment]

    await written_to(Elsewhere())

    (path,) = tmp_path.rglob("*.jsonl")
    assert path.relative_to(tmp_path).parts[0] == "projects"
    assert len(path.relative_to(tmp_path).parts) == 5


def test_a_project_s_folder_is_named_after_its_path() -> None:
    assert project_slug(Path("/srv/app")) == "-srv-app"
    assert project_slug(Path("C:\\code\\app")) == "-C-code-app"


async def test_the_dead_key_of_other_versions_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'context-persistent'.*'truncate_boundary'"):
        await persistent.mount(MockCoordinator(), {"truncate_boundary": 1})


async def test_less_of_the_newest_is_protected_than_in_memory(path: Path) -> None:
    coordinator = MockCoordinator()
    seen = recorded(coordinator, "context:compaction")
    async with persistent_context(coordinator, transcript_path=str(path)) as context:
        await add_all(context, turns(40))
        await context.compact()

    assert seen[0][1]["protected_recent"] == 0.10
