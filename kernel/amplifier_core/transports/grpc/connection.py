"""The way to one remote module: deadlines, errors that say what happened, reconnecting.

A server that comes back after it was gone has lost its configuration, so a connection that
is made again brings it again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import grpc

from ..._grpc_gen import amplifier_module_pb2 as pb
from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from ..settings import CallSettings
from .address import Address, open_channel

logger = logging.getLogger("amplifier_core.loader_grpc")

Metadata = tuple[tuple[str, str], ...]

TOKEN_KEY = "x-amplifier-token"
ENDPOINT_KEY = "x-amplifier-kernel-endpoint"
KERNEL_TOKEN_KEY = "x-amplifier-kernel-token"
CONTROL_SECONDS = 10.0
"""How long a module may take to answer what is asked about itself."""
_LONGEST_DETAIL = 300

_READY = grpc.ChannelConnectivity.READY
_SHUTDOWN = grpc.ChannelConnectivity.SHUTDOWN
_UNIMPLEMENTED = grpc.StatusCode.UNIMPLEMENTED


class RemoteModuleError(RuntimeError):
    """A module in another process did not do what it was asked for."""

    def __init__(self, message: str, code: grpc.StatusCode | None = None) -> None:
        super().__init__(message)
        self.code = code

    @property
    def is_unimplemented(self) -> bool:
        return self.code is _UNIMPLEMENTED


class Connection:
    """Calls to one module at a fixed address."""

    def __init__(
        self,
        module_id: str,
        address: Address | None,
        settings: CallSettings,
        config: Mapping[str, Any] | None = None,
        metadata: Metadata = (),
        folder: Path | None = None,
    ) -> None:
        self.module_id = module_id
        self.address = address
        self.settings = settings
        self.timeout = settings.timeout
        self.metadata = metadata
        self._config = dict(config or {})
        self._folder = folder or Path()
        self._channel: grpc.aio.Channel | None = None
        self._stubs: dict[Any, Any] = {}
        self._settled = False
        self._is_closed = False
        self._settling = asyncio.Lock()

    @property
    def place(self) -> str:
        return "an unknown place" if self.address is None else self.address.target

    # -- calling ----------------------------------------------------------------------

    async def call(
        self,
        service: type[Any],
        method: str,
        request: Any,
        timeout: float | None = None,
        metadata: Metadata = (),
    ) -> Any:
        """The answer of `method` to `request`.

        Raises:
            RemoteModuleError: there is none, or not in time.
        """
        if not self._is_up():
            await self.settle()
        return await self._ask(service, method, request, timeout or self.timeout, metadata)

    async def stream(
        self, service: type[Any], method: str, request: Any, timeout: float | None = None
    ) -> AsyncIterator[Any]:
        """Every answer of a streaming `method` to `request`."""
        if not self._is_up():
            await self.settle()
        seconds = timeout or self.timeout
        call = self._method(service, method)(request, timeout=seconds, metadata=self.metadata)
        try:
            async for answer in call:
                yield self._read(answer, method)
        except grpc.aio.AioRpcError as error:
            raise await self._failure(error, method, seconds) from None
        finally:
            call.cancel()

    async def _ask(
        self, service: type[Any], method: str, request: Any, seconds: float, more: Metadata = ()
    ) -> Any:
        metadata = (*self.metadata, *more) if more else self.metadata
        try:
            answer = await self._method(service, method)(
                request, timeout=seconds, metadata=metadata
            )
        except grpc.aio.AioRpcError as error:
            raise await self._failure(error, method, seconds) from None
        return self._read(answer, method)

    def _read(self, answer: Any, method: str) -> Any:
        """An answer as it is; gRPC hands over None for bytes that are no message."""
        if answer is None:
            raise RemoteModuleError(
                f"Module {self.module_id!r} at {self.place} answered {method}() with bytes that "
                f"are no message. Build it for the contract in `spec/amplifier_module.proto`."
            )
        return answer

    def _method(self, service: type[Any], method: str) -> Callable[..., Any]:
        stub = self._stubs.get(service)
        if stub is None:
            stub = self._stubs[service] = service(self._channel)
        found: Callable[..., Any] = getattr(stub, method)
        return found

    async def _failure(
        self, error: grpc.aio.AioRpcError, method: str, seconds: float
    ) -> RemoteModuleError:
        code, detail = error.code(), (error.details() or "")[:_LONGEST_DETAIL]
        if code is grpc.StatusCode.UNAVAILABLE:
            self._settled = False
            text = f"was lost during {method}() ({detail}). {await self._epitaph()}"
        elif code is grpc.StatusCode.DEADLINE_EXCEEDED:
            text = f"gave no answer to {method}() within {seconds:g} s. Raise its `timeout`."
        elif code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in detail:
            text = (
                f"answered {method}() with more than {self.settings.max_message_mb:g} MB. "
                f"Raise its `max_message_mb`, or let it say less."
            )
        elif code is _UNIMPLEMENTED:
            text = f"has no {method}(). Check its `type`."
        else:
            text = f"failed in {method}(): {code.name}: {detail or 'no details'}."
        return RemoteModuleError(f"Module {self.module_id!r} at {self.place} {text}", code)

    async def _epitaph(self) -> str:
        """What is known about the end of the module, and what happens next."""
        return "The next call connects again."

    # -- coming up --------------------------------------------------------------------

    def _is_up(self) -> bool:
        return self._settled and self._channel is not None and self._channel.get_state() is _READY

    async def settle(self) -> None:
        """Connect, and tell the module its configuration; once for all that wait for it."""
        async with self._settling:
            if not self._is_up():
                self._settled = False
                await self._connect()
                await self._greet()
                self._settled = True

    async def _connect(self) -> None:
        if self._is_closed:
            raise RemoteModuleError(f"Module {self.module_id!r} has been unmounted.")
        if self._channel is None or self._channel.get_state() is _SHUTDOWN:
            self._open()
        assert self._channel is not None
        try:
            async with asyncio.timeout(self.settings.connect_timeout):
                await self._channel.channel_ready()
        except TimeoutError:
            raise RemoteModuleError(
                f"Nothing answers at {self.place} for module {self.module_id!r} within "
                f"{self.settings.connect_timeout:g} s. Start its server, or correct `endpoint`.",
                grpc.StatusCode.UNAVAILABLE,
            ) from None

    def _open(self) -> None:
        assert self.address is not None
        self._stubs.clear()
        self._channel = open_channel(self.address, self.settings, self._folder)

    async def _greet(self) -> None:
        """Ask how it is and hand over the configuration; servers need understand neither."""
        health = await self.ask_if_offered("HealthCheck", pb.Empty())
        if health is not None and health.status == pb.HEALTH_STATUS_NOT_SERVING:
            reason = health.message or "it gives no reason"
            raise RemoteModuleError(f"Module {self.module_id!r} is not ready: {reason}.")
        request = pb.MountRequest(config=_texts(self._config), module_id=self.module_id)
        mounted = await self.ask_if_offered("Mount", request)
        if mounted is None and self._config:
            logger.info("Module %r takes no configuration; its config is unused", self.module_id)
        if mounted is not None and not mounted.success:
            reason = mounted.error or "it gives no reason"
            raise RemoteModuleError(
                f"Module {self.module_id!r} refuses to be mounted: {reason.rstrip('.')}."
            )

    async def ask_if_offered(self, method: str, request: Any) -> Any:
        """The answer of the module's lifecycle service; None if it has no such method."""
        try:
            return await self._ask(rpc.ModuleLifecycleStub, method, request, CONTROL_SECONDS)
        except RemoteModuleError as error:
            if error.is_unimplemented:
                return None
            raise

    # -- going down -------------------------------------------------------------------

    async def close(self) -> None:
        """Say goodbye and hang up; a module that is gone or deaf is no reason to complain."""
        self._is_closed = True
        if self._channel is None:
            return
        try:
            if self._is_up():
                await self.ask_if_offered("Cleanup", pb.Empty())
        except RemoteModuleError as error:
            logger.info("Module %r did not clean up: %s", self.module_id, error)
        finally:
            channel, self._channel, self._settled = self._channel, None, False
            self._stubs.clear()
            await channel.close()


def _texts(config: Mapping[str, Any]) -> dict[str, str]:
    return {
        str(key): value if isinstance(value, str) else json.dumps(value, default=str)
        for key, value in config.items()
    }
