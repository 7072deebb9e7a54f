"""The SDK's client, with deadlines of our own and connections that close when they are left."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

from .options import GeminiSettings

_STREAM = "streamGenerateContent"
_answers: ContextVar[list[Any] | None] = ContextVar("answers", default=None)
"""Where the answers go that this task is receiving."""


class Wire:
    """What `RemoteProvider` keeps as its client."""

    def __init__(self, sdk: Any, http: Any, tls: Any, settings: GeminiSettings, key: SecretStr):
        self._settings = settings
        self._http = http.AsyncClient(
            verify=tls,
            # A redirect would take the key to wherever it points.
            follow_redirects=False,
            event_hooks={"request": [self._bound], "response": [_note]},
        )
        options = {
            "base_url": settings.base_url,
            "api_version": settings.api_version,
            "httpx_async_client": self._http,
            # Else the SDK reads all certificates anew, for clients that are never used.
            "client_args": {"verify": tls},
            "async_client_args": {"verify": tls, "ssl": tls},
        }
        given = {name: value for name, value in options.items() if value is not None}
        self._client = sdk.Client(
            vertexai=False,
            api_key=key.get_secret_value(),
            http_options=sdk.types.HttpOptions(**given),
        )

    async def streamed(
        self, model: str, body: dict[str, Any]
    ) -> AsyncGenerator[dict[str, Any], None]:
        """An empty chunk when the vendor begins to answer, then its chunks."""
        answers: list[Any] = []
        _answers.set(answers)
        path = f"{_resource(model)}:{_STREAM}?alt=sse"
        try:
            # The SDK's models leave out what they do not know, so this goes past them.
            chunks = await self._client._api_client.async_request_streamed("post", path, body)
            yield {}
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield _object(chunk.body)
        finally:
            for answer in answers:
                await answer.aclose()

    async def whole(self, model: str, body: dict[str, Any]) -> dict[str, Any]:
        path = f"{_resource(model)}:generateContent"
        answer = await self._client._api_client.async_request("post", path, body)
        return _object(answer.body)

    async def models(self) -> list[Any]:
        pages = await self._client.aio.models.list(config={"page_size": 1000})
        return [each async for each in pages]

    async def close(self) -> None:
        await self._client.aio.aclose()
        await self._http.aclose()

    async def _bound(self, request: Any) -> None:
        """The SDK knows one limit for everything, and none unless it is told."""
        settings = self._settings
        is_stream = _STREAM in request.url.path
        read = settings.idle_timeout if is_stream else settings.timeout
        connect = settings.connect_timeout
        limits = {"connect": connect, "pool": connect, "read": read, "write": read}
        request.extensions = {**request.extensions, "timeout": limits}


async def _note(response: Any) -> None:
    answers = _answers.get()
    if answers is not None:
        answers.append(response)


def _resource(model: str) -> str:
    name = model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"
    return quote(name, safe="/")


def _object(body: str | None) -> dict[str, Any]:
    value = json.loads(body or "null")
    if not isinstance(value, dict):
        raise ValueError("there is no JSON object in it")
    return value
