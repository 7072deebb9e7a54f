"""Markdown as a terminal shows it: nothing of the text is lost, and code can be copied."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.syntax import Syntax
from rich.table import Table

from .texts import harmless

CODE_THEME = "ansi_dark"
CODE_INDENT = 2


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """One for which `List<String>`, `[1]: x` and pictures are text, so that none is left out."""
    parser = MarkdownIt("commonmark", {"html": False})
    return parser.enable(["strikethrough", "table"]).disable(["reference", "image"])


class Shown(Markdown):
    """A piece of Markdown that is complete in itself."""

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme=CODE_THEME, hyperlinks=False)
        self.markup = harmless(text)
        self.parsed = _with_line_breaks(_parser().parse(self.markup))
        self.keeps_blank_rows = bool(self.parsed) and self.parsed[0].type == "fence"


def _with_line_breaks(tokens: list[Token]) -> list[Token]:
    """Models break lines where they mean it: in verses, addresses and lists of options."""
    for token in tokens:
        for inline in token.children or ():
            if inline.type == "softbreak":
                inline.type = "hardbreak"
    return tokens


class _Heading(Heading):
    """A heading where the eye looks for it; the library would centre it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _Code(CodeBlock):
    """Code without a frame and without blank lines around it: its pieces follow each other."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Syntax(
            str(self.text).removesuffix("\n"),
            self.lexer_name,
            theme=self.theme,
            word_wrap=True,
            padding=(0, 0, 0, CODE_INDENT),
            background_color="default",
        )


class _Table(TableElement):
    """A table whose cells are broken where they do not fit; the library would cut them off."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False)
        for cell in self.header.row.cells if self.header and self.header.row else ():
            heading = cell.content.copy()
            heading.stylize("bold")
            table.add_column(heading, justify=cell.justify, overflow="fold")
        for row in self.body.rows if self.body else ():
            table.add_row(*(cell.content for cell in row.cells))
        yield table


_OURS: dict[str, Any] = {
    "heading_open": _Heading,
    "fence": _Code,
    "code_block": _Code,
    "table_open": _Table,
}
Shown.elements = {**Markdown.elements, **_OURS}
