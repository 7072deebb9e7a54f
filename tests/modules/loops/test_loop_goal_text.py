"""Goal pursuit: clipping, transcripts, reasons compared, models ranked."""

from itertools import permutations
from typing import Any

from amplifier_core.message_models import Message
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modules.loops.goal_models import newest
from amplifier_modules.loops.goal_text import Limits, clip, distinct, overlap, transcript

texts = st.text(max_size=300)
sentences = st.text(alphabet="ab cX,.!", max_size=20)


@given(texts, st.integers(0, 400))
def test_a_clipped_text_is_never_longer_than_the_limit(text: str, limit: int) -> None:
    assert len(clip(text, limit)) <= limit


@given(texts)
def test_a_text_that_fits_is_left_alone(text: str) -> None:
    assert clip(text, len(text)) == text


@given(st.integers(100, 200), st.integers(0, 500))
def test_both_ends_of_a_clipped_text_are_kept(limit: int, more: int) -> None:
    text = "<" * limit + "-" * more + ">" * limit
    shown = clip(text, limit)

    assert shown.startswith("<")
    assert shown.endswith(">")
    assert abs(shown.count("<") - shown.count(">")) <= 1


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text, "tool_calls": [{"tool": "t", "arguments": {"a": text}}]}


messages = st.lists(
    st.builds(_message, st.sampled_from(["user", "assistant", "tool", "system"]), texts)
)


@given(messages, st.integers(1, 600), st.integers(0, 80), st.integers(1, 9))
def test_a_transcript_keeps_its_budget(
    stored: list[Any], budget: int, clipped: int, most: int
) -> None:
    assert len(transcript(stored, Limits(most, clipped, budget))) <= budget


@given(messages, st.integers(1, 600))
def test_a_conversation_is_shown_in_full_exactly_if_it_fits(stored: list[Any], budget: int) -> None:
    whole = transcript(stored, Limits(99, 50, 10**6))

    shown = transcript(stored, Limits(99, 50, budget))

    assert (shown == whole) == (len(whole) <= budget)


@given(messages, texts)
def test_the_newest_message_is_shown_in_full_if_it_fits(stored: list[Any], text: str) -> None:
    latest = {"role": "user", "content": text + "."}
    alone = f"user: {text}."

    assert transcript([*stored, latest], Limits(99, 50, len(alone))) == alone


@given(st.lists(texts.filter(str.strip), min_size=1), st.integers(1, 9))
def test_the_newest_messages_are_shown_in_their_order(said: list[str], most: int) -> None:
    stored = [{"role": "user", "content": text} for text in said]

    shown = transcript(stored, Limits(most, 0, 10**6))

    assert shown == "\n\n".join(f"user: {text}" for text in said[-most:])


def test_messages_may_be_objects_and_contents_lists_of_blocks() -> None:
    blocks: Any = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    stored = [Message(role="user", content=blocks), {"role": "tool", "content": "c"}]

    shown = transcript(stored, Limits(9, 9, 99))

    assert shown == "user: a\n\nb\n\n[result of a tool] c"


# -- reasons -----------------------------------------------------------------------------


@given(st.lists(sentences, min_size=2, max_size=4))
def test_overlap_is_a_share_that_order_does_not_change(reasons: list[str]) -> None:
    shares = {overlap(list(each)) for each in permutations(reasons)}

    assert len(shares) == 1
    assert 0 <= shares.pop() <= 1


@given(sentences, st.integers(2, 4))
def test_equal_reasons_overlap_in_full_if_they_say_anything(reason: str, times: int) -> None:
    says_something = any(sign.isalnum() for sign in reason)

    assert overlap([reason] * times) == (1 if says_something else 0)


@given(st.lists(sentences, min_size=2, max_size=4), sentences)
def test_one_more_reason_never_makes_the_overlap_larger(reasons: list[str], more: str) -> None:
    assert overlap([*reasons, more]) <= overlap(reasons)


def test_overlap_is_the_share_of_common_words() -> None:
    assert overlap(["The build fails", "the BUILD is slow"]) == 2 / 5
    assert overlap(["a b", "c d"]) == 0
    assert overlap(["alone"]) == 0


@given(st.lists(sentences))
def test_there_are_no_more_distinct_reasons_than_reasons(reasons: list[str]) -> None:
    assert distinct(reasons) <= len(set(reasons))
    assert distinct([*reasons, *(reason.upper() for reason in reasons)]) == distinct(reasons)


# -- models ------------------------------------------------------------------------------


def test_the_higher_version_wins_by_number_not_by_letter() -> None:
    assert newest(["m-9", "m-10", "m-2"]) == "m-10"
    assert newest(["m-4", "m-4-5", "m-4.1"]) == "m-4-5"
    assert newest(["haiku-3-5", "3-haiku", "haiku-4-5-20251001"]) == "haiku-4-5-20251001"


def test_a_date_is_no_version() -> None:
    assert newest(["m-4-20250514", "m-4-1"]) == "m-4-1"
    assert newest(["m-4-2025-05-14", "m-4-1"]) == "m-4-1"
    assert newest(["m-4@20250514", "m-4-1"]) == "m-4-1"
    assert newest(["m-4", "m-20259999"]) == "m-20259999"


def test_the_shorter_name_wins_among_equal_versions() -> None:
    assert newest(["m-4-20250514", "m-4"]) == "m-4"
    assert newest(["m-4-preview", "m-4"]) == "m-4"


def test_the_later_of_two_dated_snapshots_wins() -> None:
    assert newest(["m-4-20240513", "m-4-20250806"]) == "m-4-20250806"


names = st.from_regex(r"\Am(-[0-9]{1,2}){0,3}(-mini)?(-2025(0[1-9]|1[0-2])01)?\Z")


@given(st.lists(names, min_size=1, max_size=5))
def test_the_ranking_does_not_depend_on_the_order_of_the_list(found: list[str]) -> None:
    assert len({newest(each) for each in permutations(found)}) == 1
    assert newest(found) in found


@given(names, st.integers(0, 98))
def test_a_later_version_of_the_same_model_wins(name: str, version: int) -> None:
    older, later = f"x-{version}-{name}", f"x-{version + 1}-{name}"

    assert newest([older, later]) == later
