"""`hooks-todo-reminder`: shows the model its todo list with every request."""

from __future__ import annotations

import re
from typing import Any, Literal

from amplifier_core.events import PROVIDER_REQUEST
from amplifier_core.models import HookResult

from amplifier_modules.settings import Settings
from amplifier_modules.todo.items import current_items

__amplifier_module_type__ = "hook"

MODULE_ID = "hooks-todo-reminder"
LONGEST_LINE = 300

_MARKS = {"completed": "✓", "in_progress": "→", "pending": "☐"}
_FINISH = (
    "Go on until every item is done, and keep the list true with the todo tool. "
    "Do not speak of this reminder."
)
_ALL_DONE = "Every item is done. Do not speak of this reminder."
_TAG = re.compile(r"<(?=\s*/?\s*[A-Za-z!?])")


class ReminderSettings(Settings):
    """Keys of hooks-todo-reminder."""

    inject_role: Literal["user", "system", "assistant"] = "user"
    priority: int = 10


class TodoReminder:
    """Injects the list at the end of a request; it is never stored."""

    def __init__(self, coordinator: Any, role: Literal["user", "system", "assistant"]) -> None:
        self._coordinator = coordinator
        self._role = role

    async def on_request(self, _event: str, _data: dict[str, Any]) -> HookResult:
        items = [each for each in current_items(self._coordinator) if isinstance(each, dict)]
        if not items:
            return HookResult(action="continue")
        return HookResult(
            action="inject_context",
            context_injection=reminder(items),
            context_injection_role=self._role,
            ephemeral=True,
            suppress_output=True,
        )


def reminder(items: list[dict[str, Any]]) -> str:
    is_done = all(item.get("status") == "completed" for item in items)
    lines = [_line(item) for item in items]
    ending = _ALL_DONE if is_done else _FINISH
    body = "\n".join(["Your todo list:", *lines, ending])
    return f'<system-reminder source="{MODULE_ID}">\n{body}\n</system-reminder>'


def _line(item: dict[str, Any]) -> str:
    status = str(item.get("status"))
    field = "activeForm" if status == "in_progress" else "content"
    text = item.get(field) or item.get("content") or "?"
    return f"{_MARKS.get(status, _MARKS['pending'])} {_plain(str(text))}"


def _plain(text: str) -> str:
    """One line that cannot end the reminder or begin another: what items say is only quoted."""
    line = " ".join(text.split())
    line = "".join(each if each.isprintable() else "?" for each in line)
    line = _TAG.sub("&lt;", line)
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 3]}..."


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    settings = ReminderSettings.read(config, MODULE_ID)
    hook = TodoReminder(coordinator, settings.inject_role)
    return coordinator.hooks.register(
        PROVIDER_REQUEST, hook.on_request, priority=settings.priority, name=MODULE_ID
    )
