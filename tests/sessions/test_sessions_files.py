"""Sessions as files: what a disk, a second process or a power failure can do to them."""

import asyncio
import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from amplifier.sessions.conformance import records
from amplifier.sessions.disk import Disk
from amplifier.sessions.files import FileStore
from amplifier.sessions.record import new_record
from amplifier.sessions.store import Fenced, Held, NoSession, Unavailable, Unknown


class BrokenDisk(Disk):
    """Fails where it is told to, as a full or dying disk does."""

    def __init__(self) -> None:
        self.failing: set[str] = set()
        self.appended = 0

    def _fail(self, what: str) -> None:
        if what in self.failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def append(self, handle: int, content: bytes) -> None:
        if "append" in self.failing:
            super().append(handle, content[: len(content) // 2])
        self._fail("append")
        self.appended += 1
        super().append(handle, content)

    def sync(self, handle: int) -> None:
        self._fail("sync")
        super().sync(handle)

    def truncate(self, handle: int, size: int) -> None:
        self._fail("truncate")
        super().truncate(handle, size)


def log_of(folder: Path) -> Path:
    return folder / "s" / "events.jsonl"


async def test_files_and_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "sessions")
    await store.append("s", records(0), 0, "k")
    await store.put("s", {"a" * 64: b"large"})

    found = [tmp_path / "sessions", *(tmp_path / "sessions").rglob("*")]

    assert len(found) == 5
    modes = {stat.S_IMODE(each.stat().st_mode) for each in found}
    assert modes == {0o600, 0o700}


async def test_the_names_of_all_new_folders_are_on_disk_before_the_first_record(
    tmp_path: Path,
) -> None:
    done: list[Any] = []

    class Watched(Disk):
        def sync_folder(self, path: Path) -> None:
            done.append(path)

        def append(self, handle: int, content: bytes) -> None:
            done.append("record")

    store = FileStore(tmp_path / "projects" / "p" / "sessions", disk=Watched())
    await store.claim("s", {})
    await store.append("s", records(0), 0, "k")

    before = done[: done.index("record")]
    new = [tmp_path, *(tmp_path / each for each in ("projects", "projects/p"))]
    assert {*new, store.folder, store.folder / "s"} <= set(before)


@pytest.mark.parametrize("what", ["append", "sync"])
async def test_a_failed_append_leaves_nothing_and_can_be_repeated(
    tmp_path: Path, what: str
) -> None:
    disk = BrokenDisk()
    store = FileStore(tmp_path, disk=disk)
    await store.append("s", records(0, 1, "a"), 0, "a")
    before = log_of(tmp_path).read_bytes()
    disk.failing = {what}

    with pytest.raises(Unavailable, match="No space left"):
        await store.append("s", records(1, 1, "b"), 1, "b")

    assert log_of(tmp_path).read_bytes() == before
    disk.failing = set()
    assert await store.append("s", records(1, 1, "b"), 1, "b") == 2


async def test_an_append_that_cannot_be_taken_back_is_unknown_until_one_reads(
    tmp_path: Path,
) -> None:
    disk = BrokenDisk()
    store = FileStore(tmp_path, disk=disk)
    disk.failing = {"sync", "truncate"}

    with pytest.raises(Unknown):
        await store.append("s", records(0, 1, "a"), 0, "a")

    assert [each.key for each in await store.read("s")] == ["a"]
    disk.failing = set()
    assert await store.append("s", records(0, 1, "a"), 0, "a") == 1


async def test_what_could_not_be_synced_is_written_anew_and_not_taken_for_safe(
    tmp_path: Path,
) -> None:
    disk = BrokenDisk()
    store = FileStore(tmp_path, disk=disk)
    await store.append("s", records(0, 1, "a"), 0, "a")
    disk.failing = {"sync", "truncate"}
    with pytest.raises(Unknown):
        await store.append("s", records(1, 1, "b"), 1, "b")

    disk.failing = {"truncate"}
    with pytest.raises(Unavailable):
        await store.append("s", records(1, 1, "b"), 1, "b")

    disk.failing, disk.appended = set(), 0
    assert await store.append("s", records(1, 1, "b"), 1, "b") == 2
    assert disk.appended == 1
    assert len(await store.read("s")) == 2


async def test_what_another_has_gone_on_from_is_not_cut_off(tmp_path: Path) -> None:
    disk = BrokenDisk()
    store = FileStore(tmp_path, disk=disk)
    disk.failing = {"sync", "truncate"}
    with pytest.raises(Unknown):
        await store.append("s", records(0, 1, "a"), 0, "a")
    await FileStore(tmp_path).append("s", records(1, 1, "b"), 1, "b")
    disk.failing = set()

    assert await store.append("s", records(0, 1, "a"), 0, "a") == 2
    assert [each.key for each in await store.read("s")] == ["a", "b"]


@pytest.mark.parametrize("torn", [1, 10, 40, -1])
async def test_a_torn_end_is_left_out_told_and_cut_off_by_the_next_append(
    tmp_path: Path, torn: int
) -> None:
    await FileStore(tmp_path).append("s", records(0, 2, "a"), 0, "a")
    lost = records(2)[0].line[:torn]
    with log_of(tmp_path).open("ab") as file:
        file.write(lost)
    store = FileStore(tmp_path)

    assert (await store.tail("s")) == (2, len(lost))
    assert len(await store.read("s")) == 2
    await store.append("s", records(2, 1, "b"), 2, "b")

    assert (await store.tail("s")) == (3, 0)
    assert [each.key for each in await store.read("s")] == [None, "a", "b"]


async def test_the_end_of_a_log_with_long_records_is_found(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await store.append("s", records(0, 3, "a", text="x" * 200_000), 0, "a")

    assert (await store.tail("s")).next_seq == 3
    assert await FileStore(tmp_path).append("s", records(3, 1, "b"), 3, "b") == 4


async def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    await FileStore(tmp_path).append("s", records(0, 3, "a"), 0, "a")
    content = log_of(tmp_path).read_bytes()
    log_of(tmp_path).write_bytes(content.replace(b'"n":1', b'"n":7'))

    assert [each.seq for each in await FileStore(tmp_path).read("s")] == [0]


async def test_a_log_of_a_newer_version_is_neither_read_nor_cut(tmp_path: Path) -> None:
    import zlib

    await FileStore(tmp_path).append("s", records(0), 0, "k")
    body = b'{"v":2,"seq":1,"ts":"","event":"new","data":{}'
    newer = b'%b,"sum":"%08x"}\n' % (body, zlib.crc32(body))
    with log_of(tmp_path).open("ab") as file:
        file.write(newer)

    for ask in (FileStore(tmp_path).read("s"), FileStore(tmp_path).tail("s")):
        with pytest.raises(Unavailable, match="version 2"):
            await ask
    with pytest.raises(Unavailable, match="version 2"):
        await FileStore(tmp_path).append("s", records(1), 1, "k")
    assert log_of(tmp_path).read_bytes().endswith(newer)


async def test_a_second_store_on_the_same_files_fences_the_first(tmp_path: Path) -> None:
    first, second = FileStore(tmp_path), FileStore(tmp_path)
    await first.append("s", records(0, 1, "a"), 0, "a")
    await second.append("s", records(1, 1, "b"), 1, "b")

    with pytest.raises(Fenced):
        await first.append("s", records(1, 1, "c"), 1, "c")
    assert await first.append("s", records(2, 1, "c"), 2, "c") == 3


async def test_a_writer_with_an_open_file_is_fenced_by_a_deletion(tmp_path: Path) -> None:
    writer, other = FileStore(tmp_path), FileStore(tmp_path)
    await writer.append("s", records(0), 0, "k")
    await other.delete("s")

    with pytest.raises(Fenced):
        await writer.append("s", records(1), 1, "k")
    assert json.loads((tmp_path / "s" / "deleted.json").read_bytes())["session_id"] == "s"


async def test_a_removal_that_was_cut_off_after_its_tombstone_hides_the_session(
    tmp_path: Path,
) -> None:
    store = FileStore(tmp_path)
    await store.append("s", records(0), 0, "k")
    store.forget("s")
    (tmp_path / "s" / "deleted.json").write_text("{}")

    with pytest.raises(Fenced):
        await store.append("s", records(1), 1, "k")


HOLD = """
import asyncio, os, sys
from pathlib import Path
from amplifier.sessions.files import FileStore

store = FileStore(Path(sys.argv[1]))
asyncio.run(store.claim("s", {"pid": os.getpid()}))
print("held", flush=True)
sys.stdin.read()
"""


def test_the_claim_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(Held, match=str(process.pid)):
            asyncio.run(FileStore(tmp_path).claim("s", {}))
        process.kill()
        process.wait(10)

    asyncio.run(FileStore(tmp_path).claim("s", {}))


@pytest.mark.parametrize("session_id", ["", ".", "..", "a/b", "../x", "a\0b", "a\\b"])
async def test_an_id_that_would_lead_out_of_the_folder_is_refused(
    tmp_path: Path, session_id: str
) -> None:
    with pytest.raises(NoSession):
        await FileStore(tmp_path).append(session_id, records(0), 0, "k")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (float("nan"), "nan"),
        ({1: "a"}, {"1": "a"}),
        ({2.5, 1}, [1, 2.5]),
        ("\ud800", "\ud800"),
        (b"ab", "ab"),
        (Path("a"), "a"),
    ],
)
async def test_any_value_can_be_written(tmp_path: Path, value: Any, kept: Any) -> None:
    store = FileStore(tmp_path)
    await store.append("s", [new_record(0, "note", {"value": value}, key="k")], 0, "k")

    assert (await store.read("s"))[0].data == {"value": kept}
