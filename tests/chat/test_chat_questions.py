"""Only a person who means it answers a question, and sees all that is asked."""

from pathlib import Path
from typing import Any

import pytest
from helpers_tmux import Chatting, needs_tmux

pytestmark = [needs_tmux, pytest.mark.slow]

TOUCH = {"name": "bash", "arguments": {"command": "touch made"}}
KEYS = "[y] yes, once"


def test_a_question_says_what_why_and_where(chatting: Chatting, tmp_path: Path) -> None:
    terminal = chatting({"tool_calls": [TOUCH]}, {"text": "Fine."}, tools=("tool-bash",))

    terminal.say("Make it.")

    screen = terminal.wait_for(KEYS, "May I run this command?")
    for said in ("touch made", "where:", "why:   No rule allows 'touch made'."):
        assert said in screen
    assert str(tmp_path) in screen.replace(" │\n│ ", "")


@pytest.mark.parametrize("bracketed", [True, False])
def test_what_is_pasted_answers_nothing_and_is_kept(
    chatting: Chatting, tmp_path: Path, bracketed: bool
) -> None:
    terminal = chatting({"tool_calls": [TOUCH]}, {"text": "Fine."}, tools=("tool-bash",))
    terminal.say("Make it.")
    terminal.wait_for(KEYS)

    terminal.paste("yes please", bracketed=bracketed)

    terminal.wait_for("> yes please", KEYS)
    assert not (tmp_path / "made").exists()
    terminal.press("n")
    terminal.wait_for("Fine.", "> yes please")
    assert not (tmp_path / "made").exists()


def test_a_single_pasted_letter_answers_nothing(chatting: Chatting, tmp_path: Path) -> None:
    terminal = chatting({"tool_calls": [TOUCH]}, {"text": "Fine."}, tools=("tool-bash",))
    terminal.say("Make it.")
    terminal.wait_for(KEYS)

    terminal.paste("y", bracketed=True)

    terminal.wait_for("> y", KEYS)
    assert not (tmp_path / "made").exists()


def test_what_was_being_typed_when_the_question_came_answers_nothing(
    chatting: Chatting, tmp_path: Path
) -> None:
    slow = {"stream": ["wait ", "a ", "moment "], "chunk_delay": 0.4, "tool_calls": [TOUCH]}
    terminal = chatting(slow, {"text": "Fine."}, tools=("tool-bash",), columns=1200)
    terminal.say("Make it.")
    terminal.wait_for("wait")

    typed = ""
    while "May I run" not in terminal.screen():
        typed += "y"
        terminal.type("y")
        assert len(typed) < 1000
    terminal.type("yy")

    terminal.wait_for(KEYS, f"> {typed}yy")
    assert not (tmp_path / "made").exists()


def test_a_yes_for_the_session_is_not_asked_for_again(chatting: Chatting, tmp_path: Path) -> None:
    call = {"tool_calls": [TOUCH]}
    terminal = chatting(call, {"text": "One."}, call, {"text": "Two."}, tools=("tool-bash",))
    terminal.say("Make it.")
    terminal.wait_for("[s] yes, for this session")
    terminal.press("s")
    terminal.wait_for("One.")
    (tmp_path / "made").unlink()

    terminal.say("Again.")

    terminal.wait_for("Two.")
    assert (tmp_path / "made").exists()
    terminal.say("/permissions")
    terminal.wait_for("bash: touch made")


def test_the_question_of_an_agent_says_whose_it_is(chatting: Chatting) -> None:
    delegate = {"name": "delegate", "arguments": {"agent": "scout", "instruction": "Look."}}
    terminal = chatting(
        {"tool_calls": [delegate]},
        {"text": "Fine."},
        tools=("tool-delegate", "tool-bash"),
        agents=("scout",),
        child_script=({"text": "Hm.", "tool_calls": [TOUCH]}, {"text": "Not done."}),
        allow=({"tool": "delegate"},),
    )
    terminal.say("Ask the scout.")

    terminal.wait_for("May agent 'scout' run this command?", "[scout] Hm.", KEYS)
    terminal.press("n")

    terminal.wait_for("⊘ [scout] bash touch made", "response: Not done.", "Fine.")


def test_esc_at_a_question_denies_and_stops(chatting: Chatting, tmp_path: Path) -> None:
    terminal = chatting({"tool_calls": [TOUCH]}, {"text": "Fine."}, tools=("tool-bash",))
    terminal.say("Make it.")
    terminal.wait_for(KEYS)

    terminal.press("Escape")

    terminal.wait_for("Stopped after the step.", "The user interrupted")
    assert not (tmp_path / "made").exists()


ESCAPES = "\x1b]0;stolen\x07\x1b[2J\x1b[H\x9b31m\u202eevil"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bash", {"command": f"echo {ESCAPES}"}),
        ("write_file", {"file_path": f"a{ESCAPES}.txt", "content": ESCAPES}),
        (f"no{ESCAPES}tool", {ESCAPES: ESCAPES}),
    ],
)
def test_codes_in_names_arguments_and_texts_reach_no_terminal(
    chatting: Chatting, tool: str, arguments: dict[str, Any]
) -> None:
    call = {"name": tool, "arguments": arguments}
    said = {"text": f"Look {ESCAPES}", "thinking": ESCAPES, "tool_calls": [call]}
    terminal = chatting(said, {"text": "Over."}, tools=("tool-bash", "tool-filesystem"), rows=60)
    terminal.say("Go.")
    terminal.wait_for(KEYS, "> Go.")
    terminal.press("y")

    screen = terminal.wait_for("Over.", "> Go.", "\\x1b[2J")

    assert terminal.fact("pane_title") != "stolen"
    assert "\u202e" not in screen


def test_codes_in_the_output_of_a_tool_reach_no_terminal(
    chatting: Chatting, tmp_path: Path
) -> None:
    (tmp_path / "evil.txt").write_text(ESCAPES)
    call = {"name": "bash", "arguments": {"command": "cat evil.txt"}}
    terminal = chatting({"tool_calls": [call]}, {"text": "Over."}, tools=("tool-bash",))
    terminal.say("Go.")
    terminal.wait_for(KEYS)
    terminal.press("y")

    screen = terminal.wait_for("Over.", "> Go.", "✓ bash cat evil.txt")

    assert terminal.fact("pane_title") != "stolen"
    assert "\u202e" not in screen


def test_a_long_command_is_shown_to_its_end(chatting: Chatting) -> None:
    command = "echo start\n" + "true\n" * 60 + "rm -rf important"
    call = {"name": "bash", "arguments": {"command": command}}
    terminal = chatting({"tool_calls": [call]}, {"text": "Fine."}, tools=("tool-bash",))

    terminal.say("Go.")
    terminal.wait_for(KEYS)

    assert "rm -rf important" in terminal.history()


def test_a_command_that_nobody_can_read_is_denied(chatting: Chatting) -> None:
    call = {"name": "bash", "arguments": {"command": "true;" * 20_000}}
    terminal = chatting({"tool_calls": [call]}, {"text": "Fine."}, tools=("tool-bash",))

    terminal.say("Go.")

    terminal.wait_for("the command has 100,000 characters", "Fine.")
