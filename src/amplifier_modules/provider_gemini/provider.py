"""`provider-gemini`: Gemini, through the GenAI API and its official SDK."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Iterable
from contextlib import aclosing
from datetime import date
from typing import Any

from amplifier_core.llm_errors import (
    AuthenticationError,
    ContextLengthError,
    LLMError,
    QuotaExceededError,
    RateLimitError,
)
from amplifier_core.message_models import ChatRequest
from amplifier_core.models import ConfigField, ModelInfo, ProviderInfo

from amplifier_modules.providing.failures import Report
from amplifier_modules.providing.histories import History
from amplifier_modules.providing.keys import find_key
from amplifier_modules.providing.pieces import Opened, Pieces, Plan
from amplifier_modules.providing.remote import RemoteProvider, mount_remote
from amplifier_modules.providing.sdk import Sdk

from . import requests
from .models import CAPABILITIES, WINDOW, facts_of, model_info, prices_on
from .options import KEY_VARIABLES, MODULE_ID, MOUNT_NAME, GeminiSettings
from .replies import Reply
from .thinking import decide
from .wire import Wire

__amplifier_module_type__ = "provider"

logger = logging.getLogger(__name__)

MAX_CONTINUATIONS = 5
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


class GeminiProvider(RemoteProvider[GeminiSettings]):
    """One session's way to Gemini."""

    name = MOUNT_NAME
    sdk = Sdk("google.genai", extra="gemini")
    prices = prices_on(date.today())

    # -- what it is

    def get_info(self) -> ProviderInfo:
        return ProviderInfo(
            id=self.name,
            display_name="Google Gemini",
            credential_env_vars=list(KEY_VARIABLES),
            capabilities=list(CAPABILITIES),
            defaults={
                "model": self.settings.default_model,
                "context_window": WINDOW,
                "max_output_tokens": self.settings.longest_answer,
            },
            config_fields=_config_fields(),
        )

    def get_model_info(self) -> ModelInfo:
        """The limits of the model in use."""
        model = self.settings.default_model
        return model_info(model, self.price(model), output=self.settings.longest_answer)

    def known_models(self) -> list[ModelInfo]:
        return [model_info(name, self.price(name)) for name in sorted(self.prices.prices)]

    async def fetch_models(self) -> list[ModelInfo]:
        client = await self.client()
        found = [each for each in await client.models() if each.name]
        if self.settings.filtered:
            found = [each for each in found if _can_chat(each.supported_actions)]
        return [self._described(each) for each in found]

    def _described(self, model: Any) -> ModelInfo:
        name = model.name.removeprefix("models/")
        return model_info(
            name,
            self.price(name),
            name=model.display_name,
            window=model.input_token_limit,
            output=model.output_token_limit,
            thinks=model.thinking,
        )

    # -- asking

    def plan(self, request: ChatRequest, history: History, options: dict[str, Any]) -> Plan:
        model = request.model or self.settings.default_model
        settings, facts = self.settings, facts_of(model)
        thinking = decide(request, options, settings, facts)
        tools = requests.tools(request.tools)
        form, asks, form_notes = requests.output_format(request, facts, has_tools=bool(tools))
        stops, stop_notes = requests.stop_sequences(request.stop)
        is_set = "temperature" in settings.model_fields_set
        usual = settings.temperature if facts.samples_freely or is_set else None
        sampled, sampling_notes = requests.sampling(request, usual, facts)
        instructions = requests.instructions(history, asks_for_json=asks)
        generation = {
            "maxOutputTokens": request.max_output_tokens or settings.longest_answer,
            "stopSequences": stops,
            "thinkingConfig": thinking.config,
            **form,
            **sampled,
        }
        body = {
            "contents": requests.contents(history, facts),
            "systemInstruction": instructions,
            "tools": tools,
            "toolConfig": requests.tool_config(request.tool_choice) if tools else None,
            "generationConfig": {k: v for k, v in generation.items() if v or k in sampled},
        }
        given = {key: value for key, value in body.items() if value}
        return Plan(
            model=model,
            body=requests.with_extra(given, settings.extra_request_params),
            is_streamed=self.wants_stream(request),
            has_instructions=instructions is not None,
            is_reasoning=thinking.is_on,
            thinking_budget=thinking.budget,
            degradations=(*thinking.degradations, *form_notes, *stop_notes, *sampling_notes),
        )

    # -- the wire

    def new_client(self, sdk: Any) -> Wire:
        assert self.key is not None  # without one nothing is mounted
        http = importlib.import_module(self.sdk.http)
        return Wire(sdk, http, self.sdk.tls(), self.settings, self.key)

    async def attempt(self, plan: Plan) -> Pieces:
        reply = Reply(self.blame(plan.model))
        body = dict(plan.body)
        for _ in range(MAX_CONTINUATIONS + 1):
            sending = self._streamed if plan.is_streamed else self._whole
            async with aclosing(sending(plan.model, body, reply)) as pieces:
                async for piece in pieces:
                    yield piece
            token = reply.continuation
            if token is None:
                break
            reply.go_on()
            generation = {**plan.body.get("generationConfig", {}), "continuationToken": token}
            body["generationConfig"] = generation
        yield reply.response(self.price(plan.model))

    async def _streamed(self, model: str, body: dict[str, Any], reply: Reply) -> Pieces:
        client = await self.client()
        async with aclosing(client.streamed(model, dict(body))) as chunks:
            await anext(chunks)
            yield Opened()
            async for chunk in chunks:
                for piece in reply.take(chunk):
                    yield piece
        reply.check_complete()

    async def _whole(self, model: str, body: dict[str, Any], reply: Reply) -> Pieces:
        client = await self.client()
        reply.take(await client.whole(model, dict(body)))
        yield Opened()
        reply.check_complete()

    def report(self, error: Exception) -> Report | None:
        status = getattr(error, "code", None)
        response = getattr(error, "response", None)
        if not isinstance(status, int) or response is None:
            return None
        message = str(getattr(error, "message", None) or error)
        headers = dict(getattr(response, "headers", None) or {})
        details = _details(getattr(error, "details", None))
        wait = next((each["retryDelay"] for each in details if "retryDelay" in each), None)
        seconds = _SECONDS.fullmatch(str(wait))
        if seconds and "retry-after" not in {name.lower() for name in headers}:
            headers["retry-after"] = seconds[1]
        return Report(status, message, headers, _kind(status, message, details))


def _details(body: Any) -> list[dict[str, Any]]:
    """The parts of an error's body that are meant for programs."""
    error = body.get("error") if isinstance(body, dict) else None
    found = error.get("details") if isinstance(error, dict) else None
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _kind(status: int, message: str, details: Iterable[dict[str, Any]]) -> type[LLMError] | None:
    """What a status of this vendor means when that is not what it usually means."""
    written = str([*details])
    if status == 400 and ("API_KEY_INVALID" in written or "API key not valid" in message):
        return AuthenticationError
    if status == 400 and "exceeds the maximum number of tokens" in message:
        return ContextLengthError
    if status == 429 and "exceeded your current quota" in message:
        # The same words, mentioning billing, for the limit of a minute and that of a day.
        return QuotaExceededError if "PerDay" in written else RateLimitError
    return None


def _can_chat(actions: Iterable[str] | None) -> bool:
    return actions is None or "generateContent" in actions


def _config_fields() -> list[ConfigField]:
    return [
        ConfigField(
            id="api_key",
            display_name="API key",
            prompt="Your Gemini API key",
            field_type="secret",
            env_var=KEY_VARIABLES[0],
        ),
        ConfigField(
            id="base_url",
            display_name="Base URL",
            prompt="Another address of the API; empty for Google's own",
            required=False,
        ),
        ConfigField(
            id="reasoning_effort",
            display_name="Reasoning effort",
            prompt="How hard the model thinks; empty for its own default",
            field_type="choice",
            choices=["none", "minimal", "low", "medium", "high"],
            required=False,
            requires_model=True,
        ),
    ]


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    settings = GeminiSettings.read(config, MODULE_ID)
    key = find_key(settings, KEY_VARIABLES)
    if key is None:
        names = " or ".join(KEY_VARIABLES)
        logger.warning("No Gemini: there is no key. Set %s, or give `api_key`.", names)
        return None
    return await mount_remote(coordinator, GeminiProvider(settings, key, coordinator))
