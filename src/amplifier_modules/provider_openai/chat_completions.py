"""`provider-chat-completions`: any server that speaks OpenAI's Chat Completions."""

from __future__ import annotations

import logging
from contextlib import aclosing
from typing import Any

from amplifier_core.message_models import ChatRequest
from amplifier_core.models import ConfigField, ModelInfo

from amplifier_modules.provider_openai import chat_requests
from amplifier_modules.provider_openai.chat_replies import ChatReply
from amplifier_modules.provider_openai.family import (
    FamilyPlan,
    FamilyProvider,
    first_set,
    rate_limits,
)
from amplifier_modules.provider_openai.models import NO_PRICES, model_info
from amplifier_modules.provider_openai.options import ChatSettings
from amplifier_modules.providing.histories import History
from amplifier_modules.providing.keys import find_key
from amplifier_modules.providing.pieces import Opened, Pieces, Plan
from amplifier_modules.providing.remote import mount_remote

__amplifier_module_type__ = "provider"

logger = logging.getLogger(__name__)

MODULE_ID = "provider-chat-completions"
KEY_VARIABLES = ("CHAT_COMPLETIONS_API_KEY",)
URL_VARIABLES = ("CHAT_COMPLETIONS_BASE_URL",)
USUAL_OUTPUT_LIMIT = 4096
_NAMED = ("model", "messages")


class ChatProvider(FamilyProvider[ChatSettings]):
    """One session's way to a server."""

    name = "chat-completions"
    title = "Chat Completions"
    prices = NO_PRICES
    credential_variables = (URL_VARIABLES[0], KEY_VARIABLES[0])
    url_variables = URL_VARIABLES

    def config_fields(self) -> list[ConfigField]:
        return _config_fields()

    def get_model_info(self) -> ModelInfo:
        """The limits of the model in use, as far as the config tells them."""
        return self._info(self.settings.default_model)

    def described(self, model: Any) -> ModelInfo:
        return self._info(model.id)

    def known_models(self) -> list[ModelInfo]:
        return [self.get_model_info()]

    def _info(self, model: str) -> ModelInfo:
        return model_info(
            model,
            self.price(model),
            context_window=self.settings.context_window,
            output=self.settings.max_tokens or USUAL_OUTPUT_LIMIT,
        )

    # -- asking

    def plan(self, request: ChatRequest, history: History, options: dict[str, Any]) -> Plan:
        settings = self.settings
        model = request.model or settings.default_model
        tools, notes = chat_requests.tools(request.tools)
        effort = request.reasoning_effort or settings.reasoning_effort
        is_streamed = self.wants_stream(request)
        wanted = {
            "tools": tools or None,
            "tool_choice": chat_requests.tool_choice(request.tool_choice) if tools else None,
            "parallel_tool_calls": settings.parallel_tool_calls if tools else None,
            "response_format": chat_requests.response_format(request),
            "temperature": _first(request.temperature, settings.temperature),
            "top_p": _first(request.top_p, settings.top_p),
            "max_tokens": request.max_output_tokens or settings.max_tokens,
            "stop": request.stop or settings.stop or None,
            "seed": settings.seed,
            "reasoning_effort": effort,
            "stream_options": {"include_usage": True} if is_streamed else None,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        messages = chat_requests.messages(history)
        body = {"model": model, "messages": messages, **given, **settings.extra_request_params}
        asked = {"temperature": request.temperature, "top_p": request.top_p}
        return FamilyPlan(
            model=model,
            body=body,
            is_streamed=is_streamed,
            has_instructions=any(each["role"] == "system" for each in messages),
            is_reasoning=effort not in (None, "none"),
            degradations=tuple(notes),
            sampled=tuple(name for name, value in asked.items() if value is not None),
        )

    async def attempt(self, plan: Plan) -> Pieces:
        assert isinstance(plan, FamilyPlan)
        reply = ChatReply(self.blame(plan.model))
        sending = self._streamed(plan, reply) if plan.is_streamed else self._whole(plan, reply)
        async with aclosing(sending) as pieces:
            async for piece in pieces:
                yield piece
        yield self.finished(plan, reply.response(self.price(plan.model)))

    async def _streamed(self, plan: Plan, reply: ChatReply) -> Pieces:
        client = await self.client()
        create = client.chat.completions.create
        stream = await self.created(create, plan.body, _NAMED, stream=True)
        async with stream:
            yield Opened(rate_limits(stream.response.headers))
            async with aclosing(aiter(stream)) as chunks:
                async for chunk in chunks:
                    for piece in reply.take(chunk):
                        yield piece
        reply.check_complete()

    async def _whole(self, plan: Plan, reply: ChatReply) -> Pieces:
        client = await self.client()
        create = client.chat.completions.with_raw_response.create
        timeout = self._whole_answer_timeout
        answer = await self.created(create, plan.body, _NAMED, timeout=timeout)
        yield Opened(rate_limits(answer.headers))
        reply.take_whole(answer.parse())


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _config_fields() -> list[ConfigField]:
    return [
        ConfigField(
            id="base_url",
            display_name="Base URL",
            prompt="Where the server listens, for example http://localhost:8080/v1",
            env_var=URL_VARIABLES[0],
        ),
        ConfigField(
            id="api_key",
            display_name="API key",
            prompt="The key of the server, if it wants one",
            field_type="secret",
            env_var=KEY_VARIABLES[0],
            required=False,
        ),
    ]


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    settings = ChatSettings.read(config, MODULE_ID)
    if not settings.base_url and not first_set(URL_VARIABLES):
        logger.debug("No Chat Completions: nobody says where. Give `base_url`.")
        return None
    key = find_key(settings, KEY_VARIABLES)
    return await mount_remote(coordinator, ChatProvider(settings, key, coordinator))
