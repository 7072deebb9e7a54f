"""Runs the Python blocks of a Markdown page, so that no page shows code that does not work.

Blocks of one page share a namespace, in order, and may use `await`. Two comments steer it:

* `<!-- not run: reason -->` before a block leaves it out;
* `<!-- output -->` before a `text` block says that this is what the block above prints, where
  `...` stands for anything.

`python snippets.py PAGE` runs one page; it stops at the first block that fails.
"""

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^(?P<indent> *)(?P<marks>```+|~~~+) *(?P<language>[\w+-]*)[^`]*$")
COMMENT = re.compile(r"^ *<!--\s*(?P<text>.*?)\s*-->\s*$")
NOT_RUN = re.compile(r"not run\b:?\s*(?P<reason>.*)")


class PageError(Exception):
    """A page that cannot be run as it is written."""


class OutputDiffers(Exception):
    """A block printed something else than the page says."""


@dataclass(frozen=True)
class Block:
    """One fenced block, and the comment that stands right above it."""

    line: int
    """Line of the page on which the code begins, counted from 1."""
    language: str
    code: str
    comment: str = ""


@dataclass(frozen=True)
class Snippet:
    """One Python block, with what the page says about it."""

    line: int
    code: str
    not_run: str | None = None
    """Why it is left out; None when it runs."""
    output: str | None = None


def blocks_of(page: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    blocks: list[Block] = []
    comment = ""
    lines = iter(enumerate(page.splitlines(), start=1))
    for number, line in lines:
        if opening := FENCE.match(line):
            body = _body(lines, opening, number)
            blocks.append(Block(number + 1, opening["language"], body, comment))
            comment = ""
        elif noted := COMMENT.match(line):
            comment = noted["text"]
        elif line.strip():
            comment = ""
    return blocks


def _body(lines: Iterator[tuple[int, str]], opening: re.Match[str], start: int) -> str:
    mark = opening["marks"]
    closing = re.compile(rf" *{mark}{mark[0]}* *")
    body: list[str] = []
    for _, line in lines:
        if closing.fullmatch(line):
            return textwrap.dedent("\n".join([*body, ""]))
        body.append(line)
    raise PageError(f"The block that opens on line {start} is never closed.")


def snippets_of(page: str) -> list[Snippet]:
    """The Python blocks of a page, each with its reason not to run or its expected output."""
    snippets: list[Snippet] = []
    above: Block | None = None
    for block in blocks_of(page):
        if block.comment == "output":
            if above is None or above.language != "python":
                raise PageError(f"The output on line {block.line} has no Python block above it.")
            snippets[-1] = replace(snippets[-1], output=block.code)
        elif block.language == "python":
            snippets.append(Snippet(block.line, block.code, _reason_not_to_run(block)))
        above = block
    return snippets


def _reason_not_to_run(block: Block) -> str | None:
    said = NOT_RUN.fullmatch(block.comment)
    if said and not said["reason"]:
        raise PageError(f"The block on line {block.line} is not run. Say why in the comment.")
    return said["reason"] if said else None


def run_page(path: Path) -> int:
    """Run a page's snippets in this process; return how many ran."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    snippets = [snippet for snippet in snippets_of(path.read_text()) if snippet.not_run is None]
    with asyncio.Runner() as runner:
        for snippet in snippets:
            printed = _run(snippet, path, vars(module), runner)
            _compare(snippet, printed)
    return len(snippets)


def _run(snippet: Snippet, path: Path, names: dict[str, Any], runner: asyncio.Runner) -> str:
    # Padding makes a traceback point at the line of the page.
    source = "\n" * (snippet.line - 1) + snippet.code
    code = compile(source, str(path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        pending = eval(code, names)
        if inspect.iscoroutine(pending):
            runner.run(pending)
    return printed.getvalue()


def _compare(snippet: Snippet, printed: str) -> None:
    if snippet.output is None:
        return
    checker, options = doctest.OutputChecker(), doctest.ELLIPSIS
    if not checker.check_output(snippet.output, printed, options):
        example = doctest.Example(snippet.code, snippet.output)
        difference = checker.output_difference(example, printed, options)
        raise OutputDiffers(
            f"The block on line {snippet.line} prints something else.\n{difference}"
        )


if __name__ == "__main__":
    run_page(Path(sys.argv[1]))
