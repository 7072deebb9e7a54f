"""How the APIs of the OpenAI family look on the wire."""

from __future__ import annotations

from typing import Any

from helpers_wire import sse

from amplifier_modules.provider_openai import (
    azure_openai,
    chat_completions,
    provider,
    vllm_server,
)

ITEM = "msg_01"


def event(kind: str, **fields: Any) -> bytes:
    return sse(kind, {"type": kind, "sequence_number": 0, **fields})


def answer(
    *output: dict[str, Any], response_id: str = "resp_01", status: str = "completed", **more: Any
) -> dict[str, Any]:
    return {
        "id": response_id,
        "object": "response",
        "created_at": 1_800_000_000,
        "model": "gpt-5.5-2026-04-23",
        "status": status,
        "output": list(output),
        "error": None,
        "incomplete_details": None,
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        **more,
    }


def said(text: str, **more: Any) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": ITEM,
        "role": "assistant",
        "status": "completed",
        "content": [part],
        **more,
    }


def thought(text: str, encrypted: str | None = "sealed", item_id: str = "rs_01") -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {
        "type": "reasoning",
        "id": item_id,
        "summary": summary,
        "encrypted_content": encrypted,
    }


def called(call_id: str, name: str, arguments: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
        **more,
    }


def begin() -> bytes:
    begun = answer(status="in_progress", usage=None)
    return event("response.created", response=begun) + event("response.in_progress", response=begun)


def end(*output: dict[str, Any], **more: Any) -> bytes:
    done = answer(*output, **more)
    return event(f"response.{done['status']}", response=done)


def text_item(index: int, *fragments: str, **more: Any) -> list[bytes]:
    """The last delta is followed by two parts."""
    item, place = said("".join(fragments), **more), {"output_index": index, "item_id": ITEM}
    empty = {**item, "content": [], "status": "in_progress"}
    inner = {**place, "content_index": 0}
    part = item["content"][0]
    return [
        event("response.output_item.added", output_index=index, item=empty),
        event("response.content_part.added", **inner, part={**part, "text": ""}),
        *(event("response.output_text.delta", **inner, delta=each) for each in fragments),
        event("response.output_text.done", **inner, text=part["text"])
        + event("response.content_part.done", **inner, part=part),
        event("response.output_item.done", output_index=index, item=item),
    ]


def thought_item(index: int, *fragments: str, encrypted: str | None = "sealed") -> list[bytes]:
    item = thought("".join(fragments), encrypted)
    inner = {"output_index": index, "item_id": item["id"], "summary_index": 0}
    kind = "response.reasoning_summary_text"
    return [
        event("response.output_item.added", output_index=index, item={**item, "summary": []}),
        *(event(f"{kind}.delta", **inner, delta=each) for each in fragments),
        event(f"{kind}.done", **inner, text="".join(fragments)),
        event("response.output_item.done", output_index=index, item=item),
    ]


def call_item(index: int, call_id: str, name: str, *fragments: str) -> list[bytes]:
    item = called(call_id, name, "".join(fragments))
    inner = {"output_index": index, "item_id": item["id"]}
    kind = "response.function_call_arguments"
    return [
        event("response.output_item.added", output_index=index, item={**item, "arguments": ""}),
        *(event(f"{kind}.delta", **inner, delta=each) for each in fragments),
        event(f"{kind}.done", **inner, arguments=item["arguments"], name=name),
        event("response.output_item.done", output_index=index, item=item),
    ]


class ResponsesWire:
    """`provider-openai`; the others on the same API differ in a few words."""

    island = provider
    mount_name = "openai"
    sdk = "openai"
    extra = "openai"
    key_variable = "OPENAI_API_KEY"
    model = "gpt-5.5"
    required: dict[str, Any] = {}  # noqa: RUF012
    lists_models = True

    @property
    def module(self) -> str:
        return self.island.__name__

    async def mount(self, coordinator: Any, config: dict[str, Any]) -> Any:
        return await self.island.mount(coordinator, config)

    def text(self, *fragments: str) -> list[bytes]:
        return [begin(), *text_item(0, *fragments), end(said("".join(fragments)))]

    def whole(self, text: str) -> dict[str, Any]:
        return answer(said(text))

    def call(self, call_id: str, name: str, *json_fragments: str) -> list[bytes]:
        item = called(call_id, name, "".join(json_fragments))
        return [begin(), *call_item(0, call_id, name, *json_fragments), end(item)]

    def nothing(self) -> list[bytes]:
        return [begin(), end()]

    def malformed(self) -> bytes:
        return sse("response.output_text.delta", '{"type": "response.output_text.delta", "del')

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def models(self, *names: str) -> dict[str, Any]:
        about = {"object": "model", "created": 1_800_000_000, "owned_by": "somebody"}
        return {"object": "list", "data": [{"id": name, **about} for name in names]}


class AzureWire(ResponsesWire):
    island = azure_openai
    mount_name = "azure-openai"
    key_variable = "AZURE_OPENAI_API_KEY"
    model = "gpt-5.4"
    required = {"azure_endpoint": None, "base_url": "http://127.0.0.1:9"}  # noqa: RUF012
    lists_models = False


class VllmWire(ResponsesWire):
    island = vllm_server
    mount_name = "vllm"
    key_variable = "VLLM_API_KEY"
    model = "openai/gpt-oss-20b"
    required = {"base_url": "http://127.0.0.1:9/v1"}  # noqa: RUF012


# -- Chat Completions ------------------------------------------------------------------------


def chunk(delta: dict[str, Any] | None = None, reason: str | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
    return sse(None, {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_800_000_000,
        "model": "default",
        "choices": choices,
        **more,
    })  # fmt: skip


USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def chat_end(reason: str = "stop") -> list[bytes]:
    return [chunk({}, reason), chunk(usage=USAGE), sse(None, "[DONE]")]


class ChatWire(ResponsesWire):
    island = chat_completions
    mount_name = "chat-completions"
    key_variable = "CHAT_COMPLETIONS_API_KEY"
    model = "default"
    required = {"base_url": "http://127.0.0.1:9/v1"}  # noqa: RUF012

    def text(self, *fragments: str) -> list[bytes]:
        deltas = [chunk({"content": each}) for each in fragments]
        return [chunk({"role": "assistant", "content": ""}), *deltas, *chat_end()]

    def whole(self, text: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": text}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_800_000_000,
            "model": "default",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": USAGE,
        }

    def call(self, call_id: str, name: str, *json_fragments: str) -> list[bytes]:
        function = {"name": name, "arguments": ""}
        begun = {"index": 0, "id": call_id, "type": "function", "function": function}
        parts = [{"index": 0, "function": {"arguments": each}} for each in json_fragments]
        deltas = [chunk({"tool_calls": [each]}) for each in (begun, *parts)]
        return [*deltas, *chat_end("tool_calls")]

    def nothing(self) -> list[bytes]:
        return [chunk({"role": "assistant", "content": ""}), *chat_end()]

    def malformed(self) -> bytes:
        return sse(None, '{"id": "chatcmpl-1", "choices": [{"del')


WIRES = {each.mount_name: each for each in (ResponsesWire, AzureWire, ChatWire, VllmWire)}
URL_VARIABLES = (
    "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "CHAT_COMPLETIONS_BASE_URL", "VLLM_BASE_URL",
)  # fmt: skip
VARIABLES = (
    *URL_VARIABLES,
    "OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "VLLM_API_KEY",
    "AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_KEY", "AZURE_OPENAI_AD_TOKEN",
    "AZURE_OPENAI_API_VERSION", "AZURE_USE_MANAGED_IDENTITY", "AZURE_USE_DEFAULT_CREDENTIAL",
    "AZURE_MANAGED_IDENTITY_CLIENT_ID", "CHAT_COMPLETIONS_API_KEY",
)  # fmt: skip
