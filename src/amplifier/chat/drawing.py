"""Draws what scrolls by: the user's words, the model's Markdown, cards for tool calls."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal, Protocol

from rich.color import ColorSystem
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from .terminal import is_dumb
from .texts import exact, first_lines, harmless, one_line, seconds_text

Mark = Literal["done", "failed", "denied"]

OUTPUT_LINES = 5
MOST_DIFF_LINES = 200
NARROWEST = 20
_MARKS: dict[Mark, tuple[str, str]] = {
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "denied": ("⊘", "yellow"),
}


class Drawing:
    """Turns things into text with colour codes, for a terminal of a given width.

    No other codes come out, whatever went in: all text passes `harmless` on its way.
    """

    def __init__(self, *, colour: bool) -> None:
        self._colour = ColorSystem.STANDARD if colour else None

    def lines(self, what: RenderableType, width: int) -> str:
        rows = _console(max(width, NARROWEST)).render_lines(what, pad=False)
        text = "".join(f"{self._line(row)}\n" for row in rows)
        # How far apart things are is said by whoever shows them.
        return text if getattr(what, "keeps_blank_rows", False) else f"{text.strip(chr(10))}\n"

    def _line(self, row: list[Segment]) -> str:
        texts = [(harmless(each.text), each.style) for each in row if not each.control]
        while texts and not texts[-1][0].strip():
            texts.pop()
        if texts:
            text, style = texts[-1]
            texts[-1] = text.rstrip(" "), style
        return "".join(
            style.render(text, color_system=self._colour) if style and self._colour else text
            for text, style in texts
        )


@lru_cache(maxsize=4)
def _console(width: int) -> Console:
    return Console(
        width=width,
        force_terminal=True,
        color_system="standard",
        highlight=False,
        legacy_windows=False,
        emoji=False,
        markup=False,
    )


def wants_colour() -> bool:
    return not os.environ.get("NO_COLOR") and not is_dumb()


def markdown(text: str) -> RenderableType:
    # Late: the library is large, and not every session says something.
    from .markdown import Shown

    return Shown(text)


def said_by_user(text: str, style: str = "bold") -> RenderableType:
    return Text.assemble(("> ", "bold cyan"), (harmless(text), style))


def note(text: str, style: str = "dim") -> RenderableType:
    return Text(harmless(text), style=style)


def listing(rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Two columns: names, and what they are for."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", overflow="fold")
    table.add_column(overflow="fold")
    for name, about in rows:
        table.add_row(Text(harmless(name)), Text(harmless(about)))
    return table


def thought(text: str) -> RenderableType:
    return Padding(Text(harmless(text).strip(), style="dim italic"), (0, 0, 0, 2))


def said_by_agent(agent: str, text: str, width: int) -> RenderableType:
    """A line of what a child session says between its calls; its answer comes as a result."""
    head = Text.assemble(("  ", ""), (f"[{one_line(agent, 30)}] ", "cyan"))
    return head.append(one_line(text, max(width - head.cell_len, 1)), style="dim")


def tool_card(
    mark: Mark,
    name: str,
    given: Any,
    output: str,
    width: int,
    seconds: float | None = None,
    agent: str | None = None,
) -> RenderableType:
    """One line that says what was called and how long it took, then some of what came out."""
    head = _tool_head(mark, name, given, width, seconds, agent)
    indent = "  " if agent is None else "    "
    shown = first_lines(output, OUTPUT_LINES, width - len(indent) - 1) if output.strip() else []
    return Group(head, *(Text(f"{indent}{line}", style="dim") for line in shown))


def _tool_head(
    mark: Mark, name: str, given: Any, width: int, seconds: float | None, agent: str | None
) -> Text:
    sign, style = _MARKS[mark]
    head = Text("" if agent is None else "  ")
    head.append(f"{sign} ", style)
    if agent is not None:
        head.append(f"[{one_line(agent, 30)}] ", "cyan")
    head.append(one_line(name, 40), "bold")
    took = f"  {seconds_text(seconds)}" if seconds is not None else ""
    room = width - head.cell_len - len(took) - 2
    said = one_line(arguments(given), room) if room > 0 and given else ""
    if said:
        head.append(f" {said}")
    head.append(took, style="dim")
    return head


def arguments(given: Any) -> str:
    """The input of a call in a few words: the one value, or all with their names."""
    if not isinstance(given, dict):
        return str(given)
    if len(given) == 1:
        return str(next(iter(given.values())))
    return ", ".join(f"{key}={value!r}" for key, value in given.items())


class Asked(Protocol):
    """A question to the person."""

    title: str
    body: list[RenderableType]
    risk: str


def question_card(asked: Asked) -> RenderableType:
    colour = {"high": "red", "critical": "red", "low": "green"}.get(asked.risk, "yellow")
    head = Text(exact(asked.title), style="bold", overflow="fold")
    return Panel(Group(head, *asked.body), border_style=colour)


def changes(lines: list[str], name: str) -> list[RenderableType]:
    """The lines of a difference, each with a plus, a minus or a blank before it."""
    head = Text(exact(name), style="bold")
    shown = [Text(line, style=_style_of_change(line)) for line in lines[:MOST_DIFF_LINES]]
    hidden = len(lines) - len(shown)
    more = [Text(f"… {hidden:,} more lines", style="bold")] if hidden > 0 else []
    return [head, *shown, *more]


def _style_of_change(line: str) -> str:
    return {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
