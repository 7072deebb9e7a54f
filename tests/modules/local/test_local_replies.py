"""What provider-local makes of what the engine produces."""

import json
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from amplifier_core import llm_errors
from amplifier_core.message_models import ResponseFormatJson
from helpers_local import (
    FakeEngine,
    asking,
    chunk,
    desk,
    raises,
    says,
    says_json,
    sends,
    tool,
    usage,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CALL = {"tool": "look", "arguments": {"at": "it"}}
KEEP_FIXTURES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


async def test_words_are_streamed_as_they_come_and_the_last_chunk_has_the_response(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    engine.will(sends(chunk(None), chunk("Hel"), chunk("lo"), chunk(finish_reason="stop"), usage()))

    chunks = [each async for each in at.provider.stream_complete(asking())]

    assert chunks[:-1] == [{"text": "Hel"}, {"text": "lo"}]
    response = chunks[-1]["response"]
    assert [block.text for block in response.content] == ["Hello"]
    assert response.finish_reason == "stop"
    assert at.of("llm:response")[0]["timings"]["predicted_per_second"] == 50.0


async def test_tokens_are_counted_and_cost_nothing(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    engine.will(sends(chunk("Hi"), usage(into=30, out=4, cached=20)))

    counted = (await at.provider.complete(asking())).usage

    assert (counted.input_tokens, counted.output_tokens, counted.total_tokens) == (30, 4, 34)
    assert (counted.cache_read_tokens, counted.cost_usd) == (20, Decimal(0))


async def test_what_a_model_thinks_is_kept_apart(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    thought = chunk(delta={"reasoning_content": "Hm."})
    engine.will(sends(thought, chunk("Yes."), chunk(finish_reason="length")))

    *pieces, last = [each async for each in at.provider.stream_complete(asking())]

    assert pieces == [{"thinking": "Hm."}, {"text": "Yes."}]
    assert [block.type for block in last["response"].content] == ["thinking", "text"]
    assert last["response"].finish_reason == "length"


async def test_a_call_becomes_a_tool_call_and_is_not_shown_as_text(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says(*json.dumps(CALL)))

    *pieces, last = [
        each async for each in at.provider.stream_complete(asking(tools=[tool(at={})]))
    ]

    assert pieces == []
    (call,) = at.provider.parse_tool_calls(last["response"])
    assert (call.name, call.arguments) == ("look", {"at": "it"})
    assert last["response"].finish_reason == "tool_calls"
    assert [block.type for block in last["response"].content] == ["tool_call"]


async def test_every_call_has_an_id_of_its_own(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says_json(CALL), says_json(CALL))

    responses = [await at.provider.complete(asking(tools=[tool()])) for _ in range(2)]

    first, second = (at.provider.parse_tool_calls(each)[0].id for each in responses)
    assert first != second


@KEEP_FIXTURES
@given(
    text=st.text(min_size=1),
    cuts=st.lists(st.integers(0, 200), max_size=30),
    is_ascii=st.booleans(),
    indent=st.sampled_from([None, 2]),
)
async def test_an_answer_inside_json_is_streamed_as_its_text_however_it_is_cut(
    engine: FakeEngine,
    model: str,
    text: str,
    cuts: list[int],
    is_ascii: bool,
    indent: int | None,
) -> None:
    at = await desk(engine, model_path=model)
    raw = json.dumps({"answer": text}, ensure_ascii=is_ascii, indent=indent)
    places = [0, *sorted(cut for cut in cuts if cut < len(raw)), len(raw)]
    engine.will(says(*(raw[a:b] for a, b in pairwise(places))))

    *pieces, last = [each async for each in at.provider.stream_complete(asking(tools=[tool()]))]

    assert "".join(each["text"] for each in pieces) == text
    assert all(each["text"] for each in pieces)
    assert last["response"].content[0].text == text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (r'{"answer": "a\ud83d"}', "a?"),
        (r'{"answer": "a\ud83db"}', "a?b"),
        (r'{"answer": "\ude00\ud83d\ude00"}', "?\N{GRINNING FACE}"),
    ],
)
async def test_half_a_character_becomes_a_question_mark(
    engine: FakeEngine, model: str, raw: str, shown: str
) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says(*raw))

    response = await at.provider.complete(asking(tools=[tool()]))

    assert response.content[0].text == shown


async def test_an_answer_that_is_no_text_is_written_as_json(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says_json({"answer": {"colour": "blau"}}))

    response = await at.provider.complete(
        asking(tools=[tool()], response_format=ResponseFormatJson())
    )

    assert json.loads(response.content[0].text) == {"colour": "blau"}


async def test_an_answer_cut_by_the_token_limit_is_shown_as_far_as_it_got(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says('{"answer": "Once upon', " a ti\\", finish="length"))

    response = await at.provider.complete(asking(tools=[tool()]))

    assert response.content[0].text == "Once upon a ti"
    assert response.finish_reason == "length"


async def test_a_reply_cut_before_it_said_anything_is_empty(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says('{"', finish="length"))

    response = await at.provider.complete(asking(tools=[tool()]))

    assert (response.content, response.finish_reason) == ([], "length")


async def test_a_call_cut_by_the_token_limit_is_never_passed_on(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says('{"tool": "look", "arguments": {"at": "i', finish="length"))

    with pytest.raises(llm_errors.InvalidToolCallError, match="`max_tokens`") as caught:
        await at.provider.complete(asking(tools=[tool()]))

    assert caught.value.tool_name == "look"


@pytest.mark.parametrize(
    ("report", "kind"),
    [
        ({"code": 400, "type": "exceed_context_size_error"}, "ContextLengthError"),
        ({"code": 400, "type": "invalid_request_error", "message": "no"}, "InvalidRequestError"),
        ({"code": 503, "type": "unavailable_error", "message": "no"}, "ProviderUnavailableError"),
        ({"code": 500, "type": "server_error", "message": "no"}, "LLMError"),
        ({"message": "no"}, "LLMError"),
        ({}, "LLMError"),
    ],
)
async def test_a_failure_that_the_engine_reports_becomes_a_kernel_error(
    engine: FakeEngine, model: str, report: dict[str, Any], kind: str
) -> None:
    at = await desk(engine, model_path=model)
    engine.will(sends({"error": report}))

    with pytest.raises(llm_errors.LLMError) as caught:
        await at.provider.complete(asking())

    assert type(caught.value).__name__ == kind
    assert caught.value.provider == "local"
    assert caught.value.status_code == report.get("code")


async def test_a_prompt_that_is_too_long_is_told_with_both_numbers(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    report = {"type": "exceed_context_size_error", "n_prompt_tokens": 9031, "n_ctx": 4096}
    engine.will(sends({"error": report}))

    with pytest.raises(llm_errors.ContextLengthError, match=r"9031.*4096"):
        await at.provider.complete(asking())


@pytest.mark.parametrize(
    ("raised", "kind"),
    [(ValueError("bad template"), "InvalidRequestError"), (RuntimeError("broken"), "LLMError")],
)
async def test_an_exception_of_the_engine_becomes_a_kernel_error(
    engine: FakeEngine, model: str, raised: Exception, kind: str
) -> None:
    at = await desk(engine, model_path=model)
    engine.will(raises(raised), says("Fine."))

    with pytest.raises(llm_errors.LLMError, match=str(raised)) as caught:
        await at.provider.complete(asking())

    assert type(caught.value).__name__ == kind
    assert caught.value.__cause__ is raised
    assert (await at.provider.complete(asking())).content[0].text == "Fine."


async def test_a_schema_that_the_engine_does_not_know_is_asked_for_loosely(
    engine: FakeEngine, model: str, caplog: pytest.LogCaptureFixture
) -> None:
    at = await desk(engine, model_path=model)
    engine.will(raises(ValueError("unsupported $ref")), says_json(CALL))

    response = await at.provider.complete(asking(tools=[tool(at={"$ref": "http://x"})]))

    assert at.provider.parse_tool_calls(response)[0].name == "look"
    assert engine.schema["$defs"] == {"tool0": {"type": "object"}}
    assert "unsupported $ref" in caplog.text


async def test_a_call_is_announced_from_the_request_to_the_end(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    engine.will(sends(chunk(delta={"reasoning_content": "Hm."}), chunk("a"), chunk("b"), usage()))

    await at.provider.complete(asking({"role": "system", "content": "Be kind."}, "Hi"))

    assert [event for event, _ in at.seen] == [
        "llm:request",
        "llm:stream_block_start",
        "llm:stream_block_delta",
        "llm:stream_block_end",
        "llm:stream_block_start",
        "llm:stream_block_delta",
        "llm:stream_block_delta",
        "llm:stream_block_end",
        "llm:response",
    ]
    assert len({data["request_id"] for _, data in at.seen}) == 1
    deltas = at.of("llm:stream_block_delta")
    told = [(d["block_index"], d["block_type"], d["sequence"], d["text"]) for d in deltas]
    assert told == [(0, "thinking", 0, "Hm."), (1, "text", 0, "a"), (1, "text", 1, "b")]
    (request,), (response,) = at.of("llm:request"), at.of("llm:response")
    assert (request["model"], request["message_count"]) == ("tiny", 2)
    assert request["has_instructions"] is True
    assert "raw" not in request
    assert (response["status"], response["usage"]["cost_usd"]) == ("ok", "0")


async def test_a_tool_call_is_announced_by_name(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model, raw=True)
    engine.will(says_json(CALL))

    await at.provider.complete(asking(tools=[tool()]))

    (start,) = at.of("llm:stream_block_start")
    assert (start["block_type"], start["name"]) == ("tool_use", "look")
    assert len(at.of("llm:stream_block_end")) == 1
    assert at.of("llm:request")[0]["raw"]["messages"][-1]["content"] == "Hi"


async def test_a_request_may_ask_for_no_announcements_of_pieces(
    engine: FakeEngine, model: str
) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says("a", "b"))

    await at.provider.complete(asking(metadata={"stream": False}))

    assert [event for event, _ in at.seen] == ["llm:request", "llm:response"]


@pytest.mark.parametrize("begun", [True, False])
async def test_a_failure_is_announced_and_what_was_shown_is_taken_back(
    engine: FakeEngine, model: str, begun: bool
) -> None:
    at = await desk(engine, model_path=model)
    shown = [chunk("Once")] if begun else []
    engine.will(sends(*shown, {"error": {"code": 500, "message": "broken"}}))

    with pytest.raises(llm_errors.LLMError):
        await at.provider.complete(asking())

    assert at.of("llm:response")[0]["error"] == {"type": "LLMError", "msg": "broken"}
    assert len(at.of("llm:stream_aborted")) == int(begun)
