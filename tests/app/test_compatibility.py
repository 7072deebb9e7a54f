"""What the page on compatibility calls "the same" is there."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from amplifier.cli import main
from amplifier.settings.documents import parse
from amplifier.settings.nodes import ConfigError
from amplifier.settings.schema import check_settings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility-command.md"
ROW = re.compile(r"^\| (?P<theirs>`.*?) \| (?P<ours>.*) \|$", re.MULTILINE)


def rows(title: str) -> Iterator[tuple[list[str], str]]:
    """Each line of a table: the code in its first cell, and its second cell."""
    section = PAGE.read_text().partition(f"## {title}\n")[2].partition("\n## ")[0]
    for row in ROW.finditer(section):
        yield re.findall(r"`([^`]+)`", row["theirs"]), row["ours"]


SAME = [each for spans, ours in rows("Commands") if ours.startswith("the same") for each in spans]
GONE = [each for spans, ours in rows("Settings") if ours.startswith("an error") for each in spans]
KEPT = [
    each
    for spans, ours in rows("Settings")
    if ours.startswith("the same")
    for each in spans
    if re.fullmatch(r"[a-z.]+", each) and "yaml" not in each
]


def command(words: list[str]) -> click.Command:
    found: click.Command = main
    context = click.Context(main)
    for word in words:
        assert isinstance(found, click.Group), f"{word!r} is below no group"
        below = found.get_command(context, word)
        assert below is not None, f"there is no command {' '.join(words)!r}"
        found = below
    return found


@pytest.mark.parametrize("span", SAME)
def test_a_command_that_is_called_the_same_has_these_options(span: str) -> None:
    words = span.split()
    names = [each for each in words if each.islower() and each[0] != "-" and each != "amplifier"]
    found = command(names)
    known = {flag for each in found.get_params(click.Context(found)) for flag in each.opts}

    assert {each for each in words if each.startswith("-")} <= known


@pytest.mark.parametrize("key", [*KEPT, *GONE])
def test_a_key_that_is_called_the_same_is_known_and_one_that_is_gone_says_so(key: str) -> None:
    *above, last = key.split(".")
    text = "".join(f"{'  ' * depth}{each}:\n" for depth, each in enumerate(above))
    node = parse(f"{text}{'  ' * len(above)}{last}: null\n", "settings.yaml")

    if key in KEPT:
        check_settings(node)
    else:
        with pytest.raises(ConfigError, match="has no effect here"):
            check_settings(node)


def test_the_page_speaks_of_every_command_there_is() -> None:
    text = PAGE.read_text()
    missing = [each for each in main.list_commands(click.Context(main)) if f"`{each}" not in text]

    assert missing == []
    assert len(SAME) > 30
    assert len(KEPT) > 5
