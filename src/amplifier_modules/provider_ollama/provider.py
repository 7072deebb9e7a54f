"""`provider-ollama`: models that an Ollama server runs, through its official client."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from amplifier_core.llm_errors import LLMError, NotFoundError
from amplifier_core.message_models import ChatRequest
from amplifier_core.models import ConfigField, ModelInfo, ProviderInfo

from amplifier_modules.providing.calls import Chunk
from amplifier_modules.providing.failures import Report
from amplifier_modules.providing.histories import History
from amplifier_modules.providing.keys import find_key
from amplifier_modules.providing.pieces import Opened, Pieces, Plan
from amplifier_modules.providing.remote import RemoteProvider, mount_remote
from amplifier_modules.providing.sdk import Sdk

from . import requests
from .models import (
    CAPABILITIES,
    PRICES,
    UNKNOWN,
    USUAL_WINDOW,
    Facts,
    can_chat,
    model_info,
    read_facts,
)
from .options import (
    HOST_VARIABLE,
    KEY_VARIABLE,
    MODULE_ID,
    MOUNT_NAME,
    USUAL_HOST,
    OllamaSettings,
)
from .replies import Reply

__amplifier_module_type__ = "provider"

logger = logging.getLogger(__name__)

STREAM_CHUNK = "llm:stream:chunk"
STREAM_THINKING = "llm:stream:thinking"
_SHOW_SECONDS = 10.0
_NO_STATUS = -1
"""What the SDK gives to errors that are told in the middle of a stream."""


class OllamaProvider(RemoteProvider[OllamaSettings]):
    """One session's way to an Ollama server."""

    name = MOUNT_NAME
    sdk = Sdk("ollama", extra="ollama", http="httpx")
    prices = PRICES
    events = (STREAM_CHUNK, STREAM_THINKING)

    def __init__(self, settings: OllamaSettings, key: Any, coordinator: Any) -> None:
        super().__init__(settings, key, coordinator)
        self._facts: dict[str, Facts] = {}

    # -- what it is

    def get_info(self) -> ProviderInfo:
        model = self.settings.default_model
        return ProviderInfo(
            id=self.name,
            display_name="Ollama",
            credential_env_vars=[HOST_VARIABLE],
            capabilities=list(CAPABILITIES),
            defaults={
                "model": model,
                "context_window": self._window(model),
                "max_output_tokens": self.settings.max_tokens or USUAL_WINDOW // 2,
            },
            config_fields=_config_fields(),
        )

    def get_model_info(self) -> ModelInfo:
        """The limits of the model in use, as far as they are known by now."""
        return self._described(self.settings.default_model)

    def known_models(self) -> list[ModelInfo]:
        return [self.get_model_info()]

    async def fetch_models(self) -> list[ModelInfo]:
        client = await self.client()
        listed = (await client.list()).models
        if self.settings.filtered:
            listed = [e for e in listed if can_chat(e.details.families if e.details else None)]
        return [self._described(each.model) for each in listed if each.model]

    def _described(self, model: str) -> ModelInfo:
        longest = self.settings.max_tokens or USUAL_WINDOW // 2
        facts = self._facts.get(model, UNKNOWN)
        return model_info(model, facts, self._window(model), longest)

    def _window(self, model: str) -> int:
        known = self._facts.get(model, UNKNOWN).window
        return self.settings.num_ctx or known or USUAL_WINDOW

    # -- asking

    async def stream_complete(
        self, request: ChatRequest, **options: Any
    ) -> AsyncGenerator[Chunk, None]:
        """As in `RemoteProvider`; each chunk is announced under this vendor's own names too."""
        model = options.get("model") or request.model or self.settings.default_model
        needs_facts = not self.settings.num_ctx or requests.asks_to_think(request, options)
        if needs_facts or self.settings.auto_pull:
            await self._learn(model)
        async with aclosing(super().stream_complete(request, **options)) as chunks:
            async for chunk in chunks:
                await self._announce(chunk, model)
                yield chunk

    async def _announce(self, chunk: Chunk, model: str) -> None:
        for key, event in (("text", STREAM_CHUNK), ("thinking", STREAM_THINKING)):
            if key in chunk:
                await self.tell(event, model=model, content=chunk[key])

    def plan(self, request: ChatRequest, history: History, options: dict[str, Any]) -> Plan:
        settings = self.settings
        model = request.model or settings.default_model
        facts = self._facts.get(model, UNKNOWN)
        messages, picture_notes = requests.messages(history, facts)
        tools, tool_notes = requests.tools(request, facts)
        think, think_notes = requests.thinking(request, options, settings, model, facts)
        tuned = {
            "num_ctx": self._window(model),
            "num_predict": request.max_output_tokens or settings.max_tokens,
            "temperature": settings.temperature if request.temperature is None
            else request.temperature,
            "top_p": request.top_p,
            "stop": request.stop or None,
        }  # fmt: skip
        is_streamed = self.wants_stream(request)
        body = {
            "model": model,
            "messages": messages,
            "tools": tools or None,
            "think": think,
            "format": requests.output_format(request),
            "options": {key: value for key, value in tuned.items() if value is not None},
            "keep_alive": settings.keep_alive,
            # Else the server would drop the beginning of a long prompt and tell nobody.
            "truncate": False,
            "stream": is_streamed,
        }
        given = {key: value for key, value in body.items() if value is not None}
        return Plan(
            model=model,
            body=_with_extra(given, settings.extra_request_params),
            is_streamed=is_streamed,
            has_instructions=any(each["role"] == "system" for each in messages),
            is_reasoning=bool(think),
            degradations=(*picture_notes, *tool_notes, *think_notes),
        )

    # -- what a model can, and whether it is there

    async def _learn(self, model: str) -> None:
        """Ask the server about `model`, once; a server that does not answer is asked again.

        Raises:
            LLMError: the model had to be fetched, and that failed.
        """
        if model in self._facts:
            return
        client = await self.client()
        try:
            self._facts[model] = await self._shown(client, model)
            return
        except LLMError as error:
            logger.debug("%s: nothing known about %r: %s", self.name, model, error)
            is_missing = isinstance(error, NotFoundError)
        if is_missing and self.settings.auto_pull:
            await self._pull(client, model)
            self._facts[model] = await self._shown(client, model)

    async def _shown(self, client: Any, model: str) -> Facts:
        try:
            async with asyncio.timeout(_SHOW_SECONDS):
                shown = await client._request(dict, "POST", "/api/show", json={"model": model})
            return read_facts(shown)
        except Exception as error:
            raise self._failure(error, model) from self.blame(model).cause(error)

    async def _pull(self, client: Any, model: str) -> None:
        logger.info("%s: fetching the model %r", self.name, model)
        try:
            async with asyncio.timeout(self.settings.pull_timeout):
                async with aclosing(await client.pull(model, stream=True)) as steps:
                    async for step in steps:
                        logger.debug("%s: %s", model, step.status)
        except Exception as error:
            raise self._failure(error, model) from self.blame(model).cause(error)

    # -- the wire

    def new_client(self, sdk: Any) -> Any:
        settings = self.settings
        key = self.key.get_secret_value() if self.key else None
        return sdk.AsyncClient(
            host=_host(settings),
            headers={"authorization": f"Bearer {key}"} if key else None,
            timeout=_limits(settings, settings.idle_timeout),
            verify=self.sdk.tls(),
            # A redirect would take the key to wherever it points.
            follow_redirects=False,
        )

    async def attempt(self, plan: Plan) -> Pieces:
        client = await self.client()
        reply = Reply(self.blame(plan.model))
        # The SDK's models leave out parts of schemas and the ids of calls, and would read files
        # that a picture names; so this goes past them.
        if plan.is_streamed:
            lines = await client._request(dict, "POST", "/api/chat", json=plan.body, stream=True)
            async with aclosing(lines):
                is_open = False
                async for line in lines:
                    if not is_open:
                        yield Opened()
                        is_open = True
                    for piece in reply.take(line):
                        yield piece
        else:
            limits = _limits(self.settings, self.settings.timeout)
            whole = await client._request(dict, "POST", "/api/chat", json=plan.body, timeout=limits)
            yield Opened()
            reply.take(whole)
        yield reply.response(self.price(plan.model))

    def report(self, error: Exception) -> Report | None:
        response = _response_behind(error)
        if response is not None:
            return Report(response.status_code, _said(error, response), dict(response.headers))
        if getattr(error, "status_code", None) == _NO_STATUS:
            return Report(500, str(getattr(error, "error", error)))
        return None


def _response_behind(error: Exception) -> Any:
    """The answer that the SDK made an error of; the error itself tells no headers."""
    is_in_stream = getattr(error, "status_code", None) == _NO_STATUS
    for each in (error, None if is_in_stream else error.__context__):
        if type(each).__name__ == "HTTPStatusError":
            return getattr(each, "response", None)
    return None


def _said(error: Exception, response: Any) -> str:
    told = getattr(error, "error", None)
    return told if isinstance(told, str) and told else str(response.text)


def _host(settings: OllamaSettings) -> str:
    return settings.base_url or os.environ.get(HOST_VARIABLE) or USUAL_HOST


def _limits(settings: OllamaSettings, read: float) -> tuple[float, float, float, float]:
    """For connecting, reading, writing and waiting for a connection."""
    return settings.connect_timeout, read, read, settings.connect_timeout


def _with_extra(body: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    options = {**body["options"], **extra.get("options", {})}
    return {**body, **extra, "options": options}


def _config_fields() -> list[ConfigField]:
    return [
        ConfigField(
            id="base_url",
            display_name="Host",
            prompt="The address of the Ollama server",
            env_var=HOST_VARIABLE,
            required=False,
            default=USUAL_HOST,
        ),
        ConfigField(
            id="api_key",
            display_name="API key",
            prompt="A key, if the server wants one; empty for a server of your own",
            field_type="secret",
            env_var=KEY_VARIABLE,
            required=False,
        ),
        ConfigField(
            id="auto_pull",
            display_name="Fetch models",
            prompt="Fetch a model that the server does not have",
            field_type="boolean",
            required=False,
            default="false",
        ),
    ]


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    settings = OllamaSettings.read(config, MODULE_ID)
    key = find_key(settings, (KEY_VARIABLE,))
    return await mount_remote(coordinator, OllamaProvider(settings, key, coordinator))
