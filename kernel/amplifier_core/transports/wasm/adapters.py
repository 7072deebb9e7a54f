"""What a session sees of a component: objects that behave like modules written in Python."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ...interfaces import ApprovalRequest, ApprovalResponse
from ...llm_errors import LLMError
from ...message_models import ChatRequest, ChatResponse, ToolCall
from ...models import HookResult, ModelInfo, ProviderInfo, ToolResult
from ..approvals import EitherWay
from .guest import ComponentFailure, Guest, from_json, to_json
from .kernel_service import KernelService

ANNOTATIONS_KEY = "x-amplifier"

logger = logging.getLogger("amplifier_core.transports.wasm")


class ProviderFailure(LLMError, ComponentFailure):
    """A provider's component failed, in the way that all providers fail."""


class _Adapter:
    """A guest, and what its failures are called."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    async def _ask(self, failing: str, function: str, *payloads: bytes) -> Any:
        """Call a function and read its JSON.

        Raises:
            ComponentFailure: its text begins with what failed.
        """
        try:
            answer = await self._guest.call(function, *payloads)
            return from_json(self._guest.module_id, answer)
        except ComponentFailure as error:
            raise ComponentFailure(f"{failing} failed: {error}") from None

    def _read(self, model: Any, answer: Any, failing: str) -> Any:
        try:
            return model.model_validate(answer)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "the answer"
            raise ComponentFailure(
                f"{failing} failed: {self._guest.module_id!r} answered with no "
                f"{model.__name__}: {where}: {first['msg']}."
            ) from None

    def __repr__(self) -> str:
        name = getattr(self, "name", None)
        return f"<{type(self).__name__} {name!r}>" if name else f"<{type(self).__name__}>"


class WasmTool(_Adapter):
    """A tool. What goes wrong in the component is a failed result, for the model to read."""

    def __init__(self, guest: Guest, spec: Mapping[str, Any]) -> None:
        super().__init__(guest)
        self.name: str = spec["name"]
        self.description: str = spec.get("description") or "WASM tool module"
        parameters = spec.get("parameters")
        self.input_schema = dict(parameters) if isinstance(parameters, Mapping) else {}
        annotations = self.input_schema.pop(ANNOTATIONS_KEY, None)
        self.annotations: dict[str, Any] = annotations if isinstance(annotations, dict) else {}

    @classmethod
    async def of(cls, guest: Guest) -> WasmTool:
        spec = await _Adapter(guest)._ask("get-spec", "get-spec")
        if not isinstance(spec, dict) or not isinstance(spec.get("name"), str) or not spec["name"]:
            raise ComponentFailure(f"{guest.module_id!r} offers a tool without a name.")
        return cls(guest, spec)

    def get_spec(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.input_schema,
        }

    async def execute(self, input: dict[str, Any] | None = None, **more: Any) -> ToolResult:
        given = {**(input or {}), **more} if more else input
        what = "Tool execution"
        try:
            answer = await self._ask(what, "execute", to_json({} if given is None else given))
            result: ToolResult = self._read(ToolResult, answer, what)
        except ComponentFailure as error:
            return ToolResult(
                success=False, error={"message": str(error), "type": type(error).__name__}
            )
        return result


class WasmProvider(_Adapter):
    """A provider. A response is complete when it comes: its tool calls are read out of it."""

    def __init__(self, guest: Guest, info: ProviderInfo) -> None:
        super().__init__(guest)
        self._info = info
        self.name = info.id

    @classmethod
    async def of(cls, guest: Guest) -> WasmProvider:
        adapter = _Adapter(guest)
        info = await adapter._ask("get-info", "get-info")
        return cls(guest, adapter._read(ProviderInfo, info, "get-info"))

    def get_info(self) -> ProviderInfo:
        return self._info

    async def list_models(self) -> list[ModelInfo]:
        answer = await self._asked("list_models", "list-models")
        models = answer if isinstance(answer, list) else [answer]
        return [self._checked(ModelInfo, each, "list_models") for each in models]

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        changed = request.model_copy(update=kwargs) if kwargs else request
        sent = changed.model_dump(mode="json", exclude_none=True)
        answer = await self._asked("Provider complete", "complete", to_json(sent))
        response: ChatResponse = self._checked(ChatResponse, answer, "Provider complete")
        if not response.tool_calls:
            response.tool_calls = await self._parsed(response) or None
        return response

    async def _parsed(self, response: ChatResponse) -> list[ToolCall]:
        if not self._guest.offers("parse-tool-calls"):
            return []
        sent = to_json(response.model_dump(mode="json", exclude_none=True))
        try:
            calls = await self._ask("parse_tool_calls", "parse-tool-calls", sent)
            return [self._read(ToolCall, each, "parse_tool_calls") for each in calls or ()]
        except (ComponentFailure, TypeError) as error:
            logger.warning("%s", error)
            return []

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return list(response.tool_calls or ())

    async def _asked(self, failing: str, function: str, *payloads: bytes) -> Any:
        try:
            return await self._ask(failing, function, *payloads)
        except ComponentFailure as error:
            raise ProviderFailure(str(error), provider=self.name) from None

    def _checked(self, model: Any, answer: Any, failing: str) -> Any:
        try:
            return self._read(model, answer, failing)
        except ComponentFailure as error:
            raise ProviderFailure(str(error), provider=self.name) from None


class WasmHook(_Adapter):
    """A handler of events. Its failures are the registry's affair."""

    async def __call__(self, event: str, data: Any) -> HookResult:
        asked = to_json({"event": event, "data": data})
        answer = await self._ask("Hook handle", "handle", asked)
        fields = _spelled(answer) if isinstance(answer, dict) else answer
        result: HookResult = self._read(HookResult, fields, "Hook handle")
        return result

    handle = __call__

    async def subscriptions(self) -> list[tuple[str, int, str]]:
        """What it wants to hear; everything if it cannot say."""
        guest = self._guest
        fallback = [("*", 0, "wasm-hook")]
        if not guest.offers("get-subscriptions"):
            return fallback
        try:
            wanted = await guest.call("get-subscriptions", to_json(guest.config))
        except ComponentFailure as error:
            logger.warning("Hook %r hears all events, because %s", guest.module_id, error)
            return fallback
        return [(each["event"], each["priority"], each["name"]) for each in wanted or ()]


_WORDS = ("action", "context_injection_role", "approval_default", "user_message_level")


def _spelled(answer: dict[str, Any]) -> dict[str, Any]:
    """A hook's answer with its words in lower case: some guest libraries capitalise them."""
    fields = {key: value for key, value in answer.items() if value is not None}
    for key in _WORDS:
        if isinstance(fields.get(key), str):
            fields[key] = fields[key].lower()
    if "append_to_last_tool_result" in fields:
        fields["append_to_last_tool_result"] = bool(fields["append_to_last_tool_result"])
    return fields


class WasmApproval(_Adapter, EitherWay):
    """Answers questions of approval hooks and of the kernel. A component that fails denies."""

    async def _decide(self, request: ApprovalRequest) -> ApprovalResponse:
        failing = "request_approval"
        try:
            async with asyncio.timeout(request.timeout):
                answer = await self._ask(failing, "request-approval", to_json(request))
            response: ApprovalResponse = self._read(ApprovalResponse, answer, failing)
        except ComponentFailure as error:
            logger.error("Denied, because %s", error)
            return ApprovalResponse(approved=False, reason=str(error))
        return response


class WasmOrchestrator(_Adapter):
    """An agent loop. It reaches the session through what the host lets it import."""

    def __init__(self, guest: Guest, coordinator: Any) -> None:
        super().__init__(guest)
        self._coordinator = coordinator

    async def execute(
        self,
        prompt: str,
        context: Any = None,
        providers: dict[str, Any] | None = None,
        tools: dict[str, Any] | None = None,
        hooks: Any = None,
        coordinator: Any = None,
        **_: Any,
    ) -> str:
        """Run one turn; cancelling it stops the component, and what it waits for."""
        owner = coordinator or self._coordinator
        service = KernelService(
            owner.get("context") if context is None else context,
            owner.get("providers") or {} if providers is None else providers,
            owner.get("tools") or {} if tools is None else tools,
            owner.hooks if hooks is None else hooks,
            owner,
        )
        try:
            asked = to_json({"prompt": prompt})
            answer = await self._guest.call("execute", asked, host=service.serve)
            text = from_json(self._guest.module_id, answer)
        except ComponentFailure as error:
            raise ComponentFailure(f"Orchestrator execute failed: {error}") from None
        return text if isinstance(text, str) else to_json(text).decode()
