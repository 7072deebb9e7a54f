"""Cuts a recorded session at every point where a crash could, and recovers each cut.

The operations of a real session on its files are written down once. A cut is what a disk may hold
if the process dies after one of them, or the power fails: what was not synced yet is there, is
missing, or is torn at any byte.
"""

import asyncio
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from amplifier_core import HookResult
from amplifier_core.correlation import tool_call
from helpers_sessions import (
    SESSION,
    Counter,
    calls,
    mount_tools,
    plan,
    session_of,
)
from helpers_validity import problems

from amplifier.sessions.disk import Disk
from amplifier.sessions.files import FileStore
from amplifier.sessions.loading import load, load_to_go_on
from amplifier.sessions.resuming import bring_back

CHILD = f"{SESSION}-child"
LONG = "A long text. " * 40


class Op(NamedTuple):
    """One thing that happened: to a file, or to be remembered."""

    kind: str
    path: Path = Path()
    content: bytes = b""
    number: int = 0
    name: str = ""


class TracingDisk(Disk):
    """Does everything, and writes down what it does."""

    def __init__(self, trace: list[Op]) -> None:
        self.trace = trace
        self._paths: dict[int, Path] = {}

    def open_log(self, path: Path, *, create: bool) -> int:
        if not path.exists():
            self.trace.append(Op("create", path))
        handle = super().open_log(path, create=create)
        self._paths[handle] = path
        return handle

    def append(self, handle: int, content: bytes) -> None:
        if handle in self._paths:
            self.trace.append(Op("append", self._paths[handle], content))
        super().append(handle, content)

    def truncate(self, handle: int, size: int) -> None:
        self.trace.append(Op("truncate", self._paths[handle], number=size))
        super().truncate(handle, size)

    def sync(self, handle: int) -> None:
        super().sync(handle)
        self.trace.append(Op("sync", self._paths[handle]))

    def sync_folder(self, path: Path) -> None:
        super().sync_folder(path)
        self.trace.append(Op("sync-folder", path))

    def write_file(self, path: Path, content: bytes, *, durable: bool) -> None:
        super().write_file(path, content, durable=durable)
        self.trace.append(Op("file", path, content))


class TracingStore(FileStore):
    """Writes down what it has acknowledged."""

    def __init__(self, folder: Path, trace: list[Op]) -> None:
        super().__init__(folder, disk=TracingDisk(trace))
        self.trace = trace

    async def append(self, session_id: str, *args: Any) -> int:
        end = await super().append(session_id, *args)
        self.trace.append(Op("ack", name=session_id, number=end))
        return end


class Traced(Counter):
    """A tool whose runs are in the trace."""

    def __init__(self, trace: list[Op], name: str, effect: str | None = None) -> None:
        super().__init__(name, effect)
        self.trace = trace

    async def execute(self, input: dict[str, Any]) -> Any:
        scope = tool_call.get()
        assert scope is not None
        self.trace.append(Op("ran", name=scope.call_id))
        await asyncio.sleep(0)
        return await super().execute(input)


class Delegating(Traced):
    """Has a child session do the work."""

    session: Any = None

    async def execute(self, input: dict[str, Any]) -> Any:
        script = [calls("pure"), {"text": "The child is done."}]
        async with self.session.fork(plan(*script), CHILD) as child:
            await mount_tools(child, [Traced([], "pure", "pure")])
            await child.execute("Do it.")
        return await super().execute(input)


class Yes:
    """A person who allows everything."""

    async def request_approval(self, *_: Any) -> str:
        return "Allow"


def ask_about_external(event: str, data: dict[str, Any]) -> HookResult:
    action = "ask_user" if data["tool_name"] == "external" else "continue"
    return HookResult(action=action, approval_prompt="Really?")


SCRIPT = [
    {"text": "First.", **calls("external", "idempotent", "pure", text="ä" * 30)},
    {"stream": ["It ", "is ", "done. ", LONG]},
    calls("delegate"),
    {"text": LONG, **calls("external")},
    {"text": "x" * 70_000},
    calls("pure", "external"),
    {"text": "All done."},
]


async def record(folder: Path) -> list[Op]:
    """The trace of one session: parallel tools, a question, compaction, a child, streaming."""
    trace: list[Op] = []
    config = plan(*SCRIPT)
    config["session"]["context"]["config"] = {"max_tokens": 900, "compact_threshold": 0.5}
    names = {"external": None, "idempotent": "idempotent", "pure": "pure"}
    tools = [Traced(trace, name, effect) for name, effect in names.items()]
    delegate = Delegating(trace, "delegate")
    async with session_of(TracingStore(folder, trace), config) as session:
        session.coordinator.approval_system = Yes()
        delegate.session = session
        await mount_tools(session, [*tools, delegate])
        session.coordinator.hooks.register("tool:pre", ask_about_external)
        for prompt in ("Begin.", "Delegate.", "End."):
            await session.execute(prompt)
    inside = [op for op in trace if not op.path.name or op.path.is_relative_to(folder)]
    return [op._replace(path=op.path.relative_to(folder)) if op.path.name else op for op in inside]


class Cut(NamedTuple):
    """A disk after a crash, and what was true before it."""

    files: dict[Path, bytes]
    acknowledged: dict[str, int]
    ran: frozenset[str]
    what: str


def cuts(trace: list[Op], every_byte: bool) -> Iterator[Cut]:
    """Every state that a crash can leave, once."""
    files: dict[Path, bytes] = {}
    acknowledged: dict[str, int] = {}
    ran: frozenset[str] = frozenset()
    seen: set[bytes] = set()
    for number, op in enumerate(trace):
        for state, what in _states(files, op, every_byte):
            cut = Cut(state, dict(acknowledged), ran, f"operation {number} ({op.kind}), {what}")
            digest = _digest(cut)
            if digest not in seen:
                seen.add(digest)
                yield cut
        files = _after(files, op)
        if op.kind == "ack":
            acknowledged[op.name] = op.number
        elif op.kind == "ran":
            ran |= {op.name}
    yield Cut(files, acknowledged, ran, "the end")


def _after(files: dict[Path, bytes], op: Op) -> dict[Path, bytes]:
    if op.kind == "create":
        return {**files, op.path: b""}
    if op.kind == "append":
        return {**files, op.path: files[op.path] + op.content}
    if op.kind == "truncate":
        return {**files, op.path: files[op.path][: op.number]}
    return {**files, op.path: op.content} if op.kind == "file" else files


def _states(
    files: dict[Path, bytes], op: Op, every_byte: bool
) -> Iterator[tuple[dict[Path, bytes], str]]:
    """What may be on the disk around an operation."""
    yield files, "before"
    if op.kind != "append":
        yield _after(files, op), "after"
        return
    size = len(op.content)
    step = 1 if every_byte else max(1, size // 40)
    for end in {*range(1, size, step), size - 1, size}:
        yield {**files, op.path: files[op.path] + op.content[:end]}, f"torn at byte {end}"
    # Some disks know already how long a file is, but not yet what is in it.
    for end in (0, size // 2, size - 1):
        torn = op.content[:end] + b"\0" * (size - end)
        yield {**files, op.path: files[op.path] + torn}, f"zeros from byte {end}"


def _digest(cut: Cut) -> bytes:
    digest = hashlib.sha256(repr((sorted(cut.acknowledged.items()), sorted(cut.ran))).encode())
    for path in sorted(cut.files):
        digest.update(f"{path} {len(cut.files[path])} ".encode() + cut.files[path])
    return digest.digest()


async def recover(cut: Cut, folder: Path) -> None:
    """Put a cut on a disk, let the session go on, and check what is promised."""
    for path, content in cut.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    store = FileStore(folder, "relaxed")
    for session_id, end in cut.acknowledged.items():
        assert (await store.tail(session_id)).next_seq >= end, "acknowledged records are lost"
    if not (await store.tail(SESSION)).next_seq:
        assert not cut.ran
        return
    state, _ = await load_to_go_on(store, SESSION)
    begun = {each.call_id for each in state.calls if each.state in ("started", "finished")}
    assert cut.ran <= begun, "a call that ran counts as not started"
    assert not problems(state.messages), problems(state.messages)
    await _go_on(store, state)


async def _go_on(store: FileStore, state: Any) -> None:
    effects = {"external": None, "idempotent": "idempotent", "pure": "pure", "delegate": None}
    tools = {name: Counter(name, effect) for name, effect in effects.items()}
    session = session_of(store, plan({"text": "Next."}), state)
    async with session:
        await mount_tools(session, tools.values())
        await bring_back(session, state)
        assert await session.execute("Go on.") == "Next."
    assert not tools["external"].runs, "an external call ran twice, and nobody asked for it"
    assert not tools["delegate"].runs
    started = [each for each in state.open_calls if each.state == "started"]
    repeated = [each for each in started if each.effect != "external"]
    assert sum(len(each.runs) for each in tools.values()) == len(repeated)
    after = await load(store, SESSION)
    assert not after.open_calls
    assert after.turns[-1].status == "success"
    assert not problems(after.messages), problems(after.messages)


async def crash(every_byte: bool) -> int:
    """Recover every cut; how many there were."""
    with tempfile.TemporaryDirectory(dir=fast_folder()) as folder:
        trace = await record(Path(folder, "recorded"))
        count = 0
        for count, cut in enumerate(cuts(trace, every_byte), start=1):
            place = Path(folder, "cut")
            try:
                await recover(cut, place)
            except Exception as error:
                raise AssertionError(f"Cut {count}: {cut.what}: {error}") from error
            shutil.rmtree(place, ignore_errors=True)
        return count


def fast_folder() -> str | None:
    """Thousands of cuts need no disk: what it would do is part of the trace."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    print(asyncio.run(crash("--all" in sys.argv)), "cuts recovered")
