"""Whatever a command starts and however it clings: the tool returns in time, nothing stays."""

import asyncio
import signal
import time
from pathlib import Path

import pytest
from helpers_bash import long_sleep, message, needs_proc, running, shell_in, until

pytestmark = needs_proc

STRAGGLER = (
    "After the shell had ended, 1 process that was still running had to be killed. To keep a "
    "process running, set 'run_in_background' and leave out the '&'."
)


WAYS_TO_STAY = [
    "{} &",
    "nohup {} >/dev/null 2>&1 &",
    "setsid {} &",
    "setsid {} >/dev/null 2>&1 </dev/null &",
    "(setsid {} >/dev/null 2>&1 &)",
    "setsid bash -c 'trap \"\" TERM HUP; exec {}' &",
    "env -i setsid {} >/dev/null 2>&1 &",
    "{} >&- 2>&- &",
]


async def test_what_a_command_leaves_running_is_killed_and_told(tmp_path: Path) -> None:
    sleeps = {way: long_sleep() for way in WAYS_TO_STAY}
    async with shell_in(tmp_path, timeout=10) as shell:
        calls = (shell.run(f"{way.format(sleep)}\necho done") for way, sleep in sleeps.items())
        results = dict(zip(sleeps, await asyncio.gather(*calls), strict=True))

        assert not {way: pids for way, sleep in sleeps.items() if (pids := running(sleep))}
    told = {way: (each.output["stdout"], each.output.get("note")) for way, each in results.items()}
    assert told == dict.fromkeys(sleeps, ("done\n", STRAGGLER))


async def test_a_daemon_that_forks_twice_and_closes_everything_is_killed(tmp_path: Path) -> None:
    sleep = long_sleep()
    program = tmp_path / "daemon.py"
    program.write_text(
        "import os, sys\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "open('ready', 'w').close()\n"
        "os.closerange(0, 1024)\n"
        "os.execvp('sleep', sys.argv[1].split())\n"
    )
    async with shell_in(tmp_path) as shell:
        await shell.run(f"python3 daemon.py '{sleep}'; until [ -e ready ]; do :; done", timeout=10)

        assert not running(sleep)


async def test_output_of_a_process_substitution_is_waited_for(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("echo late > >(sleep 0.1; cat)")

    assert result.output == {"stdout": "late\n", "stderr": "", "returncode": 0}


async def test_a_command_over_its_time_is_stopped_and_its_output_kept(tmp_path: Path) -> None:
    sleep = long_sleep()
    async with shell_in(tmp_path, timeout=0.3) as shell:
        result = await shell.run(f"echo begun; {sleep}")

        assert not running(sleep)
    text = (
        "The command was stopped after 0.3 s. Pass a longer 'timeout', or set 'run_in_background'."
    )
    assert message(result) == text
    assert result.error is not None
    assert result.error["type"] == "timeout"
    assert result.output["stdout"] == "begun\n"
    assert result.output["note"] == text


async def test_a_timeout_of_the_call_wins_over_the_configured_one(tmp_path: Path) -> None:
    async with shell_in(tmp_path, timeout=600) as shell:
        result = await shell.run(long_sleep(), timeout=0.2)

    assert "stopped after 0.2 s" in message(result)


async def test_a_command_over_its_time_may_first_tidy_up(tmp_path: Path) -> None:
    async with shell_in(tmp_path, timeout=0.3) as shell:
        result = await shell.run(
            "trap 'echo tidy; exit 5' TERM; while true; do read -t 0.01 < /dev/zero; done"
        )

    assert result.output["stdout"] == "tidy\n"
    assert result.output["returncode"] == 5
    assert "stopped after 0.3 s" in message(result)


async def test_a_command_that_ignores_sigterm_is_killed_soon_after(tmp_path: Path) -> None:
    sleep = long_sleep()
    async with shell_in(tmp_path, timeout=0.3) as shell:
        began = time.monotonic()
        result = await shell.run(f"trap '' TERM HUP INT; {sleep}; {sleep}")
        took = time.monotonic() - began

        assert not running(sleep)
    assert result.output["returncode"] == -signal.SIGKILL
    assert 0.8 <= took < 5


async def test_a_timeout_reaches_those_who_left_the_group(tmp_path: Path) -> None:
    here, there = long_sleep(), long_sleep()
    async with shell_in(tmp_path, timeout=0.5) as shell:
        await shell.run(f"setsid {there} >/dev/null 2>&1 & {here}")

        assert not running(here)
        assert not running(there)


async def test_cancelling_the_call_kills_the_whole_tree(tmp_path: Path) -> None:
    child, apart = long_sleep(), long_sleep()
    async with shell_in(tmp_path) as shell:
        call = asyncio.create_task(
            shell.run(f"setsid {apart} & bash -c 'touch began; {child}; true'")
        )
        await until(lambda: running(child) and running(apart))
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        assert not running(child)
        assert not running(apart)


async def test_cancelling_again_and_again_does_not_hinder_the_killing(tmp_path: Path) -> None:
    sleep = long_sleep()
    async with shell_in(tmp_path) as shell:
        call = asyncio.create_task(shell.run(f"trap '' TERM; {sleep}; {sleep}"))
        await until(lambda: running(sleep))
        while not call.done():
            call.cancel()
            await asyncio.wait([call], timeout=0.05)

        assert call.cancelled()
        assert not running(sleep)


async def test_a_call_cancelled_at_once_leaves_nothing(tmp_path: Path) -> None:
    sleep = long_sleep()
    async with shell_in(tmp_path) as shell:
        for steps in range(8):
            call = asyncio.create_task(shell.run(sleep))
            for _ in range(steps):
                await asyncio.sleep(0)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

            assert not running(sleep)


async def test_a_storm_of_forks_is_ended(tmp_path: Path) -> None:
    sleep = long_sleep()
    storm = f"for i in {{1..60}}; do setsid {sleep} >/dev/null 2>&1 & done; {sleep}"
    async with shell_in(tmp_path, timeout=1) as shell:
        await shell.run(storm)

        assert not running(sleep)


async def test_a_command_that_closes_its_pipes_is_waited_for(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("exec >&- 2>&-; sleep 0.2; touch done; exit 6")

    assert result.output["returncode"] == 6
    assert (tmp_path / "done").exists()


async def test_nested_tools_do_not_hide_processes_from_the_outer_one(tmp_path: Path) -> None:
    sleep = long_sleep()
    inner = f"AMPLIFIER_BASH_{'0' * 32}=1 setsid {sleep} >/dev/null 2>&1 &"
    async with shell_in(tmp_path) as shell:
        await shell.run(inner)

        assert not running(sleep)


async def test_processes_of_other_commands_are_left_alone(tmp_path: Path) -> None:
    sleep = long_sleep()
    async with shell_in(tmp_path) as shell:
        await shell.start(sleep)
        await until(lambda: running(sleep))
        await shell.run("true & sleep 0 &")

        assert running(sleep)
    assert not running(sleep)
