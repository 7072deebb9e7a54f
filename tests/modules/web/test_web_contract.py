"""tool-web as a module: it keeps the contract, and is loud about a wrong config."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from amplifier_core.cli import main
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation.behavioral import ToolBehaviorTests
from amplifier_core.validation.structural import ToolStructuralTests
from helpers_web import mounted

from amplifier_modules.web import tool


@pytest.fixture
def module_path() -> Path:
    return Path(tool.__file__)


class TestStructure(ToolStructuralTests):
    pass


class TestFetch(ToolBehaviorTests):
    @pytest_asyncio.fixture
    async def tool_module(self) -> AsyncIterator[Any]:
        async with mounted() as coordinator:
            yield coordinator.get("tools", "web_fetch")


class TestSearch(ToolBehaviorTests):
    @pytest_asyncio.fixture
    async def tool_module(self) -> AsyncIterator[Any]:
        async with mounted() as coordinator:
            yield coordinator.get("tools", "web_search")


def test_the_validator_finds_nothing_wrong(
    module_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(module_path)]) == 0, capsys.readouterr().out


async def test_a_fetch_that_may_write_is_external_and_names_its_arguments() -> None:
    async with mounted() as coordinator:
        fetch = coordinator.get("tools", "web_fetch")

    assert fetch.annotations == {
        "effect": "external",
        "hosts": ["url"],
        "writes": ["save_to_file"],
    }
    assert set(fetch.input_schema["properties"]) == {"url", "offset", "limit", "save_to_file"}


async def test_without_folders_to_write_in_a_fetch_is_idempotent_and_offers_no_saving() -> None:
    async with mounted(allowed_write_paths=[]) as coordinator:
        fetch = coordinator.get("tools", "web_fetch")

    assert fetch.annotations == {"effect": "idempotent", "hosts": ["url"]}
    assert "save_to_file" not in fetch.input_schema["properties"]
    assert "file" not in fetch.description


async def test_a_search_is_idempotent() -> None:
    async with mounted() as coordinator:
        assert coordinator.get("tools", "web_search").annotations == {"effect": "idempotent"}


async def test_the_default_limit_is_told_to_the_model() -> None:
    async with mounted(default_limit=99) as coordinator:
        schema = coordinator.get("tools", "web_fetch").input_schema

    assert schema["properties"]["limit"]["default"] == 99


NO_HOST = (
    "is no host, address or network; write it like 'example.com', '*.example.com', '192.0.2.1' or "
    "'10.0.0.0/8', without scheme and port."
)
WRONG = [
    ({"time_out": 3}, "there is no key 'time_out'. Did you mean 'timeout'?"),
    (
        {"allowed_domains": ["https://example.com"]},
        f"'allowed_domains' cannot be list here: Value error, 'https://example.com' {NO_HOST}",
    ),
    (
        {"blocked_domains": ["192.168."]},
        f"'blocked_domains' cannot be list here: Value error, '192.168.' {NO_HOST}",
    ),
    (
        {"allow_private": True},
        "'allow_private' cannot be bool here: Value error, list the hosts that may have private "
        "addresses.",
    ),
    (
        {"search_engine": "duckduckgo"},
        "there is no search engine 'duckduckgo'. Use 'json' with a 'search_url', or 'none' and a "
        "module that offers the capability 'web.search_backend'.",
    ),
    ({"search_engine": "json"}, "search_engine 'json' needs a 'search_url'. Add one."),
    (
        {"search_engine": "none", "search_url": "https://search.example"},
        "'search_url' is of no use without search_engine 'json'. Remove one.",
    ),
    (
        {"api_key": "secret"},
        "'api_key' is of no use without search_engine 'json'. Remove one.",
    ),
    (
        {"search_url": "ftp://search.example"},
        "'search_url' is of no use. The web address cannot be used: only http and https are "
        "supported. Pass a full address such as 'https://example.com/page'.",
    ),
    (
        {"search_url": "http://search.example", "api_key": "secret"},
        "'api_key' would be sent unencrypted. Use an https 'search_url'.",
    ),
    (
        {"search_url": "https://search.example", "api_key": "two\r\nlines"},
        "'api_key' is not plain text. Check where it comes from.",
    ),
]


@pytest.mark.parametrize(("config", "problem"), WRONG)
async def test_a_wrong_config_is_refused_with_what_to_do(
    config: dict[str, Any], problem: str
) -> None:
    coordinator = MockCoordinator()

    with pytest.raises(ValueError, match="Config of 'tool-web'") as caught:
        await tool.mount(coordinator, config)

    assert str(caught.value) == f"Config of 'tool-web': {problem}"
    assert coordinator.modules == {}


async def test_false_stands_for_no_private_hosts() -> None:
    async with mounted(allow_private=False) as coordinator:
        assert set(coordinator.modules) == {"web_fetch", "web_search"}
