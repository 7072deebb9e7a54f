"""The tool `web_search`: results from a search engine, or an error, but never made-up ones."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import urlencode

from amplifier_core.models import ToolResult

from amplifier_modules.web.charset import to_text
from amplifier_modules.web.client import Client
from amplifier_modules.web.compression import decoded
from amplifier_modules.web.failures import WebError
from amplifier_modules.web.options import WebSettings
from amplifier_modules.web.targets import Target

logger = logging.getLogger(__name__)

LONGEST_QUERY = 2000
SNIPPET_KEYS = ("snippet", "content", "description")

Backend = Callable[[str, int], Awaitable[Iterable[Any]]]
"""Takes a query and how many results are wanted; gives dicts with title, url and snippet."""


class WebSearchTool:
    """Asks a search engine."""

    name = "web_search"
    description = "Searches the web. Returns titles, addresses and snippets of pages."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What to search for."}},
        "required": ["query"],
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, Any]] = {"effect": "idempotent"}

    def __init__(self, settings: WebSettings, backend: Callable[[], Backend]) -> None:
        self._settings = settings
        self._backend = backend

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        try:
            query = _query(input)
            results = await self._search(query)
        except WebError as error:
            return error.as_result()
        output = {"query": query, "results": results, "count": len(results)}
        return ToolResult(success=True, output=output)

    async def _search(self, query: str) -> list[dict[str, str]]:
        seconds, most = self._settings.timeout, self._settings.max_results
        try:
            async with asyncio.timeout(seconds) as deadline:
                return _results(await self._backend()(query, most))[:most]
        except WebError:
            raise
        except Exception as error:
            if isinstance(error, TimeoutError) and deadline.expired():
                text = f"The search took longer than {seconds:g} seconds. Try again later."
                raise WebError("timeout", text) from None
            # Only the kind of error: its text may hold a key.
            logger.warning("The search backend raised %s", type(error).__name__)
            text = f"The search failed with {type(error).__name__}. Try again later."
            raise WebError("search_failed", text) from error


def _query(input: dict[str, Any]) -> str:
    query = input.get("query")
    if not isinstance(query, str) or not query.strip():
        raise WebError("invalid_input", "'query' is missing. Pass the words to search for.")
    if len(query) > LONGEST_QUERY:
        text = f"'query' is longer than {LONGEST_QUERY} characters. Use fewer words."
        raise WebError("invalid_input", text)
    return query


def _results(found: Any) -> list[dict[str, str]]:
    if not isinstance(found, list | tuple):
        text = "The search backend gave no list of results. Check the module that offers it."
        raise WebError("search_failed", text)
    return [result for each in found if (result := _result(each)) is not None]


def _result(found: Any) -> dict[str, str] | None:
    """One result in our form; None if it names no page."""
    if not isinstance(found, dict):
        return None
    url = found.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return None
    snippet = next((found[key] for key in SNIPPET_KEYS if isinstance(found.get(key), str)), "")
    title = found.get("title")
    result = {"title": title if isinstance(title, str) else "", "url": url, "snippet": snippet}
    # JSON may spell half of a surrogate pair, which nobody could pass on.
    return {key: text.encode("utf-8", "replace").decode() for key, text in result.items()}


async def no_backend(query: str, max_results: int) -> list[Any]:
    raise WebError(
        "not_configured",
        "No search engine is set up. Set 'search_url' in the config of 'tool-web' to a SearXNG "
        "instance, or mount a module that offers the capability 'web.search_backend'.",
    )


def json_backend(client: Client, target: Target, settings: WebSettings) -> Backend:
    """Asks an engine that takes `q` and `format=json` and answers `{"results": [...]}`."""
    headers = {"Accept": "application/json", **_key_header(settings)}

    async def search(query: str, max_results: int) -> list[Any]:
        parameters = urlencode({"q": query, "format": "json"})
        joint = "&" if "?" in target.path else "?"
        asked = replace(target, path=target.path + joint + parameters)
        answer = await client.get(asked, headers)
        body = decoded(answer.body, answer.head.get("content-encoding"), settings.max_bytes)
        try:
            found = json.loads(to_text(body, "charset=utf-8"))
        except (ValueError, RecursionError):
            text = "The search engine's answer is not JSON. Check 'search_url'."
            raise WebError("search_failed", text) from None
        results = found.get("results") if isinstance(found, dict) else None
        if not isinstance(results, list):
            text = "The search engine's answer holds no list of results. Check 'search_url'."
            raise WebError("search_failed", text)
        return results

    return search


def _key_header(settings: WebSettings) -> dict[str, str]:
    if settings.api_key is None:
        return {}
    key, name = settings.api_key.get_secret_value(), settings.api_key_header
    return {name: f"Bearer {key}" if name.lower() == "authorization" else key}
