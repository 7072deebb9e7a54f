"""Python modules for tests of modules in a process of their own."""

from pathlib import Path
from typing import Any

MEASURED = ["COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"]
"""Lets coverage look into the process, where it is measured at all."""


def python_module(folder: Path, module_id: str, code: str) -> str:
    """A module directory with `code` as its package; the source of an entry."""
    root = folder / f"amplifier-module-{module_id}"
    package = root / f"amplifier_module_{module_id.replace('-', '_')}"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(code)
    return str(root)


def apart(module_id: str, source: str | None = None, config: Any = None, **more: Any) -> Any:
    """An entry of a plan whose module gets a process of its own."""
    isolation = {"mode": "process", "env": MEASURED, **more}
    entry = {"module": module_id, "isolation": isolation, "config": config or {}}
    return entry if source is None else {**entry, "source": source}


TOOLS = """\
import os
from amplifier_core.models import ToolResult

__amplifier_module_type__ = "tool"


class Tool:
    input_schema = {"type": "object", "properties": {"do": {"type": "string"}}}
    annotations = {"effect": "pure"}

    def __init__(self, name, config, coordinator):
        self.name, self.description = name, f"Tool {name}."
        self.config, self.coordinator = config, coordinator

    async def execute(self, input):
        do = input.get("do")
        if do == "crash":
            os._exit(9)
        if do == "raise":
            raise LookupError("nothing there")
        if do == "fail":
            return ToolResult(success=False, error={"message": "no"})
        if do == "picture":
            source = {"type": "base64", "media_type": "image/png", "data": "cG5n"}
            return ToolResult(output="look", content=[{"type": "image", "source": source}])
        if do == "plain":
            print("this must not disturb anybody")
            return "plain"
        if do == "session":
            self.coordinator.register_capability("from.afar", {"a": 1})
            self.coordinator.register_capability("here.only", object())
            known = self.coordinator.get_capability("from.host")
            verdict = await self.coordinator.hooks.emit("far:event", {"n": 1})
            return ToolResult(output=[known, self.coordinator.session_id, verdict.data["n"]])
        return ToolResult(output={"config": self.config, "pid": os.getpid(), "name": self.name})


async def mount(coordinator, config):
    if config.get("broken"):
        raise ValueError("broken as asked")
    for name in ("one", "two"):
        await coordinator.mount("tools", Tool(name, config, coordinator))


async def on_session_ready(coordinator):
    await coordinator.mount("tools", Tool("ready", {}, coordinator))
"""

HOOKS = """\
from amplifier_core.models import HookResult

__amplifier_module_type__ = "hook"


async def deny(event, data):
    if data.get("tool_name") == "evil":
        return HookResult(action="deny", reason="evil")
    if data.get("tool_name") == "crash":
        import os
        os._exit(1)
    return HookResult(action="modify", data={**data, "seen": True})


async def mount(coordinator, config):
    coordinator.hooks.register("tool:pre", deny, name="guard", guard=True)
    coordinator.hooks.register("tool:pre", lambda event, data: None, name="watch", priority=3)
"""

APPROVAL = """\
from amplifier_core.interfaces import ApprovalResponse

__amplifier_module_type__ = "approval"


class Judge:
    async def request_approval(self, request):
        return ApprovalResponse(approved="read" in request.action, reason="a word")

    def cleanup(self):
        pass


async def mount(coordinator, config):
    return Judge()
"""
