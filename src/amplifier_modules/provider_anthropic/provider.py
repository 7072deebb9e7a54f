"""`provider-anthropic`: Claude, through the Messages API and its official SDK."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from amplifier_core.llm_errors import ContentFilterError, LLMError
from amplifier_core.message_models import ChatRequest, Degradation
from amplifier_core.models import ConfigField, ModelInfo, ProviderInfo

from amplifier_modules.providing.failures import OVERLOADED, Report
from amplifier_modules.providing.histories import History
from amplifier_modules.providing.keys import find_key
from amplifier_modules.providing.pieces import Opened, Pieces, Plan
from amplifier_modules.providing.remote import RemoteProvider, mount_remote
from amplifier_modules.providing.sdk import Sdk

from . import requests
from .caching import CacheMarks
from .fallback import Fallback
from .models import CAPABILITIES, PRICES, facts_of, model_info, output_limit, window
from .options import KEY_VARIABLES, MODULE_ID, MOUNT_NAME, URL_VARIABLE, AnthropicSettings
from .replies import Reply
from .thinking import decide

__amplifier_module_type__ = "provider"

logger = logging.getLogger(__name__)

MAX_CONTINUATIONS = 5
_LIMITS = "anthropic-ratelimit-"
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": OVERLOADED,
}


@dataclass(frozen=True)
class MessagesPlan(Plan):
    """A plan that knows whether the model has refused it before."""

    was_refused: bool = False


class AnthropicProvider(RemoteProvider[AnthropicSettings]):
    """One session's way to Claude."""

    name = MOUNT_NAME
    sdk = Sdk("anthropic", extra="anthropic")
    prices = PRICES

    def __init__(self, settings: AnthropicSettings, key: Any, coordinator: Any) -> None:
        super().__init__(settings, key, coordinator)
        self._marks = CacheMarks(settings)
        self._fallback = Fallback(settings)
        self._whole_answer_timeout: Any = None

    # -- what it is

    def get_info(self) -> ProviderInfo:
        model = self.settings.default_model
        return ProviderInfo(
            id=self.name,
            display_name="Anthropic",
            credential_env_vars=list(KEY_VARIABLES),
            capabilities=list(CAPABILITIES),
            defaults={
                "model": model,
                "context_window": window(facts_of(model).window, self.settings),
                "max_output_tokens": output_limit(model, self.settings),
            },
            config_fields=_config_fields(),
        )

    def get_model_info(self) -> ModelInfo:
        """The limits of the model in use."""
        model = self.settings.default_model
        info = model_info(model, self.settings, self.price(model))
        return info.model_copy(update={"max_output_tokens": output_limit(model, self.settings)})

    def known_models(self) -> list[ModelInfo]:
        names = sorted(PRICES.prices)
        return [model_info(name, self.settings, self.price(name)) for name in names]

    async def fetch_models(self) -> list[ModelInfo]:
        client = await self.client()
        found = [each async for each in client.models.list(limit=1000)]
        if self.settings.filtered:
            found = [each for each in found if getattr(each, "lifecycle", "active") == "active"]
        return [
            model_info(
                each.id,
                self.settings,
                self.price(each.id),
                name=each.display_name,
                limits={
                    "window": getattr(each, "max_input_tokens", None),
                    "output": getattr(each, "max_tokens", None),
                },
            )
            for each in found
        ]

    # -- asking

    def plan(self, request: ChatRequest, history: History, options: dict[str, Any]) -> Plan:
        asked = request.model or self.settings.default_model
        model = self._fallback.model_for(asked)

        def for_model(model: str) -> Plan:
            notes = () if model == asked else (_stands_in(asked, model),)
            return self._plan(model, request, history, options, notes)

        return replace(for_model(model), for_model=for_model)

    def _plan(
        self,
        model: str,
        request: ChatRequest,
        history: History,
        options: Mapping[str, Any],
        notes: tuple[Degradation, ...],
    ) -> MessagesPlan:
        settings, facts = self.settings, facts_of(model)
        choice, choice_notes = requests.tool_choice(request.tool_choice, facts)
        must_call = choice is not None and choice["type"] in ("any", "tool")
        most = request.max_output_tokens or output_limit(model, settings)
        thinking = decide(request, options, settings, facts, most, must_call=must_call)
        form, form_notes = requests.output_format(request)
        stops, stop_notes = requests.stop_sequences(request.stop)
        sampled, sampling_notes = requests.sampling(
            request, settings.temperature, facts, thinks=thinking.is_on
        )
        output = {"effort": thinking.effort, "format": form}
        tools = requests.tools(request.tools)
        body = {
            "model": model,
            "max_tokens": thinking.max_tokens,
            "system": requests.system(history, request),
            "messages": requests.messages(history),
            "tools": tools,
            "tool_choice": choice if tools else None,
            "thinking": thinking.config,
            "stop_sequences": stops,
            "output_config": {key: value for key, value in output.items() if value},
            **sampled,
        }
        given = {key: value for key, value in body.items() if value or key in sampled}
        marked = self._marks.mark({"messages": [], **given}, request.conversation_id)
        return MessagesPlan(
            model=model,
            body=marked | settings.extra_request_params,
            is_streamed=self.wants_stream(request),
            has_instructions=bool(body["system"]),
            is_reasoning=thinking.is_on,
            thinking_budget=thinking.budget,
            degradations=(*notes, *choice_notes, *thinking.degradations, *form_notes, *stop_notes,
                          *sampling_notes),
        )  # fmt: skip

    def reconsidered(self, plan: Plan, failure: LLMError) -> Plan:
        if isinstance(failure, ContentFilterError) and isinstance(plan, MessagesPlan):
            return replace(plan, was_refused=True)
        if failure.status_code != OVERLOADED or plan.for_model is None:
            return plan
        lower = self._fallback.overloaded(plan.model)
        if lower is None:
            return plan
        logger.warning("Model %r is overloaded; %r stands in for it", plan.model, lower)
        return replace(plan.for_model(lower), for_model=plan.for_model)

    # -- the wire

    def new_client(self, sdk: Any) -> Any:
        settings = self.settings
        connect = settings.connect_timeout
        self._whole_answer_timeout = sdk.Timeout(settings.timeout, connect=connect)
        betas = settings.betas()
        return sdk.AsyncAnthropic(
            api_key=self.key.get_secret_value() if self.key else None,
            base_url=settings.base_url or os.environ.get(URL_VARIABLE) or None,
            max_retries=0,
            timeout=sdk.Timeout(settings.idle_timeout, connect=connect),
            default_headers={"anthropic-beta": betas} if betas else None,
            # A redirect would take the key to wherever it points.
            http_client=sdk.DefaultAsyncHttpxClient(verify=self.sdk.tls(), follow_redirects=False),
        )

    async def attempt(self, plan: Plan) -> Pieces:
        may_ask_again = self.settings.refusal_fallback_enabled and not (
            isinstance(plan, MessagesPlan) and plan.was_refused
        )
        reply = Reply(self.blame(plan.model), may_ask_again=may_ask_again)
        body = dict(plan.body)
        for _ in range(MAX_CONTINUATIONS + 1):
            sending = self._streamed(body, reply) if plan.is_streamed else self._whole(body, reply)
            async with aclosing(sending) as pieces:
                async for piece in pieces:
                    yield piece
            if not reply.is_paused:
                break
            so_far = {"role": "assistant", "content": list(reply.content)}
            body["messages"] = [*plan.body["messages"], so_far]
        self._fallback.answered(plan.model)
        yield reply.response(self.price(plan.model))

    async def _streamed(self, body: dict[str, Any], reply: Reply) -> Pieces:
        client = await self.client()
        stream = await client.messages.create(**_arguments(body), stream=True)
        async with stream:
            yield Opened(_rate_limits(stream.response.headers))
            async with aclosing(aiter(stream)) as events:
                async for event in events:
                    for piece in reply.take(event):
                        yield piece
        reply.check_complete()

    async def _whole(self, body: dict[str, Any], reply: Reply) -> Pieces:
        client = await self.client()
        answer = await client.messages.with_raw_response.create(
            **_arguments(body), timeout=self._whole_answer_timeout
        )
        yield Opened(_rate_limits(answer.headers))
        reply.take_whole(await answer.parse())

    def report(self, error: Exception) -> Report | None:
        response = getattr(error, "response", None)
        status = getattr(error, "status_code", None)
        if response is None or status is None:
            return None
        if status < 300:
            # An error in the middle of a stream: only its type tells what it would have been.
            status = _STATUS_OF.get(str(getattr(error, "type", None)), 0)
        if not status:
            return None
        said = getattr(error, "api_message", None) or str(error)
        return Report(status, said, dict(response.headers))


def _arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """What the SDK insists on by name; the rest goes past its signature unchanged."""
    named = ("model", "max_tokens", "messages")
    rest = {key: value for key, value in body.items() if key not in named}
    return {**{key: body[key] for key in named}, "extra_body": rest}


def _rate_limits(headers: Mapping[str, str]) -> dict[str, str]:
    lowered = {name.lower(): value for name, value in headers.items()}
    return {
        name.removeprefix(_LIMITS): value
        for name, value in lowered.items()
        if name.startswith(_LIMITS)
    }


def _stands_in(asked: str, model: str) -> Degradation:
    return Degradation(requested=asked, actual=model, reason=f"{asked} is overloaded")


def _config_fields() -> list[ConfigField]:
    return [
        ConfigField(
            id="api_key",
            display_name="API key",
            prompt="Your Anthropic API key",
            field_type="secret",
            env_var=KEY_VARIABLES[0],
        ),
        ConfigField(
            id="base_url",
            display_name="Base URL",
            prompt="Another address of the API; empty for Anthropic's own",
            env_var=URL_VARIABLE,
            required=False,
        ),
        ConfigField(
            id="reasoning_effort",
            display_name="Reasoning effort",
            prompt="How hard the model thinks; empty for its own default",
            field_type="choice",
            choices=["low", "medium", "high", "xhigh", "max"],
            required=False,
            requires_model=True,
        ),
        ConfigField(
            id="enable_prompt_caching",
            display_name="Prompt caching",
            prompt="Let Anthropic keep what requests have in common, which is cheaper",
            field_type="boolean",
            required=False,
            default="true",
        ),
    ]


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    settings = AnthropicSettings.read(config, MODULE_ID)
    key = find_key(settings, KEY_VARIABLES)
    if key is None:
        logger.warning(
            "No Anthropic: there is no key. Set %s, or give `api_key`.", KEY_VARIABLES[0]
        )
        return None
    if settings.thinking_budget_tokens and settings.thinking_type == "adaptive":
        logger.warning("`thinking_budget_tokens` is sent only with `thinking_type: enabled`.")
    return await mount_remote(coordinator, AnthropicProvider(settings, key, coordinator))
