"""The provider contract for a remote API; a subclass adds what is special about a vendor."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, ClassVar, Generic, TypeVar

from amplifier_core.llm_errors import (
    AbortError,
    LLMError,
    LLMTimeoutError,
    ProviderUnavailableError,
)
from amplifier_core.message_models import ChatRequest, ChatResponse, ToolCall
from amplifier_core.models import ModelInfo, ProviderInfo
from pydantic import SecretStr

from amplifier_modules.providing.announcing import OWN_EVENTS, Announcer
from amplifier_modules.providing.calls import Call, Chunk
from amplifier_modules.providing.failures import Blame, Report
from amplifier_modules.providing.histories import History, read_history
from amplifier_modules.providing.limits import gate_of
from amplifier_modules.providing.options import RemoteSettings
from amplifier_modules.providing.pieces import Pieces, Plan
from amplifier_modules.providing.prices import Price, PriceList, Tally
from amplifier_modules.providing.sdk import Sdk

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=RemoteSettings)
_MODELS_ARE_FRESH_FOR = 300.0


class RemoteProvider(ABC, Generic[S]):
    """One session's way to a vendor."""

    name: ClassVar[str]
    sdk: ClassVar[Sdk]
    prices: ClassVar[PriceList]
    events: ClassVar[tuple[str, ...]] = ()
    """What it tells besides the events that all providers have."""

    def __init__(self, settings: S, key: SecretStr | None, coordinator: Any) -> None:
        self.settings = settings
        self.key = key
        self.priority = settings.priority
        self.tally = Tally()
        self._hooks = coordinator.hooks
        self._client: Any = None
        self._client_loop: asyncio.AbstractEventLoop | None = None
        self._models: tuple[float, list[ModelInfo]] | None = None
        self.is_unreachable = False
        """Whether the vendor did not answer when it was last asked for its models."""
        self._told_repairs: set[tuple[str, str]] = set()

    # -- what a subclass has to say

    @abstractmethod
    def get_info(self) -> ProviderInfo:
        """What the set-up wizard and context managers want to know."""

    @abstractmethod
    def new_client(self, sdk: Any) -> Any:
        """A client of the SDK, with its own retries off; it has an async `close()`."""

    @abstractmethod
    def plan(self, request: ChatRequest, history: History, options: dict[str, Any]) -> Plan:
        """`request` in the vendor's words; `options` are the caller's other keyword arguments."""

    @abstractmethod
    def attempt(self, plan: Plan) -> Pieces:
        """Send it once. Yields `Opened` as soon as the vendor answers, then the rest."""

    @abstractmethod
    def report(self, error: Exception) -> Report | None:
        """The vendor's refusal, if that is what the SDK raised."""

    @abstractmethod
    async def fetch_models(self) -> list[ModelInfo]:
        """The models that the vendor offers now."""

    @abstractmethod
    def known_models(self) -> list[ModelInfo]:
        """The models to offer when the vendor cannot be reached."""

    def reconsidered(self, plan: Plan, failure: LLMError) -> Plan:
        """What to send after `failure`: the same, unless a subclass knows better."""
        return plan

    # -- the contract

    async def complete(self, request: ChatRequest, **options: Any) -> ChatResponse:
        """The answer in one piece; its pieces are announced as they come."""
        async with aclosing(self.stream_complete(request, **options)) as chunks:
            async for chunk in chunks:
                if "response" in chunk:
                    response: ChatResponse = chunk["response"]
        return response

    async def stream_complete(
        self, request: ChatRequest, **options: Any
    ) -> AsyncGenerator[Chunk, None]:
        """The answer in chunks; the last chunk has the finished response.

        Leaving the iteration early, or cancelling the task, closes the connection.
        """
        # Before the clock starts: importing takes seconds and is no fault of the vendor.
        await self.client()
        request, options = _overridden(request, options)
        history = read_history(request.messages, self.name)
        plan = self.plan(request, history, options)
        announcer = Announcer(self._hooks, self.name, self.key, shows_raw=self.settings.raw)
        await self._tell_repairs(announcer, history)
        await announcer.asked(plan, len(request.messages))
        gate = gate_of((self.name, self.settings.base_url))
        call = Call(self, plan, self.settings, gate, announcer, seconds=request.timeout)
        try:
            async with aclosing(call.chunks()) as chunks:
                async for chunk in chunks:
                    if "response" in chunk:
                        response: ChatResponse = chunk["response"]
                    else:
                        yield chunk
        except LLMError as error:
            await announcer.failed(error)
            raise
        except (asyncio.CancelledError, GeneratorExit):
            gone = "The caller did not wait for the answer."
            await announcer.failed(self.blame(call.plan.model).build(AbortError, gone))
            raise
        self.tally.add(response.usage.cost_usd if response.usage else None)
        raw = response.model_dump(exclude_none=True) if self.settings.raw else None
        await announcer.answered(response, call.plan.model, raw)
        yield {"response": response}

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return list(response.tool_calls or [])

    async def list_models(self) -> list[ModelInfo]:
        """The vendor's models; asked for once in five minutes."""
        if self._models is not None and time.monotonic() < self._models[0]:
            return list(self._models[1])
        try:
            async with asyncio.timeout(self.settings.first_byte_timeout):
                models = await self.fetch_models()
        except Exception as error:
            failure = self._failure(error)
            if not isinstance(failure, ProviderUnavailableError | LLMTimeoutError):
                raise failure from self.blame(None).cause(error)
            logger.warning("%s: the models cannot be listed now: %s", self.name, failure)
            self.is_unreachable = True
            return self.known_models()
        self.is_unreachable = False
        self._models = (time.monotonic() + _MODELS_ARE_FRESH_FOR, models)
        return list(models)

    async def close(self) -> None:
        """Close the connections, within `close_timeout` seconds."""
        client, self._client = self._client, None
        if client is None:
            return
        try:
            async with asyncio.timeout(self.settings.close_timeout):
                await client.close()
        except Exception as error:
            # The session is over; there is nobody left who could do something about it.
            logger.warning("%s: closing failed: %r", self.name, error)

    # -- for subclasses

    async def client(self) -> Any:
        """The SDK's client; its connections belong to the event loop that asks."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._client_loop is not loop:
            sdk = await self.sdk.load()
            if self._client is None or self._client_loop is not loop:
                self._client, self._client_loop = self.new_client(sdk), loop
        return self._client

    async def tell(self, event: str, **details: Any) -> None:
        """Emit one of `events`."""
        await self._hooks.emit(event, {"provider": self.name, **details})

    def price(self, model: str) -> Price | None:
        return self.prices.find(model, self.settings.pricing)

    def wants_stream(self, request: ChatRequest) -> bool:
        asked = (request.metadata or {}).get("stream")
        return self.settings.use_streaming and asked is not False

    def blame(self, model: str | None) -> Blame:
        return Blame(
            self.name,
            model,
            longest_wait=self.settings.max_retry_delay,
            overloaded_multiplier=self.settings.overloaded_delay_multiplier,
            key=self.key,
        )

    def translated(self, error: Exception, plan: Plan) -> LLMError:
        return self._failure(error, plan.model)

    def _failure(self, error: Exception, model: str | None = None) -> LLMError:
        if isinstance(error, LLMError):
            return error
        report = self.report(error)
        blame = self.blame(model)
        return blame.for_report(report) if report is not None else blame.for_exception(error)

    async def _tell_repairs(self, announcer: Announcer, history: History) -> None:
        """A history stays as broken as it is: each repair is told once."""
        keyed = {(each["tool_call_id"], each["kind"]): each for each in history.repairs}
        fresh = [each for key, each in keyed.items() if key not in self._told_repairs]
        self._told_repairs.update(keyed)
        if fresh:
            logger.warning("%s: %d tool calls needed repair", self.name, len(fresh))
            await announcer.repaired(fresh)


def _overridden(
    request: ChatRequest, options: dict[str, Any]
) -> tuple[ChatRequest, dict[str, Any]]:
    """`request` with those of `options` that it has fields for, and the others."""
    known = {key: value for key, value in options.items() if key in ChatRequest.model_fields}
    others = {key: value for key, value in options.items() if key not in known}
    if known:
        request = ChatRequest.model_validate({**dict(request), **known})
    return request, others


async def mount_remote(coordinator: Any, provider: RemoteProvider[Any]) -> Any:
    """Mount `provider` and begin to load its SDK; gives the cleanup."""
    provider.sdk.check()
    name = provider.name
    coordinator.register_contributor("session.cost", name, provider.tally.contribution)
    coordinator.register_contributor(
        "observability.events", name, lambda: [*OWN_EVENTS, *provider.events]
    )
    await coordinator.mount("providers", provider, name=name)
    provider.sdk.warm()
    return provider.close
