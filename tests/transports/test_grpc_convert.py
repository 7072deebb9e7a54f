"""What goes over the wire comes back as it was, as far as the contract has room for it."""

import json
from typing import Any

import pytest
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_core.models import HookResult, ProviderInfo, ToolResult
from amplifier_core.transports.grpc.chat import (
    request_from_proto,
    request_to_proto,
    response_fields,
    response_from_proto,
    response_to_proto,
)
from amplifier_core.transports.grpc.messages import (
    block_from_proto,
    block_to_proto,
    message_from_proto,
    message_to_proto,
)
from amplifier_core.transports.grpc.results import (
    hook_result_from_proto,
    hook_result_to_proto,
    provider_from_proto,
    provider_to_proto,
    tool_result_from_proto,
    tool_result_to_proto,
)
from hypothesis import given
from hypothesis import strategies as st

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
NAME = st.text(st.characters(codec="utf-8"), min_size=1, max_size=10)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
ITEMS = st.lists(JSON.filter(lambda item: item is not None), max_size=3)
BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXT}),
    st.fixed_dictionaries(
        {"type": st.just("thinking"), "thinking": TEXT},
        optional={"signature": NAME, "content": ITEMS},
    ),
    st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": TEXT}),
    st.fixed_dictionaries(
        {"type": st.just("tool_call"), "id": TEXT, "name": TEXT, "input": OBJECT}
    ),
    st.fixed_dictionaries({"type": st.just("tool_result"), "tool_call_id": TEXT, "output": JSON}),
    st.fixed_dictionaries(
        {
            "type": st.just("image"),
            "source": st.fixed_dictionaries({"type": st.just("url"), "data": TEXT}),
        }
    ),
    st.fixed_dictionaries({"type": st.just("reasoning"), "content": ITEMS, "summary": ITEMS}),
)
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "function", "tool"])
MESSAGES = st.fixed_dictionaries(
    {"role": ROLES, "content": TEXT | st.lists(BLOCKS, max_size=3)},
    optional={
        "name": NAME,
        "tool_call_id": NAME,
        "metadata": st.dictionaries(NAME, JSON, min_size=1, max_size=2),
        "tool_calls": ITEMS,
    },
)


@given(MESSAGES)
def test_a_message_comes_back(message: dict[str, Any]) -> None:
    assert message_from_proto(message_to_proto(message)) == message


@given(BLOCKS, st.sampled_from(["developer", "internal", "user"]))
def test_a_block_keeps_its_visibility(block: dict[str, Any], visibility: str) -> None:
    shown = {**block, "visibility": visibility}

    assert block_from_proto(block_to_proto(shown)) == shown


def test_what_is_no_message_is_read_as_well_as_it_can_be() -> None:
    empty = pb.Message(role=pb.ROLE_USER)
    strange = pb.Message(text_content="plain")
    bare = pb.Message(role=pb.ROLE_TOOL, metadata_json="[1]")
    bare.block_content.blocks.append(pb.ContentBlock())

    assert message_from_proto(empty) is None
    assert message_from_proto(strange) == {"role": "user", "content": "plain"}
    assert message_from_proto(bare) == {"role": "tool", "content": [{"type": "text", "text": ""}]}
    assert block_from_proto(block_to_proto({"type": "hologram"})) is None


REQUEST = {
    "messages": [{"role": "user", "content": "hi"}],
    "tools": [
        {"name": "t", "parameters": {"type": "object"}, "description": "d"},
        {"name": "u", "parameters": {}},
    ],
    "temperature": 0.5,
    "top_p": 0.25,
    "max_output_tokens": 10,
    "conversation_id": "c",
    "stream": True,
    "metadata": {"a": None},
    "model": "m",
    "stop": ["x"],
    "reasoning_effort": "low",
    "timeout": 3.0,
}


@pytest.mark.parametrize("choice", ["auto", "7", {"type": "tool", "name": "t"}])
@pytest.mark.parametrize(
    "wanted",
    [
        {"type": "text"},
        {"type": "json"},
        {"type": "json_schema", "json_schema": {"type": "object"}},
        {"type": "json_schema", "json_schema": {}, "strict": True},
    ],
)
def test_a_request_comes_back(wanted: dict[str, Any], choice: Any) -> None:
    request = ChatRequest.model_validate(
        {**REQUEST, "response_format": wanted, "tool_choice": choice}
    )

    assert request_from_proto(request_to_proto(request)) == request


RESPONSE = {
    "content": [{"type": "text", "text": "é"}],
    "tool_calls": [{"id": "1", "name": "t", "arguments": {"a": 1}}],
    "usage": {
        "input_tokens": 1,
        "output_tokens": 2,
        "total_tokens": 3,
        "reasoning_tokens": 0,
        "cache_read_tokens": 4,
        "cache_write_tokens": 5,
        "cost_usd": "0.0000001",
    },
    "degradation": {"requested": "a", "actual": "b", "reason": "c"},
    "finish_reason": "stop",
    "metadata": {"x": [1]},
}


def test_a_response_comes_back_and_is_written_in_both_places() -> None:
    response = ChatResponse.model_validate(RESPONSE)

    proto = response_to_proto(response)

    assert response_from_proto(proto) == response
    assert json.loads(proto.content) == RESPONSE["content"]
    assert proto.usage.cost_usd == "0.0000001"


@pytest.mark.parametrize(
    ("content", "text"),
    [("plain", "plain"), ('{"a": 1}', '{"a": 1}'), ('[{"type": "text", "text": "x"}]', "x")],
)
def test_content_alone_is_enough(content: str, text: str) -> None:
    read = response_from_proto(pb.ChatResponse(content=content))

    assert [block.text for block in read.content] == [text]  # type: ignore[union-attr]
    assert response_fields(pb.ChatResponse()) == {"content": []}


def test_odd_counts_and_costs_do_no_harm() -> None:
    huge = {"content": [], "usage": {"input_tokens": 2**40, "cost_usd": 1}}
    odd = pb.ChatResponse(usage=pb.Usage(cost_usd="dear"))

    assert response_to_proto(huge).usage.prompt_tokens == 2**31 - 1
    assert "cost_usd" not in response_fields(odd)["usage"]


INJECTION = {
    "content": "c",
    "role": "user",
    "ephemeral": True,
    "append_to_last_tool_result": True,
    "hook_name": "h",
    "event": "e",
}


@pytest.mark.parametrize(
    "result",
    [
        HookResult(),
        HookResult(action="modify", data={"a": [1]}),
        HookResult(action="deny", reason="no", user_message="m", user_message_level="error"),
        HookResult(
            action="ask_user",
            approval_prompt="?",
            approval_options=["Yes", "No"],
            approval_timeout=0.0,
            approval_default="allow",
        ),
        HookResult(
            action="inject_context",
            context_injection="c",
            context_injection_role="assistant",
            ephemeral=True,
            suppress_output=True,
            context_injections=[INJECTION],  # type: ignore[list-item]
        ),
    ],
)
def test_a_hook_result_comes_back(result: HookResult) -> None:
    assert hook_result_from_proto(hook_result_to_proto(result)) == result


def test_a_tool_result_comes_back() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "cG5n"}
    blocks = [{"type": "text", "text": "t"}, {"type": "image", "source": source}]
    whole = {"success": False, "output": [1], "error": {"message": "no"}, "content": blocks}
    result = ToolResult.model_validate(whole)

    assert tool_result_from_proto(tool_result_to_proto(result)) == result
    odd = tool_result_from_proto(pb.ToolResult(error_json='"text"', output_json="{no"))
    assert (odd.error, odd.output) == ({"message": "text"}, "text")


def test_a_description_of_a_provider_comes_back() -> None:
    fields = [
        {"id": "k", "display_name": "K", "field_type": kind, "prompt": "?", "choices": choices}
        for kind, choices in (
            ("text", None),
            ("secret", None),
            ("boolean", None),
            ("choice", ["a"]),
        )
    ]
    info = ProviderInfo.model_validate(
        {"id": "p", "display_name": "P", "defaults": {"a": 1}, "config_fields": fields}
    )

    assert provider_from_proto(provider_to_proto(info)) == info
