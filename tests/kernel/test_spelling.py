"""The name that somebody probably meant."""

import pytest
from amplifier_core.utils.spelling import did_you_mean
from hypothesis import given
from hypothesis import strategies as st

KNOWN = ["loop-basic", "tool-bash", "tool-web-fetch"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("tool-bsah", "tool-bash"),
        ("toolbash", "tool-bash"),
        ("bash-tool", "tool-bash"),
        ("fetch-web-tool", "tool-web-fetch"),
        ("loop-basics", "loop-basic"),
    ],
)
def test_the_nearest_known_name_is_offered(name: str, meant: str) -> None:
    assert did_you_mean(name, iter(KNOWN), "Look again.") == f"Did you mean {meant!r}?"


def test_without_a_near_name_the_caller_decides_what_to_say() -> None:
    assert did_you_mean("zzz", KNOWN, "Look again.") == "Look again."
    assert did_you_mean("zzz", KNOWN) == ""
    assert did_you_mean("zzz", []) == ""


def test_swapped_words_are_nearer_than_a_name_that_looks_alike() -> None:
    assert did_you_mean("probe-tool", ["probe-tools", "tool-probe"]) == "Did you mean 'tool-probe'?"


@given(st.permutations(["tool", "web", "fetch"]))
def test_the_order_of_words_does_not_matter(words: list[str]) -> None:
    assert did_you_mean("-".join(words), KNOWN) == "Did you mean 'tool-web-fetch'?"
