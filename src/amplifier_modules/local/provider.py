"""`provider-local`: answers with a model file that runs inside this process."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from decimal import Decimal
from typing import Any

from amplifier_core.llm_errors import LLMError, NotFoundError
from amplifier_core.message_models import ChatRequest, ChatResponse, ToolCall
from amplifier_core.models import ConfigField, ModelInfo, ProviderInfo

from .announcing import Announcer
from .choices import Choice, choose
from .engine import Engine, EngineOptions, Generation, shared_engine
from .failures import Patience
from .options import MODULE_ID, MOUNT_NAME, LocalSettings
from .prompts import body
from .replies import Piece, Reply
from .texts import sound
from .weights import (
    INSTALL_ENGINE,
    INSTALL_WEIGHTS,
    Weights,
    find_weights,
    is_engine_installed,
)

__amplifier_module_type__ = "provider"

logger = logging.getLogger(__name__)

_CAPABILITIES = ["streaming", "tools", "local", "json_mode"]


class LocalProvider:
    """One session's way to the model; the model itself is shared by the whole process."""

    name = MOUNT_NAME

    def __init__(self, settings: LocalSettings, weights: Weights, coordinator: Any) -> None:
        self.priority = settings.priority
        self._settings = settings
        self._weights = weights
        self._coordinator = coordinator
        self._running: set[Generation] = set()

    def get_info(self) -> ProviderInfo:
        kind = "demo model, for trying things out" if self._settings.is_demo else "local model"
        return ProviderInfo(
            id=self.name,
            display_name=f"{self._weights.name} ({kind})",
            capabilities=list(_CAPABILITIES),
            defaults={
                "model": self._weights.name,
                "context_window": self._weights.context_window,
                "max_output_tokens": self._settings.output_limit(),
            },
            config_fields=[
                ConfigField(
                    id="model_path",
                    display_name="Model file",
                    prompt="Path of a GGUF file; empty for the demo model",
                    required=False,
                )
            ],
        )

    async def list_models(self) -> list[ModelInfo]:
        return [
            ModelInfo(
                id=self._weights.name,
                display_name=self.get_info().display_name,
                context_window=self._weights.context_window,
                max_output_tokens=self._settings.output_limit(),
                capabilities=list(_CAPABILITIES),
            )
        ]

    async def complete(self, request: ChatRequest, **kwargs: Any) -> ChatResponse:
        """The answer in one piece; its pieces are announced as they come."""
        async with aclosing(self.stream_complete(request, **kwargs)) as chunks:
            async for chunk in chunks:
                if "response" in chunk:
                    response: ChatResponse = chunk["response"]
        return response

    async def stream_complete(
        self, request: ChatRequest, **kwargs: Any
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The answer in chunks; the last chunk has the finished response.

        Leaving the iteration early, or cancelling the task, stops the model.
        """
        request = _overridden(request, kwargs)
        self._check_model(request.model)
        choice = choose(request, self._settings)
        generation = self._generation(request, choice)
        call = Announcer(self._coordinator.hooks, self._weights.name, request)
        await call.asked(generation.body if self._settings.raw else None)
        reply = Reply(is_json=bool(choice.tools))
        try:
            async with aclosing(self._pieces(generation, reply, request)) as pieces:
                async for kind, text in pieces:
                    await call.piece(kind, text)
                    yield {kind: text}
            response = reply.response()
        except LLMError as error:
            await call.failed(error)
            raise
        await call.answered(response, reply.timings)
        yield {"response": response}

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return list(response.tool_calls or [])

    def warm_up(self) -> None:
        """Begin to load the model in the background."""
        self._engine()

    def close(self) -> None:
        """Stop what this session still has running; the model stays for others."""
        for generation in self._running:
            generation.stop()

    async def _pieces(
        self, generation: Generation, reply: Reply, request: ChatRequest
    ) -> AsyncGenerator[Piece, None]:
        settings = self._settings
        patience = Patience(
            settings.first_token_timeout,
            request.timeout or settings.timeout,
            self._coordinator.cancellation,
        )
        self._running.add(generation)
        self._engine().submit(generation)
        try:
            async with aclosing(generation.chunks(patience.check)) as chunks:
                async for chunk in chunks:
                    for piece in reply.take(chunk):
                        patience.first_token_arrived()
                        yield piece
        finally:
            self._running.discard(generation)

    def _engine(self) -> Engine:
        weights = self._weights
        return shared_engine(
            EngineOptions(weights.path, weights.context_window, self._settings.threads)
        )

    def _generation(self, request: ChatRequest, choice: Choice) -> Generation:
        asked = body(request, choice, self._settings)
        strict = choice.response_format()
        if strict is None:
            return Generation(sound(asked))
        loose = choice.response_format(loosely=True) if choice.tools else None
        return Generation(
            sound(asked | {"response_format": strict}),
            sound(asked | {"response_format": loose}) if loose else None,
        )

    def _check_model(self, asked: str | None) -> None:
        known = (self._weights.name, self._weights.path.stem, str(self._weights.path))
        if asked is not None and asked not in known:
            raise NotFoundError(
                f"There is no model {asked!r} here. Ask for {self._weights.name!r}, "
                f"or give another `model_path`.",
                provider=self.name,
                model=asked,
            )


def _overridden(request: ChatRequest, values: dict[str, Any]) -> ChatRequest:
    """`request` with those of `values` that it has fields for."""
    known = {key: value for key, value in values.items() if key in ChatRequest.model_fields}
    return ChatRequest.model_validate({**dict(request), **known}) if known else request


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    settings = LocalSettings.read(config, MODULE_ID)
    weights = find_weights(settings)
    if weights is None or (settings.is_demo and not is_engine_installed()):
        logger.warning(
            "No local model: neither `model_path` nor the demo model is there. Run `make model`, "
            "or `%s` and `%s`.", INSTALL_ENGINE, INSTALL_WEIGHTS,
        )  # fmt: skip
        return None
    provider = LocalProvider(settings, weights, coordinator)
    coordinator.register_contributor("session.cost", MOUNT_NAME, lambda: {"cost_usd": Decimal(0)})
    await coordinator.mount("providers", provider, name=provider.name)
    return provider.close


async def on_session_ready(coordinator: Any) -> None:
    """Load the model in the background, if it is the one that the session will ask first."""
    providers = (coordinator.get("providers") or {}).values()
    first = min(providers, key=lambda each: getattr(each, "priority", 100), default=None)
    if isinstance(first, LocalProvider):
        first.warm_up()
