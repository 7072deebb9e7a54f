"""What provider-local puts before the model, and what it lets it answer."""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core.llm_errors import InvalidRequestError, NotFoundError
from amplifier_core.message_models import (
    ChatRequest,
    ResponseFormatJson,
    ResponseFormatJsonSchema,
    ResponseFormatText,
)
from helpers_local import FakeEngine, asking, desk, install_demo_weights, says, says_json, tool

CALLED = {
    "role": "assistant",
    "content": "Let me see.",
    "tool_calls": [{"id": "c1", "tool": "look", "arguments": {"at": "it"}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "It is blue."}


async def body_of(engine: FakeEngine, model: str, request: ChatRequest, **config: Any) -> Any:
    """What the engine is asked when the provider is asked `request`."""
    at = await desk(engine, model_path=model, **config)
    engine.will(says_json({"answer": "Yes."}) if request.tools else says("Yes."))
    await at.provider.complete(request)
    return engine.body


def options(schema: dict[str, Any]) -> list[str]:
    """The names of the tools on offer, and `answer`."""
    found = [each["properties"] for each in schema["anyOf"]]
    return [each["tool"]["const"] if "tool" in each else "answer" for each in found]


async def test_instructions_come_first_and_the_rest_takes_turns(
    engine: FakeEngine, model: str
) -> None:
    request = asking(
        {"role": "system", "content": "Be kind."},
        "One",
        "Two",
        {"role": "developer", "content": "Be brief."},
        {"role": "assistant", "content": [{"type": "text", "text": "Three"}]},
    )

    body = await body_of(engine, model, request)

    assert body["messages"] == [
        {"role": "system", "content": "Be kind.\n\nBe brief."},
        {"role": "user", "content": "One\n\nTwo"},
        {"role": "assistant", "content": "Three"},
    ]


async def test_a_call_and_its_result_are_told_in_words(engine: FakeEngine, model: str) -> None:
    body = await body_of(engine, model, asking("Look", CALLED, RESULT))

    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": 'Let me see.\n{"tool": "look", "arguments": {"at": "it"}}',
        },
        {"role": "user", "content": "Result of look:\nIt is blue."},
    ]


async def test_blocks_are_told_in_words_and_calls_only_once(engine: FakeEngine, model: str) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_call_id": "c1", "output": {"colour": "blau"}}
    image = {"type": "image", "source": {}}
    thought = {"type": "thinking", "thinking": "Hm."}
    request = asking(
        {"role": "user", "content": [image]},
        {**CALLED, "content": [thought, call]},
        {"role": "tool", "tool_call_id": "c1", "content": [result]},
        {"role": "tool", "tool_call_id": "?", "content": "lost"},
    )

    body = await body_of(engine, model, request)

    assert [message["content"] for message in body["messages"]] == [
        "[An image was here. This model cannot see.]",
        '{"tool": "look", "arguments": {}}',
        'Result of look:\n{"colour": "blau"}\n\nResult of a tool:\nlost',
    ]


async def test_tools_are_described_in_full_to_a_model_that_can_read(
    engine: FakeEngine, model: str
) -> None:
    body = await body_of(engine, model, asking(tools=[tool(at={"type": "string"})]))

    system = body["messages"][0]["content"]
    assert "- look: Use look. At length." in system
    assert '{"at": {"type": "string"}}' in system
    assert '"answer"' in system


async def test_tools_are_described_in_a_line_to_the_demo_model(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_demo_weights(tmp_path, monkeypatch)
    at = await desk(engine)
    engine.will(says_json({"tool": "look", "arguments": {}}))
    listed = {"type": "array", "items": {"type": "string", "maxLength": 3}}

    await at.provider.complete(
        asking(
            tools=[tool(at={"type": "string"}, of=listed, mode={"type": "string", "enum": ["r"]})]
        )
    )

    assert "- look(at, of, mode): Use look\n" in engine.body["messages"][0]["content"]
    assert engine.body["max_tokens"] == 512
    assert engine.body["dry_multiplier"] > 0
    assert engine.schema["$defs"]["tool0"]["properties"] == {
        "at": {"type": "string", "maxLength": 200},
        "of": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 8},
        "mode": {"type": "string", "enum": ["r"]},
    }


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, ["look", "wait", "answer"]),
        ("auto", ["look", "wait", "answer"]),
        ({"type": "auto"}, ["look", "wait", "answer"]),
        ("required", ["look", "wait"]),
        ("any", ["look", "wait"]),
        ({"type": "any"}, ["look", "wait"]),
        ("wait", ["wait"]),
        ({"type": "tool", "name": "wait"}, ["wait"]),
        ({"type": "function", "function": {"name": "wait"}}, ["wait"]),
    ],
)
@pytest.mark.parametrize("place", ["tool_choice", "metadata"])
async def test_the_model_may_do_what_the_choice_allows_and_nothing_else(
    engine: FakeEngine, model: str, place: str, choice: Any, expected: list[str]
) -> None:
    fields = {place: choice} if place == "tool_choice" else {place: {"tool_choice": choice}}
    request = asking(tools=[tool("look"), tool("wait")], **fields)

    await body_of(engine, model, request)

    assert options(engine.schema) == expected
    assert ('"answer"' in engine.body["messages"][0]["content"]) is ("answer" in expected)


async def test_a_choice_of_none_leaves_plain_words(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says("Yes."))

    response = await at.provider.complete(asking(tools=[tool()], tool_choice="none"))

    assert response.content[0].text == "Yes."
    assert "response_format" not in engine.body
    assert engine.body["messages"] == [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("tools", "choice"), [([], "required"), (["look"], "wait"), (None, {"name": "look"})]
)
async def test_a_call_that_cannot_be_made_is_refused(
    engine: FakeEngine, model: str, tools: list[str] | None, choice: Any
) -> None:
    at = await desk(engine, model_path=model)
    offered = None if tools is None else [tool(name) for name in tools]

    with pytest.raises(InvalidRequestError, match="tool_choice"):
        await at.provider.complete(asking(tools=offered, tool_choice=choice))

    assert engine.bodies == []


async def test_the_config_demands_a_call_once_a_turn(engine: FakeEngine, model: str) -> None:
    config = {"tool_choice": "required"}

    await body_of(engine, model, asking("Look", tools=[tool()]), **config)
    assert options(engine.schema) == ["look"]

    await body_of(engine, model, asking("Look", CALLED, RESULT, tools=[tool()]), **config)
    assert options(engine.schema) == ["look", "answer"]

    await body_of(engine, model, asking("Hello"), **config)
    assert "response_format" not in engine.body


async def test_after_enough_results_the_model_has_to_answer(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model, max_tool_rounds=2)
    engine.will(says_json({"answer": "Yes."}), says("Yes."), says_json({"answer": "Yes."}))
    once, twice = ["Look", CALLED, RESULT], ["Look", CALLED, RESULT, CALLED, RESULT]

    await at.provider.complete(asking(*once, tools=[tool()]))
    assert options(engine.schema) == ["look", "answer"]

    await at.provider.complete(asking(*twice, tools=[tool()]))
    assert "response_format" not in engine.body

    await at.provider.complete(asking(*twice, "And now?", tools=[tool()]))
    assert options(engine.schema) == ["look", "answer"]


async def test_only_the_demo_model_has_to_answer_by_default(
    engine: FakeEngine, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_demo_weights(tmp_path, monkeypatch)
    long_turn = asking("Look", *[CALLED, RESULT] * 3, tools=[tool()])
    able, demo = await desk(engine, model_path=model), await desk(engine)
    engine.will(says_json({"answer": "Yes."}), says("Yes."))

    await able.provider.complete(long_turn)
    assert options(engine.schema) == ["look", "answer"]

    await demo.provider.complete(long_turn)
    assert "response_format" not in engine.body


async def test_references_inside_a_tools_schema_still_lead_somewhere(
    engine: FakeEngine, model: str
) -> None:
    parameters = {
        "type": "object",
        "properties": {
            "at": {"$ref": "#/$defs/Place"},
            "of": {"anyOf": [{"$ref": "#/$defs/Place"}]},
        },
        "$defs": {"Place": {"type": "string"}},
    }
    spec = tool("look").model_copy(update={"parameters": parameters})

    await body_of(engine, model, asking(tools=[tool("wait"), spec]))

    moved = engine.schema["$defs"]["tool1"]
    assert moved["properties"]["at"] == {"$ref": "#/$defs/tool1/$defs/Place"}
    assert moved["properties"]["of"] == {"anyOf": [{"$ref": "#/$defs/tool1/$defs/Place"}]}
    assert moved["$defs"] == {"Place": {"type": "string"}}
    assert engine.schema["anyOf"][1]["properties"]["arguments"] == {"$ref": "#/$defs/tool1"}


COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}}


@pytest.mark.parametrize(
    ("wanted", "schema"),
    [
        (ResponseFormatJson(), {}),
        (ResponseFormatJsonSchema(json_schema=COLOUR), COLOUR),
        (ResponseFormatJsonSchema(json_schema={"name": "c", "schema": COLOUR}), COLOUR),
    ],
)
async def test_an_answer_in_json_is_enforced_with_tools_and_without(
    engine: FakeEngine, model: str, wanted: Any, schema: dict[str, Any]
) -> None:
    await body_of(engine, model, asking(response_format=wanted, stop=["x"]))
    assert engine.schema == schema
    assert "stop" not in engine.body

    await body_of(engine, model, asking(response_format=wanted, tools=[tool()]))
    assert engine.schema["anyOf"][1]["properties"] == {"answer": schema}


async def test_the_requests_own_numbers_win_over_the_config(engine: FakeEngine, model: str) -> None:
    config = {"temperature": 0.5, "max_tokens": 100, "seed": 7}
    request = asking(
        temperature=0,
        top_p=0.9,
        max_output_tokens=20,
        stop=["."],
        response_format=ResponseFormatText(),
    )

    plain = await body_of(engine, model, asking(), **config)
    own = await body_of(engine, model, request, **config)

    assert (plain["temperature"], plain["max_tokens"], plain["seed"]) == (0.5, 100, 7)
    assert "stop" not in plain
    assert "top_p" not in plain
    assert (own["temperature"], own["max_tokens"], own["seed"]) == (0, 20, 7)
    assert (own["stop"], own["top_p"]) == (["."], 0.9)


async def test_arguments_of_the_call_win_over_the_request(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model)
    engine.will(says("Yes."))

    await at.provider.complete(asking(temperature=1), temperature=0.1, extended_thinking=True)

    assert engine.body["temperature"] == 0.1
    assert engine.body["messages"] == [{"role": "user", "content": "Hi"}]


async def test_another_model_cannot_be_asked_for(engine: FakeEngine, model: str) -> None:
    at = await desk(engine, model_path=model, default_model="mine")
    engine.will(says("Yes."), says("Yes."))

    for known in ("mine", "tiny"):
        await at.provider.complete(asking(model=known))
    with pytest.raises(NotFoundError, match="'mine'"):
        await at.provider.complete(asking(model="yours"))


async def test_half_a_character_does_not_reach_the_engine(engine: FakeEngine, model: str) -> None:
    body = await body_of(engine, model, asking("a\ud800b"))

    assert body["messages"][-1]["content"] == "a?b"
