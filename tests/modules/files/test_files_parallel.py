"""No edit is lost and no file is ever half written, however many work on it and die."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers_files import coordinator_in, done, file_tools, refusal

from amplifier_modules.files import filesystem

needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and folder locks")


async def test_a_hundred_edits_of_one_file_at_once_all_arrive(tmp_path: Path) -> None:
    names = [f"item-{number:03}" for number in range(100)]
    (tmp_path / "a.txt").write_text("\n".join(names))
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="a.txt"))

    async with asyncio.timeout(20):
        results = await asyncio.gather(
            *(
                call("edit_file", file_path="a.txt", old_string=name, new_string=f"done {name}")
                for name in names
            )
        )

    assert all(result.success for result in results)
    assert (tmp_path / "a.txt").read_text() == "\n".join(f"done {name}" for name in names)
    assert os.listdir(tmp_path) == ["a.txt"]


async def test_of_many_new_files_with_one_name_one_is_written(tmp_path: Path) -> None:
    calls = [await file_tools(tmp_path) for _ in range(10)]

    results = await asyncio.gather(
        *(
            call("write_file", file_path="new/a.txt", content=f"{number}")
            for number, call in enumerate(calls)
        )
    )

    winners = [number for number, result in enumerate(results) if result.success]
    assert len(winners) == 1
    assert (tmp_path / "new" / "a.txt").read_text() == str(winners[0])
    assert os.listdir(tmp_path / "new") == ["a.txt"]


EDITOR = """
import asyncio, sys
from amplifier_core.testing import MockCoordinator
from amplifier_modules.files import filesystem

async def main(folder, mine):
    coordinator = MockCoordinator()
    await filesystem.mount(coordinator, {"working_dir": folder})
    tools = coordinator.get("tools")
    made = 0
    while made < 10:
        await tools["read_file"].execute({"file_path": "a.txt"})
        result = await tools["edit_file"].execute(
            {"file_path": "a.txt", "old_string": "end", "new_string": f"{mine}{made} end"}
        )
        assert result.success or result.error["type"] == "FileChanged", result
        made += result.success

asyncio.run(main(*sys.argv[1:]))
"""


@needs_posix
def test_edits_from_several_processes_all_arrive(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("end")
    command = [sys.executable, "-c", EDITOR, str(tmp_path)]

    editors = [subprocess.Popen([*command, mine]) for mine in "xy"]

    assert [editor.wait(20) for editor in editors] == [0, 0]
    words = (tmp_path / "a.txt").read_text().split()
    assert sorted(words) == sorted(
        ["end", *(f"{mine}{number}" for mine in "xy" for number in range(10))]
    )


WRITER = """
import asyncio, sys
from amplifier_core.testing import MockCoordinator
from amplifier_modules.files import filesystem

async def main(folder):
    coordinator = MockCoordinator()
    await filesystem.mount(coordinator, {"working_dir": folder})
    tools = coordinator.get("tools")
    await tools["read_file"].execute({"file_path": "a.txt"})
    print("ready", flush=True)
    letters = "abcdefghij"
    for number in range(100000):
        content = letters[number % 10] * 300000
        result = await tools["write_file"].execute({"file_path": "a.txt", "content": content})
        assert result.success, result

asyncio.run(main(sys.argv[1]))
"""


@needs_posix
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("z" * 300_000)
    chance = random.Random(7)
    for _ in range(2):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        with writer.stdout:
            assert writer.stdout.readline() == b"ready\n"
            for _ in range(chance.randrange(120)):
                content = path.read_bytes()
                assert len(content) == 300_000
                assert len(set(content)) == 1
            writer.send_signal(signal.SIGKILL)
            writer.wait(5)

        content = path.read_bytes()
        assert len(content) == 300_000
        assert len(set(content)) == 1


@needs_posix
async def test_a_change_between_reading_and_renaming_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="a.txt"))
    sync = os.fsync

    def someone_else_writes(handle: int) -> None:
        sync(handle)
        path.write_text("theirs")

    monkeypatch.setattr(os, "fsync", someone_else_writes)

    text = await refusal(call("edit_file", file_path="a.txt", old_string="old", new_string="x"))

    assert "was changed by someone else" in text
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["a.txt"]


async def test_a_write_that_fails_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")
    call = await file_tools(tmp_path)
    await done(call("read_file", file_path="a.txt"))

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)

    text = await refusal(call("write_file", file_path="a.txt", content="new"))

    assert "The disk has no room" in text
    assert (tmp_path / "a.txt").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@needs_posix
async def test_a_lock_that_nobody_gives_back_is_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    from amplifier_modules.files import contents

    monkeypatch.setattr(contents, "LOCK_SECONDS", 0.05)
    call = await file_tools(tmp_path)
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        text = await refusal(call("write_file", file_path="a.txt", content="x"))
    finally:
        os.close(handle)

    assert text == f"Another process keeps {str(tmp_path / 'a.txt')!r} locked. Try again later."


def test_sessions_in_several_threads_lose_no_edit(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("end")
    troubles: list[BaseException] = []

    async def edit(mine: str) -> None:
        coordinator = coordinator_in(tmp_path)
        await filesystem.mount(coordinator)
        tools = coordinator.get("tools")
        made = 0
        while made < 10:
            await tools["read_file"].execute({"file_path": "a.txt"})
            result = await tools["edit_file"].execute(
                {"file_path": "a.txt", "old_string": "end", "new_string": f"{mine}{made} end"}
            )
            made += result.success

    def run(mine: str) -> None:
        try:
            asyncio.run(edit(mine))
        except BaseException as error:
            troubles.append(error)

    threads = [threading.Thread(target=run, args=(mine,)) for mine in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert not troubles
    assert len((tmp_path / "a.txt").read_text().split()) == 31
