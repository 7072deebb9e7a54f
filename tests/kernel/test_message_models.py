"""Messages, content blocks, requests and responses: what they demand, keep and refuse."""

from decimal import Decimal
from typing import Any

import pytest
from amplifier_core.message_models import (
    ChatRequest,
    ChatResponse,
    ContentBlockUnion,
    Degradation,
    ImageBlock,
    Message,
    ReasoningBlock,
    RedactedThinkingBlock,
    ResponseFormat,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    ResponseFormatText,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    Usage,
)
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

HELLO = {"role": "user", "content": "hello"}
BLOCKS: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (TextBlock, {"type": "text", "text": "hello"}),
    (ThinkingBlock, {"type": "thinking", "thinking": "hm"}),
    (RedactedThinkingBlock, {"type": "redacted_thinking", "data": "xyz"}),
    (ToolCallBlock, {"type": "tool_call", "id": "1", "name": "bash", "input": {"command": "ls"}}),
    (ToolResultBlock, {"type": "tool_result", "tool_call_id": "1", "output": [1, None]}),
    (ImageBlock, {"type": "image", "source": {"anything": "goes"}}),
    (ReasoningBlock, {"type": "reasoning", "content": ["a"], "summary": []}),
]
RECORDS: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (Message, HELLO),
    (ToolSpec, {"name": "bash", "parameters": {"type": "object"}}),
    (ChatRequest, {"messages": [HELLO]}),
    (ToolCall, {"id": "1", "name": "bash", "arguments": {}}),
    (Usage, {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}),
    (Degradation, {"requested": "json", "actual": "text", "reason": "unsupported"}),
    (ChatResponse, {"content": [{"type": "text", "text": "hi"}]}),
]
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


@pytest.mark.parametrize(("model", "values"), BLOCKS + RECORDS)
def test_each_required_field_is_demanded(model: type[BaseModel], values: dict[str, Any]) -> None:
    model(**values)
    for missing in values.keys() - {"type"}:
        with pytest.raises(ValidationError, match=f"{missing}\n  Field required"):
            model(**{name: value for name, value in values.items() if name != missing})


@pytest.mark.parametrize(("model", "values"), BLOCKS + RECORDS)
def test_every_envelope_survives_dict_and_json(
    model: type[BaseModel], values: dict[str, Any]
) -> None:
    made = model(**values)

    assert model.model_validate(made.model_dump()) == made
    assert model.model_validate_json(made.model_dump_json()) == made


@pytest.mark.parametrize(("model", "values"), BLOCKS + RECORDS)
def test_unknown_fields_are_kept_and_dumped(model: type[BaseModel], values: dict[str, Any]) -> None:
    made = model(**values, vendor_field=[1])

    assert made.vendor_field == [1]  # type: ignore[attr-defined]
    assert made.model_dump()["vendor_field"] == [1]


@pytest.mark.parametrize(("model", "values"), BLOCKS)
def test_a_block_knows_its_type_and_whom_it_is_for(
    model: type[BaseModel], values: dict[str, Any]
) -> None:
    without_type = {name: value for name, value in values.items() if name != "type"}

    assert model(**without_type).model_dump(exclude_none=True) == values
    assert model(**values).model_dump()["visibility"] is None
    for visibility in ("internal", "developer", "user"):
        assert model(**values, visibility=visibility).model_dump()["visibility"] == visibility
    with pytest.raises(ValidationError, match="visibility"):
        model(**values, visibility="public")
    with pytest.raises(ValidationError, match="type"):
        model(**without_type, type="other")


@pytest.mark.parametrize(("model", "values"), BLOCKS)
def test_a_dict_becomes_the_block_that_its_type_names(
    model: type[BaseModel], values: dict[str, Any]
) -> None:
    (block,) = Message(role="assistant", content=[values]).content

    assert type(block) is model
    assert block == model(**values)
    assert ChatResponse(content=[values]).content == [block]


@pytest.mark.parametrize(
    "block", [{"text": "no type"}, {"type": "video", "text": "x"}, "text", None]
)
def test_a_block_without_a_known_type_is_refused(block: Any) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(ContentBlockUnion).validate_python(block)
    with pytest.raises(ValidationError):
        ChatResponse(content=[block])


def test_thinking_keeps_what_must_go_back_to_the_vendor() -> None:
    assert ThinkingBlock(thinking="hm").model_dump() == {
        "type": "thinking",
        "thinking": "hm",
        "signature": None,
        "visibility": None,
        "content": None,
    }
    block = ThinkingBlock(thinking="", signature="s", content=["encrypted", None])
    assert (block.signature, block.content) == ("s", ["encrypted", None])


def test_a_tool_result_block_may_hold_none_but_must_be_told_so() -> None:
    assert ToolResultBlock(tool_call_id="1", output=None).output is None


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "function", "tool"])
def test_a_message_has_one_of_six_roles(role: str) -> None:
    assert Message(role=role, content="x").model_dump() == {  # type: ignore[arg-type]
        "role": role,
        "content": "x",
        "name": None,
        "tool_call_id": None,
        "metadata": None,
    }
    with pytest.raises(ValidationError, match="role"):
        Message(role=role + "s", content="x")  # type: ignore[arg-type]


def test_a_message_may_be_empty_but_not_without_content() -> None:
    assert Message(role="user", content="").content == ""
    assert Message(role="assistant", content=[]).content == []
    with pytest.raises(ValidationError, match="content"):
        Message(role="assistant", content=None)  # type: ignore[arg-type]


def test_a_message_carries_tool_calls_as_an_extra() -> None:
    calls = [{"id": "1", "tool": "bash", "arguments": {}}]
    message = Message.model_validate({"role": "assistant", "content": "", "tool_calls": calls})

    assert message.model_dump()["tool_calls"] == calls


def test_a_tool_call_takes_parsed_arguments_under_its_name() -> None:
    with pytest.raises(ValidationError, match="arguments"):
        ToolCall(id="1", name="bash", arguments="{}")  # type: ignore[arg-type]
    with pytest.raises(ValidationError, match="name\n  Field required"):
        ToolCall.model_validate({"id": "1", "tool": "bash", "arguments": {}})


def test_a_tool_needs_no_description() -> None:
    assert ToolSpec(name="t", parameters={}).description is None


@pytest.mark.parametrize(
    ("given_format", "expected"),
    [
        ({}, ResponseFormatText()),
        ({"type": "text"}, ResponseFormatText()),
        ({"type": "json"}, ResponseFormatJson()),
        (
            {"type": "json_schema", "json_schema": {"type": "object"}, "strict": True},
            ResponseFormatJsonSchema(json_schema={"type": "object"}, strict=True),
        ),
    ],
)
def test_a_response_format_is_told_by_its_type(
    given_format: dict[str, Any], expected: BaseModel
) -> None:
    assert TypeAdapter(ResponseFormat).validate_python(given_format) == expected
    request = ChatRequest(messages=[], response_format=given_format)  # type: ignore[arg-type]
    assert request.response_format == expected


def test_a_response_format_drops_what_it_does_not_know() -> None:
    assert ResponseFormatJson.model_validate({"type": "json", "x": 1}).model_dump() == {
        "type": "json"
    }


def test_a_schema_is_read_by_its_name_and_written_by_its_alias() -> None:
    wanted = ResponseFormatJsonSchema(json_schema={"type": "object"})

    assert wanted.strict is None
    assert wanted.model_dump(by_alias=True)["schema"] == {"type": "object"}
    assert wanted.model_dump()["json_schema"] == {"type": "object"}
    with pytest.raises(ValidationError, match="json_schema"):
        ResponseFormatJsonSchema.model_validate({"schema": {"type": "object"}})


def test_a_request_asks_for_nothing_but_an_answer_by_default() -> None:
    dumped = ChatRequest(messages=[]).model_dump()

    assert dumped.pop("messages") == []
    assert dumped.pop("stream") is False
    assert dumped == dict.fromkeys(
        [
            "tools",
            "response_format",
            "temperature",
            "top_p",
            "max_output_tokens",
            "conversation_id",
            "metadata",
            "model",
            "tool_choice",
            "stop",
            "reasoning_effort",
            "timeout",
        ]
    )


def test_a_request_keeps_every_hint() -> None:
    hints: dict[str, Any] = {
        "tools": [{"name": "t", "parameters": {}, "description": "d"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 10,
        "conversation_id": "c",
        "stream": None,
        "metadata": {"k": 1},
        "model": "m-1",
        "tool_choice": {"name": "t"},
        "stop": ["END"],
        "reasoning_effort": "high",
        "timeout": 1.5,
    }
    request = ChatRequest(messages=[HELLO], **hints)

    assert request.model_dump(include=set(hints)) == hints
    assert ChatRequest(messages=[], tool_choice="auto").tool_choice == "auto"


def test_a_response_is_only_content_by_default() -> None:
    assert ChatResponse(content=[]).model_dump() == {
        "content": [],
        "tool_calls": None,
        "usage": None,
        "degradation": None,
        "finish_reason": None,
        "metadata": None,
    }


def test_a_provider_may_extend_the_response() -> None:
    class Streamed(ChatResponse):
        text: str = ""

    response = Streamed(content=[], text="hi", usage=USAGE, content_blocks=[1])

    assert response.usage == Usage(**USAGE)
    assert response.model_dump()["text"] == "hi"
    assert response.model_dump()["content_blocks"] == [1]


def test_usage_counts_nothing_it_was_not_told() -> None:
    assert Usage(**USAGE).model_dump() == USAGE | {
        "reasoning_tokens": None,
        "cache_read_tokens": None,
        "cache_write_tokens": None,
        "cost_usd": None,
    }


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (Decimal("0.10"), "0.10"),
        (Decimal("0"), "0"),
        (Decimal("1E-9"), "1E-9"),
        ("0.25", "0.25"),
        (3, "3"),
        ("-1.5", "-1.5"),
    ],
)
def test_a_cost_is_a_decimal_and_dumped_as_text(cost: Any, text: str) -> None:
    usage = Usage(**USAGE, cost_usd=cost)

    assert usage.cost_usd == Decimal(text)
    assert isinstance(usage.cost_usd, Decimal)
    assert usage.model_dump()["cost_usd"] == text
    assert usage.model_dump(mode="json")["cost_usd"] == text
    assert Usage.model_validate_json(usage.model_dump_json()).cost_usd == Decimal(text)


def test_a_free_call_is_not_one_of_unknown_cost() -> None:
    assert "cost_usd" not in Usage(**USAGE).model_dump(exclude_none=True)
    assert Usage(**USAGE, cost_usd=0).model_dump(exclude_none=True)["cost_usd"] == "0"


def test_a_float_is_never_a_cost() -> None:
    with pytest.raises(ValidationError, match="must be Decimal"):
        Usage(**USAGE, cost_usd=0.1)
    with pytest.raises(ValidationError, match="must be Decimal"):
        Usage.model_validate_json(
            '{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "cost_usd": 0.1}'
        )


@pytest.mark.parametrize("cost", [True, "cheap", Decimal("NaN"), "inf", "NaN", []])
def test_what_is_no_finite_number_is_no_cost(cost: Any) -> None:
    with pytest.raises(ValidationError, match="cost_usd"):
        Usage(**USAGE, cost_usd=cost)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_no_digit_of_a_cost_is_lost_on_the_way(cost: Decimal) -> None:
    dumped = Usage(**USAGE, cost_usd=cost).model_dump_json()

    assert str(Usage.model_validate_json(dumped).cost_usd) == str(cost)
