"""What the model is told about a command: its output, how it ended, and what to do next."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from typing import Any

from amplifier_core.models import ToolResult

from amplifier_modules.shell.jobs import Job, News
from amplifier_modules.shell.process import Ending, ShellCommand

_MOST_OF_A_COMMAND = 200


def refused(message: str, kind: str) -> ToolResult:
    """A result for what was not run at all."""
    return ToolResult(success=False, error={"message": message, "type": kind})


def result_of(command: ShellCommand, ending: Ending, note: str | None) -> ToolResult:
    """The result of a command that was waited for."""
    printed = News(command.stdout.capture.printed(), command.stderr.capture.printed())
    output = _output(printed, ending)
    notes = " ".join(filter(None, (note, _unusual_end(ending), _stragglers(ending))))
    if notes:
        output["note"] = notes
    if ending.returncode == 0 and ending.cause == "exit":
        return ToolResult(success=True, output=output)
    kind = "timeout" if ending.cause == "timeout" else "exit_code"
    return ToolResult(
        success=False, output=output, error={"message": _how_it_ended(ending), "type": kind}
    )


def started_job(job: Job) -> ToolResult:
    output = {
        "pid": job.command.pid,
        "job_id": job.id,
        "message": f"Started in the background as {job.id!r}.",
        "note": "Read its output with action 'read', end it with action 'kill'. "
        "It is killed when the session ends.",
    }
    return ToolResult(success=True, output=output)


def job_list(jobs: Iterable[Job]) -> ToolResult:
    return ToolResult(success=True, output={"jobs": [_about(job) for job in jobs]})


def job_result(job: Job, news: News) -> ToolResult:
    """What a job printed since the last time; it succeeds even if the job failed."""
    output = {**_about(job), **_output(news, job.ending)}
    if job.ending is not None:
        notes = (_how_it_ended(job.ending), _stragglers(job.ending))
        output["note"] = " ".join(filter(None, notes))
    return ToolResult(success=True, output=output)


def _about(job: Job) -> dict[str, Any]:
    return {
        "job_id": job.id,
        "command": job.text[:_MOST_OF_A_COMMAND],
        "pid": job.command.pid,
        "state": job.state,
        "seconds": round(job.seconds, 1),
        "returncode": job.ending.returncode if job.ending is not None else None,
    }


def _output(printed: News, ending: Ending | None) -> dict[str, Any]:
    output: dict[str, Any] = {
        "stdout": printed.stdout.text,
        "stderr": printed.stderr.text,
        "returncode": ending.returncode if ending is not None else None,
    }
    if printed.stdout.truncated or printed.stderr.truncated:
        output["truncated"] = True
        output["stdout_total_bytes"] = printed.stdout.total_bytes
        output["stderr_total_bytes"] = printed.stderr.total_bytes
    return output


def _how_it_ended(ending: Ending) -> str:
    code = ending.returncode
    if code is None:
        return "The command does not end, not even by SIGKILL. Leave it alone."
    return _unusual_end(ending) or f"The command ended with exit code {code}."


def _unusual_end(ending: Ending) -> str | None:
    """What the return code alone does not tell."""
    if ending.cause == "timeout":
        return (
            f"The command was stopped after {ending.limit:g} s. "
            "Pass a longer 'timeout', or set 'run_in_background'."
        )
    code = ending.returncode or 0
    if code < 0:
        return f"The command was killed by {_signal(-code)}."
    if code > 128 and _signal(code - 128):
        return f"Exit code {code} usually means killed by {_signal(code - 128)}."
    return None


def _stragglers(ending: Ending) -> str | None:
    count = ending.stragglers
    if not count or ending.cause != "exit":
        return None
    which = "1 process that was" if count == 1 else f"{count} processes that were"
    return (
        f"After the shell had ended, {which} still running had to be killed. To keep a process "
        "running, set 'run_in_background' and leave out the '&'."
    )


def _signal(number: int) -> str | None:
    try:
        return f"{signal.Signals(number).name} ({number})"
    except ValueError:
        return None
