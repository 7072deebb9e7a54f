"""The ways back to the sessions that call a served module, which each call brings along."""

from __future__ import annotations

from typing import Any

import grpc

from ..grpc.address import InvalidEndpoint, parse_endpoint
from ..grpc.connection import ENDPOINT_KEY, KERNEL_TOKEN_KEY
from .session import Kernel, kernel_of_caller

MOST_KERNELS = 64


class Callers(grpc.aio.ServerInterceptor):
    """Lets the module reach the session whose call it serves, and no other."""

    def __init__(self) -> None:
        self._kernels: dict[tuple[str, str], Kernel] = {}

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        known = dict(details.invocation_metadata or ())
        endpoint, token = known.get(ENDPOINT_KEY), known.get(KERNEL_TOKEN_KEY)
        if endpoint and token and _is_local(endpoint):
            kernel_of_caller.set(await self._kernel(endpoint, token))
        return await continuation(details)

    async def _kernel(self, endpoint: str, token: str) -> Kernel:
        key = endpoint, token
        known = self._kernels.pop(key) if key in self._kernels else None
        kernel = self._kernels[key] = known or Kernel(endpoint, token)
        if len(self._kernels) > MOST_KERNELS:
            await self._kernels.pop(next(iter(self._kernels))).close()
        return kernel

    async def close(self) -> None:
        while self._kernels:
            await self._kernels.popitem()[1].close()


def _is_local(endpoint: str) -> bool:
    try:
        return parse_endpoint(endpoint).is_local
    except InvalidEndpoint:
        return False
