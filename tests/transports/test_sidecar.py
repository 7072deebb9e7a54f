"""A module that is a program: started, called, watched, and never left behind."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import ModuleCoordinator
from amplifier_core.loader import ModuleLoader, ModuleValidationError
from amplifier_core.testing import wait_for
from helpers_sidecar import TOOL, is_running, sidecar_dir

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX processes")


async def mounted(path: Path, config: Any = None) -> Any:
    """The tool of the sidecar in `path`, its coordinator, and its cleanup."""
    coordinator = ModuleCoordinator()
    mount = await ModuleLoader().load("tool-side", config, path, coordinator)
    cleanup = await mount(coordinator)
    return coordinator.get("tools", "side"), coordinator, cleanup


@pytest.mark.slow
async def test_a_sidecar_is_started_configured_called_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "hidden")
    monkeypatch.setenv("SHOWN_KEY", "shown")
    path = sidecar_dir(tmp_path, more='args = ["--fast"]\nenv = ["SHOWN_KEY"]')
    tool, _, cleanup = await mounted(path, {"depth": 3})

    seen = (await tool.execute({"text": "é" * 100_000})).output

    assert seen["text"] == "é" * 100_000
    assert seen["config"] == {"depth": "3"}
    assert (seen["args"][0], seen["args"][2:]) == ("--port", ["--fast"])
    assert seen["cwd"] == str(tmp_path)
    assert seen["env"]["SHOWN_KEY"] == "shown"
    assert "SECRET_KEY" not in seen["env"]
    assert seen["env"]["AMPLIFIER_KERNEL_ENDPOINT"].startswith("127.0.0.1:")
    assert len(seen["env"]["AMPLIFIER_AUTH_TOKEN"]) == 36
    await cleanup()
    assert not is_running(seen["pid"])
    assert "has been unmounted" in (await tool.execute({})).output


@pytest.mark.slow
async def test_a_sidecar_that_dies_in_mid_call_fails_that_call_and_is_started_again(
    tmp_path: Path,
) -> None:
    path = sidecar_dir(tmp_path, more="restarts = 1")
    tool, coordinator, cleanup = await mounted(path, {"depth": 3})
    heard: list[tuple[str, Any]] = []
    coordinator.hooks.register("*", lambda event, data: heard.append((event, data)))

    died = await tool.execute({"do": "exit"})
    back = await tool.execute({})
    again = await tool.execute({"do": "exit"})
    last = await tool.execute({})

    assert "Its process exited with code 3. The next call starts it again." in died.output
    assert back.output["config"] == {"depth": "3"}
    assert "It stays down." in again.output
    assert "is not started again" in last.output
    assert [event for event, _ in heard] == ["module:crashed", "module:restarted"]
    assert heard[0][1]["exit_code"] == 3
    assert heard[0][1]["restarts_left"] == 0
    await cleanup()


@pytest.mark.slow
async def test_a_sidecar_that_is_killed_between_calls_is_noticed(tmp_path: Path) -> None:
    tool, _, cleanup = await mounted(sidecar_dir(tmp_path))
    pid = (await tool.execute({})).output["pid"]
    os.kill(pid, signal.SIGKILL)
    assert await wait_for(lambda: not is_running(pid), 5)

    result = await tool.execute({})
    again = result if result.success else await tool.execute({})

    assert again.output["pid"] != pid
    await cleanup()


IGNORES_TERM = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
SLEEPS = "import time\nwhile True: time.sleep(100)\n"
FLOODS = (
    "import sys\nfor _ in range(200_000): print('x' * 100)\nprint('y' * 10_000_000, flush=True)\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (SLEEPS, "did not send READY within 0.5 s"),
        (IGNORES_TERM + SLEEPS, "did not send READY within 0.5 s"),
        ("import sys\nprint('boom', file=sys.stderr)\nsys.exit(4)", "exited early with code 4"),
        ("print('ERROR: no such model.')", "could not start: no such model."),
        ("print('ERROR:')", "it gives no reason"),
        ("print('READY:http')", "malformed READY ('READY:http')"),
        ("print('READY:0')", "malformed READY"),
        ("import sys\nsys.stdout.write('READY:70000')", "malformed READY"),
        (FLOODS + "print('ERROR:enough', flush=True)", "could not start: enough"),
        (
            "import os, time\nprint('hm', flush=True)\nos.close(1)\n" + SLEEPS,
            "closed its output without READY. It last printed 'hm'.",
        ),
    ],
)
async def test_a_sidecar_that_does_not_come_up_is_ended_and_explained(
    tmp_path: Path, code: str, said: str
) -> None:
    note = "import os\nopen('pid', 'w').write(str(os.getpid()))\n"
    timeouts = "start_timeout = 0.5" if "0.5 s" in said else "start_timeout = 10"
    path = sidecar_dir(tmp_path, note + code, more=f"{timeouts}\nstop_timeout = 0.2")

    with pytest.raises(RuntimeError) as caught:
        await mounted(path)

    assert said in str(caught.value)
    pid = tmp_path / "pid"
    assert not pid.exists() or not is_running(int(pid.read_text()))


@pytest.mark.slow
async def test_a_flood_after_ready_does_not_stop_a_sidecar(tmp_path: Path) -> None:
    flood = TOOL.replace("asked = json", "sys.stdout.write('x\\n' * 1_000_000); asked = json")
    tool, _, cleanup = await mounted(sidecar_dir(tmp_path, flood))

    assert (await asyncio.wait_for(tool.execute({"text": "through"}), 20)).output[
        "text"
    ] == "through"
    await cleanup()


@pytest.mark.slow
async def test_a_sidecar_that_ignores_sigterm_is_killed_with_its_children(tmp_path: Path) -> None:
    code = (
        "import os\nos.set_inheritable(0, False)\n"
        + IGNORES_TERM
        + TOOL.replace(
            "CONFIG = {}",
            "import subprocess\nCONFIG = {'child': subprocess.Popen(['sleep', '1000']).pid}",
        )
    )
    tool, _, cleanup = await mounted(sidecar_dir(tmp_path, code, more="stop_timeout = 0.2"))
    seen = (await tool.execute({})).output

    await cleanup()

    assert not is_running(seen["pid"])
    assert await wait_for(lambda: not is_running(seen["config"]["child"]), 5)


@pytest.mark.slow
async def test_mounting_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    note = "import os\nopen('pid', 'w').write(str(os.getpid()))\n"
    path = sidecar_dir(tmp_path, note + SLEEPS, more="stop_timeout = 0.2")
    mounting = asyncio.create_task(mounted(path))
    pid = tmp_path / "pid"
    assert await wait_for(lambda: pid.exists() and pid.read_text() != "", 10)

    mounting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await mounting
    assert not is_running(int(pid.read_text()))


HOST = """\
import asyncio, sys
from pathlib import Path
from amplifier_core import ModuleCoordinator
from amplifier_core.loader import ModuleLoader

async def main():
    coordinator = ModuleCoordinator()
    mount = await ModuleLoader().load("tool-side", {}, Path(sys.argv[1]), coordinator)
    await mount(coordinator)
    seen = await coordinator.get("tools", "side").execute({})
    print(seen.output["pid"], flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
async def test_no_sidecar_survives_its_host(tmp_path: Path) -> None:
    path = sidecar_dir(tmp_path)
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, str(path), stdout=asyncio.subprocess.PIPE
    )
    assert host.stdout is not None
    pid = int(await asyncio.wait_for(host.stdout.readline(), 20))

    host.kill()
    await host.wait()

    assert await wait_for(lambda: not is_running(pid), 5)


@pytest.mark.slow
async def test_no_file_descriptor_is_left_behind(tmp_path: Path) -> None:
    path = sidecar_dir(tmp_path)
    _, _, cleanup = await mounted(path)
    await cleanup()
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(2):
        _, _, cleanup = await mounted(path)
        await cleanup()

    assert await wait_for(lambda: len(os.listdir("/proc/self/fd")) <= before + 1, 10)


# -- finding it -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("", "requires 'crate' field"),
        ('crate = ""', "requires 'crate' field"),
        ('crate = "../evil"', "must be a simple identifier"),
        ('crate = ".evil"', "must be a simple identifier"),
        ('crate_name = "a/b"', "must be a simple identifier"),
    ],
)
async def test_a_crate_must_be_a_simple_name(tmp_path: Path, module: str, said: str) -> None:
    (tmp_path / "amplifier.toml").write_text(f'[module]\ntransport = "rust"\n{module}\n')

    with pytest.raises(ModuleValidationError, match=said):
        await mounted(tmp_path)


async def test_a_program_that_is_not_built_is_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "amplifier.toml").write_text('[module]\ntransport = "rust"\ncrate_name = "x"\n')

    with pytest.raises(FileNotFoundError, match="cargo build --release"):
        await mounted(tmp_path)


async def test_a_program_outside_its_module_is_refused(tmp_path: Path) -> None:
    evil = sidecar_dir(tmp_path / "mod-evil")
    path = sidecar_dir(tmp_path / "mod")
    (path / "side").unlink()
    (path / "side").symlink_to(evil / "side")

    with pytest.raises(ModuleValidationError, match="escapes module directory"):
        await mounted(path)


async def test_a_program_that_cannot_be_run_is_reported(tmp_path: Path) -> None:
    path = sidecar_dir(tmp_path)
    (path / "side").chmod(0o644)

    with pytest.raises(RuntimeError, match="cannot be started: Permission denied"):
        await mounted(path)
