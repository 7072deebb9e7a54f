"""What `amplifier run` gives a model to work with, and who is asked before it works."""

import fcntl
import json
import os
import pty
import re
import select
import subprocess
import termios
import time
from functools import partial
from pathlib import Path

import pytest
from helpers_app import COMMAND, SECONDS, App, Ended

ASKS = re.compile(rb"no, because ...: |will read it: ")
FAILS = "async def mount(coordinator, config=None):\n    raise ValueError('There is no light.')\n"
ONE_CALL = """
    async def reply(number, request):
        if number == 1:
            return uses({tool!r}, **{arguments!r})
        told = [each.content for each in request.messages if each.role == "tool"]
        return says("It said: " + str(told))
"""
SHOWS_ITSELF = """
    async def reply(number, request):
        return says("Hello.")

    async def mount(coordinator, config=None):
        await coordinator.mount("providers", Standin(), name="standin")
        coordinator.register_capability("ui.answer_shown", lambda: True)
"""


@pytest.fixture
def app(tmp_path: Path) -> App:
    app = App(tmp_path)
    # What comes with the command, not the plain bundle of the other tests.
    (app.home / "settings.yaml").unlink()
    app.env["HOME"] = str(app.home)
    return app


def calls(app: App, tool: str, **arguments: object) -> None:
    """Offer a provider whose model calls `tool` once and says what came back."""
    app.offer_provider(ONE_CALL.format(tool=tool, arguments=arguments), "provider-real")


def run_in_terminal(app: App, *answers: str) -> Ended:
    """Run the command with a terminal as stdin and stderr; `answers` are typed when it asks."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "run", "-p", "real", "Go."],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=app.work,
        env=app.env,
        start_new_session=True,
        preexec_fn=partial(fcntl.ioctl, 2, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    seen, deadline = b"", time.monotonic() + SECONDS
    left, after = list(answers), 0
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 1)[0]:
                continue
            try:
                seen += os.read(ours, 4096)
            except OSError:
                break
            if left and ASKS.search(seen, after):
                after = len(seen)
                os.write(ours, left.pop(0).encode())
        out, _ = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return Ended(process.returncode, out.decode(), seen.decode())


def test_a_real_model_is_equipped_and_guarded(app: App) -> None:
    calls(app, "none")

    plan = json.loads(app.run("plan", "--json").out)

    assert {each["module"] for each in plan["plan"]["tools"]} >= {
        "tool-filesystem", "tool-search", "tool-bash", "tool-web", "tool-todo",
    }  # fmt: skip
    assert {each["module"] for each in plan["plan"]["hooks"]} >= {
        "hooks-redaction", "hooks-approval", "hooks-status-context", "hooks-todo-reminder",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("read_file", {"file_path": "notes.txt"}, "buy milk"),
        ("grep", {"pattern": "milk"}, "notes.txt"),
        ("bash", {"command": "ls"}, "notes.txt"),
        ("todo", {"action": "list"}, "listed"),
    ],
)
def test_reads_in_the_project_are_not_asked_about(
    app: App, tool: str, arguments: dict[str, str], told: str
) -> None:
    (app.work / "notes.txt").write_text("buy milk\n")
    calls(app, tool, **arguments)

    ended = app.run("run", "-p", "real", "Go.")

    assert (ended.code, told in ended.out) == (0, True), ended


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bash", {"command": "touch made.txt"}),
        ("write_file", {"file_path": "made.txt", "content": "x"}),
        ("read_file", {"file_path": "/etc/passwd"}),
        ("web_fetch", {"url": "http://127.0.0.1:9/"}),
    ],
)
def test_everything_else_is_denied_with_a_hint_when_nobody_can_be_asked(
    app: App, tool: str, arguments: dict[str, str]
) -> None:
    calls(app, tool, **arguments)

    ended = app.run("run", "-p", "real", "Go.")

    assert ended.code == 0
    assert "Denied by hook: Not approved" in ended.out
    assert "There is nobody to ask: run it in a terminal, or add a rule to 'allow'" in ended.err
    assert list(app.work.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "is_made"), [("y", True), ("s", True), ("n", False)])
def test_a_person_at_the_terminal_decides(app: App, answer: str, is_made: bool) -> None:
    calls(app, "bash", command="touch made.txt")

    ended = run_in_terminal(app, answer)

    assert ended.code == 0, ended
    assert (app.work / "made.txt").exists() is is_made
    assert "May I run this command?" in ended.err
    assert "touch made.txt" in ended.err
    assert "No rule allows" in ended.err
    assert ended.out.startswith("It said: ")


@pytest.mark.slow
def test_what_is_pasted_into_a_question_answers_nothing(app: App) -> None:
    calls(app, "bash", command="touch made.txt")

    ended = run_in_terminal(app, "yes, do it\ny\n", "\x04")

    assert ended.code == 0, ended
    assert "That came too fast to be an answer" in ended.err
    assert not (app.work / "made.txt").exists()


@pytest.mark.slow
def test_what_is_allowed_for_good_is_not_asked_about_again(app: App) -> None:
    calls(app, "bash", command="touch made.txt")
    run_in_terminal(app, "p")
    (app.work / "made.txt").unlink()

    ended = run_in_terminal(app)

    assert (ended.code, (app.work / "made.txt").exists()) == (0, True), ended
    assert "run 'touch made.txt'" in app.run("approve", "list").out


@pytest.mark.slow
def test_a_person_says_why_not_and_the_model_reads_it(app: App) -> None:
    calls(app, "bash", command="touch made.txt")

    ended = run_in_terminal(app, "r", "It is late.\n")

    assert "Not approved: It is late." in ended.out


@pytest.mark.slow
def test_ctrl_c_at_a_question_denies_the_call_and_stops(app: App) -> None:
    calls(app, "bash", command="touch made.txt")

    ended = run_in_terminal(app, "\x03")

    assert ended.code == 130, ended
    assert not (app.work / "made.txt").exists()


@pytest.mark.parametrize("options", [[], ["--allow-partial"]])
def test_nothing_runs_without_a_hook_that_may_be_a_guard(app: App, options: list[str]) -> None:
    calls(app, "todo", action="list")
    app.offer("hooks-approval", FAILS)

    ended = app.run("run", "-p", "real", *options, "Go.")

    assert (ended.code, ended.out) == (1, "")
    assert ended.last_line == (
        "amplifier: Not everything could be loaded: 'hooks-approval': There is no light. "
        "Nothing is run without its hooks."
    )


def test_the_view_steps_aside_for_a_module_that_shows_the_session(app: App) -> None:
    app.offer_provider(SHOWS_ITSELF)

    ended = app.run("run", "-p", "mock", "Hello")

    # Into a pipe the answer still goes: what the module shows is on stderr.
    assert (ended.code, ended.out, ended.err) == (0, "Hello.\n", "")
