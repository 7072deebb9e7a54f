"""The shell grammar refuses what it cannot judge, quickly and with one kind of error."""

import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_modules.shell.grammar import ParseError, parse, simple_commands

PIECES = st.sampled_from(
    [
        *"abX019 \t\n;&|<>()[]{}$`\"'\\*?~#!=+-,.:/@%^_",
        "$(",
        "${",
        "$((",
        "))",
        "<(",
        "<<",
        "<<E",
        "\nE\n",
        "&&",
        "||",
        "|&",
        ";;",
        "2>&1",
        "[[ ",
        " ]]",
        "if ",
        "then ",
        "fi",
        "for ",
        "in ",
        "do ",
        "done",
        "case ",
        "esac",
        "{ ",
        "; }",
        "f() ",
        "function ",
        "time ",
        "! ",
        "$'",
        "\\x41",
        "\\\n",
        "x=",
        "x=(",
        "é",
        "\u00a0",
        "\r",
    ]
)


@pytest.mark.parametrize(
    "text",
    [
        "ls '", 'ls "', "ls `", "ls $(", "ls ${x", "ls $((1)", "ls \\", "(ls", "{ ls", "ls)", "}",
        "; ls", "ls ;; ls", "ls & & ls", "ls &; ls", "ls |", "| ls", "ls &&", "&& ls", "ls || || a",
        "if a; then b", "if a; fi", "if ; then a; fi", "then", "fi", "for; do a; done", "()", "{ }",
        "for x in a; b; done", "while a; done", "case a in b) c", "case a b", "f() ls",
        "f(x) { a; }",
        "[[ a", "[[ a == ]]", "[[ ]]", "[[ -f ]]", "((1)", "((ls) )", "((echo a); (b))",
        "ls >", "ls > > f", "ls <<E", "ls <<E\nx", "ls <<$x\nE", "ls 2>(a)", "ls 12345>f",
    ],
)  # fmt: skip
def test_what_is_not_complete_or_not_in_order_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("locale strings", 'ls $"x"'),
        ("old arithmetic", "ls $[1]"),
        ("extended patterns", "ls !(a)"),
        ("coprocesses", "coproc ls"),
        ("two negations", "! ! ls"),
        ("an index with spaces", "a[ #]=$(rm x)"),
        ("an index with a command", "a[$(rm x)]=1"),
        ("lines joined in a word", "l\\\ns"),
        ("lines joined in an expansion", "echo $\\\nHOME"),
        ("lines joined in quotes after a dollar", 'echo "$\\\nHOME"'),
        ("lines joined between parentheses", "(\\\n(ls))"),
        ("lines joined in a here-document", "cat <<E\nE\\\nE\nE"),
        ("a word over lines before a here-document", "cat <<E 'a\nb'\nx\nE"),
        ("a substitution before a here-document", "cat <<E $(a\nb)\nx\nE"),
        ("a here-document that leaves its substitution", "echo $(cat <<E)\nx\nE"),
        ("quotes in braces in quotes", "echo \"${x:-'}'}\""),
        ("shell 5.3 substitution", "echo ${ ls; }"),
        ("NUL by number", r"echo $'a\0b'"),
        ("characters beyond ASCII by number", r"echo $'\xe9'"),
        ("an unknown escape", r"echo $'\q'"),
        ("odd function names", "a=b() { ls; }"),
        ("a space that is not ASCII", "ls\u00a0-la"),
        ("a wide space", "ls\u3000-la"),
        ("carriage return", "ls\rrm -rf x"),
        ("NUL", "ls\0"),
        ("escape sequences", "ls \x1b[2K"),
        ("right-to-left marks", "ls '\u202e'"),
        ("zero-width characters", "l\u200bs"),
        ("a byte order mark", "\ufeffls"),
        ("line separators", "ls\u2028rm x"),
        ("half characters", "ls \ud800"),
    ],
)
def test_what_a_reader_and_the_shell_may_see_differently_is_refused(what: str, text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_an_error_says_where_the_trouble_is() -> None:
    with pytest.raises(ParseError, match="at character 3") as caught:
        parse("ls )")

    assert caught.value.position == 3


@pytest.mark.parametrize("thing", [None, 3, b"ls", ["ls"]])
def test_what_is_no_text_is_refused_like_any_other(thing: Any) -> None:
    with pytest.raises(ParseError):
        parse(thing)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("(", ")"), ("{ ", "; }"), ("$(", ")"), ('"$(', ')"'), ("<(", ")"), ("${x:-", "}"),
        ("if ", "; then a; fi"), ("[[ ( ", " ) ]]"), ("$((", "))"), ("`", "`"), ("! ", ""),
        ("f() { ", "; }"), ("case a in b) ", " ;; esac"), ("((", "))"), ("(" , ""), ("{ ", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("levels", [40, 5_000])
def test_nesting_without_end_is_refused_in_no_time(opening: str, closing: str, levels: int) -> None:
    started = time.process_time()
    with suppress(ParseError):
        list(simple_commands(parse(opening * levels + "a" + closing * levels)))
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "text",
    ["a " * 40_000, "a;" * 10_000, "$x" * 40_000, "\\a" * 40_000, '"' * 80_000, "{" * 90_000,
     "[" * 90_000, "a <<E\nE\n" * 9_000, "{,}" * 30_000, "x=1 " * 20_000, "\n" * 90_000],
)  # fmt: skip
def test_long_texts_are_read_in_linear_time(text: str) -> None:
    started = time.process_time()
    with suppress(ParseError):
        list(simple_commands(parse(text)))
    assert time.process_time() - started < 5


def test_a_text_too_long_to_judge_is_refused() -> None:
    with pytest.raises(ParseError, match="More than"):
        parse("a" * 100_001)


@settings(max_examples=300, deadline=2_000)
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=30).map("".join)))
def test_any_text_gives_a_tree_or_a_parse_error(text: str) -> None:
    with suppress(ParseError):
        for each in simple_commands(parse(text)):
            assert len(each.argv) == len(each.words)
