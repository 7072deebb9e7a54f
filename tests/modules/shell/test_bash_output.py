"""However much is printed, the model reads the beginning and the end, and memory stays small."""

import tracemalloc
from pathlib import Path

import pytest
from helpers_bash import shell_in
from hypothesis import given, settings
from hypothesis import strategies as st

from amplifier_modules.shell.output import Capture


async def test_output_within_the_limit_is_told_in_full(tmp_path: Path) -> None:
    async with shell_in(tmp_path, max_output_bytes=1000) as shell:
        result = await shell.run("head -c 1000 /dev/zero | tr '\\0' x")

    assert result.output == {"stdout": "x" * 1000, "stderr": "", "returncode": 0}


async def test_long_output_keeps_whole_lines_of_both_ends(tmp_path: Path) -> None:
    async with shell_in(tmp_path, max_output_bytes=100) as shell:
        result = await shell.run("seq 1000 1099")

    head = "".join(f"{number}\n" for number in range(1000, 1008))
    tail = "".join(f"{number}\n" for number in range(1092, 1100))
    assert result.output["stdout"] == f"{head}[... 420 bytes left out ...]\n{tail}"
    assert result.output["truncated"] is True
    assert result.output["stdout_total_bytes"] == 500
    assert result.output["stderr_total_bytes"] == 0


async def test_each_stream_has_a_limit_of_its_own(tmp_path: Path) -> None:
    async with shell_in(tmp_path, max_output_bytes=100) as shell:
        result = await shell.run("echo short; seq 1000 1099 >&2")

    assert result.output["stdout"] == "short\n"
    assert "[... 420 bytes left out ...]" in result.output["stderr"]


async def test_one_endless_line_is_cut_between_characters(tmp_path: Path) -> None:
    async with shell_in(tmp_path, max_output_bytes=100) as shell:
        result = await shell.run("printf 'ä€%.0s' {1..500}")

    head, _, tail = result.output["stdout"].partition("\n[... 2420 bytes left out ...]\n")
    assert head == "ä€" * 8
    assert tail == "ä€" * 8


async def test_a_flood_is_swallowed_in_little_memory(tmp_path: Path) -> None:
    size = 60_000_000
    async with shell_in(tmp_path, timeout=20) as shell:
        tracemalloc.start()
        try:
            result = await shell.run(f"yes | head -c {size}")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert result.output["stdout_total_bytes"] == size
    assert len(result.output["stdout"]) < 100_000
    assert peak < 5_000_000


async def test_a_flood_without_end_is_stopped_in_time(tmp_path: Path) -> None:
    async with shell_in(tmp_path, timeout=0.3) as shell:
        result = await shell.run("yes & yes >&2")

    assert not result.success
    assert result.output["truncated"] is True
    assert "stopped after 0.3 s" in result.output["note"]


# -- the capture, with any bytes in any pieces ------------------------------------------

CHUNKS = st.lists(st.binary(max_size=40) | st.text(max_size=20).map(str.encode), max_size=20)


def captured(chunks: list[bytes], limit: int) -> Capture:
    capture = Capture(limit)
    for chunk in chunks:
        capture.feed(chunk)
    return capture


@given(CHUNKS, st.integers(1, 200))
@settings(max_examples=150)
def test_the_result_depends_on_the_bytes_and_not_on_the_pieces(
    chunks: list[bytes], limit: int
) -> None:
    whole = b"".join(chunks)

    assert captured(chunks, limit).printed() == captured([whole], limit).printed()


@given(CHUNKS, st.integers(1, 200))
@settings(max_examples=150)
def test_what_is_kept_and_what_is_left_out_make_the_whole(chunks: list[bytes], limit: int) -> None:
    whole = b"".join(chunks)
    printed = captured(chunks, limit).printed()

    assert printed.total_bytes == len(whole)
    assert printed.truncated == (len(whole) > limit)
    if not printed.truncated:
        assert printed.text == whole.decode(errors="replace")


@given(st.text(max_size=300), st.integers(1, 200))
@settings(max_examples=150)
def test_text_is_never_cut_inside_a_character(text: str, limit: int) -> None:
    printed = captured([text.encode()], limit).printed()

    if "\N{REPLACEMENT CHARACTER}" not in text:
        assert "\N{REPLACEMENT CHARACTER}" not in printed.text


@given(st.lists(st.text(alphabet="aä€\U0001f600\n", max_size=9), max_size=9), st.data())
@settings(max_examples=150)
def test_pieces_taken_one_by_one_make_the_whole(texts: list[str], data: st.DataObject) -> None:
    whole = "".join(texts).encode()
    capture, taken, at = Capture(1000), "", 0
    while at < len(whole):
        step = data.draw(st.integers(1, 7))
        capture.feed(whole[at : at + step])
        taken += capture.take(final=False).text
        at += step

    assert taken + capture.take(final=True).text == "".join(texts)


@given(st.lists(st.integers(1, 90), max_size=9), st.integers(1, 60))
@settings(max_examples=150)
def test_pieces_of_a_flood_end_with_whole_characters(sizes: list[int], limit: int) -> None:
    flood, capture, at = ("€ä\N{GRINNING FACE}" * 120).encode(), Capture(limit), 0
    for size in sizes:
        capture.feed(flood[at : at + size])
        at += size

        assert "\N{REPLACEMENT CHARACTER}" not in capture.take(final=False).text


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_a_tiny_limit_still_tells_how_much_there_was(limit: int) -> None:
    printed = captured([b"ab\ncd\nef"], limit).printed()

    assert "bytes left out" in printed.text
    assert printed.total_bytes == 8
