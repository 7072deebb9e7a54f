"""How hooks-streaming-ui treats the terminal itself: colours, control characters, lost readers."""

import os
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest
from helpers_terminal import Terminal, block, coordinator_with, play
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modules.terminal.screen import harmless
from amplifier_modules.terminal.usage import cost_text

CALL = ("tool:pre", {"tool_name": "t", "tool_input": {"a": 1}})
RESULT = ("tool:post", {"tool_name": "t", "result": {"success": True, "output": "fine"}})
COLOURED = "\x1b[36m● t\x1b[0m\n\x1b[2m  a: 1\x1b[0m\n"


async def test_on_a_terminal_there_are_colours(terminal: Terminal) -> None:
    terminal.is_a_tty = True

    await play(await coordinator_with(), CALL)

    assert terminal.text_of("stderr") == COLOURED


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
async def test_colours_can_be_refused(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    terminal.is_a_tty = True
    monkeypatch.setenv(variable, value)

    await play(await coordinator_with(), CALL)

    assert terminal.text_of("stderr") == "● t\n  a: 1\n"


async def test_an_empty_no_color_refuses_nothing(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.is_a_tty = True
    monkeypatch.setenv("NO_COLOR", "")

    await play(await coordinator_with(), CALL)

    assert terminal.text_of("stderr") == COLOURED


async def test_the_models_text_is_never_coloured(terminal: Terminal) -> None:
    terminal.is_a_tty = True

    await play(await coordinator_with(), *block(0, 2, type="text", text="Hm."))

    assert terminal.text_of("stdout") == "→ Hm.\n"


EVIL = "a\x1b]0;title\x07\x1b[2J\rb\x9b31m\u202e"


@pytest.mark.parametrize(
    "event",
    [
        ("provider:stream", {"chunk": {"text": EVIL}}),
        ("tool:pre", {"tool_name": EVIL, "tool_input": {EVIL: EVIL}}),
        ("tool:post", {"tool_name": "t", "result": EVIL}),
        ("llm:response", {"model": EVIL, "usage": {"input_tokens": 1}}),
        block(0, 2, type="text", text=EVIL)[1],
        block(0, 2, type="thinking", thinking=EVIL)[1],
    ],
)
async def test_codes_in_texts_are_written_out(
    terminal: Terminal, event: tuple[str, dict[str, Any]]
) -> None:
    answer = block(1, 2, type="text", text="x")
    await play(await coordinator_with(), event, *answer, ("orchestrator:complete", {}))

    shown = terminal.transcript
    assert "\\x1b[2J" in shown
    assert "\\u202e" in shown
    assert not any(code in shown for code in "\x1b\x07\x9b\r\u202e")


@given(text=st.text())
def test_harmless_text_can_only_be_read(text: str) -> None:
    made = harmless(text)

    assert all(each in "\n\t" or not 0 <= ord(each) < 0x20 for each in made)
    assert not any(0x7F <= ord(each) < 0xA0 for each in made)
    assert harmless(made) == made


@given(text=st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_readable_text_stays_as_it_is(text: str) -> None:
    assert harmless(text) == text


async def test_family_emoji_stay_whole() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

    assert harmless(family) == family


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (None, "?"),
        ("0", "$0.00"),
        ("0E-10", "$0.00"),
        ("0.01", "$0.01"),
        ("0.00999", "$0.010"),
        ("0.0034", "$0.0034"),
        ("0.000012345", "$0.000012"),
        ("12.345", "$12.34"),
        ("1000", "$1000.00"),
        ("1E-999999", "$0.00"),
    ],
)
def test_costs_are_written_with_two_digits_that_count(amount: str | None, expected: str) -> None:
    assert cost_text(None if amount is None else Decimal(amount)) == expected


class Unusable:
    """A stream that fails as `error` says."""

    encoding = "utf-8"

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.attempts = 0

    def isatty(self) -> bool:
        raise self.error

    def write(self, _text: str) -> int:
        self.attempts += 1
        raise self.error


@pytest.mark.parametrize(
    "error", [BrokenPipeError(), ValueError("I/O operation on closed file"), OSError(5, "gone")]
)
async def test_a_stream_that_is_gone_is_tried_once_and_the_other_goes_on(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    gone = Unusable(error)
    monkeypatch.setattr(sys, "stdout", gone)

    texts = [("provider:stream", {"chunk": {"text": "a\n"}})] * 3
    await play(await coordinator_with(), *texts, RESULT)

    assert gone.attempts == 1
    assert terminal.text_of("stderr") == "✓ t\n  fine\n"


async def test_a_process_without_streams_is_served_in_silence(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)

    await play(await coordinator_with(), CALL, ("provider:stream", {"chunk": {"text": "a"}}))

    assert terminal.written == []


SCRIPT = """
import asyncio
from amplifier_core.testing import MockCoordinator
from amplifier_modules.terminal.hook import mount

async def main():
    coordinator = MockCoordinator()
    await mount(coordinator)
    for number in range(2000):
        await coordinator.hooks.emit("provider:stream", {"chunk": {"text": "→ text " * 20}})
    await coordinator.hooks.emit("orchestrator:complete", {})

asyncio.run(main())
"""


@pytest.mark.skipif(os.name != "posix", reason="pipes break in another way elsewhere")
def test_a_reader_who_leaves_does_not_make_the_process_fail() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    _, errors = process.communicate(timeout=30)

    assert process.returncode == 0
    assert errors == b""


def test_a_terminal_that_knows_only_ascii_gets_question_marks() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=30,
        check=True,
    )

    assert done.stdout.startswith(b"? text ? text")
    assert done.stderr == b""
