"""What a person sees and can do while the agent works."""

import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers_tmux import Chatting, Terminal, needs_tmux

pytestmark = [needs_tmux, pytest.mark.slow]

SLOW_ANSWER = {"stream": [f"word{n} " for n in range(80)], "chunk_delay": 0.05}
WAITING = "while [ ! -e go ]; do sleep 0.05; done; echo finished > done.txt"
TOOL_THAT_WAITS = {"tool_calls": [{"name": "bash", "arguments": {"command": WAITING}}]}


def shows(pattern: str) -> Callable[[str], bool]:
    return lambda screen: re.search(pattern, screen) is not None


def tool_at_work(chatting: Chatting, *then: dict[str, object]) -> Terminal:
    """A chat in which a tool runs until there is a file `go`."""
    terminal = chatting(
        TOOL_THAT_WAITS, *then, tools=("tool-bash",), allow=({"tool": "bash"},), columns=100
    )
    terminal.say("Work.")
    terminal.wait_for("waiting for bash (")
    return terminal


@pytest.mark.parametrize("key", ["C-c", "Escape"])
def test_one_interrupt_lets_the_tool_finish_and_keeps_its_work(
    chatting: Chatting, tmp_path: Path, key: str
) -> None:
    terminal = tool_at_work(chatting, {"text": "Never said."}, {"text": "Never said."})

    terminal.press(key)
    terminal.wait_for("Stopping after bash is done.", "stopping after this step")
    (tmp_path / "go").touch()

    screen = terminal.wait_for("✓ bash", "Stopped after the step. What was done is kept")
    assert "Never said." not in screen
    assert (tmp_path / "done.txt").exists()


def test_a_second_interrupt_stops_the_tool_at_once(chatting: Chatting, tmp_path: Path) -> None:
    terminal = tool_at_work(chatting, {"text": "Still here."})

    terminal.press("C-c")
    terminal.wait_for("Stopping after bash is done.")
    terminal.press("C-c")

    terminal.wait_for("Stopped at once.")
    assert not (tmp_path / "done.txt").exists()
    terminal.say("Hello?")
    terminal.wait_for("Still here.")


def test_ctrl_d_at_work_ends_nothing(chatting: Chatting, tmp_path: Path) -> None:
    terminal = tool_at_work(chatting, {"text": "Over."})

    terminal.press("C-d")

    terminal.wait_for("The agent is at work. Ctrl-C stops it.")
    (tmp_path / "go").touch()
    terminal.wait_for("Over.")


def test_what_the_agent_did_not_get_to_read_is_given_back(
    chatting: Chatting, tmp_path: Path
) -> None:
    terminal = tool_at_work(chatting, {"text": "Never said."})

    terminal.say("Use tabs.")
    terminal.wait_for("not read yet: Use tabs.")
    terminal.press("C-c")
    terminal.wait_for("Stopping after")
    (tmp_path / "go").touch()

    terminal.wait_for("Stopped after the step.", "\n> Use tabs.")


def test_a_child_is_shown_with_its_name_and_its_cost_is_counted(chatting: Chatting) -> None:
    delegate = {"name": "delegate", "arguments": {"agent": "scout", "instruction": "Look."}}
    look = {"name": "bash", "arguments": {"command": "echo found"}}
    terminal = chatting(
        {"tool_calls": [delegate], "usage": {"input_tokens": 100, "output_tokens": 10}},
        {"text": "Fine.", "usage": {"input_tokens": 200, "output_tokens": 20}},
        tools=("tool-delegate", "tool-bash"),
        agents=("scout",),
        child_script=(
            {"tool_calls": [look], "usage": {"input_tokens": 3000, "output_tokens": 30}},
            {"text": "There.", "delay": 1, "usage": {"input_tokens": 4000, "output_tokens": 40}},
        ),
        allow=({"tool": "delegate"}, {"tool": "bash"}),
        rows=40,
    )

    terminal.say("Ask the scout.")

    terminal.wait_for("  ✓ [scout] bash echo found", "waiting for delegate (", "[scout] the model")
    terminal.wait_for("✓ delegate", "response: There.", "Fine.", "in 7.3k, out 100")
    terminal.say("/cost")
    terminal.wait_for("[scout]  2 model calls, in 7.0k, out 70")


def test_an_answer_of_50000_tokens_leaves_the_keyboard_alive(chatting: Chatting) -> None:
    code = ["```py\n", *(f"x{n} = {n}\n" for n in range(10_000)), "```\n\n"]
    words = [f"w{n} " if n % 60 else "\n\n" for n in range(40_000)]
    terminal = chatting({"stream": [*code, *words]}, {"text": "Next."})
    terminal.say("Go.")
    terminal.wait_for("waiting for the model")

    slowest = 0.0
    for number in range(5):
        started = time.monotonic()
        terminal.type(str(number))
        terminal.wait_for("> " + "".join(map(str, range(number + 1))))
        slowest = max(slowest, time.monotonic() - started)

    assert slowest < 5, "on a machine that has other work to do as well"
    terminal.wait_for("w39999")


def test_a_tool_output_of_10_megabytes_leaves_the_keyboard_alive(
    chatting: Chatting, tmp_path: Path
) -> None:
    (tmp_path / "big.txt").write_text("line of text\n" * 800_000)
    call = {"name": "bash", "arguments": {"command": "cat big.txt"}}
    terminal = chatting(
        {"tool_calls": [call]}, SLOW_ANSWER, tools=("tool-bash",), allow=({"tool": "bash"},)
    )
    terminal.say("Show it.")

    for letter in "abcde":
        started = time.monotonic()
        terminal.type(letter)
        terminal.wait_until(shows(f"> [a-e]*{letter}"))
        assert time.monotonic() - started < 5

    terminal.wait_for("more lines", "word3 ")


def test_lines_scroll_by_once_however_the_window_is_resized(chatting: Chatting) -> None:
    paragraphs = [[*(f"p{n}w{m} " for m in range(12)), "\n\n"] for n in range(40)]
    words = [word for paragraph in paragraphs for word in paragraph]
    terminal = chatting({"stream": words, "chunk_delay": 0.005}, columns=80)
    terminal.say("Go.")

    for number, columns in enumerate((50, 90, 40, 100)):
        terminal.wait_until(shows(f"p{8 * number + 4}w"))
        terminal.resize(columns, 24)
    terminal.wait_until(lambda screen: "p39w11" in screen and "waiting" not in screen)

    seen = Counter(re.findall(r"p\d+w\d+", terminal.history()))
    assert set(seen) == {f"p{n}w{m}" for n in range(40) for m in range(12)}
    # A line that was still moving may be left behind by a resize.
    assert sum(count - 1 for count in seen.values()) <= 4 * 12


def test_the_prompt_never_leaves_the_screen_while_an_answer_scrolls_by(chatting: Chatting) -> None:
    terminal = chatting({"stream": [f"w{n}\n\n" for n in range(400)], "chunk_delay": 0.01})
    terminal.say("Go.")
    terminal.wait_for("w20", "waiting for the model")

    screens = [terminal.screen() for _ in range(50)]

    at_work = [screen for screen in screens if "w399" not in screen]
    assert at_work
    for screen in at_work:
        assert "\n> " in screen or "\n>\n" in screen
        assert "\nmock-model" in screen


def test_of_a_file_that_is_read_its_lines_are_shown(chatting: Chatting, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy milk\n")
    call = {"name": "read_file", "arguments": {"file_path": "notes.txt"}}
    terminal = chatting(
        {"tool_calls": [call]}, {"text": "Milk."}, tools=("tool-filesystem",),
        allow=({"tool": "read_file"},),
    )  # fmt: skip

    terminal.say("What is to be done?")

    screen = terminal.wait_for("✓ read_file notes.txt", "buy milk", "Milk.")
    assert "total_lines" not in screen
