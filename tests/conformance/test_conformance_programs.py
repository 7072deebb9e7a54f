"""The programs of the examples by themselves: how they start, whom they let in, how they end."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core._grpc_gen import amplifier_module_pb2_grpc as rpc
from amplifier_core.cli import main
from amplifier_core.testing import wait_for
from built_examples import REPO, built
from stage import CONFIG, PATIENCE, PYTHON, children, placed, plan_with
from subjects import PROGRAMS, SUBJECTS, Subject

pytestmark = pytest.mark.slow

every = pytest.mark.parametrize("name", [*PROGRAMS, "python"])


def command(name: str) -> list[str]:
    if name == "python":
        serve = ["-m", "amplifier_core.transports.serve", "--exit-with-stdin"]
        return [sys.executable, *serve, "--path", str(PYTHON), "tool-echo"]
    return [str(built(name) / PROGRAMS[name])]


@asynccontextmanager
async def running(
    name: str, *arguments: str, stdin: int = subprocess.PIPE, **variables: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *command(name),
        *arguments,
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", **variables},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


async def port_of(process: asyncio.subprocess.Process) -> int:
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
    assert line.startswith(b"READY:"), line
    return int(line.decode().removeprefix("READY:"))


async def ended(process: asyncio.subprocess.Process) -> int:
    return await asyncio.wait_for(process.wait(), PATIENCE)


@every
async def test_a_program_ends_when_its_stdin_does(name: str) -> None:
    async with running(name) as process:
        await port_of(process)
        assert process.stdin is not None

        process.stdin.close()

        assert await ended(process) == 0


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_program_started_by_hand_stays_until_it_is_told_to_end(name: str) -> None:
    """Its stdin is no pipe then, and its end says nothing."""
    async with running(name, stdin=subprocess.DEVNULL) as process:
        port = await port_of(process)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            health = await rpc.ModuleLifecycleStub(channel).HealthCheck(pb.Empty())
        assert health.status == pb.HEALTH_STATUS_SERVING

        process.terminate()

        assert await ended(process) in (0, -signal.SIGTERM)


@every
async def test_a_program_lets_in_only_who_knows_the_secret(name: str) -> None:
    async with running(name, AMPLIFIER_AUTH_TOKEN="open sesame") as process:
        port = await port_of(process)
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            lifecycle = rpc.ModuleLifecycleStub(channel)
            for metadata in [(), (("x-amplifier-token", "open barley"),)]:
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await lifecycle.GetModuleInfo(pb.Empty(), metadata=metadata)
                assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED

            known = (("x-amplifier-token", "open sesame"),)
            assert (await lifecycle.GetModuleInfo(pb.Empty(), metadata=known)).name


@every
async def test_a_program_listens_on_loopback_alone(name: str) -> None:
    async with running(name) as process:
        port = await port_of(process)

        assert listening_on(port) == {"127.0.0.1"}


def listening_on(port: int) -> set[str]:
    """The addresses at which this machine takes connections to `port`."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            _, local, _, state = line.split()[:4]
            address, _, number = local.partition(":")
            if state == "0A" and int(number, 16) == port:
                found.add("127.0.0.1" if address.endswith("0100007F") else address)
    return found


@every
async def test_a_program_says_what_is_wrong_with_its_arguments(name: str) -> None:
    async with running(name, "--port", "everywhere") as process:
        assert process.stdout is not None

        said = await asyncio.wait_for(process.stdout.read(), PATIENCE)

        assert await ended(process) != 0
        assert not said.startswith(b"READY")


# -- the end of the host --------------------------------------------------------------


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False


HOST = """\
import asyncio, json, sys
from amplifier_core import AmplifierSession

async def main():
    async with AmplifierSession(json.loads(sys.argv[1])) as session:
        assert session.status.failed_modules is None, session.status.failed_modules
        print(await session.execute('!tool echo {"text": "hallo"}'), flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def plan_of(subjects: list[Subject], folder: Path) -> dict[str, Any]:
    """A plan whose every part is one of the subjects."""
    plan: dict[str, Any] = {"session": {}}
    for subject in subjects:
        place = folder / subject.kind
        place.mkdir()
        made = plan_with(subject, CONFIG[subject.kind], placed(subject, place))
        if subject.kind in made["session"]:
            plan["session"][subject.kind] = made["session"][subject.kind]
        else:
            plan[f"{subject.kind}s"] = made[f"{subject.kind}s"]
    return plan


def elsewhere() -> list[Subject]:
    """One module of each kind, each with a process of its own."""
    chosen = {each.kind: each for each in SUBJECTS if each.transport in ("process", "sidecar")}
    return list(chosen.values())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
async def test_no_process_survives_a_host_that_is_killed(tmp_path: Path) -> None:
    plan = json.dumps(plan_of(elsewhere(), tmp_path))
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, plan, stdout=asyncio.subprocess.PIPE
    )
    assert host.stdout is not None
    said = await asyncio.wait_for(host.stdout.readline(), PATIENCE)
    processes = children(host.pid)

    host.kill()
    await host.wait()

    assert b"hallo" in said
    assert len(processes) == 6
    assert await wait_for(lambda: not any(map(is_running, processes)), PATIENCE)


# -- the validator --------------------------------------------------------------------


@pytest.mark.parametrize(
    "subject",
    [each for each in SUBJECTS if each.transport in ("sidecar", "wasm")],
    ids=lambda each: each.id,
)
def test_the_validator_finds_nothing_wrong_with_it(
    subject: Subject, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["validate", placed(subject, tmp_path)["source"]])

    said = capsys.readouterr().out
    assert code == 0, said
    assert f"Validating {subject.kind} module" in said
    assert "(0 errors, 0 warnings)" in said


def test_the_component_that_comes_along_is_what_its_sources_build() -> None:
    """As far as this compiler can say: another one builds other bytes."""
    fresh = (built("wasm-tool-rust") / "module.wasm").read_bytes()
    committed = (REPO / "examples" / "wasm-tool-rust" / "module.wasm").read_bytes()
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    compiler = next(line for line in told.splitlines() if line.startswith("commit-hash: "))
    if compiler.partition(": ")[2].encode() not in committed:
        pytest.skip("it was built by another compiler")

    assert fresh == committed, "Run examples/wasm-tool-rust/build.sh."
