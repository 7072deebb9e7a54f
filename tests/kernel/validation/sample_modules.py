"""Sources of small modules, good ones of every type, for tests to write to disk."""

from pathlib import Path
from textwrap import dedent

HEAD = """
from amplifier_core import (
    ChatResponse, HookResult, ModelInfo, ProviderInfo, TextBlock, ToolResult,
)
"""

TOOL = """
class Tool:
    name = "clock"
    description = "Tells the time."
    input_schema = {"type": "object", "properties": {}}

    async def execute(self, input):
        return ToolResult(output="noon")


async def mount(coordinator, config=None):
    await coordinator.mount("tools", Tool())
"""

PROVIDER = """
class Provider:
    name = "oracle"

    def get_info(self):
        return ProviderInfo(id="oracle", display_name="Oracle")

    async def list_models(self):
        return []

    async def complete(self, request, **kwargs):
        return ChatResponse(content=[TextBlock(text="42")])

    def parse_tool_calls(self, response):
        return response.tool_calls or []


async def mount(coordinator, config):
    await coordinator.mount("providers", Provider())
"""

HOOK = """
async def listen(event, data):
    return HookResult(action="continue")


async def mount(coordinator, config):
    return coordinator.hooks.register(["tool:pre", "tool:post"], listen, name="listener")
"""

ORCHESTRATOR = """
class Loop:
    async def execute(self, prompt, context, providers, tools, hooks, **kwargs):
        await hooks.emit("execution:start", {"prompt": prompt})
        await context.add_message({"role": "user", "content": prompt})
        response = await providers["default"].complete(object())
        text = response.content[0].text
        await context.add_message({"role": "assistant", "content": text})
        return text


async def mount(coordinator, config):
    await coordinator.mount("orchestrator", Loop())
"""

CONTEXT = """
class Context:
    def __init__(self):
        self.kept = []

    async def add_message(self, message):
        if "role" not in message:
            raise ValueError("A message needs a role.")
        self.kept.append(message)

    async def get_messages_for_request(self, token_budget=None, provider=None):
        return list(self.kept)

    async def get_messages(self):
        return list(self.kept)

    async def set_messages(self, messages):
        self.kept = list(messages)

    async def clear(self):
        self.kept.clear()

    def _should_compact(self, tokens, budget):
        return tokens > budget

    async def _compact_internal(self):
        return None


async def mount(coordinator, config):
    await coordinator.mount("context", Context())
"""

OLDER_CONTEXT = """
class Context:
    def __init__(self):
        self.kept = []

    async def add_message(self, message):
        self.kept.append(message)

    async def get_messages(self):
        return list(self.kept)

    async def compact(self):
        del self.kept[:-2]


async def mount(coordinator, config):
    await coordinator.mount("context", Context())
"""

APPROVAL = """
from amplifier_core.interfaces import ApprovalResponse


class Judge:
    async def request_approval(self, request):
        return ApprovalResponse(approved="read" in request.action)


async def mount(coordinator, config):
    coordinator.approval_system = Judge()
"""

RETURNED_APPROVAL = APPROVAL.replace("coordinator.approval_system =", "return")

GOOD = {
    "tool": TOOL,
    "provider": PROVIDER,
    "hook": HOOK,
    "orchestrator": ORCHESTRATOR,
    "context": CONTEXT,
}

NAMES = {
    "tool": "amplifier_module_tool_sample",
    "provider": "amplifier_module_provider_sample",
    "hook": "amplifier_module_hooks_sample",
    "orchestrator": "amplifier_module_loop_sample",
    "context": "amplifier_module_context_sample",
}


def write_module(root: Path, name: str, source: str) -> Path:
    """Write a package below `root` and return its folder."""
    package = root / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(HEAD + dedent(source), encoding="utf-8")
    return package


def write_repository(root: Path, module_type: str, source: str | None = None) -> Path:
    """Write a module's repository below `root`, its package inside, and return its root."""
    name = NAMES[module_type]
    repository = root / name.replace("_", "-")
    write_module(repository, name, GOOD[module_type] if source is None else source)
    return repository


TOOL_CLASS = TOOL.partition("async def mount")[0]


def changed(source: str, old: str, new: str) -> str:
    """The source with one part replaced, which must be there."""
    assert old in source
    return source.replace(old, new)


def mounting(body: str) -> str:
    """A tool module whose mount() consists of `body`."""
    return f"{TOOL_CLASS}\nasync def mount(coordinator, config):\n    {body}\n"
