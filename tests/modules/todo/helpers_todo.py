"""Sessions whose model plays a script, with the todo modules mounted."""

from importlib import import_module
from typing import Any

from amplifier_core import AmplifierSession, ModuleLoader

MODULES = {
    "loop-basic": "loops.basic",
    "context-simple": "contexts.simple",
    "provider-mock": "mock.provider",
    "tool-todo": "todo.tool",
    "hooks-todo-reminder": "todo.reminder",
}


class Loader(ModuleLoader):
    """Finds the modules of these tests, whatever is installed."""

    async def load(
        self, module_id: str, config: dict[str, Any] | None = None, *_: Any, **__: Any
    ) -> Any:
        module = import_module(f"amplifier_modules.{MODULES[module_id]}")
        return lambda coordinator: module.mount(coordinator, config)


def session_with(*script: dict[str, Any], **options: Any) -> AmplifierSession:
    plan = {
        "session": {
            "orchestrator": {"module": "loop-basic"},
            "context": {"module": "context-simple"},
        },
        "providers": [{"module": "provider-mock", "config": {"script": list(script)}}],
        "tools": [{"module": "tool-todo"}],
        "hooks": [{"module": "hooks-todo-reminder"}],
    }
    return AmplifierSession(plan, loader=Loader(), **options)


def item(content: str, status: str = "pending", active: str | None = None) -> dict[str, Any]:
    return {"content": content, "activeForm": active or f"{content}ing", "status": status}


def todo_call(action: str, *items: dict[str, Any], id: str | None = None) -> dict[str, Any]:
    """A step of the script in which the model calls the tool."""
    arguments = {"action": action, "todos": list(items)}
    return {"tool_calls": [{"name": "todo", "arguments": arguments, "id": id}]}


def requests_of(session: AmplifierSession) -> list[list[Any]]:
    """The messages of each request that the model got."""
    mock = session.coordinator.get("providers", "mock")
    return [request.messages for request in mock.requests]
