"""A real terminal to test in: a program runs in tmux, keys go in, the screen comes out."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

SECONDS = 45.0

needs_tmux = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="There is no tmux to run a terminal in."
)


class Terminal:
    """One program in one window of its own tmux server."""

    def __init__(
        self,
        command: list[str],
        folder: Path,
        *,
        columns: int = 80,
        rows: int = 24,
        environment: dict[str, str] | None = None,
        redirected: str | None = None,
    ) -> None:
        self._name = f"test-{uuid.uuid4().hex[:12]}"
        self._folder = folder
        own = [f"{name}={value}" for name, value in (environment or {}).items()]
        # Not by tmux, which has a word of its own to say about TERM.
        line = shlex.join(["env", *own, *command])
        line += f" > {shlex.quote(redirected)}" if redirected else ""
        # The shell stays after the program, so that its last words can be read.
        script = f'trap : INT; {line}; code=$?; echo; echo "ended with $code"; read -r _'
        variables = {"HOME": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        settings = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
            "-c", str(folder), *settings, f"sh -c {shlex.quote(script)}",
        )  # fmt: skip
        self._socket = self.fact("socket_path")

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-L", self._name, *arguments],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        return done.stdout

    def screen(self, *, with_colours: bool = False) -> str:
        return self._tmux("capture-pane", "-p", *(["-e"] if with_colours else []))

    def history(self) -> str:
        """All that has scrolled by, and the screen; lines that were broken are whole."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-")

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def say(self, text: str) -> None:
        self.type(text)
        self.press("Enter")

    def resize(self, columns: int, rows: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait_for(self, *texts: str, seconds: float = SECONDS) -> str:
        """The screen as soon as it shows all of `texts`."""
        return self.wait_until(lambda screen: all(text in screen for text in texts), seconds, texts)

    def wait_until(
        self, holds: Callable[[str], bool], seconds: float = SECONDS, what: object = "it"
    ) -> str:
        deadline = time.monotonic() + seconds
        while not holds(screen := self.screen()):
            assert time.monotonic() < deadline, f"{what} never came; the screen shows:\n{screen}"
            time.sleep(0.02)
        return screen

    def paste(self, text: str, *, bracketed: bool) -> None:
        """As from a clipboard; programs that ask for it are told that it is pasted."""
        self._tmux("set-buffer", "--", text)
        self._tmux("paste-buffer", *(["-p"] if bracketed else []))

    def fact(self, name: str) -> str:
        """What tmux knows about the window, as `pane_title`."""
        return self._tmux("display-message", "-p", f"#{{{name}}}").strip()

    def close(self) -> None:
        subprocess.run(
            ["tmux", "-L", self._name, "kill-server"], capture_output=True, timeout=SECONDS
        )
        Path(self._socket).unlink(missing_ok=True)


Chatting = Callable[..., Terminal]


def plan_command(program: str, plan_file: Path) -> list[str]:
    """A program of this folder that makes a session from the mount plan in a file."""
    return [sys.executable, str(Path(__file__).with_name(program)), str(plan_file)]
