"""`amplifier run` in a real terminal: what moves is drawn over, what is final scrolls by once."""

from pathlib import Path
from typing import Any

import pytest
from helpers_tmux import Chatting, Terminal, needs_tmux

pytestmark = [needs_tmux, pytest.mark.slow]

WAITING = "while [ ! -e go ]; do sleep 0.05; done; echo finished > done.txt"


def running(chatting: Chatting, *script: dict[str, Any], **options: Any) -> Terminal:
    return chatting(
        *script, program="run_with_plan.py", ready=("Mock",), tools=("tool-bash",), **options
    )


def call(command: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "bash", "arguments": {"command": command}}]}


def test_an_answer_is_seen_coming_and_stays_once(chatting: Chatting) -> None:
    words = [f"**w{n}** " if n % 10 else "\n\n" for n in range(1, 120)]
    terminal = running(chatting, {"stream": words, "chunk_delay": 0.02})

    terminal.wait_for("w13", "waiting for the model (", "Ctrl-C stops it")
    terminal.wait_for("ended with 0")

    shown = terminal.history()
    assert [shown.count(f"w{n} ") + shown.count(f"w{n}\n") for n in (1, 15, 119)] == [1, 1, 1]
    assert "**" not in shown
    assert "waiting for" not in shown


def test_ctrl_c_lets_the_tool_finish(chatting: Chatting, tmp_path: Path) -> None:
    terminal = running(chatting, call(WAITING), {"text": "Never."}, allow=({"tool": "bash"},))

    terminal.wait_for("waiting for bash (")
    terminal.press("C-c")
    terminal.wait_for("Stopping after this step.", "stopping after this step, waiting for bash")
    (tmp_path / "go").touch()

    screen = terminal.wait_for("✓ bash", "Interrupted.", "ended with 130")
    assert "Never." not in screen
    assert (tmp_path / "done.txt").exists()


def test_a_question_stands_still_until_it_is_answered(chatting: Chatting, tmp_path: Path) -> None:
    terminal = running(chatting, call("touch made"), {"text": "Fine."})

    screen = terminal.wait_for("May I run this command?", "touch made", "no, because ...:")
    assert "waiting for" not in screen
    terminal.press("y")

    terminal.wait_for("yes, once", "✓ bash touch made", "Fine.", "ended with 0")
    assert (tmp_path / "made").exists()


def test_a_redirected_answer_is_plain(chatting: Chatting, tmp_path: Path) -> None:
    terminal = running(chatting, {"text": "It is **bold**."}, redirected="answer.txt")

    terminal.wait_for("ended with 0")

    assert (tmp_path / "answer.txt").read_text() == "It is **bold**.\n"
