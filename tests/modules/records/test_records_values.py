"""Whatever an event carries becomes JSON of a limited size."""

import enum
import json
from collections import UserDict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from amplifier_core.message_models import TextBlock, Usage
from amplifier_core.models import ToolResult
from helpers_records import SECRET, TOKENS, logged
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

TOKEN = TOKENS["GitHub"]


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Login(BaseModel):
    user: str = "u"
    word: SecretStr = SecretStr("Sonne-77-Mond")


@dataclass
class Card:
    text: str


class Thing:
    def __init__(self) -> None:
        self.shown = 1
        self._hidden = 2


class Broken:
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text")


class BrokenModel:
    def __init__(self) -> None:
        self.field = "kept"

    def model_dump(self) -> dict[str, Any]:
        raise RuntimeError("no dump")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal("1.50"), "1.50"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (UUID(int=1), str(UUID(int=1))),
        (PurePosixPath("/a/b"), "/a/b"),
        (b"text", "text"),
        (b"\xff\xfe\x00", "[3 bytes]"),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (2**70, 2**70),
        (10**5000, "[integer of 16610 bits]"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        ((1, "a"), [1, "a"]),
        ({5}, [5]),
        (deque([1, 2]), [1, 2]),
        (UserDict(a=1), {"a": 1}),
        ({1: "a", None: "b", (1, 2): "c"}, {"1": "a", "None": "b", "(1, 2)": "c"}),
        (ValueError("bad"), "ValueError: bad"),
        (Login(), {"user": "u", "word": "**********"}),
        (TextBlock(text="hi"), {"type": "text", "text": "hi", "visibility": None}),
        (Card("x"), {"text": "x"}),
        (Thing(), {"shown": 1}),
        (Broken(), "[Broken that cannot be shown]"),
        (BrokenModel(), {"field": "kept"}),
        ("\ud800 half", "\ud800 half"),
        ("\u2028 \x85 \U0001f600 \x00", "\u2028 \x85 \U0001f600 \x00"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
async def test_any_value_is_written(value: Any, written: Any, tmp_path: Path) -> None:
    async with logged(tmp_path) as log:
        assert (await log.data(value=value))["value"] == written


async def test_types_functions_and_modules_are_written_as_text(tmp_path: Path) -> None:
    async with logged(tmp_path) as log:
        data = await log.data(a=Card, b=json.dumps, c=json)

    assert all(isinstance(data[name], str) for name in "abc")


async def test_what_contains_itself_is_written_once(tmp_path: Path) -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    async with logged(tmp_path) as log:
        data = await log.data(loop=loop, twice=[loop[0:1]] * 2)

    assert data["loop"] == [1, "[contains itself]"]
    assert data["twice"] == [[1], [1]]


async def test_what_is_very_deep_is_written_down_to_a_level(tmp_path: Path) -> None:
    deep: Any = "bottom"
    for _ in range(20_000):
        deep = [deep]
    async with logged(tmp_path) as log:
        text = json.dumps(await log.data(deep=deep))

    assert "deeper than 40 levels" in text
    while deep != "bottom":  # taken apart by hand: freeing it in one go would overflow the stack
        deep = deep[0]


async def test_a_file_can_be_split_at_any_line_end(tmp_path: Path) -> None:
    async with logged(tmp_path) as log:
        await log.emit("plan:end", text="a\u2028b\u2029c\x85d\ne\r\x0b\x0c\x1c")

    assert len(log.path.read_text(encoding="utf-8").splitlines()) == 1


async def test_a_long_text_is_cut_and_says_how_long_it_was(tmp_path: Path) -> None:
    async with logged(tmp_path, max_value_chars=20) as log:
        data = await log.data(text="abcdefghij" * 100, short="x" * 20)

    assert data["text"] == "abcdefghijabcdefghij... [cut, 1000 characters in all]"
    assert data["short"] == "x" * 20


@pytest.mark.parametrize("before", [0, 5, 15, 19, 20])
async def test_a_secret_at_the_cut_is_not_half_shown(before: int, tmp_path: Path) -> None:
    for secret in (*TOKENS.values(), "Sonne-77-Mond"):
        async with logged(tmp_path, max_value_chars=20) as log:
            log.coordinator.register_contributor("secrets.values", "x", lambda: ["Sonne-77-Mond"])
        async with logged(tmp_path, log.coordinator, max_value_chars=20) as log:
            text = (await log.data(text=" " * before + secret + " tail" * 100))["text"]

        assert secret[:4] not in text
        assert (SECRET in text) == (before < 20)


@pytest.mark.parametrize(
    "payload",
    [
        {"list": ["some text"] * 100_000},
        {"dict": {f"key{n}": n for n in range(100_000)}},
        {"wide": ["\u4e2d" * 1000] * 500},
        {"escaped": ["\x01" * 1000] * 500},
        {"nested": [[["x" * 50] * 50] * 50] * 50},
        {f"k{n}" * 40: "v" for n in range(2000)},
    ],
    ids=lambda payload: next(iter(payload))[:8],
)
async def test_no_record_is_larger_than_allowed(payload: dict[str, Any], tmp_path: Path) -> None:
    async with logged(tmp_path, max_record_bytes=4096) as log:
        record = await log.record("tool:post", **payload)

    assert log.path.stat().st_size <= 4096
    assert "in all]" in json.dumps(record)


async def test_results_and_usage_are_written_as_their_fields(tmp_path: Path) -> None:
    usage = Usage(input_tokens=1, output_tokens=2, total_tokens=3)
    async with logged(tmp_path) as log:
        data = await log.data(result=ToolResult(output={"a": TOKEN}), usage=usage)

    assert data["result"]["output"] == {"a": SECRET}
    assert data["usage"]["total_tokens"] == 3


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.text(), st.floats(), st.binary(), st.decimals(),
        st.datetimes(),
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner), st.tuples(inner)),
    max_leaves=10,
)  # fmt: skip


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(json_values, max_size=3))
async def test_every_payload_makes_one_line_of_strict_json(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("log")
    async with logged(folder) as log:
        for value in values:
            await log.emit("tool:post", value=value)

    assert len(log.records) == len(values)
