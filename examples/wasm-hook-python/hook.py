"""A hook in Python that runs as a component: it keeps tools away from what must stay secret."""

import json

from wit_world.exports import HookHandler as Contract
from wit_world.exports.hook_handler import EventSubscription

WORDS = ("password", "secret")


class HookHandler(Contract):
    """Denies each tool call whose input speaks of something secret."""

    def get_subscriptions(self, config: bytes) -> list[EventSubscription]:
        wanted = json.loads(config or b"{}")
        event = wanted.get("event", "tool:pre")
        return [EventSubscription(event, int(wanted.get("priority", 0)), "keep-secrets")]

    def handle(self, event: bytes) -> bytes:
        data = json.loads(event)["data"]
        found = [word for word in WORDS if word in json.dumps(data).lower()]
        if found:
            reason = f"The input speaks of a {found[0]}."
            return json.dumps({"action": "deny", "reason": reason}).encode()
        return b'{"action": "continue"}'
