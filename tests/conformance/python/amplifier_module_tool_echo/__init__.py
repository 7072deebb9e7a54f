"""`echo`: a tool that says again what it is told."""

from typing import Any, ClassVar

from amplifier_core import ToolResult
from conforming_orders import Failure, Orders

__amplifier_module_type__ = "tool"


class Echo:
    name = "echo"
    description = "Says `text` again, and how many characters it has."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "What to say."}},
        "required": ["text"],
    }

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._orders = Orders()

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        text = input.get("text")
        if not isinstance(text, str):
            return ToolResult(success=False, error={"message": "The input has no `text`. Add one."})
        try:
            said = await self._orders.obey(text)
        except Failure as failure:
            return ToolResult(success=False, error={"message": str(failure)})
        said = f"{self._prefix}{text}" if said is None else said
        return ToolResult(output={"text": said, "length": len(text)})


async def mount(coordinator: Any, config: dict[str, Any]) -> None:
    await coordinator.mount("tools", Echo(config.get("prefix", "")))
