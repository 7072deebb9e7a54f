"""The log on disk: whole lines, rotation, many sessions, and trouble with the disk."""

import asyncio
import errno
import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread
from time import perf_counter

import pytest
from helpers_records import TOKENS, Logged, coordinator_of, logged, read

from amplifier_modules.records import logfile
from amplifier_modules.records.logfile import log_at

WHOLE = b'{"n": 1}\n{"n": 2}\n'


def handles() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0


@pytest.mark.parametrize(
    ("end", "kept"),
    [
        (b"", 2),
        (b'{"torn": "li', 2),
        (b'{"torn": "\xc3', 2),
        (b'{"whole": "but without an end"}', 3),
        (b"\x00\x00\x00", 2),
        (b'{"long": "' + b"x" * 200_000, 2),
    ],
    ids=["whole", "torn", "torn letter", "no line end", "zeros", "long"],
)
async def test_a_line_that_a_crash_has_torn_is_mended(
    end: bytes, kept: int, tmp_path: Path
) -> None:
    (tmp_path / "s1.jsonl").write_bytes(WHOLE + end)

    async with logged(tmp_path) as log:
        await log.emit("plan:start")

    assert len(log.records) == kept + 1
    assert log.records[-1]["event"] == "plan:start"


async def test_a_file_that_is_one_torn_line_starts_anew(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").write_bytes(b'{"torn')

    async with logged(tmp_path) as log:
        await log.emit("plan:start")

    assert len(log.records) == 1


async def test_an_existing_file_becomes_private(tmp_path: Path) -> None:
    file = tmp_path / "s1.jsonl"
    file.write_bytes(WHOLE)
    file.chmod(0o644)

    async with logged(tmp_path) as log:
        await log.emit("plan:start")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_killed_process_leaves_all_it_has_logged(tmp_path: Path) -> None:
    script = f"""
import asyncio, os, signal
from pathlib import Path
from helpers_records import logged

async def main():
    async with logged(Path({str(tmp_path)!r})) as log:
        for n in range(50):
            await log.emit("tool:pre", n=n, text="x" * n * 100)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", script], env=environment, timeout=60, check=False)

    assert [each["data"]["n"] for each in read(tmp_path / "s1.jsonl")] == list(range(50))


# -- rotation ------------------------------------------------------------------------


async def test_a_full_file_is_moved_away_and_the_oldest_dropped(tmp_path: Path) -> None:
    async with logged(tmp_path, max_bytes=2000, keep=2) as log:
        for n in range(40):
            await log.emit("plan:end", n=n, text="x" * 100)

    files = [log.path.with_name(f"s1.jsonl{end}") for end in (".2", ".1", "")]
    numbers = [each["data"]["n"] for file in files for each in read(file)]
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert numbers == list(range(numbers[0], 40))
    assert all(file.stat().st_size <= 2000 for file in files)
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)


async def test_without_any_to_keep_a_full_file_is_replaced(tmp_path: Path) -> None:
    async with logged(tmp_path, max_bytes=1000, keep=0) as log:
        for n in range(20):
            await log.emit("plan:end", n=n)

    assert [each.name for each in tmp_path.iterdir()] == ["s1.jsonl"]
    assert log.records[-1]["data"]["n"] == 19


async def test_zero_means_never(tmp_path: Path) -> None:
    async with logged(tmp_path, max_bytes=0) as log:
        for n in range(20):
            await log.emit("plan:end", n=n)

    assert len(log.records) == 20


async def test_a_record_larger_than_a_file_is_still_written(tmp_path: Path) -> None:
    async with logged(tmp_path, max_bytes=100, keep=1) as log:
        await log.emit("plan:end", n=1)
        await log.emit("plan:end", n=2)

    assert [each["data"]["n"] for each in log.records] == [2]
    assert len(read(tmp_path / "s1.jsonl.1")) == 1


async def test_a_resumed_session_goes_on_in_its_file(tmp_path: Path) -> None:
    for n in range(3):
        async with logged(tmp_path, max_bytes=600, keep=1) as log:
            await log.emit("plan:end", n=n)

    assert (tmp_path / "s1.jsonl.1").exists()
    assert log.records[-1]["data"]["n"] == 2


async def test_a_file_that_another_process_moved_away_is_not_moved_again(tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = log_at(path, 20, 1)
    log.append(b'{"first": "of ours"}\n')
    path.rename(tmp_path / "log.1")
    path.write_bytes(b'{"theirs": 1}\n')
    log.append(b'{"n": 2}\n')
    log.close()

    assert path.read_bytes() == b'{"theirs": 1}\n{"n": 2}\n'


# -- many sessions -------------------------------------------------------------------


async def test_many_sessions_at_once_keep_apart(tmp_path: Path) -> None:
    async def session(number: int) -> Logged:
        async with logged(tmp_path, coordinator_of(f"s{number}")) as log:
            for n in range(10):
                await log.emit("plan:end", n=n, of=number)
                await asyncio.sleep(0)
        return log

    async with asyncio.timeout(30):
        logs = await asyncio.gather(*(session(number) for number in range(300)))

    for number, log in enumerate(logs):
        assert [(each["data"]["of"], each["data"]["n"]) for each in log.records] == [
            (number, n) for n in range(10)
        ]


async def test_no_more_files_are_open_than_a_process_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfile, "MOST_OPEN", 5)
    before = handles()
    logs = [log_at(tmp_path / str(n), 0, 0) for n in range(20)]
    for _ in range(2):
        for log in logs:
            log.append(b"{}\n")

    assert handles() - before <= 5
    for log in logs:
        log.close()
    assert handles() == before
    assert all((tmp_path / str(n)).read_bytes() == b"{}\n{}\n" for n in range(20))


async def test_sessions_may_share_a_file(tmp_path: Path) -> None:
    template = str(tmp_path / "all.jsonl")
    one, two = coordinator_of("one"), coordinator_of("two")
    options = {"session_log_template": template, "max_bytes": 3000, "keep": 50}
    async with logged(tmp_path, one, **options) as first:
        async with logged(tmp_path, two, **options) as second:
            for n in range(30):
                await first.emit("plan:end", n=n)
                await second.emit("plan:end", n=n)
        await first.emit("plan:end", n=30)

    written = [each["session_id"] for file in tmp_path.iterdir() for each in read(file)]
    assert (written.count("one"), written.count("two")) == (31, 30)


def test_threads_may_share_a_file(tmp_path: Path) -> None:
    log = log_at(tmp_path / "log", 5000, 100)

    def write(number: int) -> None:
        for n in range(200):
            log.append(b'{"of": %d, "n": %d}\n' % (number, n))

    threads = [Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    log.close()

    assert sum(len(read(file)) for file in tmp_path.iterdir()) == 800


async def test_the_file_is_closed_when_the_session_ends_and_when_the_module_goes(
    tmp_path: Path,
) -> None:
    before = handles()
    async with logged(tmp_path) as log:
        await log.emit("plan:start")
        assert handles() == before + 1 or before == 0
        await log.emit("session:end")
        assert handles() == before
        await log.emit("plan:end")
    assert handles() == before
    await log.emit("plan:start")

    assert [each["event"] for each in log.records] == ["plan:start", "session:end", "plan:end"]


# -- trouble -------------------------------------------------------------------------


async def test_a_place_that_cannot_be_written_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    async with logged(tmp_path, session_log_template=str(tmp_path / "file/log")) as log:
        for _ in range(3):
            await log.emit("plan:start", text=TOKENS["GitHub"])

    warnings = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert str(tmp_path / "file/log") in warnings[0].getMessage()
    assert TOKENS["GitHub"] not in caplog.text


async def test_what_a_full_disk_had_room_for_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = os.write

    def full(handle: int, content: bytes) -> int:
        return real(handle, content[:10])

    def none(handle: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with logged(tmp_path) as log:
        await log.emit("plan:start", n=1)
        for broken in (full, none):
            monkeypatch.setattr(os, "write", broken)
            await log.emit("plan:start", n=2)
            await log.emit("plan:start", n=3)
            assert len(log.records) == 1
        monkeypatch.setattr(os, "write", real)
        await log.emit("plan:start", n=4)

    assert [each["data"]["n"] for each in log.records] == [1, 4]
    assert len(caplog.records) == 1


class Hostile(dict[str, object]):
    """Something that fails when it is looked at."""

    def items(self) -> None:  # type: ignore[override]
        raise RuntimeError(TOKENS["GitHub"])

    def __eq__(self, other: object) -> bool:
        raise RuntimeError(TOKENS["GitHub"])


async def test_a_value_that_cannot_be_read_is_replaced(tmp_path: Path) -> None:
    async with logged(tmp_path) as log:
        data = await log.data(bad=Hostile(a=1), good=2)

    assert data["bad"] == "[Hostile that cannot be shown]"
    assert data["good"] == 2


async def test_an_event_that_cannot_be_read_is_reported_once_and_harms_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with logged(tmp_path) as log:
        for _ in range(2):
            result = await log.coordinator.hooks.emit("plan:end", {"status": Hostile()})
            assert result.action == "continue"
        await log.emit("plan:end", n=3)

    assert [each["data"]["n"] for each in log.records] == [3]
    assert len(caplog.records) == 1
    assert TOKENS["GitHub"] not in caplog.text


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there is no null device here")
async def test_a_device_is_written_to_and_never_moved(tmp_path: Path) -> None:
    mode = os.stat("/dev/null").st_mode
    async with logged(tmp_path, session_log_template="/dev/null", max_bytes=10, keep=1) as log:
        for _ in range(3):
            await log.emit("plan:start")

    assert os.stat("/dev/null").st_mode == mode
    assert not os.path.exists("/dev/null.1")


async def test_a_typical_event_is_written_in_microseconds(tmp_path: Path) -> None:
    """The bound is generous: the machine may be busy. It is about 20 on an idle one."""
    usage = {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17}
    best = 1.0
    async with logged(tmp_path) as log:
        for _ in range(30):
            began = perf_counter()
            for _ in range(20):
                await log.emit("provider:response", provider="mock", usage=usage, iteration=0)
            best = min(best, (perf_counter() - began) / 20)

    assert best < 200e-6
    assert json.loads(log.path.read_bytes().splitlines()[0])
