"""What every provider does when it is put to use."""

from __future__ import annotations

from typing import Any

from ...message_models import ChatResponse, TextBlock
from ...models import ProviderInfo
from ..harness import async_tests

__all__ = ["ProviderBehaviorTests"]


@async_tests
class ProviderBehaviorTests:
    """Subclass as `Test...` in the tests of a provider module."""

    async def test_mount_succeeds(self, provider_module: Any) -> None:
        assert provider_module is not None

    async def test_get_info_returns_valid_provider_info(self, provider_module: Any) -> None:
        info = provider_module.get_info()
        assert isinstance(info, ProviderInfo), f"get_info() returned {info!r}."
        assert info.id, "get_info() gives no id."
        assert info.display_name, "get_info() gives no display name."

    async def test_list_models_returns_list(self, provider_module: Any) -> None:
        models = await provider_module.list_models()
        assert isinstance(models, list), f"list_models() returned {models!r}."

    async def test_provider_has_name_attribute(self, provider_module: Any) -> None:
        name = provider_module.name
        assert isinstance(name, str), f"The name is {name!r}."
        assert name, "The name is empty."

    async def test_parse_tool_calls_returns_list(self, provider_module: Any) -> None:
        response = ChatResponse(content=[TextBlock(text="No tools needed.")])
        calls = provider_module.parse_tool_calls(response)
        assert isinstance(calls, list), f"parse_tool_calls() returned {calls!r}."
