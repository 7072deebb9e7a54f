"""What the world does to sessions: full disks, lost rights, wrong clocks, rivals, sheer size."""

import asyncio
import errno
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import ToolResult
from helpers_sessions import SESSION, Counter, calls, log_of, resume, run

from amplifier.sessions import events, record
from amplifier.sessions.disk import Disk
from amplifier.sessions.files import FileStore
from amplifier.sessions.journal import Journal
from amplifier.sessions.loading import load
from amplifier.sessions.masking import Masker
from amplifier.sessions.store import StoreError, Unavailable

COMMAND = [sys.executable, "-m", "amplifier.cli", "run", "--provider", "mock"]


def amplifier(folder: Path, *arguments: str, home: Path, **options: Any) -> Any:
    # A measured process would want to write its figures to the same full disk.
    plain = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE")}
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env={**plain, "AMPLIFIER_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )


def small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900))


def test_a_command_on_a_full_disk_fails_and_says_what_to_do(tmp_path: Path) -> None:
    done = amplifier(tmp_path, "Hello", home=tmp_path / "home", preexec_fn=small_files)

    assert done.returncode == 1
    assert "cannot be written" in done.stderr
    assert "then resume the session" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_home_that_cannot_be_written_stops_the_turn_before_it_begins(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("This is no folder.")

    done = amplifier(tmp_path, "Hello", home=home)

    assert done.returncode == 1
    assert done.stdout == ""
    assert "cannot be written" in done.stderr
    assert amplifier(tmp_path, "--no-session", "Hello", home=home).returncode == 0


class Lost(Disk):
    """Lets nobody in any more, from some write on."""

    left = 2

    def append(self, handle: int, content: bytes) -> None:
        self.left -= 1
        if self.left < 0:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        super().append(handle, content)


async def test_a_result_that_cannot_be_written_ends_the_turn_and_is_not_repeated(
    tmp_path: Path,
) -> None:
    tool = Counter()
    script = [calls("count"), calls("count"), {"text": "Done."}]

    with pytest.raises(Unavailable, match="Permission denied"):
        await run(FileStore(tmp_path, disk=Lost()), "Go.", *script, tools=[tool])
    _, messages = await resume(FileStore(tmp_path), "Go on.", {"text": "Yes."}, tools=[tool])

    assert len(tool.runs) == 1
    assert "outcome unknown" in str(messages[2].content)


async def test_a_clock_that_goes_backwards_changes_no_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileStore(tmp_path)
    await run(store, "First.", {"text": "One."})
    monkeypatch.setattr(record, "time_ns", lambda: 10**9)

    _, messages = await resume(store, "Second.", {"text": "Two."})

    assert [each.content for each in messages if each.role == "user"] == ["First.", "Second."]
    records = await store.read(SESSION)
    assert [each.seq for each in records] == list(range(len(records)))
    assert records[-1].ts.startswith("1970")


RIVAL = """
import asyncio, sys
from pathlib import Path
from amplifier.sessions.files import FileStore
from amplifier.sessions.record import new_record
from amplifier.sessions.store import Fenced

async def main():
    store = FileStore(Path(sys.argv[1]), "relaxed")
    done = 0
    while done < 50:
        end = (await store.tail("s")).next_seq
        key = f"{sys.argv[2]}.{done}"
        try:
            await store.append("s", [new_record(end, "note", {"by": key}, key=key)], end, key)
            done += 1
        except Fenced:
            pass

asyncio.run(main())
"""


def test_of_racing_processes_none_overwrites_another(tmp_path: Path) -> None:
    rivals = [
        subprocess.Popen([sys.executable, "-c", RIVAL, str(tmp_path), str(number)])
        for number in range(2)
    ]
    assert [each.wait(60) for each in rivals] == [0, 0]

    records = asyncio.run(FileStore(tmp_path).read("s"))

    assert [each.seq for each in records] == list(range(100))
    assert len({each.data["by"] for each in records}) == 100


@pytest.mark.slow
async def test_a_hundred_megabytes_of_output_are_kept_beside_the_log(tmp_path: Path) -> None:
    class Flood(Counter):
        async def execute(self, input: dict[str, Any]) -> Any:
            return ToolResult(output="0123456789" * 10_000_000)

    store = FileStore(tmp_path, "relaxed")
    await run(store, "Go.", calls("flood"), {"text": "Much."}, tools=[Flood("flood")])

    assert log_of(tmp_path).stat().st_size < 200_000
    (value,) = [p for p in (tmp_path / SESSION / "blobs").iterdir() if p.stat().st_size > 10**7]
    assert value.stat().st_size == 100_000_000
    _, messages = await resume(store, "Go on.", {"text": "Yes."})
    assert "Cut after" in str(messages[2].content)


async def many_turns(store: FileStore, count: int, text: str) -> None:
    journal = Journal(store, SESSION, 0, Masker())
    await journal.claim({})
    journal.note(events.CREATED, {"session_id": SESSION})
    for _ in range(count):
        seq = journal.note("prompt:submit", {"prompt": text})
        journal.note(events.MESSAGE, {"message": {"role": "user"}, "content_of": seq})
        journal.note(events.MESSAGE, {"message": {"role": "assistant", "content": text}})
        journal.note(events.TURN_END, {"status": "success"})
    await journal.close()


@pytest.mark.slow
async def test_a_session_of_ten_thousand_turns_goes_on(tmp_path: Path) -> None:
    store = FileStore(tmp_path, "relaxed")
    await many_turns(store, 10_000, "Some words that were said.")

    begin = time.process_time()
    _, messages = await resume(store, "Go on.", {"text": "Yes."})

    assert time.process_time() - begin < 10
    assert len(messages) > 1
    assert len((await load(store, SESSION)).turns) == 10_001


async def test_a_disk_that_never_answers_ends_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    from amplifier.sessions import journal

    free = threading.Event()

    class Stuck(Disk):
        def sync(self, handle: int) -> None:
            free.wait(30)

    monkeypatch.setattr(journal, "SECONDS_TO_WRITE", 0.05)
    try:
        with pytest.raises(StoreError, match="within"):
            await run(FileStore(tmp_path, disk=Stuck()), "Go.")
    finally:
        free.set()
