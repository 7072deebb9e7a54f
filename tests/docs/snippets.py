"""Runs the code of a Markdown page, so that no page shows code that does not work.

Python blocks share a namespace, in order, and may use `await`. Comments right above a block
steer what happens to it:

* `<!-- file: NAME -->` writes the block, of any language, to that file instead of running it;
* `<!-- run -->` runs a shell block, which must succeed, or as `<!-- run: exit 1 -->` must not;
* `<!-- output -->` says that a `text` block is what the block above prints, where `...` stands
  for anything;
* `<!-- not run: reason -->` leaves a block out.

`python snippets.py PAGE` runs one page in the current folder; it stops at the first block that
fails.
"""

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import os
import re
import subprocess
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
FILE = re.compile(r"file: (?P<name>\S+)")
RUN = re.compile(r"run(?:: exit (?P<code>\d+))?")
SHELL = ("bash", "sh")
# What a reader has: the kernel and pytest, but not the other plugins of this repository.
READERS_PYTEST = " ".join(
    f"-p no:{plugin}" for plugin in ("randomly", "xdist", "hypothesispytest", "cacheprovider")
)
COMMAND_SECONDS = 60


class PageError(Exception):
    """A page that cannot be run as it is written."""


class OutputDiffers(Exception):
    """A block printed something else than the page says."""


class CommandFailed(Exception):
    """A shell block ended with another exit code than the page says."""


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
    """One block that does something, with what the page says about it."""

    line: int
    code: str
    not_run: str | None = None
    """Why it is left out; None when it runs."""
    output: str | None = None
    file: str | None = None
    """Where it is written to; None when it is run."""
    exit_code: int | None = None
    """What a shell block must end with; None for Python."""


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
    """The blocks of a page that do something, each with what the page says about it."""
    snippets: list[Snippet] = []
    above: Snippet | None = None
    for block in blocks_of(page):
        if block.comment == "output":
            if above is None or above.file is not None:
                raise PageError(f"The output on line {block.line} has no block above it that runs.")
            snippets[-1] = replace(snippets[-1], output=block.code)
            continue
        above = _snippet(block)
        if above is not None:
            snippets.append(above)
    return snippets


def _snippet(block: Block) -> Snippet | None:
    if file := FILE.fullmatch(block.comment):
        return Snippet(block.line, block.code, file=file["name"])
    if block.language == "python":
        return Snippet(block.line, block.code, _reason_not_to_run(block))
    run = RUN.fullmatch(block.comment)
    if run and block.language in SHELL:
        return Snippet(block.line, block.code, exit_code=int(run["code"] or 0))
    return None


def _reason_not_to_run(block: Block) -> str | None:
    said = NOT_RUN.fullmatch(block.comment)
    if said and not said["reason"]:
        raise PageError(f"The block on line {block.line} is not run. Say why in the comment.")
    return said["reason"] if said else None


def run_page(path: Path) -> int:
    """Run a page's snippets in the current folder; return how many ran."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    sys.path.insert(0, "")
    snippets = [snippet for snippet in snippets_of(path.read_text()) if snippet.not_run is None]
    with asyncio.Runner() as runner:
        for snippet in snippets:
            if snippet.file is not None:
                _write(Path(snippet.file), snippet.code)
            elif snippet.exit_code is not None:
                _compare(snippet, _run_in_shell(snippet))
            else:
                _compare(snippet, _run(snippet, path, vars(module), runner))
    return len(snippets)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _run_in_shell(snippet: Snippet) -> str:
    """What a shell block prints, with this Python's commands first on the path."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    home = str(Path.cwd() / ".home")
    plain = {
        "AMPLIFIER_HOME": home,
        "PATH": path,
        "PYTEST_ADDOPTS": READERS_PYTEST,
        "NO_COLOR": "1",
        "COLUMNS": "80",
    }
    ended = subprocess.run(
        ["sh", "-eu", "-c", snippet.code],
        env={**os.environ, **plain},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=COMMAND_SECONDS,
    )
    if ended.returncode != snippet.exit_code:
        raise CommandFailed(
            f"The block on line {snippet.line} ends with exit code {ended.returncode}, "
            f"not {snippet.exit_code}.\n{ended.stdout}"
        )
    return ended.stdout


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
