"""What every tool does when it is put to use."""

from __future__ import annotations

from typing import Any

from ...models import ToolResult
from ..harness import async_tests
from .mistakes import answer_or_refusal

__all__ = ["ToolBehaviorTests"]

_INPUT = {"_tool_call_id": "call-1"}


@async_tests
class ToolBehaviorTests:
    """Subclass as `Test...` in the tests of a tool module."""

    async def test_mount_succeeds(self, tool_module: Any) -> None:
        assert tool_module is not None

    async def test_tool_has_name(self, tool_module: Any) -> None:
        assert isinstance(tool_module.name, str), f"The name is {tool_module.name!r}."
        assert tool_module.name, "The name is empty."

    async def test_tool_has_description(self, tool_module: Any) -> None:
        description = tool_module.description
        assert isinstance(description, str), f"The description is {description!r}."
        assert description, "The description is empty."

    async def test_tool_has_execute_method(self, tool_module: Any) -> None:
        assert callable(getattr(tool_module, "execute", None)), "There is no execute()."

    async def test_execute_returns_tool_result(self, tool_module: Any) -> None:
        result = await tool_module.execute(dict(_INPUT))
        assert isinstance(result, ToolResult), f"execute() returned {result!r}."

    async def test_tool_result_has_required_fields(self, tool_module: Any) -> None:
        result = await tool_module.execute(dict(_INPUT))
        assert hasattr(result, "success"), "The result has no 'success'."
        assert hasattr(result, "output"), "The result has no 'output'."

    async def test_invalid_input_returns_error_result(self, tool_module: Any) -> None:
        result = await answer_or_refusal(tool_module.execute({}))
        assert result is None or isinstance(result, ToolResult), f"execute() returned {result!r}."
