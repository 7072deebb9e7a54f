"""What is shown in a chat fits the terminal and loses nothing on the way."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from amplifier.chat.blocks import Blocks
from amplifier.chat.texts import first_lines, harmless, one_line, wrapped

MARKDOWN = st.text(st.sampled_from("ab `~#-|*\n\té日🎉"), max_size=200)


@given(MARKDOWN, st.lists(st.integers(0, 200), max_size=10))
def test_blocks_and_tail_are_the_text_however_it_is_cut(text: str, cuts: list[int]) -> None:
    blocks = Blocks()
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(edges)]

    found = [block for piece in pieces for block in blocks.feed(piece)]

    assert "".join(found) + blocks.tail == text
    assert "".join(blocks.finish()) == text[len("".join(found)) :]


@given(MARKDOWN)
def test_blocks_do_not_depend_on_how_the_text_is_cut(text: str) -> None:
    at_once, by_letters = Blocks(), Blocks()

    whole = [*at_once.feed(text), *at_once.finish()]
    letters = [block for each in text for block in by_letters.feed(each)]

    assert [*letters, *by_letters.finish()] == whole


def test_code_stays_in_one_block_until_its_fence_ends() -> None:
    blocks = Blocks()

    assert blocks.feed("Look:\n\n```py\nx = 1\n\ny = 2\n") == ["Look:\n\n"]
    assert blocks.feed("```\nmore") == ["```py\nx = 1\n\ny = 2\n```\n"]
    assert blocks.tail == "more"


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
    assert all(each.isprintable() or each in "\n\t" for each in harmless(text))


def test_lines_that_are_left_out_are_counted() -> None:
    assert first_lines("a\nb\nc\nd\n", 2, 80) == ["a", "b", "… 2 more lines"]
