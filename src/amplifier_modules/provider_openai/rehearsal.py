"""A call to nobody, made while the SDK is being loaded.

The SDK builds the classes of its answers when the first one arrives. That takes most of a second,
in which the event loop of a session would stand still.
"""

from __future__ import annotations

import json
from typing import Any

_RESPONSE = {"id": "r", "object": "response", "created_at": 0, "model": "m", "output": []}
_EVENTS: list[dict[str, Any]] = [
    {"type": "response.created", "response": _RESPONSE},
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"type": "message", "id": "i", "role": "assistant", "content": []},
    },
    {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "."},
    {"type": "response.completed", "response": _RESPONSE},
]
_CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": []}


def rehearse(sdk: Any, http: Any) -> None:
    """Stream an answer of each API from a server that is a function."""
    transport = http.MockTransport(lambda request: _answer(request, http))
    client = http.Client(transport=transport)
    with sdk.OpenAI(api_key="none", base_url="http://nowhere", http_client=client) as rehearsing:
        for event in rehearsing.responses.create(model="m", input=".", stream=True):
            event.to_dict()
        for chunk in rehearsing.chat.completions.create(model="m", messages=[], stream=True):
            chunk.to_dict()


def _answer(request: Any, http: Any) -> Any:
    events = _EVENTS if request.url.path.endswith("/responses") else [_CHUNK]
    written = "".join(f"data: {json.dumps(each)}\n\n" for each in events)
    headers = {"content-type": "text/event-stream"}
    return http.Response(200, headers=headers, content=written.encode())
