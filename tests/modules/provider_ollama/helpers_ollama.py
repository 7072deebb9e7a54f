"""How Ollama's chat API looks on the wire."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from amplifier_modules.provider_ollama.provider import mount

MODEL = "llama3.2:3b"
COUNTS = {
    "total_duration": 4_883_583_458,
    "load_duration": 1_334_875,
    "prompt_eval_count": 10,
    "prompt_eval_duration": 342_546_000,
    "eval_count": 5,
    "eval_duration": 4_535_599_000,
}


def body(done: bool = False, **message: Any) -> dict[str, Any]:
    """An answer, or a line of one."""
    return {
        "model": MODEL,
        "created_at": "2026-11-18T12:00:00.123456789Z",
        "message": {"role": "assistant", "content": "", **message},
        "done": done,
    }


def line(**message: Any) -> bytes:
    return json.dumps(body(**message), ensure_ascii=False).encode() + b"\n"


def end(reason: str = "stop", **more: Any) -> list[bytes]:
    """The last line, cut in three as a network may do it."""
    last = {**body(done=True), "done_reason": reason, **COUNTS, **more}
    data = json.dumps(last).encode() + b"\n"
    return [data[:20], data[20:40], data[40:]]


def call(name: str, arguments: Any, call_id: str | None = None) -> dict[str, Any]:
    named = {"id": call_id} if call_id else {}
    return {**named, "function": {"name": name, "arguments": arguments}}


def shown(window: int = 131_072, *abilities: str, parameters: str = "") -> dict[str, Any]:
    """The answer to `/api/show`."""
    return {
        "modelfile": "FROM llama3.2",
        "parameters": parameters,
        "template": "{{ .Prompt }}",
        "details": {"format": "gguf", "family": "llama", "families": ["llama"]},
        "model_info": {"general.architecture": "llama", "llama.context_length": window},
        "capabilities": ["completion", *abilities],
    }


class OllamaWire:
    module = "amplifier_modules.provider_ollama.provider"
    mount_name = "ollama"
    sdk = "ollama"
    extra = "ollama"
    key_variable = "OLLAMA_API_KEY"
    needs_key = False
    model = MODEL
    required: ClassVar[dict[str, Any]] = {}
    lists_models = True

    async def mount(self, coordinator: Any, config: dict[str, Any]) -> Any:
        """With a window in the config the server need not be asked for it."""
        return await mount(coordinator, {"num_ctx": 16_384, **config})

    def text(self, *fragments: str) -> list[bytes]:
        return [*(line(content=each) for each in fragments), *end()]

    def whole(self, text: str) -> dict[str, Any]:
        return {**body(done=True, content=text), "done_reason": "stop", **COUNTS}

    def call(self, call_id: str, name: str, *json_fragments: str) -> list[bytes]:
        """Arguments come as an object, or as text from a gateway that could not read them."""
        written = "".join(json_fragments)
        try:
            arguments = json.loads(written or "{}")
        except ValueError:
            arguments = written
        usable = arguments if isinstance(arguments, dict) else written
        return [line(tool_calls=[call(name, usable, call_id)]), *end()]

    def nothing(self) -> list[bytes]:
        return end()

    def malformed(self) -> bytes:
        return b'{"model": "llama3.2:3b", "mess\n'

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        return {"error": message}

    def models(self, *names: str) -> dict[str, Any]:
        listed = [
            {
                "name": name,
                "model": name,
                "modified_at": "2026-01-01T00:00:00Z",
                "size": 2_019_393_189,
                "digest": "a80c4f17acd5",
                "details": {"format": "gguf", "family": "llama", "families": ["llama"]},
            }
            for name in names
        ]
        return {"models": listed}
