"""Background jobs: started at once, read piece by piece, killed whole, gone with the session."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from helpers_bash import long_sleep, message, needs_proc, running, shell_in, until

pytestmark = needs_proc


async def test_a_background_command_returns_at_once_with_its_id(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run(long_sleep(), run_in_background=True)
        output: dict[str, Any] = dict(result.output)
        pid = output.pop("pid")

        os.kill(pid, 0)
    assert output == {
        "job_id": "job-1",
        "message": "Started in the background as 'job-1'.",
        "note": "Read its output with action 'read', end it with action 'kill'. "
        "It is killed when the session ends.",
    }


async def test_reading_gives_only_what_is_new(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    async with shell_in(tmp_path) as shell:
        job = await shell.start("echo one; read x < gate; echo two; echo bad >&2; exit 3")
        first = await shell.job("read", job, timeout=5)
        (tmp_path / "gate").write_text("go\n")
        await until(lambda: shell.tool.jobs.get(job).state == "ended")
        second = await shell.job("read", job)
        third = await shell.job("read", job)

    assert (first["stdout"], first["state"], first["returncode"]) == ("one\n", "running", None)
    assert (second["stdout"], second["stderr"]) == ("two\n", "bad\n")
    assert (second["state"], second["returncode"]) == ("ended", 3)
    assert second["note"] == "The command ended with exit code 3."
    assert (third["stdout"], third["stderr"]) == ("", "")


async def test_reading_without_a_timeout_does_not_wait(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        job = await shell.start(long_sleep())
        async with asyncio.timeout(2):
            output = await shell.job("read", job)

    assert (output["stdout"], output["state"]) == ("", "running")


async def test_reading_with_a_timeout_waits_no_longer_than_that(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        job = await shell.start(long_sleep())
        output = await shell.job("read", job, timeout=0.1)

    assert output["state"] == "running"


async def test_reading_with_a_timeout_wakes_at_the_end(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        job = await shell.start("true")
        output = await shell.job("read", job, timeout=15)

    assert (output["state"], output["returncode"]) == ("ended", 0)


async def test_a_flood_between_two_readings_is_cut(tmp_path: Path) -> None:
    async with shell_in(tmp_path, max_output_bytes=100) as shell:
        job = await shell.start("seq 100000; touch done; sleep 600")
        await until((tmp_path / "done").exists)
        flood = await shell.job("read", job)
        quiet = await shell.job("read", job)

    assert flood["truncated"] is True
    assert len(flood["stdout"]) < 200
    assert flood["stdout"].startswith("1\n2\n")
    assert "truncated" not in quiet


async def test_killing_ends_all_that_the_job_started(tmp_path: Path) -> None:
    child, apart = long_sleep(), long_sleep()
    async with shell_in(tmp_path) as shell:
        job = await shell.start(f"echo up; setsid {apart} & {child}")
        await until(lambda: running(child) and running(apart))
        output = await shell.job("kill", job)

        assert not running(child)
        assert not running(apart)
    assert (output["stdout"], output["state"], output["returncode"]) == ("up\n", "ended", -15)
    assert output["note"] == "The command was killed by SIGTERM (15)."


async def test_killing_twice_does_no_harm(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        job = await shell.start(long_sleep())
        await shell.job("kill", job)
        output = await shell.job("kill", job)

    assert output["state"] == "ended"


async def test_the_list_tells_every_job_and_its_state(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        done = await shell.start("exit 4")
        await shell.job("read", done, timeout=5)
        going = await shell.start(long_sleep())
        jobs = (await shell.job("list"))["jobs"]

    assert [(job["job_id"], job["state"], job["returncode"]) for job in jobs] == [
        (done, "ended", 4),
        (going, "running", None),
    ]
    assert jobs[0]["command"] == "exit 4"


async def test_jobs_are_killed_when_the_session_ends(tmp_path: Path) -> None:
    plain, stubborn = long_sleep(), long_sleep()
    async with shell_in(tmp_path) as shell:
        await shell.start(plain)
        await shell.start(f"trap '' TERM HUP; setsid {stubborn} & {stubborn}; {stubborn}")
        await until(lambda: running(plain) and len(running(stubborn)) == 2)

    assert not running(plain)
    assert not running(stubborn)


async def test_a_loop_that_ends_without_a_clean_up_still_takes_its_jobs_along(
    tmp_path: Path,
) -> None:
    sleep = long_sleep()

    async def careless() -> None:
        context = shell_in(tmp_path)
        shell = await context.__aenter__()
        await shell.start(sleep)
        await until(lambda: running(sleep))

    await asyncio.to_thread(asyncio.run, careless())

    assert not running(sleep)


async def test_a_job_has_a_deadline_only_if_one_is_asked_for(tmp_path: Path) -> None:
    async with shell_in(tmp_path, timeout=0.1) as shell:
        forever = await shell.start(long_sleep())
        limited = await shell.start(long_sleep(), timeout=0.2)
        await until(lambda: shell.tool.jobs.get(limited).state == "ended")
        output = await shell.job("read", limited)

        assert (await shell.job("read", forever))["state"] == "running"
    assert "stopped after 0.2 s" in output["note"]


async def test_a_job_does_not_move_the_working_folder(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        job = await shell.start("cd /")
        await shell.job("read", job, timeout=5)
        result = await shell.run("pwd")

    assert result.output["stdout"] == f"{tmp_path}\n"


async def test_more_jobs_than_allowed_are_refused(tmp_path: Path) -> None:
    async with shell_in(tmp_path, max_concurrent=1) as shell:
        await shell.start(long_sleep())
        result = await shell.run(long_sleep(), run_in_background=True)
        alongside = await shell.run("echo fine")

    assert message(result) == (
        "No more than 1 background jobs may run at a time. Kill one, or wait until one ends."
    )
    assert alongside.success


async def test_a_dangerous_command_is_refused_in_the_background_too(tmp_path: Path) -> None:
    async with shell_in(tmp_path, safety_profile="strict") as shell:
        result = await shell.run("sudo true", run_in_background=True)

    assert result.error is not None
    assert result.error["type"] == "blocked"


@pytest.mark.parametrize(
    ("input", "text"),
    [
        ({"action": "stop"}, "There is no action 'stop'. Use 'read', 'kill' or 'list'."),
        ({"action": "read"}, "There is no background job None. Known jobs: job-1."),
        (
            {"action": "kill", "job_id": "job-7"},
            "There is no background job 'job-7'. Known jobs: job-1.",
        ),
    ],
)
async def test_a_wrong_job_or_action_is_answered_with_the_right_ones(
    input: dict[str, Any], text: str, tmp_path: Path
) -> None:
    async with shell_in(tmp_path) as shell:
        await shell.start("true")
        result = await shell.tool.execute(input)

    assert message(result) == text
