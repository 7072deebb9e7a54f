"""`tool-todo`: the model's own list of what is to be done in this session."""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any, ClassVar

from amplifier_core.events import SESSION_RESUME
from amplifier_core.models import HookResult, ToolResult

from amplifier_modules.settings import Settings
from amplifier_modules.todo.items import (
    ATTRIBUTE,
    FIELDS,
    STATUSES,
    UnreadableItems,
    current_items,
    keep_items,
    read_items,
)
from amplifier_modules.todo.recall import last_list

__amplifier_module_type__ = "tool"

logger = logging.getLogger(__name__)

MODULE_ID = "tool-todo"
ACTIONS = ("create", "update", "list")
_ACTION_ADVICE = "Use 'create', 'update' or 'list'."


class TodoSettings(Settings):
    """tool-todo has no keys."""


class TodoTool:
    """Creates, replaces and shows the list."""

    name = "todo"
    description = (
        "Keeps your todo list for this session. Use it for work of three or more steps. "
        "'create' and 'update' replace the whole list, so always give every item; 'list' shows it. "
        "Set an item to 'in_progress' before you begin it, one at a time, and to 'completed' as "
        "soon as it is done."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(ACTIONS)},
            "todos": {
                "type": "array",
                "description": "The whole list; needed to create and to update.",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {
                            "type": "string",
                            "description": "What to do: 'Run the tests'.",
                        },
                        "activeForm": {
                            "type": "string",
                            "description": "The same while it is being done: 'Running the tests'.",
                        },
                        "status": {"type": "string", "enum": list(STATUSES)},
                    },
                    "required": list(FIELDS),
                },
            },
        },
        "required": ["action"],
    }
    annotations: ClassVar[dict[str, Any]] = {"effect": "idempotent"}

    def __init__(self, coordinator: Any) -> None:
        self._coordinator = coordinator

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        action = input.get("action") if isinstance(input, dict) else None
        if action is None:
            return _refused(f"The input has no 'action'. {_ACTION_ADVICE}")
        if action == "list":
            items = current_items(self._coordinator)
            return ToolResult(output={"status": "listed", "count": len(items), "todos": items})
        if action not in ACTIONS:
            return _refused(f"There is no action {action!r}. {_ACTION_ADVICE}")
        return self._replace(action, input)

    def _replace(self, action: str, input: dict[str, Any]) -> ToolResult:
        if "todos" not in input:
            return _refused(f"Action {action!r} needs 'todos'. Give the whole list of items.")
        try:
            items = read_items(input["todos"])
        except UnreadableItems as error:
            return _refused(str(error))
        keep_items(self._coordinator, items)
        if action == "create":
            return ToolResult(output={"status": "created", "count": len(items), "todos": items})
        by_status = Counter(item["status"] for item in items)
        counts = {status: by_status[status] for status in STATUSES}
        return ToolResult(output={"status": "updated", "count": len(items), **counts})

    async def recall(self, _event: str, _data: dict[str, Any]) -> HookResult:
        """Take up the list where the conversation left it, unless there is one already."""
        context = self._coordinator.get("context")
        if context is not None and not current_items(self._coordinator):
            try:
                items = last_list(await context.get_messages(), self.name)
            except Exception:
                logger.warning("The todo list of the earlier run cannot be read", exc_info=True)
            else:
                keep_items(self._coordinator, items)
        return HookResult(action="continue")


def _refused(message: str) -> ToolResult:
    return ToolResult(success=False, error={"message": message, "type": "InvalidInput"})


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    TodoSettings.read(config, MODULE_ID)
    tool = TodoTool(coordinator)
    if not isinstance(getattr(coordinator, ATTRIBUTE, None), list):
        keep_items(coordinator, [])
    await coordinator.mount("tools", tool, name=tool.name)
    return coordinator.hooks.register(SESSION_RESUME, tool.recall, name=MODULE_ID)
