"""Going on with an earlier session: by id, by name, from a list, and without a terminal."""

import sys
from collections.abc import Iterator

import pytest
from helpers_app import App
from helpers_tmux import Terminal, needs_tmux

from amplifier.sessions.choosing import Choice
from amplifier.sessions.index import Summary
from amplifier.sessions.listing import Line, age


def line(id: str, title: str = "Hello", **more: object) -> Line:
    facts = {"name": None, "cost": None, "changed": 0.0, **more}
    summary = Summary(
        session_id=id, size=1, parent_id=None, is_child=False, title=title, turns=1,
        status="success", **facts,
    )  # fmt: skip
    return Line("project", summary)


def test_without_a_session_both_commands_say_how_to_begin(app: App) -> None:
    for command in ("continue", "resume"):
        ended = app.run(command)

        assert ended.code == 1
        assert "no session yet" in ended.err
        assert "amplifier run" in ended.err


def test_without_a_terminal_the_latest_sessions_are_listed(app: App) -> None:
    assert app.run("run", "-p", "mock", "First of all").code == 0

    ended = app.run("resume")

    assert ended.code == 2
    assert "say which session to resume" in ended.err
    assert "First of all" in ended.err


def test_an_id_may_be_shortened_and_a_name_will_do(app: App) -> None:
    started = app.run("run", "-p", "mock", "--output-format", "json", "Hello").document
    session_id = str(started["session_id"])
    assert app.run("session", "rename", session_id, "notes").code == 0

    for wanted in (session_id[:6], "notes"):
        ended = app.run("resume", wanted, "--output-format", "json", "And then?")
        assert ended.document["session_id"] == session_id


def test_what_is_piped_in_is_the_prompt_of_a_session_that_goes_on(app: App) -> None:
    app.run("run", "-p", "mock", "Hello")

    assert app.run("continue", stdin="And then?").code == 0
    without = app.run("continue", stdin="")

    assert without.code == 2
    assert "There is no prompt." in without.err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0s"), (59, "59s"), (60, "1m"), (3_600, "1h"), (86_400 * 12, "12d")],
)
def test_an_age_is_told_in_its_largest_unit(seconds: float, text: str) -> None:
    assert age(seconds) == text


def test_a_choice_goes_round_and_takes_numbers() -> None:
    choice = Choice([line("a"), line("b"), line("c")])

    choice.move(-1)
    assert choice.session_id == "c"
    choice.move(1)
    assert choice.session_id == "a"
    choice.jump(2)
    choice.jump(9)
    assert choice.session_id == "b"


def test_a_choice_shows_name_prompt_and_cost_and_no_codes_for_the_terminal() -> None:
    shown = "".join(
        text
        for _, text, *_ in Choice([line("abc", "Be \x1b[31mred", name="n", cost="1.5")]).shown()
    )

    assert "[n] Be ?[31mred  $1.50" in shown


@pytest.fixture(params=[24])
def terminal(app: App, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    """In which `amplifier resume` was called, in a project with two sessions."""
    for prompt in ("The older one", "The newer one"):
        assert app.run("run", "-p", "mock", prompt).code == 0
    environment = {key: app.env[key] for key in ("AMPLIFIER_HOME", "PYTHONPATH")}
    command = [sys.executable, "-m", "amplifier.cli", "resume"]
    opened = Terminal(command, app.work, environment=environment, rows=request.param)
    yield opened
    opened.close()


@needs_tmux
@pytest.mark.slow
def test_arrows_choose_a_session_and_enter_goes_on_with_it(terminal: Terminal) -> None:
    terminal.wait_for(">  1", "The newer one", "The older one")
    terminal.press("Down")
    terminal.wait_for(">  2")
    terminal.press("Enter")

    screen = terminal.wait_for("\n>", "mock-model")
    assert "Which session?" not in screen
    terminal.say("And then?")
    terminal.wait_for("And then?")


@needs_tmux
@pytest.mark.slow
def test_escape_leaves_without_choosing(terminal: Terminal) -> None:
    terminal.wait_for("Which session?")
    terminal.press("Escape")

    assert "Which session?" not in terminal.wait_for("ended with")


@needs_tmux
@pytest.mark.slow
@pytest.mark.parametrize("terminal", [2], indirect=True)
def test_a_list_that_is_longer_than_the_window_scrolls_to_the_choice(terminal: Terminal) -> None:
    terminal.wait_for(">  1")
    terminal.press("Down")
    terminal.wait_for(">  2", "The older one")
