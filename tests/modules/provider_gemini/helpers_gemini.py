"""How the GenAI API looks on the wire."""

from __future__ import annotations

import importlib
import json
import warnings
from typing import Any, ClassVar

from helpers_wire import sse

from amplifier_modules.provider_gemini.provider import mount

MODEL = "gemini-3.7-flash"
USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}

with warnings.catch_warnings():
    # The SDK has escape sequences that a compiler warns about, the first time it sees them.
    warnings.simplefilter("ignore")
    importlib.import_module("google.genai")


def body(*parts: dict[str, Any], usage: dict[str, Any] | None = None, **more: Any) -> Any:
    """An answer, or a piece of one; `more` goes into its candidate."""
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0, **more}
    return {
        "candidates": [candidate],
        "usageMetadata": usage or USAGE,
        "modelVersion": MODEL,
        "responseId": "resp-1",
    }


def chunk(*parts: dict[str, Any], **more: Any) -> bytes:
    return sse(None, body(*parts, **more))


def end(reason: str = "STOP", **more: Any) -> list[bytes]:
    """The last event, cut in three as a network may do it."""
    data = chunk({"text": ""}, finishReason=reason, **more)
    return [data[:20], data[20:40], data[40:]]


def call(name: str, arguments: Any, call_id: str | None = None, **more: Any) -> dict[str, Any]:
    named = {"id": call_id} if call_id else {}
    return {"functionCall": {**named, "name": name, "args": arguments}, **more}


class GeminiWire:
    module = "amplifier_modules.provider_gemini.provider"
    mount_name = "gemini"
    sdk = "google.genai"
    extra = "gemini"
    key_variable = "GOOGLE_API_KEY"
    model = MODEL
    required: ClassVar[dict[str, Any]] = {}
    lists_models = True

    async def mount(self, coordinator: Any, config: dict[str, Any]) -> Any:
        return await mount(coordinator, config)

    def text(self, *fragments: str) -> list[bytes]:
        return [*(chunk({"text": each}) for each in fragments), *end()]

    def whole(self, text: str) -> dict[str, Any]:
        return body({"text": text}, finishReason="STOP")

    def call(self, call_id: str, name: str, *json_fragments: str) -> list[bytes]:
        """Arguments come as an object, or as text from a gateway that could not read them."""
        written = "".join(json_fragments)
        try:
            arguments = json.loads(written or "{}")
        except ValueError:
            arguments = written
        usable = arguments if isinstance(arguments, dict) else written
        return [chunk(call(name, usable, call_id)), *end()]

    def nothing(self) -> list[bytes]:
        return end()

    def malformed(self) -> bytes:
        return sse(None, '{"candidates": [{"content": {"par')

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        states = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
        state = states.get(status, "UNAVAILABLE")
        return {"error": {"code": status, "message": message, "status": state}}

    def models(self, *names: str) -> dict[str, Any]:
        listed = [
            {
                "name": f"models/{name}",
                "version": "1",
                "displayName": name.title(),
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
                "thinking": True,
            }
            for name in names
        ]
        return {"models": listed}
