"""The Responses API: chains, continuations, and answers that are made in the background."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from amplifier_core.llm_errors import LLMError
from amplifier_core.message_models import ChatRequest, ChatResponse
from amplifier_core.models import ModelInfo

from amplifier_modules.providing.histories import History
from amplifier_modules.providing.pieces import Opened, Pieces, Plan

from . import requests
from .chains import Chains
from .family import FamilyPlan, FamilyProvider, rate_limits
from .models import Facts, facts_of, model_info
from .options import ResponsesSettings
from .replies import Reply
from .requests import Developer, Json

logger = logging.getLogger(__name__)

MAX_CONTINUATIONS = 5
CONTINUED = "provider:incomplete_continuation"
UNCHAINED = "provider:response_chain_invalidated"
BACKGROUND = "provider:background_status"
_ENCRYPTED = "reasoning.encrypted_content"
_NAMED = ("model", "input")

S = TypeVar("S", bound=ResponsesSettings)


@dataclass(frozen=True)
class ResponsesPlan(FamilyPlan):
    """A plan that knows the whole conversation, also if only its end is sent."""

    whole: list[Json] = field(default_factory=list)
    may_continue: bool = False
    """Whether an answer that is too long for one response is to be completed by another."""

    @property
    def previous(self) -> str | None:
        return self.body.get("previous_response_id")

    @property
    def is_background(self) -> bool:
        return bool(self.body.get("background"))


class ResponsesProvider(FamilyProvider[S]):
    """A provider on the Responses API."""

    events = (CONTINUED, UNCHAINED, BACKGROUND)
    developer: ClassVar[Developer] = "developer"
    has_thoughts: ClassVar[bool] = False
    """Whether the thoughts of the model can go back as plain text."""

    def __init__(self, settings: S, key: Any, coordinator: Any) -> None:
        super().__init__(settings, key, coordinator)
        self._chains = Chains()
        self._session_id = getattr(coordinator, "session_id", None)

    # -- what is known about a model

    def facts(self, model: str) -> Facts:
        return facts_of(model)

    def context_window(self, model: str) -> int:
        return self.facts(model).window

    def sent_model(self, model: str) -> str:
        """What the vendor calls it."""
        return model

    def get_model_info(self) -> ModelInfo:
        """The limits of the model in use."""
        model = self.settings.default_model
        output = self.settings.max_tokens or self.facts(model).output
        return self._info(model).model_copy(update={"max_output_tokens": output})

    def described(self, model: Any) -> ModelInfo:
        return self._info(model.id)

    def known_models(self) -> list[ModelInfo]:
        names = sorted({*self.prices.prices, self.settings.default_model})
        return [self._info(name) for name in names]

    def _info(self, model: str) -> ModelInfo:
        output, price = self.facts(model).output, self.price(model)
        return model_info(model, price, context_window=self.context_window(model), output=output)

    # -- asking

    def plan(self, request: ChatRequest, history: History, options: dict[str, Any]) -> Plan:
        settings = self.settings
        model = request.model or settings.default_model
        facts = self.facts(model)
        sampled, sampling_notes = requests.sampling(request, settings.temperature, facts)
        effort, effort_notes = requests.effort(self._wish(request, options, facts), facts)
        tools = requests.tools(request.tools)
        chains = self._may_chain(facts)
        body: Json = {
            "model": self.sent_model(model),
            "instructions": requests.instructions(history, request),
            "tools": tools,
            "tool_choice": requests.tool_choice(request.tool_choice, tools) if tools else None,
            "text": requests.text_format(request),
            "reasoning": self._reasoning(effort, facts),
            "include": [_ENCRYPTED] if facts.reasons or effort else None,
            "max_output_tokens": request.max_output_tokens or settings.max_tokens,
            "truncation": settings.truncation,
            "safety_identifier": options.get("safety_identifier"),
            **self._caching(request),
        }
        body = {name: value for name, value in body.items() if value}
        body |= sampled | {"store": chains or settings.enable_state or facts.researches}
        if facts.researches:
            body["background"] = True
        items = requests.items(history, developer=self.developer, has_thoughts=self.has_thoughts)
        body["input"] = whole = [item for each in items for item in each]
        link = self._chains.find(history.entries, items) if chains else None
        if link is not None:
            response_id, count = link
            body["previous_response_id"] = response_id
            body["input"] = [item for each in items[count:] for item in each]
        return ResponsesPlan(
            model=model,
            body=body | settings.extra_request_params,
            is_streamed=self.wants_stream(request) and not facts.researches,
            has_instructions="instructions" in body,
            is_reasoning=bool(facts.reasons or effort) and effort != "none",
            degradations=(*sampling_notes, *effort_notes, *_no_stops(request)),
            timeout=(
                (settings.background_timeout, "background_timeout") if facts.researches else None
            ),
            sampled=tuple(name for name in sampled if getattr(request, name) is not None),
            whole=whole,
            may_continue=request.max_output_tokens is None,
        )

    def _wish(self, request: ChatRequest, options: Mapping[str, Any], facts: Facts) -> str | None:
        asked = request.reasoning_effort or self.settings.reasoning
        thinks = options.get("extended_thinking")
        if thinks is False and facts.reasons:
            return facts.efforts[0]
        return asked or ("medium" if thinks and facts.reasons is None else None)

    def _reasoning(self, effort: str | None, facts: Facts) -> Json | None:
        if not facts.reasons and effort is None:
            return None
        summary = self.settings.reasoning_summary
        wanted = {"effort": effort, "summary": None if summary == "none" else summary}
        return {name: value for name, value in wanted.items() if value}

    def _caching(self, request: ChatRequest) -> Json:
        key = self.settings.prompt_cache_key or request.conversation_id or self._session_id
        return {
            "prompt_cache_key": str(key)[:64] if key and self.is_openai else None,
            "prompt_cache_retention": self.settings.prompt_cache_retention,
        }

    def _may_chain(self, facts: Facts) -> bool:
        wanted = self.settings.enable_response_chaining
        return bool(facts.reasons) if wanted == "auto" else wanted

    # -- the wire

    async def attempt(self, plan: Plan) -> Pieces:
        assert isinstance(plan, ResponsesPlan)
        reply = Reply(self.blame(plan.model))
        body = dict(plan.body)
        for number in range(1, MAX_CONTINUATIONS + 2):
            async with aclosing(self._sent(plan, body, reply)) as pieces:
                async for piece in pieces:
                    yield piece
            goes_on = plan.may_continue and reply.cut_for == "max_output_tokens"
            if not goes_on or number > MAX_CONTINUATIONS:
                break
            so_far = reply.usable()
            if not so_far:
                break
            await self.tell(
                CONTINUED,
                response_id=reply.last.get("id"),
                reason=reply.cut_for,
                continuation_number=number,
                max_attempts=MAX_CONTINUATIONS,
            )
            body["input"] = [*plan.body["input"], *so_far]
        yield self._response(plan, reply)

    def _response(self, plan: ResponsesPlan, reply: Reply) -> ChatResponse:
        response = self.finished(plan, reply.response(self.price(plan.model)))
        if plan.body["store"] and not reply.was_continued:
            self._chains.remember(response, plan.whole)
        return response

    async def _sent(self, plan: ResponsesPlan, body: Json, reply: Reply) -> Pieces:
        """One response; without its chain if the vendor has forgotten it."""
        try:
            async with aclosing(self._sent_once(plan, body, reply)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        except Exception as error:
            if not _has_lost_chain(error, body):
                raise
        lost = body.pop("previous_response_id")
        self._chains.forget(lost)
        logger.info("%s: response %r is gone; the whole conversation is sent", self.name, lost)
        await self.tell(UNCHAINED, response_id=lost, model=plan.model)
        added = body["input"][len(plan.body["input"]) :]
        body["input"] = [*plan.whole, *added]
        async with aclosing(self._sent_once(plan, body, reply)) as pieces:
            async for piece in pieces:
                yield piece

    def _sent_once(self, plan: ResponsesPlan, body: Json, reply: Reply) -> Pieces:
        if plan.is_background:
            return self._fetched(body, reply)
        return self._streamed(body, reply) if plan.is_streamed else self._whole(body, reply)

    async def _streamed(self, body: Json, reply: Reply) -> Pieces:
        client = await self.client()
        stream = await self.created(client.responses.create, body, _NAMED, stream=True)
        async with stream:
            yield Opened(rate_limits(stream.response.headers))
            async with aclosing(aiter(stream)) as events:
                async for event in events:
                    for piece in reply.take(event):
                        yield piece
        reply.check_complete()

    async def _whole(self, body: Json, reply: Reply) -> Pieces:
        client = await self.client()
        answer = await self.created(
            client.responses.with_raw_response.create,
            body,
            _NAMED,
            timeout=self._whole_answer_timeout,
        )
        yield Opened(rate_limits(answer.headers))
        reply.take_whole(answer.parse())

    # -- in the background

    async def _fetched(self, body: Json, reply: Reply) -> Pieces:
        """The vendor works on its own, and is asked from time to time whether it is done."""
        client = await self.client()
        response = await self.created(client.responses.create, body, _NAMED)
        yield Opened()
        try:
            while response.status in ("queued", "in_progress"):
                details = {"response_id": response.id, "status": response.status}
                await self.tell(BACKGROUND, **details)
                await asyncio.sleep(self.settings.poll_interval)
                response = await self._polled(client, response.id)
        except (asyncio.CancelledError, GeneratorExit):
            await self._cancel(client, response.id)
            raise
        await self.tell(BACKGROUND, response_id=response.id, status=response.status)
        reply.take_whole(response)

    async def _polled(self, client: Any, response_id: str) -> Any:
        """A passing failure to ask must not throw away the work of minutes."""
        for left in reversed(range(self.settings.max_retries + 1)):
            try:
                return await client.responses.retrieve(response_id)
            except Exception as error:
                failure = self._failure(error)
                if not left or not failure.retryable:
                    raise failure from error
                await asyncio.sleep(max(self.settings.poll_interval, failure.retry_after or 0.0))
        raise AssertionError("unreachable")

    async def _cancel(self, client: Any, response_id: str) -> None:
        try:
            async with asyncio.timeout(self.settings.close_timeout):
                await client.responses.cancel(response_id)
        except Exception as error:
            logger.warning("%s: %r still runs at the vendor: %r", self.name, response_id, error)


def _no_stops(request: ChatRequest) -> list[Any]:
    if not request.stop:
        return []
    reason = "the Responses API has no stop sequences"
    return [requests.note(f"stop {request.stop!r}", "no stop sequence", reason)]


def _has_lost_chain(error: Exception, body: Mapping[str, Any]) -> bool:
    if "previous_response_id" not in body or isinstance(error, LLMError):
        return False
    status = getattr(error, "status_code", None)
    return status == 404 or (status == 400 and "previous_response" in str(error).lower())
