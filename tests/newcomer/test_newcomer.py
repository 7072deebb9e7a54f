"""Somebody new follows the README, and nothing but the README, from a clean clone.

The commands are those of the page. Only the vendor is another: a server on this machine, whose
model plays a script. Everything else is real: the installation, the tools, the questions.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers_tmux import Terminal, needs_tmux
from helpers_vendor import Play, vendor
from snippets import blocks_of

REPO = Path(__file__).resolve().parents[2]
SECONDS = 240
KEYS = ("ANTHROPIC", "OPENAI", "GOOGLE", "GEMINI", "AZURE", "OLLAMA")
POEM = "Small parts, one kernel:"
PLAY: Play = {
    "Which files are here?": [("glob", {"pattern": "*.md"}), "There is a README.md."],
    "Write a short poem": [
        ("write_file", {"file_path": "poem.txt", "content": f"{POEM}\nswap what you like.\n"}),
        "It is in poem.txt.",
    ],
    "Read it to me.": [("read_file", {"file_path": "poem.txt"}), f"It begins: {POEM}"],
    "Say hello to Ada": [("hello", {"name": "Ada"}), "Your tool said: Hello, Ada!"],
}
NO_NETWORK = re.compile(r"(?i)fetch|connect|network|resolution|retries")
needs_git = pytest.mark.skipif(
    shutil.which("git") is None or not (REPO / ".git").exists(), reason="There is no clone to make."
)


class Newcomer:
    """A person with a clean clone and the README."""

    def __init__(self, folder: Path, url: str) -> None:
        self.clone = folder / "amplifier"
        command = ["git", "clone", "-q", "--depth", "1", f"file://{REPO}", str(self.clone)]
        subprocess.run(command, check=True, timeout=SECONDS, capture_output=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith((*KEYS, "AMPLIFIER"))}
        home = folder / "home"
        home.mkdir()
        self.env = {**kept, "AMPLIFIER_HOME": str(home), "ANTHROPIC_BASE_URL": url}
        self.blocks = {
            each.comment.removeprefix("newcomer: "): each.code
            for each in blocks_of((self.clone / "README.md").read_text())
            if each.comment.startswith("newcomer: ")
        }
        # What a shell remembers from one command to the next.
        self._so_far = "set -eu\n"

    def read(self, name: str) -> str:
        """The commands of a block of the page; what they set stays set."""
        code = self._so_far + _quick(self.blocks[name])
        kept = re.findall(r"^(?:export|\.) .*$", self.blocks[name], re.MULTILINE)
        self._so_far += "".join(f"{line}\n" for line in kept)
        return code

    def does(self, name: str) -> str:
        """Run a block; what it printed."""
        done = subprocess.run(
            ["bash", "-c", self.read(name)],
            cwd=self.clone,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        if name == "install" and done.returncode and NO_NETWORK.search(done.stdout):
            pytest.skip("The packages are not to be had: there is no index in reach.")
        assert done.returncode == 0, f"{self.blocks[name]}\n{done.stdout}"
        return done.stdout

    def at_terminal(self, name: str) -> Terminal:
        names = ("PATH", "AMPLIFIER_HOME", "ANTHROPIC_BASE_URL")
        environment = {each: self.env[each] for each in names}
        command = ["bash", "-c", self.read(name)]
        return Terminal(command, self.clone, columns=100, rows=40, environment=environment)


def _quick(code: str) -> str:
    """The same by uv, if it is here: it takes its packages from a cache."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        return code
    made = f"{shlex.quote(str(uv))} venv -q --python {shlex.quote(sys.executable)} .venv"
    code = code.replace("python3 -m venv .venv", made)
    return code.replace("pip install", f"{shlex.quote(str(uv))} pip install -q")


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Newcomer]:
    with vendor(PLAY) as url:
        yield Newcomer(tmp_path, url)


def chats_and_approves(newcomer: Newcomer) -> None:
    terminal = newcomer.at_terminal("chat")
    try:
        terminal.wait_for("\n>", seconds=SECONDS)
        terminal.say(newcomer.blocks["say"].strip())
        terminal.wait_for(POEM, "poem.txt", seconds=SECONDS)
        assert not (newcomer.clone / "poem.txt").exists()
        terminal.wait_for("[y] yes", seconds=SECONDS)
        terminal.press("y")
        terminal.wait_for("It is in poem.txt.", seconds=SECONDS)
        terminal.press("C-d")
        terminal.wait_for("ended with", seconds=SECONDS)
    finally:
        terminal.close()


@needs_git
@needs_tmux
@pytest.mark.slow
def test_the_readme_leads_to_an_answer_an_edit_a_resume_and_a_tool_of_ones_own(
    newcomer: Newcomer,
) -> None:
    newcomer.does("install")

    assert "claude" in newcomer.does("choose a model")
    assert "There is a README.md." in newcomer.does("first answer")

    chats_and_approves(newcomer)
    assert (newcomer.clone / "poem.txt").read_text().startswith(POEM)

    assert f"It begins: {POEM}" in newcomer.does("go on")

    said = newcomer.does("own tool")
    assert "\nHello, Ada!\n" in said
    assert "Your tool said: Hello, Ada!" in said
