"""A vendor on this machine, whose model plays a script: for each prompt calls, then an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from helpers_anthropic import MODEL, AnthropicWire

Call = tuple[str, dict[str, Any]]
Play = dict[str, list[Call | str]]
"""By a part of the prompt: the steps of the model, the last of which is its answer."""


def next_step(messages: list[dict[str, Any]], play: Play) -> Call | str:
    """What the model says next: told from how far the conversation is since a known prompt."""
    for index in range(len(messages) - 1, -1, -1):
        said = json.dumps(messages[index])
        prompt = next((each for each in play if each in said), None)
        if messages[index]["role"] == "user" and prompt is not None:
            replies = [each for each in messages[index:] if each["role"] == "assistant"]
            return play[prompt][len(replies)]
    return "Nobody told me what to say."


@contextmanager
def vendor(play: Play) -> Iterator[str]:
    """The address of a server that speaks like the real one."""
    wire = AnthropicWire()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send("application/json", json.dumps(wire.models(MODEL)).encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            step = next_step(body["messages"], play)
            words = [f"{each} " for each in step.split(" ")] if isinstance(step, str) else []
            if isinstance(step, str):
                words[-1] = words[-1].rstrip()
                parts = wire.text(*words)
            else:
                call_id = f"call_{len(body['messages'])}"
                parts = wire.call(call_id, step[0], json.dumps(step[1]))
            self._send("text/event-stream", b"".join(parts))

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
