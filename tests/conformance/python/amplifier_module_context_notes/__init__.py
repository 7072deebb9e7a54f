"""`notes`: a context that keeps messages, and hands out the newest that fit."""

from typing import Any

from conforming_orders import Orders, number

__amplifier_module_type__ = "context"

CHARACTERS_PER_TOKEN = 4


class Notes:
    def __init__(self, max_messages: int) -> None:
        self._max_messages = max_messages
        self._messages: list[dict[str, Any]] = []
        self._orders = Orders()

    async def add_message(self, message: dict[str, Any]) -> None:
        if message["role"] == "user":
            said = await self._orders.obey(_text(message))
            message = message if said is None else {**message, "content": said}
        self._messages = [*self._messages, message][-self._max_messages :]

    async def get_messages(self) -> list[dict[str, Any]]:
        return list(self._messages)

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None
    ) -> list[dict[str, Any]]:
        kept = list(self._messages)
        while token_budget and len(kept) > 1 and _tokens(kept) > token_budget:
            kept.pop(0)
        return kept

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        self._messages = list(messages)[-self._max_messages :]

    async def clear(self) -> None:
        self._messages = []


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)


def _tokens(messages: list[dict[str, Any]]) -> float:
    return sum(len(_text(each)) for each in messages) / CHARACTERS_PER_TOKEN


async def mount(coordinator: Any, config: dict[str, Any]) -> None:
    await coordinator.mount("context", Notes(number(config, "max_messages", 1_000_000)))
