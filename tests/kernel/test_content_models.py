"""Content of events and streams: what each kind dumps and what it leaves out."""

import json

import pytest
from amplifier_core.content_models import (
    ContentBlock,
    ContentBlockType,
    TextContent,
    ThinkingContent,
    ToolCallContent,
    ToolResultContent,
)


def test_there_are_four_kinds_of_content_and_each_is_its_own_text() -> None:
    assert {kind.name: kind.value for kind in ContentBlockType} == {
        "TEXT": "text",
        "THINKING": "thinking",
        "TOOL_CALL": "tool_call",
        "TOOL_RESULT": "tool_result",
    }
    assert all(kind == kind.value for kind in ContentBlockType)
    assert json.dumps(ContentBlockType.TEXT) == '"text"'


@pytest.mark.parametrize("kind", list(ContentBlockType))
def test_a_bare_block_dumps_only_its_type(kind: ContentBlockType) -> None:
    assert ContentBlock(kind).raw is None
    assert ContentBlock(kind, {"secret": 1}).to_dict() == {"type": kind.value}


@pytest.mark.parametrize(
    ("block", "dumped"),
    [
        (TextContent(), {"type": "text", "text": ""}),
        (TextContent(text="hi"), {"type": "text", "text": "hi"}),
        (ThinkingContent(), {"type": "thinking", "text": ""}),
        (ThinkingContent(text="hm"), {"type": "thinking", "text": "hm"}),
        (ToolCallContent(), {"type": "tool_call", "id": "", "name": "", "arguments": None}),
        (
            ToolCallContent(id="1", name="bash", arguments={"a": 1}),
            {"type": "tool_call", "id": "1", "name": "bash", "arguments": {"a": 1}},
        ),
        (ToolResultContent(), {"type": "tool_result", "tool_call_id": "", "output": None}),
        (
            ToolResultContent(tool_call_id="1", output=[1], error=""),
            {"type": "tool_result", "tool_call_id": "1", "output": [1]},
        ),
        (
            ToolResultContent(tool_call_id="1", error="boom"),
            {"type": "tool_result", "tool_call_id": "1", "output": None, "error": "boom"},
        ),
    ],
)
def test_each_kind_dumps_its_own_fields(block: ContentBlock, dumped: dict[str, object]) -> None:
    block.raw = {"vendor": "data"}

    assert block.to_dict() == dumped
    assert isinstance(block, ContentBlock)


def test_type_and_raw_come_first_when_given_by_position() -> None:
    raw = {"vendor": 1}

    assert TextContent(ContentBlockType.TEXT, raw, "hi") == TextContent(raw=raw, text="hi")
    assert ThinkingContent(ContentBlockType.THINKING, raw, "hm") == ThinkingContent(
        raw=raw, text="hm"
    )
    assert ToolCallContent(ContentBlockType.TOOL_CALL, raw, "1", "t", {}) == ToolCallContent(
        raw=raw, id="1", name="t", arguments={}
    )
    assert ToolResultContent(
        ContentBlockType.TOOL_RESULT, raw, "1", 2, "boom"
    ) == ToolResultContent(raw=raw, tool_call_id="1", output=2, error="boom")
