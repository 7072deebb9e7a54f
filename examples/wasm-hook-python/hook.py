"""`gatekeeper`: a hook in Python that runs as a component, and denies what speaks of a word."""

import json
import os
import time
from typing import Any

from componentize_py_types import Err
from wit_world.exports import HookHandler as Contract
from wit_world.exports.hook_handler import EventSubscription

Answer = dict[str, Any]


class HookHandler(Contract):
    """Each call comes to a fresh instance, so nothing is remembered in between."""

    def get_subscriptions(self, config: bytes) -> list[EventSubscription]:
        wanted = json.loads(config or b"{}")
        event = wanted.get("event", "tool:pre")
        return [EventSubscription(event, int(wanted.get("priority", 0)), "gatekeeper")]

    def handle(self, event: bytes) -> bytes:
        return json.dumps(judge(json.loads(event)["data"])).encode()


def judge(data: Answer) -> Answer:
    given = data.get("tool_input") or {}
    text = str(given.get("text", ""))
    order, _, rest = text.partition(" ")
    if order == "!modify":
        return {"action": "modify", "data": {**data, "tool_input": {**given, "text": rest}}}
    if order == "!inject":
        return {"action": "inject_context", "context_injection": rest}
    said = obey(order, rest)
    config = json.loads(os.environ.get("AMPLIFIER_MODULE_CONFIG", "{}"))
    word = config.get("forbid", "secret")
    if said is None and word in json.dumps(given, ensure_ascii=False):
        said = f"forbidden: {word}"
    return {"action": "continue"} if said is None else {"action": "deny", "reason": said}


def obey(order: str, rest: str) -> str | None:
    """Texts that begin with `!` are orders, for trying out what goes wrong."""
    if order == "!fail":
        raise Err(rest)
    if order == "!crash":
        raise SystemExit(3)
    if order == "!large":
        return "x" * int(rest)
    if order == "!sleep":
        end = time.monotonic() + float(rest)
        while time.monotonic() < end:
            pass
    return None
