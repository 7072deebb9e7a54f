"""A tool result that is far too long is cut when it comes, and its full text is in a file."""

import re
import stat
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.testing import MockCoordinator
from helpers_contexts import add_all, assistant, result, simple_context, turns, user
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_modules.contexts.spill import Spill


def path_in(text: str) -> Path:
    found = re.search(r"The full text is in '(.*)'", text)
    assert found
    return Path(found[1])


async def test_the_first_bytes_are_kept_and_the_rest_can_be_read(tmp_path: Path) -> None:
    full = "0123456789" * 100
    async with simple_context(max_tool_result_bytes=64, spill_dir=str(tmp_path)) as context:
        await add_all(context, [assistant("", "a"), result("a", full)])
        history = await context.get_messages()
        shown = await context.get_messages_for_request()

    head, marker = history[1]["content"].split("\n")
    assert head == full[:64]
    assert "64 of 1000 bytes" in marker
    assert path_in(marker).read_text() == full
    assert path_in(marker).parent == tmp_path
    assert history[1]["metadata"]["spill"] == {"path": str(path_in(marker)), "bytes": 1_000}
    assert shown[1] == history[1]


async def test_a_result_of_exactly_the_limit_is_kept_whole(tmp_path: Path) -> None:
    async with simple_context(max_tool_result_bytes=64, spill_dir=str(tmp_path)) as context:
        await context.add_message(result("a", "x" * 64))
        (kept,) = await context.get_messages()

    assert kept["content"] == "x" * 64
    assert not list(tmp_path.iterdir())


async def test_only_tool_results_are_cut(tmp_path: Path) -> None:
    async with simple_context(max_tool_result_bytes=64, spill_dir=str(tmp_path)) as context:
        await add_all(context, [user("x" * 100), assistant("y" * 100)])

        assert [len(each["content"]) for each in await context.get_messages()] == [100, 100]


@settings(deadline=None, derandomize=True)
@given(st.text(alphabet=st.characters(), max_size=60), st.integers(1, 100))
def test_no_character_is_cut_in_half(text: str, limit: int) -> None:
    saved: list[bytes] = []

    class Shelf(Spill):
        def _save(self, text: bytes) -> None:
            saved.append(text)

    message = {"role": "tool", "content": text}
    capped = Shelf(limit, lambda: None).capped(message)

    encoded = text.encode()
    if len(encoded) <= limit:
        assert capped is message
    else:
        head, _, marker = capped["content"].rpartition("\n")
        assert text.startswith(head)
        assert limit - 4 < len(head.encode()) <= limit
        assert "could not be kept" in marker
        assert saved == [encoded]


async def test_results_in_blocks_are_cut_and_stay_results(tmp_path: Path) -> None:
    blocks = [
        {"type": "tool_result", "tool_call_id": "a", "output": "x" * 100},
        {"type": "tool_result", "tool_call_id": "b", "output": "y" * 100},
    ]
    async with simple_context(max_tool_result_bytes=64, spill_dir=str(tmp_path)) as context:
        await context.add_message({"role": "tool", "content": blocks})
        await context.add_message(
            {"role": "tool", "content": [{"type": "text", "text": "z" * 100}]}
        )
        first, second = await context.get_messages()

    assert [each["tool_call_id"] for each in first["content"]] == ["a", "b"]
    assert first["content"][0]["output"].startswith("x" * 64 + "\n[Cut")
    assert first["content"][1]["output"] == ""
    assert second["content"].startswith("z" * 64 + "\n[Cut")


async def test_a_resumed_result_is_not_cut_a_second_time(tmp_path: Path) -> None:
    async with simple_context(max_tool_result_bytes=64, spill_dir=str(tmp_path)) as context:
        await context.add_message(result("a", "x" * 1_000))
        before = await context.get_messages()
        await context.set_messages(before)

        assert await context.get_messages() == before


async def test_the_file_is_still_named_when_compaction_shortens_the_rest(tmp_path: Path) -> None:
    async with simple_context(
        max_tool_result_bytes=8_000, spill_dir=str(tmp_path), protected_tool_results=0
    ) as context:
        await add_all(context, [assistant("", "a"), result("a", "word " * 5_000), *turns(1)])
        shown = await context.get_messages_for_request(token_budget=1_800)

    (path,) = tmp_path.iterdir()
    assert shown[1]["_truncated"] is True
    assert str(path) in shown[1]["content"]


async def test_without_a_folder_the_session_s_own_is_used(tmp_path: Path) -> None:
    coordinator = MockCoordinator()
    async with simple_context(coordinator, max_tool_result_bytes=64) as context:
        coordinator.register_capability("session.dir", tmp_path / "session")
        await context.add_message(result("a", "x" * 1_000))

    (path,) = (tmp_path / "session" / "tool-results").iterdir()
    assert path.read_text() == "x" * 1_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_relative_folder_is_meant_from_the_working_directory(tmp_path: Path) -> None:
    coordinator = MockCoordinator()
    coordinator.register_capability("session.working_dir", str(tmp_path))
    async with simple_context(
        coordinator, max_tool_result_bytes=64, spill_dir="spilled"
    ) as context:
        await context.add_message(result("a", "x" * 1_000))

    assert len(list((tmp_path / "spilled").iterdir())) == 1


async def test_a_private_temporary_folder_is_removed_at_the_end() -> None:
    async with simple_context(max_tool_result_bytes=64) as context:
        await context.add_message(result("a", "x" * 1_000))
        await context.add_message(result("b", "y" * 1_000))
        paths = [path_in(each["content"]) for each in await context.get_messages()]
        assert [path.read_text()[0] for path in paths] == ["x", "y"]
        assert stat.S_IMODE(paths[0].parent.stat().st_mode) == 0o700

    assert not paths[0].parent.exists()


async def test_a_disk_that_refuses_costs_the_rest_of_the_text_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    async with simple_context(max_tool_result_bytes=64, spill_dir=str(blocker)) as context:
        await context.add_message(result("a", "x" * 1_000))
        (kept,) = await context.get_messages()

    assert "could not be kept" in kept["content"]
    assert "could not be kept" in caplog.text
    assert kept["metadata"]["spill"]["path"] is None


async def test_odd_metadata_does_not_keep_a_result_from_being_cut(tmp_path: Path) -> None:
    message: dict[str, Any] = {**result("a", "x" * 1_000), "metadata": "odd"}
    async with simple_context(max_tool_result_bytes=64, spill_dir=str(tmp_path)) as context:
        await context.add_message(message)

        assert len((await context.get_messages())[0]["content"]) < 400
