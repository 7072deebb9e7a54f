"""Draws what scrolls by: the user's words, the model's Markdown, cards for tool calls."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import Heading, Markdown
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text

from .texts import first_lines, harmless, one_line, seconds_text

Mark = Literal["running", "done", "failed", "denied"]

OUTPUT_LINES = 5
MOST_DIFF_LINES = 60
_MARKS: dict[Mark, tuple[str, str]] = {
    "running": ("●", "cyan"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "denied": ("⊘", "yellow"),
}


class Drawing:
    """Turns things into text with colour codes, for a terminal of a given width."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def lines(self, what: RenderableType, width: int) -> str:
        console = Console(
            width=max(width, 20),
            force_terminal=self._colour,
            color_system="standard" if self._colour else None,
            no_color=not self._colour,
            highlight=False,
            legacy_windows=False,
            emoji=False,
        )
        with console.capture() as captured:
            console.print(what)
        return captured.get()


def wants_colour() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in (None, "", "dumb")


class _LeftHeading(Heading):
    """A heading where the eye looks for it; the library would centre it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Markdown(Markdown):
    elements = {**Markdown.elements, "heading_open": _LeftHeading}  # noqa: RUF012


def markdown(block: str) -> RenderableType:
    return _Markdown(harmless(block), hyperlinks=False, code_theme="ansi_dark")


def said_by_user(text: str) -> RenderableType:
    return Text.assemble(("\n> ", "bold cyan"), (harmless(text), "bold"))


def note(text: str, style: str = "dim") -> RenderableType:
    return Text(harmless(text), style=style)


def thought(text: str) -> RenderableType:
    return Padding(Text(harmless(text).strip(), style="dim italic"), (0, 0, 0, 2))


def tool_card(
    mark: Mark, name: str, given: Any, output: str, width: int, seconds: float | None = None
) -> RenderableType:
    """One line that says what was called and how long it took, then some of what came out."""
    lines = [_tool_head(mark, name, given, width, seconds)]
    shown = first_lines(output, OUTPUT_LINES, width - 4) if output.strip() else []
    lines += [Text(f"  {line}", style="dim") for line in shown]
    return Group(*lines)


def _tool_head(mark: Mark, name: str, given: Any, width: int, seconds: float | None) -> Text:
    sign, style = _MARKS[mark]
    head = Text.assemble((f"{sign} ", style), (one_line(name, 40), "bold"))
    took = f"  {seconds_text(seconds)}" if seconds is not None else ""
    room = width - head.cell_len - len(took) - 2
    if room > 0:
        head.append(f" {one_line(arguments(given), room)}")
    head.append(took, style="dim")
    return head


def arguments(given: Any) -> str:
    """The input of a call in a few words: the one value, or all with their names."""
    if not isinstance(given, dict):
        return str(given)
    if len(given) == 1:
        return str(next(iter(given.values())))
    return ", ".join(f"{key}={value!r}" for key, value in given.items())


def question(title: str, body: Iterable[RenderableType], risk: str) -> RenderableType:
    colour = {"high": "red", "critical": "red", "low": "green"}.get(risk, "yellow")
    return Panel(Group(*body), title=harmless(title), title_align="left", border_style=colour)


def difference(before: str, after: str, name: str) -> list[RenderableType]:
    """What would change in a file, as lines with a plus or a minus."""
    found = difflib.unified_diff(
        harmless(before).splitlines(), harmless(after).splitlines(), name, name, lineterm="", n=2
    )
    lines = list(found)
    shown = [Text(line, style=_style_of_change(line)) for line in lines[:MOST_DIFF_LINES]]
    hidden = len(lines) - len(shown)
    more = [Text(f"… {hidden:,} more lines", style="dim")] if hidden > 0 else []
    return [*shown, *more]


def _style_of_change(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return "dim"
    return {"+": "green", "-": "red"}.get(line[:1], "")
