"""The examples that need nothing but this repository run, and print what they promise."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_first_session_shows_its_events_in_order_and_answers(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / "first_session.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert result.returncode == 0, result.stderr
    first, *events, answer = result.stdout.splitlines()
    assert first == "> How many words are in this sentence?"
    assert [line.split()[0] for line in events] == [
        "session:start",
        "prompt:submit",
        "provider:request",
        "provider:response",
        "tool:pre",
        "tool:post",
        "provider:request",
        "provider:response",
        "prompt:complete",
        "session:end",
    ]
    assert answer == "It has 7 words."
