"""The session as an orchestrator in a component sees it: JSON in, JSON or an error text out."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ...message_models import ChatRequest
from ..mounted import DESCRIPTIONS
from .calling import Err, Ok
from .guest import to_json

logger = logging.getLogger("amplifier_core.transports.wasm")


class _Refused(Exception):
    """The request cannot be served; the text tells the guest why."""


@dataclass
class KernelService:
    """Serves the imports of one orchestrator's turn."""

    context: Any
    providers: dict[str, Any]
    tools: dict[str, Any]
    hooks: Any
    coordinator: Any

    async def serve(self, function: str, request: bytes) -> Ok | Err:
        """Answer one import. What goes wrong is an answer, too: the guest may deal with it."""
        answers: dict[str, Callable[[Any], Awaitable[Any]]] = {
            "execute-tool": self._execute_tool,
            "complete-with-provider": self._complete,
            "emit-hook": self._emit,
            "get-messages": self._get_messages,
            "add-message": self._add_message,
            "get-capability": self._get_capability,
            "register-capability": self._register_capability,
        }
        try:
            asked = None if function == "get-messages" else _parsed(request)
            answer = await answers[function](asked)
        except _Refused as refusal:
            return Err(f"{function}: {refusal}")
        except Exception as error:
            logger.warning("%s for a component failed", function, exc_info=error)
            return Err(f"{function}: {error or type(error).__name__}")
        return Ok(None) if answer is _NOTHING else Ok(to_json(answer))

    async def _execute_tool(self, asked: Any) -> Any:
        name = _field(asked, "name")
        tool = self.tools.get(name)
        if tool is None:
            raise _Refused(f"tool not found: {name}")
        result = await tool.execute(asked.get("input"))
        if hasattr(result, "model_dump"):
            return result.model_dump(mode="json")
        is_result = isinstance(result, dict) and "success" in result
        return result if is_result else {"success": True, "output": result}

    async def _complete(self, asked: Any) -> Any:
        name = _field(asked, "name")
        provider = self.providers.get(name)
        if provider is None:
            raise _Refused(f"provider not found: {name}")
        try:
            request = ChatRequest.model_validate(asked.get("request"))
        except ValueError as error:
            raise _Refused(f"bad request: {error}") from error
        return await provider.complete(request)

    async def _emit(self, asked: Any) -> Any:
        event, data = _field(asked, "event"), asked.get("data")
        if data is not None and not isinstance(data, dict):
            raise _Refused("bad request: 'data' is no object")
        result = await self.hooks.emit(event, data or {})
        # Only the host can put a question to the user.
        if getattr(result, "action", None) == "ask_user" and self.coordinator is not None:
            result = await self.coordinator.process_hook_result(result, event, "wasm")
        return result

    async def _get_messages(self, asked: None) -> Any:
        return await self._mounted_context().get_messages()

    async def _add_message(self, asked: Any) -> Any:
        if not isinstance(asked, dict):
            raise _Refused("bad request: a message is an object")
        await self._mounted_context().add_message(asked)
        return _NOTHING

    async def _get_capability(self, asked: Any) -> Any:
        name = _field(asked, "name")
        value = self.coordinator.get_capability(name) if self.coordinator is not None else None
        if value is None and self.coordinator is not None and name in DESCRIPTIONS:
            value = DESCRIPTIONS[name](self.coordinator)
        if value is None:
            raise _Refused(f"not found: {name}")
        return value

    async def _register_capability(self, asked: Any) -> Any:
        self.coordinator.register_capability(_field(asked, "name"), asked.get("value"))
        return _NOTHING

    def _mounted_context(self) -> Any:
        if self.context is None:
            raise _Refused("no context manager mounted")
        return self.context


_NOTHING = object()


def _parsed(request: bytes) -> Any:
    try:
        return json.loads(request)
    except (ValueError, RecursionError) as error:
        raise _Refused(f"bad request: {error}") from error


def _field(asked: Any, name: str) -> str:
    value = asked.get(name) if isinstance(asked, dict) else None
    if not isinstance(value, str):
        raise _Refused(f"missing '{name}' field")
    return value
