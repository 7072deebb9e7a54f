"""Make the pictures of the README, from real runs in a real terminal: `make pictures`.

The command runs in tmux; what the window shows becomes an SVG with the colours it had. Tools,
questions, files and sessions are real. Only the model's words are written here, so that every run
gives the same picture.
"""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from rich.ansi import AnsiDecoder
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "chat"))

from helpers_tmux import Terminal  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
COLUMNS = 100
SECONDS = 60
PROJECT = "demo"
"""A folder with a name for the pictures. It must not exist."""
THEME = TerminalTheme(
    (24, 26, 32),
    (214, 218, 226),
    [(40, 44, 52), (224, 108, 117), (152, 195, 121), (229, 192, 123),
     (97, 175, 239), (198, 120, 221), (86, 182, 194), (171, 178, 191)],
    [(118, 126, 142), (240, 128, 136), (170, 214, 140), (240, 208, 140),
     (122, 190, 250), (212, 146, 232), (110, 202, 212), (230, 234, 240)],
)  # fmt: skip
# Rich's own frame, without the fonts that it would fetch.
FRAME = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono",
  "Liberation Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: ui-sans-serif, system-ui, sans-serif; font-size: 18px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
PLAN = """\
## Three steps

1. **Read** the settings once, in `load()`
2. Keep them in a *frozen* dataclass
3. Pass that on, instead of the path

```python
@dataclass(frozen=True)
class Settings:
    color: str = "green"
```
"""
BEFORE = 'def greet(name):\n    return "Hello " + name\n'
AFTER = 'def greet(name: str) -> str:\n    return f"Hello, {name}!"\n'


def call(tool: str, **arguments: str) -> dict[str, object]:
    return {"tool_calls": [{"name": tool, "arguments": arguments}], **used(1840, 61)}


def says(text: str, words_in: int = 2110, words_out: int = 140) -> dict[str, object]:
    return {"text": text, "chunk_delay": 0.002, **used(words_in, words_out)}


def used(words_in: int, words_out: int) -> dict[str, object]:
    return {"usage": {"input_tokens": words_in, "output_tokens": words_out}}


class Stage:
    """A project with a home of its own, in which the model says what it is told."""

    def __init__(self, work: Path, home: Path) -> None:
        self.work, self.home = work, home
        work.mkdir()
        (self.work / "greeting.py").write_text(BEFORE)
        (self.work / "settings.py").write_text("def load(path):\n    return open(path).read()\n")
        self._path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def cast(self, *script: dict[str, object]) -> None:
        config = {"script": list(script), "default_model": "demo-model", "on_exhausted": "repeat"}
        provider = {"module": "provider-mock", "config": config}
        text = yaml.safe_dump({"config": {"providers": [provider]}})
        (self.home / "settings.yaml").write_text(text)

    def run(self, *arguments: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "amplifier.cli", *arguments],
            cwd=self.work,
            env={**os.environ, "AMPLIFIER_HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=SECONDS,
        )

    def window(self, *command: str, rows: int) -> Terminal:
        line = ["env", f"PATH={self._path}", "TERM=xterm-256color", "COLORTERM=truecolor", *command]
        environment = {"AMPLIFIER_HOME": str(self.home)}
        return Terminal(line, self.work, columns=COLUMNS, rows=rows, environment=environment)


def picture(name: str, title: str, screen: str) -> None:
    """What a window shows, as a file."""
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True,
        color_system="truecolor", legacy_windows=False,
    )  # fmt: skip
    # Whole, because a colour may go on in the next line; without the gap above the last one.
    lines = [*AnsiDecoder().decode(screen.strip("\n"))]
    for line, after in zip(lines, [*lines[1:], Text("end")], strict=True):
        if line.plain.strip() or after.plain.strip():
            console.print(line, no_wrap=True, overflow="crop", highlight=False)
    FOLDER.mkdir(parents=True, exist_ok=True)
    svg = console.export_svg(title=title, theme=THEME, code_format=FRAME, unique_id=name)
    lines = [line.rstrip() for line in svg.splitlines() if line.strip()]
    (FOLDER / f"{name}.svg").write_text("\n".join(lines) + "\n")
    print(f"Wrote docs/pictures/{name}.svg")


def chat(stage: Stage) -> None:
    """An answer in Markdown, after a call of a tool."""
    stage.cast(call("read_file", file_path="settings.py"), says(PLAN))
    terminal = stage.window("amplifier", rows=40)
    try:
        terminal.wait_for("\n>", "demo-model", seconds=SECONDS)
        terminal.say("How would you make settings.py safer?")
        terminal.wait_until(
            lambda screen: "out 201" in screen and "waiting" not in screen, SECONDS, "the answer"
        )
        picture("chat", "amplifier", terminal.screen(with_colours=True))
    finally:
        terminal.close()


def approval(stage: Stage) -> None:
    """A question with the change that it is about."""
    read = call("read_file", file_path="greeting.py")
    edit = call("edit_file", file_path="greeting.py", old_string=BEFORE, new_string=AFTER)
    stage.cast(read, edit, says("Done."))
    terminal = stage.window("amplifier", rows=40)
    try:
        terminal.wait_for("\n>", "demo-model", seconds=SECONDS)
        terminal.say("Add types and an exclamation mark to greeting.py.")
        terminal.wait_for("[y] yes", 'f"Hello', seconds=SECONDS)
        picture("approval", "amplifier", terminal.screen(with_colours=True))
    finally:
        terminal.close()


def sessions(stage: Stage) -> None:
    """What became of earlier turns, found again."""
    for prompt, answer in (
        ("Why does the build fail?", "A path is split at '/'."),
        ("Write release notes.", "Here they are."),
        ("Who calls load()?", "Only main() does."),
    ):
        stage.cast(says(answer))
        stage.run("run", prompt)
    terminal = stage.window("bash", "--norc", "--noprofile", "-i", rows=22)
    try:
        terminal.say("PS1='$ '; clear")
        for line, shown in (
            ("amplifier session list", "Who calls load()?"),
            ("amplifier session search 'split at'", "A path is split"),
            ("amplifier continue 'Thank you.'", "Only main() does."),
        ):
            terminal.say(line)
            terminal.wait_for(shown, seconds=SECONDS)
            terminal.wait_until(lambda screen: screen.rstrip().endswith("$"), SECONDS)
        terminal.say("amplifier resume")
        terminal.wait_for("Which session?", "Enter:", seconds=SECONDS)
        picture("sessions", "amplifier session", terminal.screen(with_colours=True))
    finally:
        terminal.close()


def main() -> None:
    for scene in (chat, approval, sessions):
        work = Path(tempfile.gettempdir()) / PROJECT
        try:
            with tempfile.TemporaryDirectory() as home:
                scene(Stage(work, Path(home)))
        finally:
            shutil.rmtree(work)


if __name__ == "__main__":
    main()
