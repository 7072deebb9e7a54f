"""The shell grammar against bash itself: it accepts nothing that bash refuses or reads otherwise.

Nothing that is tried here can do harm: syntax is checked with `bash -n`, and arguments are
printed by a restricted shell without any path to programs.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from amplifier_modules.shell.grammar import ParseError, parse, simple_commands

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="compares with bash, which is not installed")

WORDS = st.sampled_from(
    [
        "a",
        "-x",
        "'q u'",
        '"d $x"',
        "$x",
        "${x:-y}",
        "$(a)",
        "`a`",
        "$((1+2))",
        "<(a)",
        "*.py",
        "{a,b}",
        "~/x",
        "\\;",
        "$'\\t'",
        "x=1",
        "[ab]",
        '"$(a "b")"',
        "a#b",
        "{}",
        "!",
        "}",
        "if",
    ]
)
REDIRECTS = st.sampled_from(["> f", "2>&1", "< f", "&> f", "<<< w", ">> f", "3<&-", ""])
SIMPLE = st.builds(
    lambda prefix, words, redirect: " ".join(filter(None, [prefix, "c", *words, redirect])),
    st.sampled_from(["", "A=1", "A=$x B=2", "> f"]),
    st.lists(WORDS, max_size=3),
    REDIRECTS,
)


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    shapes = st.sampled_from(
        [
            "{0}; {1}",
            "{0} && {1}",
            "{0} || {1}",
            "{0} | {1}",
            "{0} & {1}",
            "{0}\n{1}",
            "! {0}",
            "( {0} )",
            "{{ {0}; }}",
            "if {0}; then {1}; fi",
            "while {0}; do {1}; done",
            "time {0}",
            "for i in a b; do {0}; done",
            "case w in a|b) {0} ;; *) {1} ;; esac",
            "c <(( {0} ))",
            "f() {{ {0}; }}",
            "c $( {0} ) {1}",
            'c "$( {0} )"',
            "[[ -f a && b == c ]] && {0}",
            "( {0} ) > f 2>&1",
            "(( 1 + 2 )) || {0}",
            "c <<E\n$( {0} )\nE\n{1}",
            "{0} # {1}",
        ]
    )
    return st.builds(lambda shape, one, two: shape.format(one, two), shapes, inner, inner)


COMMANDS = st.recursive(SIMPLE, _nested, max_leaves=4)
SOUP = st.lists(
    st.sampled_from(
        [
            *"ab1 \n;&|<>()[]{}$`\"'\\*?~#!=-,.",
            "$(",
            "${x",
            "$((",
            "))",
            "&&",
            "||",
            "[[ ",
            " ]]",
            "<<E\n",
            "\nE\n",
            "\\\n",
            "if a;",
            "then ",
            "fi",
            "for i in ",
            "do ",
            "done",
            "{ ",
            "; }",
            "f() ",
            "x=",
            "a[",
            "2>",
            ";;",
        ]
    ),
    max_size=14,
).map("".join)
CHARACTERS = st.lists(
    st.sampled_from([*"aB0 -_./:=,@%+^!#}]~{[é", "\\", "'", '"', "$", "$'", "\\n", "\\x41", "  "]),
    max_size=16,
).map("".join)


def bash_accepts(text: str) -> bool:
    assert BASH is not None
    done = subprocess.run(
        [BASH, "--norc", "-n"], input=text.encode(), capture_output=True, timeout=5, check=False
    )
    return done.returncode == 0 and not done.stderr


def printed_by_bash(words: str, folder: Path) -> list[str]:
    assert BASH is not None
    script = f"printf '%s\\0' start {words}"
    done = subprocess.run(
        [BASH, "--norc", "-r", "-c", script],
        capture_output=True, timeout=5, check=False, cwd=folder,
        env={"PATH": "/nonexistent", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert not done.stderr, (words, done.stderr)
    return done.stdout.decode().split("\0")[1:-1]


@settings(max_examples=150, deadline=None)
@given(COMMANDS)
def test_bash_accepts_whatever_well_formed_commands_the_grammar_accepts(text: str) -> None:
    try:
        parse(text)
    except ParseError:
        assume(False)
    assert bash_accepts(text)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(SOUP)
def test_bash_accepts_whatever_odd_texts_the_grammar_accepts(text: str) -> None:
    try:
        parse(text)
    except ParseError:
        return
    assert bash_accepts(text)


@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture],
)
@given(CHARACTERS)
def test_static_arguments_are_those_that_bash_passes_on(tmp_path: Path, words: str) -> None:
    try:
        commands = list(simple_commands(parse(f"printf '%s\\0' start {words}")))
    except ParseError:
        return
    [command] = commands
    if None in command.argv:
        return
    assert list(command.argv[3:]) == printed_by_bash(words, tmp_path)


def test_ordinary_commands_are_accepted() -> None:
    """A grammar that refuses everything would pass all the tests above."""
    corpus = Path(__file__).with_name("ordinary.txt").read_text(encoding="utf-8")
    for text in corpus.split("\n---\n"):
        parse(text)
        assert bash_accepts(text)
