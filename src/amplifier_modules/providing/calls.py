"""One call: its place in the queue, its deadlines, its retries, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from amplifier_core._engine import compute_delay  # its only home in the public kernel
from amplifier_core.llm_errors import LLMError, StreamError
from amplifier_core.message_models import ChatResponse

from amplifier_modules.providing.announcing import Announcer
from amplifier_modules.providing.failures import Blame
from amplifier_modules.providing.limits import Gate
from amplifier_modules.providing.options import RemoteSettings
from amplifier_modules.providing.pieces import Delta, Opened, Pieces, Plan, Started

Chunk = dict[str, Any]
"""`{"text": ...}`, `{"thinking": ...}`, `{"aborted": error}`; the last is `{"response": ...}`.

After `aborted` the answer begins anew, and what was shown of it before does not count.
"""


class Vendor(Protocol):
    """What a call needs to know about the API behind it."""

    def attempt(self, plan: Plan) -> Pieces:
        """Send the request once, and close the connection whenever this is left."""

    def translated(self, error: Exception, plan: Plan) -> LLMError:
        """What the SDK raised, in the kernel's vocabulary."""

    def reconsidered(self, plan: Plan, failure: LLMError) -> Plan:
        """What to send in the next attempt."""

    def blame(self, model: str) -> Blame:
        """Where to put the blame for what goes wrong."""


@dataclass(frozen=True)
class _Limit:
    """When an attempt must be further than it is, and what to say if it is not."""

    until: float
    what: str
    seconds: float
    key: str
    """How its length can be changed."""

    def when(self) -> float:
        return self.until


class Call:
    """A request on its way to its response."""

    def __init__(
        self,
        vendor: Vendor,
        plan: Plan,
        settings: RemoteSettings,
        gate: Gate,
        announcer: Announcer,
        *,
        seconds: float | None = None,
    ) -> None:
        self.plan = plan
        self._vendor = vendor
        self._settings = settings
        self._gate = gate
        self._announcer = announcer
        self._tries = 0
        self._seconds = seconds
        self._now = asyncio.get_running_loop().time
        self._ends = None if seconds is None else self._now() + seconds

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        """
        Raises:
            LLMError: no attempt succeeded; the error is that of the last one.
        """
        while True:
            try:
                async with aclosing(self._attempt()) as chunks:
                    async for chunk in chunks:
                        yield chunk
                return
            except LLMError as error:
                failure = error
            delay = self._delay_after(failure)
            if await self._announcer.aborted(failure):
                yield {"aborted": {"type": type(failure).__name__, "msg": str(failure)}}
            most = self._settings.max_retries
            await self._announcer.retrying(self._tries, most, delay, failure)
            self.plan = self._vendor.reconsidered(self.plan, failure)
            await asyncio.sleep(delay)

    def _delay_after(self, failure: LLMError) -> float:
        """Seconds until the next attempt; raises `failure` if there is to be none."""
        if not failure.retryable or self._tries >= self._settings.max_retries:
            raise failure
        delay = compute_delay(
            self._settings.retries(), self._tries, failure.retry_after, failure.delay_multiplier
        )
        # Jitter may have shortened a wait that the vendor asked for.
        delay = max(delay, failure.retry_after or 0.0)
        if self._ends is not None and self._now() + delay >= self._ends:
            raise failure
        self._tries += 1
        return delay

    async def _attempt(self) -> AsyncGenerator[Chunk, None]:
        await self._enter()
        try:
            async with (
                aclosing(self._vendor.attempt(self.plan)) as pieces,
                aclosing(self._chunks_of(pieces)) as chunks,
            ):
                async for chunk in chunks:
                    yield chunk
        finally:
            self._gate.leave()

    async def _enter(self) -> None:
        most = self._settings.max_concurrent_requests
        if not self._gate.try_enter(most):
            await self._announcer.waiting(self.plan.model, self._gate, most)
            try:
                async with asyncio.timeout_at(self._ends):
                    await self._gate.wait(most)
            except TimeoutError as error:
                raise self._overdue(self._whole_limit()) from error
        try:
            await self._announcer.waiting(self.plan.model, self._gate, most)
        except BaseException:
            self._gate.leave()
            raise

    async def _chunks_of(self, pieces: Pieces) -> AsyncGenerator[Chunk, None]:
        limit, limit_once_open = self._limits()
        kind = "text"
        while True:
            piece = await self._next(pieces, limit)
            if isinstance(piece, ChatResponse):
                yield {"response": self._finished(piece)}
                return
            if isinstance(piece, Opened):
                limit = limit_once_open
            if isinstance(piece, Started):
                kind = piece.kind
            await self._announcer.piece(piece)
            if isinstance(piece, Delta) and piece.text:
                yield {kind: piece.text}

    async def _next(self, pieces: Pieces, limit: _Limit) -> Any:
        timer = asyncio.timeout_at(limit.until)
        try:
            async with timer:
                return await anext(pieces)
        except StopAsyncIteration:
            text = "The vendor ended its answer without a response."
            raise self._vendor.blame(self.plan.model).build(StreamError, text) from None
        except LLMError:
            raise
        except Exception as error:
            if timer.expired():
                raise self._overdue(limit) from error
            cause = self._vendor.blame(self.plan.model).cause(error)
            raise self._vendor.translated(error, self.plan) from cause

    def _limits(self) -> tuple[_Limit, _Limit]:
        """What holds until the vendor begins to answer, and what holds from then on."""
        settings, now = self._settings, self._now()
        whole = self._whole_limit()
        seconds, key = self.plan.timeout or (settings.timeout, "timeout")
        answer = _Limit(now + seconds, "The answer was not complete", seconds, f"`{key}`")
        then = min(whole, answer, key=_Limit.when)
        if not self.plan.is_streamed:
            return then, then
        seconds = settings.first_byte_timeout
        what = "The vendor did not begin to answer"
        start = _Limit(now + seconds, what, seconds, "`first_byte_timeout`")
        return min(then, start, key=_Limit.when), then

    def _whole_limit(self) -> _Limit:
        if self._ends is None or self._seconds is None:
            return _Limit(float("inf"), "", 0.0, "")
        what = "The call and its retries were not complete"
        return _Limit(self._ends, what, self._seconds, "the `timeout` of the request")

    def _overdue(self, limit: _Limit) -> LLMError:
        blame = self._vendor.blame(self.plan.model)
        return blame.overdue(limit.what, limit.seconds, limit.key)

    def _finished(self, response: ChatResponse) -> ChatResponse:
        if response.degradation is None:
            response.degradation = self.plan.degradation()
        return response
