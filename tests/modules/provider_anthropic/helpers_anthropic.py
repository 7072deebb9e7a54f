"""How the Messages API looks on the wire."""

from __future__ import annotations

from typing import Any

from helpers_wire import sse

from amplifier_modules.provider_anthropic.provider import mount

MODEL = "claude-sonnet-5-5"


def event(kind: str, **fields: Any) -> bytes:
    return sse(kind, {"type": kind, **fields})


def start(**usage: Any) -> bytes:
    message = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1, **usage},
    }
    return event("message_start", message=message)


def end(reason: str = "end_turn", output: int = 5, **delta: Any) -> list[bytes]:
    stopped = {"stop_reason": reason, "stop_sequence": None, **delta}
    return [
        event("message_delta", delta=stopped, usage={"output_tokens": output}),
        event("message_stop"),
    ]


def block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> list[bytes]:
    return [
        event("content_block_start", index=index, content_block=begun),
        *(event("content_block_delta", index=index, delta=each) for each in deltas),
        event("content_block_stop", index=index),
    ]


def text_block(index: int, *fragments: str) -> list[bytes]:
    deltas = [{"type": "text_delta", "text": each} for each in fragments]
    return block(index, {"type": "text", "text": ""}, *deltas)


def thinking_block(index: int, text: str, signature: str) -> list[bytes]:
    return block(
        index,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": text},
        {"type": "signature_delta", "signature": signature},
    )


def call_block(index: int, call_id: str, name: str, *fragments: str) -> list[bytes]:
    deltas = [{"type": "input_json_delta", "partial_json": each} for each in fragments]
    return block(index, {"type": "tool_use", "id": call_id, "name": name, "input": {}}, *deltas)


class AnthropicWire:
    module = "amplifier_modules.provider_anthropic.provider"
    mount_name = "anthropic"
    sdk = "anthropic"
    extra = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    model = MODEL
    required: dict[str, Any] = {}  # noqa: RUF012
    lists_models = True

    async def mount(self, coordinator: Any, config: dict[str, Any]) -> Any:
        return await mount(coordinator, config)

    def text(self, *fragments: str) -> list[bytes]:
        return [start(), event("ping"), *text_block(0, *fragments), *end()]

    def whole(self, text: str) -> dict[str, Any]:
        return {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }

    def call(self, call_id: str, name: str, *json_fragments: str) -> list[bytes]:
        return [start(), *call_block(0, call_id, name, *json_fragments), *end("tool_use")]

    def nothing(self) -> list[bytes]:
        return [start(), *end()]

    def malformed(self) -> bytes:
        return sse("content_block_delta", '{"type": "content_block_delta", "index": 0, "del')

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        kinds = {429: "rate_limit_error", 529: "overloaded_error", 401: "authentication_error"}
        kind = kinds.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}

    def models(self, *names: str) -> dict[str, Any]:
        data = [
            {
                "type": "model",
                "id": name,
                "display_name": name.title(),
                "created_at": "2026-01-01T00:00:00Z",
                "lifecycle": "active",
            }
            for name in names
        ]
        return {"data": data, "has_more": False, "first_id": None, "last_id": None}
