"""The server of KernelService: one per session, on loopback, with a secret of its own."""

from __future__ import annotations

import hmac
import logging
from contextlib import suppress
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import grpc

from ..._grpc_gen import amplifier_module_pb2_grpc as rpc
from .connection import TOKEN_KEY
from .kernel_service import KernelService

logger = logging.getLogger("amplifier_core.loader_grpc")

MAX_REQUEST_BYTES = 16 * 1024 * 1024
_STOP_SECONDS = 1.0


class KernelHost:
    """Serves one coordinator for as long as somebody holds it."""

    def __init__(self, coordinator: Any) -> None:
        self.token = str(uuid4())
        self.endpoint = ""
        self._holders = 0
        self._server = grpc.aio.server(
            interceptors=[TokenCheck(self.token)],
            options=[
                ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
                ("grpc.so_reuseport", 0),
            ],
        )
        rpc.add_KernelServiceServicer_to_server(KernelService(coordinator), self._server)

    async def hold(self) -> None:
        """Have it run; `release` it when it is not needed any more."""
        self._holders += 1
        if self._holders == 1:
            port = self._server.add_insecure_port("127.0.0.1:0")
            self.endpoint = f"127.0.0.1:{port}"
            await self._server.start()

    async def release(self) -> None:
        self._holders -= 1
        if self._holders == 0:
            for coordinator in [key for key, host in _hosts.items() if host is self]:
                del _hosts[coordinator]
            await self._server.stop(_STOP_SECONDS)


_hosts: WeakKeyDictionary[Any, KernelHost] = WeakKeyDictionary()


async def hold_kernel(coordinator: Any) -> KernelHost:
    """The running host of a coordinator, one for all its modules."""
    host = _hosts.get(coordinator)
    if host is None:
        host = _hosts[coordinator] = KernelHost(coordinator)
    await host.hold()
    return host


class TokenCheck(grpc.aio.ServerInterceptor):
    """Lets nobody in who does not know the secret."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        given = dict(details.invocation_metadata or ()).get(TOKEN_KEY)
        if given is None:
            return _refusal("missing x-amplifier-token header")
        with suppress(UnicodeEncodeError, AttributeError):
            if hmac.compare_digest(given.encode(), self._token):
                return await continuation(details)
        return _refusal("invalid token")


def _refusal(detail: str) -> Any:
    async def refuse(request: Any, context: Any) -> None:
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, detail)

    return grpc.unary_unary_rpc_method_handler(refuse)
