"""`gatekeeper`: a hook that denies what speaks of a forbidden word."""

from typing import Any

from amplifier_core import HookResult
from conforming_orders import Orders

__amplifier_module_type__ = "hook"


class Gatekeeper:
    def __init__(self, forbidden: str) -> None:
        if not forbidden:
            raise ValueError("`forbid` is empty, which is in every text. Name a word.")
        self._forbidden = forbidden
        self._orders = Orders()

    async def judge(self, event: str, data: dict[str, Any]) -> HookResult:
        text = data.get("tool_input", {}).get("text", "")
        order, _, rest = text.partition(" ")
        if order == "!modify":
            changed = {**data["tool_input"], "text": rest}
            return HookResult(action="modify", data={**data, "tool_input": changed})
        if order == "!inject":
            return HookResult(action="inject_context", context_injection=rest)
        said = await self._orders.obey(text)
        if said is None and self._forbidden in text:
            said = f"forbidden: {self._forbidden}"
        return HookResult() if said is None else HookResult(action="deny", reason=said)


async def mount(coordinator: Any, config: dict[str, Any]) -> None:
    coordinator.hooks.register(
        config.get("event", "tool:pre"),
        Gatekeeper(config.get("forbid", "secret")).judge,
        priority=config.get("priority", 0),
        name="gatekeeper",
        guard=True,
    )
