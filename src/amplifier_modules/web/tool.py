"""`tool-web`: the tools `web_fetch` and `web_search`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from amplifier_modules.web.client import Client
from amplifier_modules.web.fetch import WebFetchTool
from amplifier_modules.web.guard import Guard, Resolver, system_resolver
from amplifier_modules.web.hosts import HostList
from amplifier_modules.web.options import MODULE_ID, WebSettings, search_target
from amplifier_modules.web.search import Backend, WebSearchTool, json_backend, no_backend

__amplifier_module_type__ = "tool"

RESOLVER = "web.resolver"
SEARCH_BACKEND = "web.search_backend"


async def mount(
    coordinator: Any, config: dict[str, Any] | None = None
) -> Callable[[], Awaitable[None]]:
    settings = WebSettings.read(config, MODULE_ID)
    target = search_target(settings)

    # Capabilities are looked up when they are needed: their modules may be mounted later.
    def resolver() -> Resolver:
        return cast(Resolver, coordinator.get_capability(RESOLVER) or system_resolver)

    def working_dir() -> Path:
        found = settings.working_dir or coordinator.get_capability("session.working_dir")
        return Path(found or Path.cwd())

    pages = Client(settings.guard, settings.limits, resolver)
    # The user chose this host, so it may be private; the key is for it alone, so no redirects.
    trusted = Guard(private=HostList.read([target.host])) if target else Guard()
    engine = Client(trusted, replace(settings.limits, redirects=0), resolver)
    built_in = json_backend(engine, target, settings) if target else no_backend

    def backend() -> Backend:
        return cast(Backend, coordinator.get_capability(SEARCH_BACKEND) or built_in)

    async def close() -> None:
        await pages.close()
        await engine.close()

    fetch = WebFetchTool(settings, pages, working_dir, coordinator.hooks.emit)
    await coordinator.mount("tools", fetch, name=fetch.name)
    await coordinator.mount("tools", WebSearchTool(settings, backend), name=WebSearchTool.name)
    return close
