"""Help teaches: every command has a sentence, and examples that can be typed."""

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from amplifier.cli import COMMANDS, ELSEWHERE, SECTIONS, TEXTS, main
from amplifier.cli.examples import EXAMPLES

LONGEST_LINE = 64
"""Of a line about a command, so that it fits into a terminal of 80 columns."""


def leaves(command: click.Command, path: str = "") -> dict[str, click.Command]:
    if not isinstance(command, click.Group):
        return {path: command}
    found: dict[str, click.Command] = {}
    context = click.Context(command)
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        found |= leaves(below, f"{path} {name}".strip())
    return found


LEAVES = leaves(main)


def test_every_command_has_an_example_and_every_example_a_command() -> None:
    assert set(EXAMPLES) == set(LEAVES)


@pytest.mark.parametrize("path", LEAVES)
def test_every_command_and_option_says_what_it_is_for(path: str) -> None:
    command = LEAVES[path]
    untold = [
        each.opts[-1] for each in command.params if isinstance(each, click.Option) and not each.help
    ]

    assert (command.help or "").strip()
    assert untold == []


def _arguments(path: str, line: str) -> list[str]:
    words = shlex.split(line)
    # Whoever tries the example has a folder of that name.
    return [
        str(Path.cwd()) if word.startswith(("./", "~/")) else word
        for word in words[1 + len(path.split()) :]
    ]


@pytest.mark.parametrize("path", EXAMPLES)
def test_an_example_is_a_line_that_is_understood(path: str) -> None:
    commands = [part for line in EXAMPLES[path] for part in re.split(r" [|>] ", line)]
    mine = [each for each in commands if each.startswith(f"amplifier {path}")]
    for each in mine:
        parent = click.Context(main, help_option_names=["-h", "--help"])
        context = LEAVES[path].make_context(path, _arguments(path, each), parent=parent)
        assert not context.args

    assert mine


def test_help_shows_the_commands_under_headings_and_examples_below() -> None:
    shown = CliRunner().invoke(main, ["--help"]).output

    assert [each for each in SECTIONS if f"{each}:" not in shown] == []
    assert [each for each in COMMANDS if f"\n  {each} " not in shown] == []
    assert "amplifier resume\n" in CliRunner().invoke(main, ["resume", "--help"]).output


def test_the_help_of_all_commands_has_a_line_for_each() -> None:
    assert list(TEXTS) == list(COMMANDS)
    assert [each for each in TEXTS.values() if len(each) > LONGEST_LINE] == []


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_command_of_the_public_program_that_is_not_here_is_told_of(name: str) -> None:
    done = CliRunner().invoke(main, [name])

    assert done.exit_code == 2
    assert f"No such command '{name}'. {ELSEWHERE[name]}" in done.output
