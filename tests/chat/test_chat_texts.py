"""What is shown in a chat fits the terminal and loses nothing on the way."""

import itertools
import re
import time
import unicodedata
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import RenderableType

from amplifier.chat import drawing as drawing_of
from amplifier.chat.approvals import difference
from amplifier.chat.blocks import LONGEST_BLOCK, LONGEST_LINE, Block, Blocks
from amplifier.chat.drawing import Drawing, markdown
from amplifier.chat.texts import exact, first_lines, harmless, one_line, wrapped

MARKDOWN = st.text(st.sampled_from("ab `~#-|*\n\té日🎉"), max_size=200)


@given(MARKDOWN, st.lists(st.integers(0, 200), max_size=10))
def test_blocks_and_tail_are_the_text_however_it_is_cut(text: str, cuts: list[int]) -> None:
    blocks = Blocks()
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(edges)]

    found = [block for piece in pieces for block in blocks.feed(piece)]

    shown = "".join(block.source for block in found)
    assert shown + blocks.tail == text
    assert "".join(block.source for block in blocks.finish()) == text[len(shown) :]


@given(MARKDOWN)
def test_blocks_do_not_depend_on_how_the_text_is_cut(text: str) -> None:
    at_once, by_letters = Blocks(), Blocks()

    whole = [*at_once.feed(text), *at_once.finish()]
    letters = [block for each in text for block in by_letters.feed(each)]

    assert [*letters, *by_letters.finish()] == whole


def blocks_of(text: str) -> list[Block]:
    blocks = Blocks()
    return [*blocks.feed(text), *blocks.finish()]


def test_code_stays_in_one_block_until_its_fence_ends() -> None:
    blocks = Blocks()

    assert [each.source for each in blocks.feed("Look:\n\n```py\nx = 1\n\ny = 2\n")] == [
        "Look:\n\n"
    ]
    assert [each.source for each in blocks.feed("```\nmore")] == ["```py\nx = 1\n\ny = 2\n```\n"]
    assert blocks.tail == "more"


def test_what_belongs_to_an_item_of_a_list_stays_with_it() -> None:
    sources = [
        each.source
        for each in blocks_of("1. one\n\n   more\n\n   ```\n   x\n\n   y\n   ```\n2. two\n")
    ]

    assert sources == ["1. one\n\n   more\n\n   ```\n   x\n\n   y\n   ```\n", "2. two\n"]


def test_blocks_are_apart_where_the_text_has_blank_lines() -> None:
    found = blocks_of("# Head\nText\n- a\n- b\n\n- c\n")

    assert [(each.source.strip(), each.is_apart) for each in found] == [
        ("# Head", True), ("Text", False), ("- a", False), ("- b", False), ("- c", True),
    ]  # fmt: skip


def test_long_code_is_cut_into_pieces_that_are_code() -> None:
    code = "".join(f"line {n}\n" for n in range(3 * LONGEST_BLOCK))

    found = blocks_of(f"```py\n{code}```\n")

    assert "".join(each.source for each in found) == f"```py\n{code}```\n"
    assert len(found) > 3
    assert all(each.markdown.startswith("```py\n") for each in found)
    assert all(each.markdown.rstrip().endswith("```") for each in found)
    assert [each.is_apart for each in found] == [True] + [False] * (len(found) - 1)


def test_a_long_table_keeps_its_head_in_each_piece() -> None:
    rows = "".join(f"| {n} | x |\n" for n in range(2 * LONGEST_BLOCK))

    found = blocks_of(f"| a | b |\n|---|---|\n{rows}")

    assert len(found) > 2
    assert all(each.markdown.startswith("| a | b |\n|---|---|\n") for each in found)


def test_a_line_without_an_end_is_cut_between_words() -> None:
    text = "word " * LONGEST_LINE

    found = blocks_of(text)

    assert "".join(each.source for each in found) == text
    assert all(len(each.source) <= LONGEST_LINE for each in found)
    assert all(each.source.endswith(" ") for each in found)


def drawn(text: str, width: int = 60) -> str:
    return Drawing(colour=False).lines(markdown(text), width)


@pytest.mark.parametrize(
    "text",
    ["Use List<String> and <br>.", "See [a][1].", "Roses\nViolets", "a & b &amp; c", "10\u00a0€"],
)
def test_markdown_leaves_nothing_out(text: str) -> None:
    assert drawn(text).rstrip() == text.replace("&amp;", "&")


def test_notes_and_pictures_are_shown_as_text() -> None:
    assert "[1]: http://x.y" in drawn("[1]: http://x.y")
    assert "sunset (x.png)" in drawn("![sunset](x.png)")


def test_cells_of_a_table_are_broken_not_cut_off() -> None:
    shown = drawn(f"| a | b |\n|---|---|\n| {'x' * 60} | {'y' * 60} |\n", 30)

    assert (shown.count("x"), shown.count("y")) == (60, 60)


def test_code_has_no_blanks_at_the_ends_of_lines_to_be_copied() -> None:
    assert drawn("```py\nx = 1\n\ny = 2\n```") == "  x = 1\n\n  y = 2\n"


@dataclass
class Asked:
    title: str
    body: list[RenderableType] = field(default_factory=list)
    risk: str = "high"


STEERING = "".join(map(chr, [*range(9), *range(11, 32), *range(127, 160), 0x202E, 0x2066, 0x200E]))


@given(st.text(st.sampled_from(STEERING + "a[31m;]8?hé日🎉 \n&#x1b;*`")))
def test_nothing_that_is_drawn_steers_the_terminal(text: str) -> None:
    drawing = Drawing(colour=True)
    card = drawing_of.tool_card("done", text, {text: text}, text, 40, 1.0, text)
    asked = drawing_of.question_card(Asked(text, [*difference(text, "x", text)]))

    for what in (markdown(text), card, asked, drawing_of.note(text), drawing_of.thought(text)):
        shown = re.sub(r"\x1b\[[0-9;]*m", "", drawing.lines(what, 40))
        assert not set(shown) & set(STEERING)


@pytest.mark.parametrize("action", ["run '[/foo]'", "run '[bold red]x'", "run '\x1b[2Jx'"])
def test_what_looks_like_markup_in_a_question_is_text(action: str) -> None:
    shown = Drawing(colour=False).lines(drawing_of.question_card(Asked(action)), 60)

    assert exact(action) in shown


def test_what_cannot_be_seen_is_written_out_in_what_is_decided_about() -> None:
    assert exact("a\u200bb\u00a0c\u202ed\re") == "a\\u200bb\\xa0c\\u202ed\\re"


def test_a_difference_shows_the_change_with_lines_around_it() -> None:
    before = "".join(f"line {n}\n" for n in range(1, 10_001))
    after = before.replace("line 5000\n", "line five thousand\n")

    lines = [getattr(each, "plain", "") for each in difference(before, after, "f.txt")]

    assert lines == [
        "f.txt", "@@ from line 4997 @@", " line 4997", " line 4998", " line 4999",
        "-line 5000", "+line five thousand", " line 5001", " line 5002", " line 5003",
    ]  # fmt: skip


def test_a_difference_of_large_files_takes_no_time() -> None:
    before = "".join(f"a {n}\n" for n in range(20_000))
    after = "".join(f"b {n % 7}\n" for n in range(20_000))
    started = time.process_time()

    lines = difference(before, after, "f.txt")

    assert time.process_time() - started < 2
    assert "more lines" in getattr(lines[-1], "plain", "")


@given(st.text(max_size=80), st.integers(2, 40))
def test_no_wrapped_line_is_wider_than_the_terminal(text: str, width: int) -> None:
    assert all(cell_len(line) <= width for line in wrapped(harmless(text), width))


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs"]), max_size=80))
def test_wrapping_drops_no_visible_character(text: str) -> None:
    assert "".join(wrapped(text, 10)) == text


@given(st.text(max_size=80), st.integers(1, 40))
def test_one_line_is_one_line_and_fits(text: str, width: int) -> None:
    line = one_line(text, width)

    assert "\n" not in line
    assert cell_len(line) <= width


@given(st.text())
def test_harmless_text_steers_no_terminal(text: str) -> None:
    assert not any(
        unicodedata.category(each) in ("Cc", "Cs") for each in harmless(text) if each not in "\n\t"
    )
    assert not set(harmless(text)) & set(STEERING)


def test_lines_that_are_left_out_are_counted() -> None:
    assert first_lines("a\nb\nc\nd\n", 2, 80) == ["a", "b", "… 2 more lines"]
