"""With ripgrep and without it, grep finds the same."""

import asyncio
import os
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers_files import search_tools
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.skipif(
    shutil.which("rg") is None, reason="ripgrep is not installed, so there is nothing to compare"
)

CONTENTS = {
    "plain.txt": b"alpha beta\nfoo_bar(1)\n  indented\n\nlast",
    "crlf.txt": b"alpha\r\nfoo bar\r\nend\r\n",
    "marked.txt": b"\xef\xbb\xbfalpha first\nkilo\n",
    "utf16.txt": "alpha\nStraße ₂ \u0130 \u0131 \u017f \u212a\n".encode("utf-16"),
    "utf16be.txt": b"\xfe\xff" + "foo(bar)\r\nend\r\n".encode("utf-16-be"),
    "latin.txt": "café alpha ÿfoo\xe9bar\n".encode("latin-1"),
    "binary.bin": b"alpha\0foo_bar\n",
    "late.bin": b"x" * 9000 + b"\0alpha\nfoo\n",
    "unicode.txt": "naïve 日本 ² x² ½ \u2028 \x1c\x1d\nfoo\u00a0bar\n".encode(),
    "folding.txt": "\u0130stanbul\n\u0131x\n\u212aELVIN\n\u017fet\n".encode(),
    "empty.txt": b"",
    "breaks.txt": b"\n\n\r\n",
    "-dash.txt": b"alpha -foo\n",
    "sub/we ird [x].txt": b"foo.bar*baz? {1} $5 ^ | \\ alpha\n",
    "sub/node_modules/x.txt": b"alpha\n",
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ripgrep")
    for name, content in CONTENTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


async def both(tree: Path, patched: Callable[[str, str], Any], **arguments: Any) -> list[Any]:
    """The answers with ripgrep and without it."""
    call = await search_tools(tree)
    path = os.environ["PATH"]
    with_it = await call("grep", **arguments)
    patched("PATH", str(tree))
    try:
        assert shutil.which("rg") is None
        return [with_it, await call("grep", **arguments)]
    finally:
        patched("PATH", path)


PATTERNS_IN_CASE = [
    *("^alpha", r"\bfoo\b", r"foo\w+", r"\d", r"\s\s", "^$", r"foo\.bar\*", r"\$5 \^ \| \\"),
    *("[^a-z ]", "[[a]lpha", "(foo|alpha) ?(bar)?", "a{2}|l{1,}p", r"(.)\1", "-foo", "--files"),
    *("日本", "caf."),
]
PATTERNS_IN_ANY_CASE = ["ALPHA", r"x\w", "istanbul", "kelvin", "i", "s"]


async def test_every_pattern_finds_the_same_lines(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = await search_tools(tree)
    wanted = [
        *({"pattern": each, "-i": False} for each in PATTERNS_IN_CASE),
        *({"pattern": each, "-i": True} for each in PATTERNS_IN_ANY_CASE),
    ]

    async def answers() -> list[Any]:
        # Side by side, as most of the time goes into starting processes.
        return await asyncio.gather(
            *(call("grep", output_mode="content", **{"-C": 1}, **each) for each in wanted)
        )

    with_it = await answers()
    monkeypatch.setenv("PATH", str(tree))
    assert shutil.which("rg") is None
    without = await answers()

    for each, one, other in zip(wanted, with_it, without, strict=True):
        assert one == other, each
        assert other.success, each


ATOMS = st.sampled_from(
    [
        "a",
        "i",
        "S",
        "k",
        "foo",
        ".",
        r"\w",
        r"\d",
        r"\s",
        r"\b",
        "^",
        "$",
        "[a-f]",
        "[^x]",
        r"\.",
        "é",
    ]
)
REPEATED = st.builds("{}{}".format, ATOMS, st.sampled_from(["", "", "*", "+", "?", "{2}", "*?"]))
PATTERNS = st.recursive(
    REPEATED,
    lambda inner: st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("({}|{})".format, inner, inner),
        st.builds("(?:{})+".format, inner),
    ),
    max_leaves=5,
)


def is_pattern(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(text)
    except re.error:
        return False
    return True


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    pattern=PATTERNS.filter(is_pattern),
    ignore_case=st.booleans(),
    mode=st.sampled_from(["files_with_matches", "content", "count"]),
    context=st.integers(0, 2),
    glob=st.sampled_from([None, "*.txt", "!*.bin", "sub/**"]),
    limit=st.sampled_from([None, 0, 1, 3]),
)
async def test_any_search_finds_the_same(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    pattern: str,
    ignore_case: bool,
    mode: str,
    context: int,
    glob: str | None,
    limit: int | None,
) -> None:
    arguments = {"output_mode": mode, "-i": ignore_case, "-C": context, "glob": glob}

    with_it, without = await both(
        tree, monkeypatch.setenv, pattern=pattern, head_limit=limit, **arguments
    )

    assert without.success
    assert with_it == without
