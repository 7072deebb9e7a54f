"""Modules that mount something unfit, and what a validator finds in each."""

from sample_modules import (
    CONTEXT,
    HOOK,
    OLDER_CONTEXT,
    ORCHESTRATOR,
    PROVIDER,
    TOOL,
    changed,
    mounting,
)


def hook(handler: str) -> str:
    register = "async def mount(coordinator, config):\n    coordinator.hooks.register('tool:pre', "
    return f"{handler}\n{register}listen)\n"


# Name of the case, type, source, names of the checks that fail, part of the first message.
BROKEN = [
    (
        "tool without execute",
        "tool",
        changed(TOOL, "async def execute", "async def run"),
        ["protocol_compliance"],
        "lacks execute()",
    ),
    (
        "tool without description",
        "tool",
        changed(TOOL, "description =", "about ="),
        ["protocol_compliance"],
        "lacks description",
    ),
    (
        "sync execute",
        "tool",
        changed(TOOL, "async def execute", "def execute"),
        ["tool_execute"],
        "execute() is not async",
    ),
    (
        "execute without input",
        "tool",
        changed(TOOL, "execute(self, input)", "execute(self)"),
        ["tool_execute"],
        "does not take the parameters",
    ),
    ("empty name", "tool", changed(TOOL, '"clock"', '""'), ["tool_name"], "'name' is empty"),
    (
        "name that is no text",
        "tool",
        mounting("tool = Tool(); tool.name = 7; await coordinator.mount('tools', tool, name='t')"),
        ["tool_name"],
        "of type int",
    ),
    (
        "name that cannot be read",
        "tool",
        changed(TOOL, 'name = "clock"', "name = property(lambda self: 1 / 0)").replace(
            "Tool())", "Tool(), name='t')"
        ),
        ["tool_name"],
        "ZeroDivisionError",
    ),
    (
        "empty description",
        "tool",
        changed(TOOL, '"Tells the time."', '""'),
        ["tool_description"],
        "'description' is empty",
    ),
    (
        "schema that is no dict",
        "tool",
        changed(TOOL, '{"type": "object", "properties": {}}', "[]"),
        ["tool_input_schema"],
        "of type list",
    ),
    (
        "no schema",
        "tool",
        changed(TOOL, "input_schema =", "schema ="),
        ["tool_input_schema"],
        "no 'input_schema'",
    ),
    (
        "schema that cannot be read",
        "tool",
        changed(
            TOOL,
            'input_schema = {"type": "object", "properties": {}}',
            "input_schema = property(lambda self: 1 / 0)",
        ),
        ["tool_input_schema"],
        "ZeroDivisionError",
    ),
    (
        "sync complete",
        "provider",
        changed(PROVIDER, "async def complete", "def complete"),
        ["provider_complete"],
        "complete() is not async",
    ),
    (
        "complete without request",
        "provider",
        changed(PROVIDER, "complete(self, request, **kwargs)", "complete(self, **kwargs)"),
        ["provider_complete"],
        "complete(self, request, **kwargs)",
    ),
    (
        "get_info of the wrong type",
        "provider",
        changed(PROVIDER, 'ProviderInfo(id="oracle", display_name="Oracle")', "{}"),
        ["provider_get_info"],
        "a dict, not a ProviderInfo",
    ),
    (
        "async get_info",
        "provider",
        changed(PROVIDER, "def get_info", "async def get_info"),
        ["provider_get_info"],
        "Write `def get_info(self) -> ProviderInfo`, not async.",
    ),
    (
        "get_info that raises",
        "provider",
        changed(PROVIDER, "return ProviderInfo", "raise LookupError  # "),
        ["provider_get_info"],
        "LookupError",
    ),
    (
        "get_info that blocks",
        "provider",
        changed(PROVIDER, "return ProviderInfo", "__import__('time').sleep(2)  # "),
        ["protocol_compliance"],
        "Looking at what was mounted did not finish",
    ),
    (
        "no list_models",
        "provider",
        changed(PROVIDER, "list_models", "models"),
        ["protocol_compliance"],
        "lacks list_models()",
    ),
    (
        "sync list_models",
        "provider",
        changed(PROVIDER, "async def list_models", "def list_models"),
        ["provider_list_models"],
        "list_models() is not async",
    ),
    (
        "provider without credentials",
        "provider",
        "async def mount(coordinator, config): ...",
        ["protocol_compliance"],
        "No provider was mounted",
    ),
    (
        "hook that registers nothing",
        "hook",
        "async def mount(coordinator, config): ...",
        ["protocol_compliance"],
        "No hook was registered",
    ),
    (
        "sync handler",
        "hook",
        changed(HOOK, "async def listen", "def listen"),
        ["hook_call"],
        "listen is not async",
    ),
    (
        "handler of one argument",
        "hook",
        changed(HOOK, "listen(event, data)", "listen(event)"),
        ["hook_call"],
        "2 parameters",
    ),
    (
        "handler that cannot be called",
        "hook",
        hook("listen = 'tool:pre'"),
        ["protocol_compliance"],
        "lacks __call__(event, data)",
    ),
    (
        "returned handler object of one argument",
        "hook",
        "class Listener:\n    async def __call__(self, event): ...\n"
        "async def mount(coordinator, config):\n    return Listener()",
        ["hook_call"],
        "Listener does not take 2 parameters",
    ),
    (
        "execute with too few parameters",
        "orchestrator",
        changed(ORCHESTRATOR, "context, providers, tools, hooks, **kwargs", "**kwargs"),
        ["orchestrator_execute"],
        "fewer than 5 parameters",
    ),
    (
        "execute with other names",
        "orchestrator",
        changed(ORCHESTRATOR, "self, prompt, context", "self, question, context"),
        ["orchestrator_execute"],
        "does not take the parameters",
    ),
    (
        "sync orchestrator",
        "orchestrator",
        "class Loop:\n    def execute(self, prompt, context, providers, tools, hooks): ...\n"
        "async def mount(coordinator, config):\n"
        "    await coordinator.mount('orchestrator', Loop())",
        ["orchestrator_execute"],
        "not async",
    ),
    (
        "no execute",
        "orchestrator",
        changed(ORCHESTRATOR, "def execute", "def run"),
        ["protocol_compliance"],
        "lacks execute()",
    ),
    (
        "context without get_messages",
        "context",
        changed(CONTEXT, "def get_messages(self)", "def messages(self)"),
        ["protocol_compliance"],
        "lacks get_messages()",
    ),
    (
        "context without a way to compact",
        "context",
        changed(OLDER_CONTEXT, "def compact", "def shorten"),
        ["protocol_compliance"],
        "lacks get_messages_for_request() or compact()",
    ),
    (
        "context without set_messages",
        "context",
        changed(CONTEXT, "def set_messages", "def load"),
        ["context_set_messages"],
        "no set_messages()",
    ),
    (
        "sync add_message",
        "context",
        changed(CONTEXT, "async def add_message", "def add_message"),
        ["context_add_message"],
        "add_message() is not async",
    ),
    (
        "sync compact as the only way",
        "context",
        changed(OLDER_CONTEXT, "async def compact", "def compact"),
        [
            "context_get_messages_for_request",
            "context_set_messages",
            "context_clear",
            "context_compact",
        ],
        "no get_messages_for_request()",
    ),
]
