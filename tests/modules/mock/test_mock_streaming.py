"""provider-mock on the streaming path, and the events that go with a call."""

from typing import Any

import pytest
from amplifier_core.llm_errors import StreamError
from amplifier_core.message_models import ChatRequest, Message
from amplifier_core.models import HookResult
from amplifier_core.testing import MockCoordinator
from hypothesis import given
from hypothesis import strategies as st

from amplifier_modules.mock.provider import mount

STREAM_EVENTS = [
    "llm:stream_block_start",
    "llm:stream_block_delta",
    "llm:stream_block_end",
    "llm:stream_aborted",
]


class Stage:
    """A mounted mock, and everything that its session was told."""

    def __init__(self) -> None:
        self.coordinator = MockCoordinator()
        self.seen: list[tuple[str, dict[str, Any]]] = []

    @property
    def provider(self) -> Any:
        return self.coordinator.get("providers", "mock")

    def of(self, *events: str) -> list[dict[str, Any]]:
        return [data for event, data in self.seen if event in events]

    async def listener(self, event: str, data: dict[str, Any]) -> HookResult:
        self.seen.append((event, data))
        return HookResult(action="continue")


async def stage(*events: str, **config: Any) -> Stage:
    made = Stage()
    await mount(made.coordinator, config)
    for event in events:
        made.coordinator.hooks.register(event, made.listener)
    return made


def asking(**fields: Any) -> ChatRequest:
    return ChatRequest(messages=[Message(role="user", content="Hello")], **fields)


async def test_the_chunks_are_cut_as_scripted_and_the_last_one_has_the_response() -> None:
    it = await stage(script=[{"thinking": "Hm.", "stream": ["Hel", "", "lo"]}])

    chunks = [chunk async for chunk in it.provider.stream_complete(asking())]

    assert chunks[:-1] == [{"thinking": "Hm."}, {"text": "Hel"}, {"text": "lo"}]
    assert [block.type for block in chunks[-1]["response"].content] == ["thinking", "text"]
    assert chunks[-1]["response"].content[1].text == "Hello"


@given(text=st.text())
async def test_a_text_is_streamed_word_by_word_and_nothing_is_lost(text: str) -> None:
    it = await stage(script=[{"text": text}])

    chunks = [chunk async for chunk in it.provider.stream_complete(asking())]

    pieces = [chunk["text"] for chunk in chunks[:-1]]
    assert "".join(pieces) == text
    assert all(len(piece.split()) <= 1 for piece in pieces)


async def test_tool_calls_arrive_on_the_streaming_path() -> None:
    it = await stage(script=[{"text": "Wait.", "tool_calls": [{"name": "look"}]}])

    *_, last = [chunk async for chunk in it.provider.stream_complete(asking())]

    assert [call.name for call in it.provider.parse_tool_calls(last["response"])] == ["look"]


async def test_streaming_announces_every_block_with_its_own_sequence() -> None:
    step = {"thinking": "Hm.", "stream": ["a", "b"], "tool_calls": [{"name": "look"}]}
    it = await stage(*STREAM_EVENTS, script=[step])

    _ = [chunk async for chunk in it.provider.stream_complete(asking())]

    told = [
        (event.rpartition("_")[2], data["block_index"], data["block_type"], data.get("text"))
        for event, data in it.seen
    ]
    assert told == [
        ("start", 0, "thinking", None),
        ("delta", 0, "thinking", "Hm."),
        ("end", 0, "thinking", None),
        ("start", 1, "text", None),
        ("delta", 1, "text", "a"),
        ("delta", 1, "text", "b"),
        ("end", 1, "text", None),
        ("start", 2, "tool_use", None),
        ("end", 2, "tool_use", None),
    ]
    assert [data["sequence"] for data in it.of("llm:stream_block_delta")] == [0, 0, 1]
    assert {data["request_id"] for data in it.of(*STREAM_EVENTS)} == {"mock-request-1"}
    assert it.of("llm:stream_block_start")[2]["name"] == "look"


@pytest.mark.parametrize(
    ("step", "metadata", "expected"),
    [
        ({"stream": ["a", "b"]}, None, 2),
        ({"stream": ["a", "b"]}, {"stream": False}, 0),
        ({"text": "a b"}, None, 0),
    ],
)
async def test_complete_announces_pieces_only_of_steps_that_are_cut_into_pieces(
    step: dict[str, Any], metadata: dict[str, Any] | None, expected: int
) -> None:
    it = await stage(*STREAM_EVENTS, script=[step])

    await it.provider.complete(asking(metadata=metadata))

    assert len(it.of("llm:stream_block_delta")) == expected


async def test_an_error_after_chunks_is_announced_as_an_aborted_stream() -> None:
    step = {"stream": ["a"], "error": {"type": "StreamError", "message": "cut"}}
    it = await stage(*STREAM_EVENTS, script=[step])
    chunks = it.provider.stream_complete(asking())

    assert await anext(chunks) == {"text": "a"}
    with pytest.raises(StreamError):
        await anext(chunks)

    assert it.of("llm:stream_aborted")[0]["error"] == {"type": "StreamError", "msg": "cut"}


async def test_an_error_before_any_chunk_aborts_nothing() -> None:
    it = await stage(*STREAM_EVENTS, script=[{"error": {"type": "StreamError"}}])

    with pytest.raises(StreamError):
        _ = [chunk async for chunk in it.provider.stream_complete(asking())]

    assert it.seen == []


async def test_a_pause_after_every_chunk_lets_others_run() -> None:
    it = await stage(script=[{"stream": ["a", "b"], "delay": 0.001, "chunk_delay": 0.001}])

    chunks = [chunk async for chunk in it.provider.stream_complete(asking())]

    assert [chunk.get("text") for chunk in chunks] == ["a", "b", None]


async def test_a_call_is_announced_with_its_size_and_its_cost() -> None:
    it = await stage("llm:request", "llm:response", script=[{"text": "two words"}])

    await it.provider.complete(asking())

    (request,), (response,) = it.of("llm:request"), it.of("llm:response")
    assert (request["provider"], request["model"]) == ("mock", "mock-model")
    assert (request["message_count"], request["has_instructions"]) == (1, False)
    assert response["status"] == "ok"
    assert response["usage"]["output_tokens"] == 2
    assert response["usage"]["cost_usd"] is None
    assert response["duration_ms"] >= 0
    assert request["request_id"] == response["request_id"] == "mock-request-1"


async def test_a_listener_to_everything_hears_the_stream() -> None:
    it = await stage("*", script=[{"text": "word"}])

    _ = [chunk async for chunk in it.provider.stream_complete(asking())]

    assert [event for event, _ in it.seen] == ["llm:request", *STREAM_EVENTS[:3], "llm:response"]


@pytest.mark.parametrize("path", ["complete", "stream_complete"])
async def test_a_failed_call_is_announced_as_an_error(path: str) -> None:
    it = await stage("llm:response", script=[{"error": {"type": "StreamError", "message": "x"}}])

    answer = getattr(it.provider, path)(asking())
    with pytest.raises(StreamError):
        await (answer if path == "complete" else anext(answer))

    (response,) = it.of("llm:response")
    assert (response["status"], response["error"]["type"]) == ("error", "StreamError")


@pytest.mark.parametrize(("key", "kind"), [("debug", "debug"), ("raw_debug", "raw")])
async def test_debug_events_carry_the_whole_request_and_response(key: str, kind: str) -> None:
    asked, answered = f"llm:request:{kind}", f"llm:response:{kind}"
    it = await stage(asked, answered, script=[{"text": "a"}], **{key: True})

    await it.provider.complete(asking())

    assert it.of(asked)[0]["request"]["messages"][0]["content"] == "Hello"
    assert it.of(answered)[0]["response"]["content"][0]["text"] == "a"
