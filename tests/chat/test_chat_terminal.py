"""A chat in a real terminal does what a person expects."""

import re
from pathlib import Path

import pytest
from helpers_tmux import Chatting, needs_tmux
from rich.cells import cell_len

pytestmark = [needs_tmux, pytest.mark.slow]

SLOW_ANSWER = {"stream": [f"word{n} " for n in range(80)], "chunk_delay": 0.05}


def test_an_answer_is_rendered_as_markdown(chatting: Chatting) -> None:
    terminal = chatting({"text": "# News\n\nIt is **done**.\n\n- one\n- two\n"})

    terminal.say("Well?")

    screen = terminal.wait_for("> Well?", "News", "It is done.", "• one", "• two")
    assert "**" not in screen


def test_the_answer_is_on_the_screen_while_it_still_comes(chatting: Chatting) -> None:
    terminal = chatting(SLOW_ANSWER)

    terminal.say("Tell me.")

    screen = terminal.wait_for("word3 ", "waiting for the model")
    assert "word79" not in screen


def test_a_line_that_is_typed_meanwhile_steers_the_agent(chatting: Chatting) -> None:
    terminal = chatting(SLOW_ANSWER, {"text": "As you wish."})

    terminal.say("Tell me.")
    terminal.wait_for("word3 ")
    terminal.say("Be brief.")

    terminal.wait_for("not read yet: Be brief.")
    screen = terminal.wait_for("As you wish.", "\n> Be brief.")
    assert screen.index("word79") < screen.index("> Be brief.") < screen.index("As you wish.")


def test_ctrl_c_twice_stops_the_turn_and_the_chat_goes_on(chatting: Chatting) -> None:
    terminal = chatting(SLOW_ANSWER, {"text": "Still here."})

    terminal.say("Tell me.")
    terminal.wait_for("word3 ")
    terminal.press("C-c")
    terminal.wait_for("Stopping after this step")
    terminal.press("C-c")
    terminal.wait_for("Stopped")
    terminal.say("Hello?")

    terminal.wait_for("Still here.")


def test_a_tool_call_waits_for_a_yes(chatting: Chatting, tmp_path: Path) -> None:
    call = {"name": "bash", "arguments": {"command": "touch made"}}
    terminal = chatting({"tool_calls": [call]}, {"text": "Made."}, tools=("tool-bash",))

    terminal.say("Make it.")
    terminal.wait_for("May I run this command?", "touch made", "why:", "[y] yes, once", "[n] no")
    assert not (tmp_path / "made").exists()
    terminal.press("y")

    terminal.wait_for("✓ bash touch made", "Made.")
    assert (tmp_path / "made").exists()


def test_a_no_with_a_reason_reaches_the_model(chatting: Chatting, tmp_path: Path) -> None:
    call = {"name": "bash", "arguments": {"command": "touch made"}}
    terminal = chatting({"tool_calls": [call]}, {"text": "All right."}, tools=("tool-bash",))

    terminal.say("Make it.")
    terminal.wait_for("[r] no, because")
    terminal.press("r")
    terminal.wait_for("why?")
    terminal.say("It is late.")
    terminal.wait_for("All right.")
    terminal.say("/save talk.json")

    terminal.wait_for("talk.json")
    assert "It is late." in (tmp_path / "talk.json").read_text()
    assert not (tmp_path / "made").exists()


def test_words_typed_into_a_question_decide_nothing(chatting: Chatting, tmp_path: Path) -> None:
    call = {"name": "bash", "arguments": {"command": "touch made"}}
    terminal = chatting({"tool_calls": [call]}, {"text": "Fine."}, tools=("tool-bash",))

    terminal.say("Make it.")
    terminal.wait_for("[y] yes, once")
    terminal.type("why not ask for yes")
    terminal.press("Enter")
    terminal.wait_for("> why not ask for yes", "[y] yes, once")
    assert not (tmp_path / "made").exists()
    terminal.press("n")

    terminal.wait_for("Fine.", "> why not ask for yes")
    assert not (tmp_path / "made").exists()


def test_an_edit_is_shown_as_a_difference(chatting: Chatting, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("old words\n")
    call = {"name": "write_file", "arguments": {"file_path": "notes.txt", "content": "new words\n"}}
    terminal = chatting({"tool_calls": [call]}, {"text": "Fine."}, tools=("tool-filesystem",))

    terminal.say("Change it.")

    terminal.wait_for("-old words", "+new words", "[y] yes, once")


@pytest.mark.parametrize("columns", [30, 200])
def test_narrow_and_wide_windows_are_filled_not_broken(chatting: Chatting, columns: int) -> None:
    words = " ".join(f"w{n}" for n in range(60))
    terminal = chatting({"text": words}, columns=columns)

    terminal.say("Go.")

    terminal.wait_until(
        lambda screen: (
            [each for each in screen.split() if each.startswith("w") and each[1:].isdigit()]
            == words.split()
        )
    )


def test_wide_characters_and_emoji_keep_their_columns(chatting: Chatting) -> None:
    table = "| a | b |\n|---|---|\n| 日本 | 🎉 |\n| left | right |\n"
    terminal = chatting({"text": table})

    terminal.say("Table.")

    screen = terminal.wait_for("日本", "🎉", "right")
    before = {
        key: next(line for line in screen.splitlines() if key in line).partition(key)[0]
        for key in ("🎉", "right")
    }
    assert cell_len(before["🎉"]) == cell_len(before["right"])


def test_resizing_in_mid_answer_leaves_a_working_prompt(chatting: Chatting) -> None:
    terminal = chatting(SLOW_ANSWER, {"text": "Still here."})

    terminal.say("Tell me.")
    terminal.wait_for("word3 ")
    terminal.resize(50, 15)
    terminal.wait_for("word20 ")
    terminal.press("C-c", "C-c")
    terminal.wait_for("Stopped")
    terminal.say("Hello?")

    terminal.wait_for("Still here.")


def test_without_colours_nothing_is_coloured(chatting: Chatting) -> None:
    terminal = chatting({"text": "Some **bold** words."}, environment={"NO_COLOR": "1"})

    terminal.say("Well?")
    terminal.wait_for("Some bold words.")

    assert not re.search(
        r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9\d)", terminal.screen(with_colours=True)
    )


def test_control_characters_of_a_model_are_written_out(chatting: Chatting) -> None:
    terminal = chatting({"text": "red \x1b[31malarm\x1b[0m and \x07bell"})

    terminal.say("Well?")

    terminal.wait_for("\\x1b[31malarm", "\\x07bell")


def test_slash_commands_are_completed_and_explained(chatting: Chatting) -> None:
    terminal = chatting({"text": "Hello."})

    terminal.type("/st")
    terminal.wait_for("session, model, messages, context")
    terminal.press("Tab", "Enter")

    terminal.wait_for("mock-model", "messages   0")


def test_files_are_completed_after_an_at_sign(chatting: Chatting, tmp_path: Path) -> None:
    (tmp_path / "chapter-one.md").touch()
    terminal = chatting({"text": "Hello."})

    terminal.type("Read @chap")
    terminal.wait_for("@chapter-one.md")


def test_an_unknown_command_names_the_nearest(chatting: Chatting) -> None:
    terminal = chatting({"text": "Hello."})

    terminal.say("/statsu")

    terminal.wait_for("There is no command '/statsu'. Did you mean /status?")


def test_ctrl_j_begins_a_new_line_and_enter_sends_both(chatting: Chatting) -> None:
    terminal = chatting({"text": "Hello."})

    terminal.type("first")
    terminal.press("C-j")
    terminal.say("second")

    terminal.wait_for("> first", "second", "Hello.")


def test_ctrl_d_ends_the_chat(chatting: Chatting) -> None:
    terminal = chatting({"text": "Hello."})

    terminal.press("C-d")

    terminal.wait_for("ended with 0")


def test_a_failing_model_is_one_line_and_the_chat_goes_on(chatting: Chatting) -> None:
    error = {"type": "AuthenticationError", "message": "The key is wrong.", "retryable": False}
    terminal = chatting({"error": error}, {"text": "Better now."})

    terminal.say("Hello?")
    terminal.wait_for("AuthenticationError: The key is wrong.")
    terminal.say("And now?")

    terminal.wait_for("Better now.")


def test_in_a_narrow_window_questions_and_help_are_whole(chatting: Chatting) -> None:
    call = {"name": "bash", "arguments": {"command": "touch one-file another-file third-file"}}
    terminal = chatting({"tool_calls": [call]}, {"text": "Fine."}, tools=("tool-bash",), columns=40)

    terminal.say("Go.")

    screen = terminal.wait_for("May I run this command?", "[r] no, because ...")
    assert "third-file" in screen
    terminal.press("n")
    terminal.wait_for("Fine.")
    terminal.say("/help")
    terminal.wait_for("ends the chat")


def test_a_terminal_that_only_prints_is_enough(chatting: Chatting, tmp_path: Path) -> None:
    call = {"name": "bash", "arguments": {"command": "touch made"}}
    terminal = chatting(
        {"tool_calls": [call]},
        {"text": "# Done"},
        tools=("tool-bash",),
        environment={"TERM": "dumb"},
        ready=("Ctrl-D ends.", ">"),
    )

    terminal.say("Make it.")
    terminal.wait_for("May I run this command?", "[y] yes, once")
    terminal.press("y")

    terminal.wait_for("✓ bash touch made", "\nDone")
    assert (tmp_path / "made").exists()


def test_files_anywhere_in_the_project_and_agents_are_completed(
    chatting: Chatting, tmp_path: Path
) -> None:
    (tmp_path / "book" / "part").mkdir(parents=True)
    (tmp_path / "book" / "part" / "chapter-one.md").touch()
    terminal = chatting({"text": "Hello."}, agents=("scout",))

    terminal.type("Read @chap")
    terminal.wait_for("@book/part/chapter-one.md")
    terminal.press("C-u")
    terminal.type("Ask @sc")
    terminal.wait_for("@scout", "agent: ")


def test_emoji_that_are_joined_and_accents_keep_their_columns(chatting: Chatting) -> None:
    rows = "".join(
        f"| {each} | end |\n" for each in ("👨\u200d👩\u200d👧", "e\u0301", "日本", "abcd")
    )
    terminal = chatting({"text": f"| a | b |\n|---|---|\n{rows}"})

    terminal.say("Table.")

    screen = terminal.wait_for("abcd  end", "日本  end")
    ends = [line for line in screen.splitlines() if line.endswith("end")]
    assert {cell_len(line) for line in ends} == {9}
