"""Modules behind gRPC: servers in any language, reached at an endpoint.

A module's manifest names the endpoint, and optionally the module's type; everything else is
asked of the server.
"""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from typing import Any

from .. import MANIFEST, InvalidManifest, Manifest, MountFunction
from ..settings import CallSettings
from .address import InvalidEndpoint, parse_endpoint
from .connection import (
    ENDPOINT_KEY,
    KERNEL_TOKEN_KEY,
    TOKEN_KEY,
    Connection,
    Metadata,
    RemoteModuleError,
)
from .kernel_host import hold_kernel
from .mounting import mount_remote

__all__ = ["RemoteModuleError", "load"]

DEFAULT_ENDPOINT = "localhost:50051"


async def load(
    module_id: str, manifest: Manifest, config: dict[str, Any], coordinator: Any
) -> MountFunction:
    """A function that connects to the module's server and mounts what is there.

    Raises:
        InvalidManifest: the manifest does not say how to reach it.
    """
    settings = CallSettings.read(manifest, "grpc")
    try:
        address = parse_endpoint(settings.endpoint or DEFAULT_ENDPOINT)
    except InvalidEndpoint as error:
        raise InvalidManifest(f"{manifest.path / MANIFEST}: {error}") from error
    metadata = _credentials(module_id, settings)

    async def mount(coordinator: Any) -> Any:
        steps = AsyncExitStack()
        try:
            known = metadata
            # The secret of a session is told to nobody who could not use it.
            if settings.kernel and address.is_local:
                host = await hold_kernel(coordinator)
                steps.push_async_callback(host.release)
                known += ((ENDPOINT_KEY, host.endpoint), (KERNEL_TOKEN_KEY, host.token))
            connection = Connection(module_id, address, settings, config, known, manifest.path)
            steps.push_async_callback(connection.close)
            await mount_remote(connection, manifest.module_type, coordinator, config)
        except BaseException:
            await steps.aclose()
            raise
        return steps.aclose

    return mount


def _credentials(module_id: str, settings: CallSettings) -> Metadata:
    if settings.token_env is None:
        return ()
    token = os.environ.get(settings.token_env)
    if not token:
        raise InvalidManifest(
            f"Module {module_id!r} needs a token, and the variable {settings.token_env!r} is "
            f"empty. Set it."
        )
    return ((TOKEN_KEY, token),)
