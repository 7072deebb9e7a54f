"""A context in a component: one instance for the whole session, brought back when it dies."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from .guest import ComponentFailure, Guest, Instance, from_json, to_json

logger = logging.getLogger("amplifier_core.transports.wasm")


class WasmContext:
    """Keeps the messages in the component, and a copy here for when the component dies."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._instance: Instance | None = None
        self._copy: list[Any] = []
        self._turn = asyncio.Lock()

    async def add_message(self, message: dict[str, Any]) -> None:
        async with self._turn:
            await self._call("add_message", "add-message", to_json(message))
            self._copy.append(message)

    async def get_messages(self) -> list[dict[str, Any]]:
        async with self._turn:
            return self._list(await self._call("get_messages", "get-messages"))

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None, **_: Any
    ) -> list[dict[str, Any]]:
        name = getattr(provider, "name", None)
        asked = {
            "token_budget": token_budget if isinstance(token_budget, int) else None,
            "provider_name": name if isinstance(name, str) else "",
        }
        function = "get-messages-for-request"
        async with self._turn:
            return self._list(
                await self._call("get_messages_for_request", function, to_json(asked))
            )

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        async with self._turn:
            await self._call("set_messages", "set-messages", to_json(messages))
            self._copy = list(messages)

    async def clear(self) -> None:
        async with self._turn:
            await self._call("clear", "clear")
            self._copy = []

    def close(self) -> None:
        """Give the component's memory back, as soon as no call is in it any more."""
        self._instance = None

    async def _call(self, failing: str, function: str, *payloads: bytes) -> Any:
        try:
            if self._instance is not None and self._instance.is_closed:
                self._instance = None
                await self._replay()
            return await self._run(function, *payloads)
        except ComponentFailure as error:
            raise ComponentFailure(f"{failing} failed: {error}") from None

    async def _run(self, function: str, *payloads: bytes) -> Any:
        return await self._guest.run(self._alive, function, payloads, keep=True)

    def _alive(self) -> Instance:
        if self._instance is None:
            self._instance = Instance(self._guest)
        return self._instance

    async def _replay(self) -> None:
        """Hand the messages to a new instance, after the old one was lost."""
        module, count = self._guest.module_id, len(self._copy)
        logger.warning("Context %r starts again; it gets its %d messages back", module, count)
        if self._copy:
            await self._run("set-messages", to_json(self._copy))

    def _list(self, answer: Any) -> list[dict[str, Any]]:
        messages = from_json(self._guest.module_id, answer)
        if not isinstance(messages, list):
            raise ComponentFailure(f"{self._guest.module_id!r} answered with no list of messages.")
        return messages

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"
