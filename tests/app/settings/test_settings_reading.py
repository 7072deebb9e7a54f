"""Settings files are read with limits, and whatever is wrong is named with file and line."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amplifier.settings.documents import MOST_BYTES, parse, read_file
from amplifier.settings.nodes import ConfigError, plain
from amplifier.settings.schema import check_settings

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        check_settings(parse(text, "settings.yaml"))
    return str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bundle:\n  activ: x\n", "settings.yaml:2: There is no key 'activ' in 'bundle'. Did you"),
        ("bundel: {}\n", "settings.yaml:1: There is no key 'bundel'. Did you mean 'bundle'?"),
        ("bundle: x\n", "settings.yaml:1: 'bundle' must have keys with values"),
        ("bundle:\n  active: [x]\n", "settings.yaml:2: 'bundle.active' must be text, not a list"),
        ("bundle:\n  app: x\n", "settings.yaml:2: 'bundle.app' must be a list"),
        ("modules:\n  tools:\n    - tool-bash\n", "settings.yaml:3: 'modules.tools' must have"),
        (
            "modules:\n  tools:\n    - config: {}\n",
            "settings.yaml:3: An entry of 'modules.tools' n",
        ),
        ("modules:\n  tools: [{module: x}, {module: x}]\n", "settings.yaml:2: 'x' is in"),
        ("overrides:\n  x:\n    confg: {}\n", "settings.yaml:3: There is no key 'confg'"),
        ("updates:\n  auto_prompt: true\n", "settings.yaml:1: 'updates' has no effect here"),
        ("a: 1\nb: [\n", "settings.yaml:3: It is not YAML"),
        ("a: 1\na: 2\n", "settings.yaml:2: 'a' is there already, in line 1"),
        ("- a\n", "settings.yaml:1: It must be keys with values"),
        ("1: a\n", "settings.yaml:1: A key must be text, not '1'"),
        ("on: a\n", "settings.yaml:1: A key must be text, not 'on'"),
        ("a: !!python/object:os.system x\n", "settings.yaml:1: The tag"),
        ("a: !include x\n", "settings.yaml:1: The tag '!include' has no meaning here"),
        ("a: &a {b: 1}\nc: {<<: *a}\n", "settings.yaml:2: A key must be text, not '<<'"),
        ("a: &a [*a]\n", "settings.yaml:1: It"),
        (BOMB, "It has more than 20,000 values"),
        ("a: " + "[" * 500 + "]" * 500, "It is nested"),
        ("a: " + "9" * 5000, "settings.yaml:1: '9999"),
        ("a: \x00\n", "It is not YAML"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(text: str, message: str) -> None:
    assert message in refusal(text)


def test_an_empty_file_says_nothing() -> None:
    assert plain(parse("", "f")) == plain(parse("# nothing\n", "f")) == plain(parse("~", "f")) == {}


def test_values_know_their_lines() -> None:
    root = parse("a:\n  b: 1\n  c:\n    - x\n    - y\n", "f")

    assert [str(root.at(*keys).origin) for keys in (["a"], ["a", "b"], ["a", "c"])] == [  # type: ignore[union-attr]
        "f:1",
        "f:2",
        "f:3",
    ]
    assert str(root.at("a", "c", "1").origin) == "f:5"  # type: ignore[union-attr]


def test_dates_are_text() -> None:
    assert plain(parse("version: 2026-01-02\n", "f")) == {"version": "2026-01-02"}


def test_files_that_are_none_or_too_large_are_refused(tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(b"#" * (MOST_BYTES + 1))
    os.mkfifo(tmp_path / "pipe")

    assert read_file(tmp_path / "missing") is None
    for path in (large, tmp_path / "pipe", tmp_path):
        with pytest.raises(ConfigError, match=str(path)):
            read_file(path)


@given(st.text(max_size=60) | st.text("ab:-[]{}&*!|>\n '\"#?,%@`<$", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ConfigError):
        assert isinstance(parse(text, "f").value, dict)
