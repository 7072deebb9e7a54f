"""Checking modules and mount plans: outcome and names of the checks, not their words."""

from typing import Any

from amplifier_core import validation
from amplifier_core.validation import (
    MountPlanValidationResult,
    MountPlanValidator,
    ValidationCheck,
    ValidationResult,
)
from amplifier_core.validation.base import check_on_session_ready
from amplifier_core.validation.proto_schema import validate_hook_result, validate_tool_result
from facts import TOOL, Facts, async_outcome, folder, package

PROVIDER = """
from amplifier_core import ProviderInfo

class Provider:
    name = "probe"
    def get_info(self):
        return ProviderInfo(id="probe", display_name="Probe")
    async def list_models(self):
        return []
    async def complete(self, request, **kwargs):
        return None
    def parse_tool_calls(self, response):
        return []

async def mount(coordinator, config):
    await coordinator.mount("providers", Provider())
"""

HOOK = """
async def listen(event, data):
    return None

async def mount(coordinator, config):
    coordinator.hooks.register("tool:pre", listen, 0, "probe")
"""

LOOP = """
class Loop:
    async def execute(self, prompt, context, providers, tools, hooks, **kwargs):
        return prompt

async def mount(coordinator, config):
    await coordinator.mount("orchestrator", Loop())
"""

CONTEXT = """
class Context:
    async def add_message(self, message): pass
    async def get_messages(self): return []
    async def get_messages_for_request(self, token_budget=None, provider=None): return []
    async def set_messages(self, messages): pass
    async def clear(self): pass

async def mount(coordinator, config):
    await coordinator.mount("context", Context())
"""

_count = [0]


async def _checked(kind: str, source: str | None, config: Any = None) -> Facts:
    """The result of a validator: verdict and [check, passed, severity]."""
    _count[0] += 1
    with folder() as root:
        path = root / f"diff_validated_{_count[0]}"
        if source is not None:
            package(path, source)
        else:
            path.mkdir()
        validator = getattr(validation, f"{kind}Validator")()
        return _verdict(await validator.validate(str(path), config=config))


def _verdict(result: Any) -> Facts:
    return {
        "passed": result.passed,
        "type": getattr(result, "module_type", None),
        "checks": [[each.name, each.passed, each.severity] for each in result.checks],
    }


async def sound_modules() -> Facts:
    return {
        "provider": await _checked("Provider", PROVIDER),
        "tool": await _checked("Tool", TOOL),
        "hook": await _checked("Hook", HOOK),
        "orchestrator": await _checked("Orchestrator", LOOP),
        "context": await _checked("Context", CONTEXT),
    }


async def modules_that_cannot_be_imported() -> Facts:
    return {
        "no package": await _checked("Tool", None),
        "syntax": await _checked("Tool", "def broken("),
        "import": await _checked("Tool", "import there_is_no_such_module"),
        "error": await _checked("Tool", "raise ValueError('boom')"),
    }


async def modules_by_name() -> Facts:
    validator = validation.ToolValidator()
    return {
        "nowhere": _verdict(await validator.validate("there_is_no_such_module")),
        "no mount": _verdict(await validator.validate("json")),
        "path": (await validator.validate("json")).module_path,
    }


async def functions_that_are_no_mount() -> Facts:
    return {
        "missing": await _checked("Tool", "x = 1"),
        "not callable": await _checked("Tool", "mount = 5"),
        "sync": await _checked("Tool", "def mount(coordinator, config): pass"),
        "one parameter": await _checked("Tool", "async def mount(coordinator): pass"),
        "any parameters": await _checked(
            "Tool",
            TOOL.replace("coordinator, config=None", "*a, **k").replace(
                "await coordinator", "coordinator, config = a\n    await coordinator"
            ),
        ),
    }


async def modules_that_mount_nothing() -> Facts:
    nothing = "async def mount(coordinator, config): pass"
    return {
        kind: await _checked(kind, nothing)
        for kind in ("Provider", "Tool", "Orchestrator", "Context")
    }


async def a_hook_that_listens_to_nothing() -> Facts:
    return {
        "hook": (await _checked("Hook", "async def mount(coordinator, config): pass"))["passed"]
    }


async def modules_that_return_a_cleanup() -> Facts:
    source = "async def mount(coordinator, config):\n    return lambda: None"
    return {
        kind: await _checked(kind, source)
        for kind in ("Provider", "Tool", "Orchestrator", "Context")
    }


async def modules_that_raise() -> Facts:
    source = "async def mount(coordinator, config): raise ValueError('boom')"
    return {kind: await _checked(kind, source) for kind in ("Provider", "Tool", "Hook")}


async def tools_with_a_fault() -> Facts:
    return {
        "no name": await _checked("Tool", TOOL.replace('name = "probe"', 'name = ""')),
        "number as name": await _checked("Tool", TOOL.replace('name = "probe"', "name = 5")),
        "no description": await _checked("Tool", TOOL.replace("description =", "summary =")),
        "empty description": await _checked("Tool", TOOL.replace("Gives back its input.", "")),
        "odd schema": await _checked("Tool", TOOL.replace('{"type": "object"}', '"object"')),
        "no schema": await _checked("Tool", TOOL.replace("input_schema =", "other =")),
        "sync execute": await _checked("Tool", TOOL.replace("async def execute", "def execute")),
        "no input": await _checked("Tool", TOOL.replace("execute(self, input)", "execute(self)")),
        "no execute": await _checked("Tool", TOOL.replace("def execute", "def run")),
    }


async def providers_with_a_fault() -> Facts:
    return {
        "no name": await _checked("Provider", PROVIDER.replace('name = "probe"', 'name = ""')),
        "odd info": await _checked(
            "Provider", PROVIDER.replace("return ProviderInfo", "return dict")
        ),
        "failing info": await _checked(
            "Provider",
            PROVIDER.replace("return ProviderInfo", "raise ValueError('x')\n        return dict"),
        ),
        "sync models": await _checked(
            "Provider", PROVIDER.replace("async def list_models", "def list_models")
        ),
        "sync complete": await _checked(
            "Provider", PROVIDER.replace("async def complete", "def complete")
        ),
        "no complete": await _checked("Provider", PROVIDER.replace("def complete", "def run")),
    }


async def loops_and_hooks_with_a_fault() -> Facts:
    return {
        "sync loop": await _checked(
            "Orchestrator", LOOP.replace("async def execute", "def execute")
        ),
        "few parameters": await _checked(
            "Orchestrator", LOOP.replace(", tools, hooks, **kwargs", "")
        ),
        "no execute": await _checked("Orchestrator", LOOP.replace("execute", "run")),
        "broken hook": await _checked(
            "Hook", HOOK.replace("coordinator.hooks", "coordinator.nothing")
        ),
        "by slot": await _checked(
            "Hook", HOOK.replace("coordinator.hooks", "coordinator.get('hooks')")
        ),
    }


async def contexts_with_a_fault() -> Facts:
    return {
        "sync add": await _checked(
            "Context", CONTEXT.replace("async def add_message", "def add_message")
        ),
        "no message": await _checked(
            "Context", CONTEXT.replace("add_message(self, message)", "add_message(self)")
        ),
    }


async def contexts_with_fewer_methods() -> Facts:
    older = CONTEXT.replace("set_messages", "compact").replace("clear", "forget")
    return {
        "older contract": (await _checked("Context", older))["passed"],
        "no add_message": (await _checked("Context", CONTEXT.replace("add_message", "append")))[
            "passed"
        ],
        "no get_messages": (
            await _checked("Context", CONTEXT.replace("get_messages(self)", "read(self)"))
        )["passed"],
    }


async def configs_reach_the_module() -> Facts:
    source = TOOL.replace(
        "    await coordinator.mount",
        "    if not config.get('key'): return\n    await coordinator.mount",
    )
    return {
        "without": (await _checked("Tool", source))["passed"],
        "with": (await _checked("Tool", source, {"key": "x"}))["passed"],
    }


async def late_starts_are_checked() -> Facts:
    def named(source: str) -> str:
        return TOOL + source

    return {
        "async": await _checked("Tool", named("async def on_session_ready(coordinator): pass")),
        "sync": await _checked("Tool", named("def on_session_ready(coordinator): pass")),
        "no parameter": await _checked("Tool", named("async def on_session_ready(): pass")),
    }


def late_starts_by_themselves() -> Facts:
    from types import SimpleNamespace

    async def good(coordinator: Any) -> None: ...
    async def defaulted(coordinator: Any = None) -> None: ...
    async def bare() -> None: ...
    def sync(coordinator: Any) -> None: ...

    def check(**members: Any) -> Any:
        found = check_on_session_ready(SimpleNamespace(**members))
        return None if found is None else [found.name, found.passed, found.severity]

    return {
        "absent": check(),
        "good": check(on_session_ready=good),
        "defaulted": check(on_session_ready=defaulted),
        "bare": check(on_session_ready=bare),
        "sync": check(on_session_ready=sync),
        "number": check(on_session_ready=5),
    }


def results_of_validation() -> Facts:
    result = ValidationResult(module_type="tool", module_path="p")
    empty = [result.passed, result.summary()]
    for name, passed, severity in [
        ("a", True, "info"), ("b", False, "warning"), ("c", False, "info"), ("d", True, "warning"),
    ]:  # fmt: skip
        result.add(ValidationCheck(name, passed, "words", severity))
    warned = [result.passed, result.summary()]
    result.add(ValidationCheck(name="e", passed=False, message="words", severity="error"))
    return {
        "empty": empty,
        "warned": warned,
        "failed": [result.passed, result.summary()],
        "errors": [each.name for each in result.errors],
        "warnings": [each.name for each in result.warnings],
        "equal": ValidationCheck("a", True, "m", "info") == ValidationCheck("a", True, "m", "info"),
    }


async def paths_of_any_kind() -> Facts:
    with folder() as root:
        path = package(root / "diff_validated_path", TOOL)
        validator = validation.ToolValidator()
        return {
            "path": (await validator.validate(path)).passed,
            "file": (await validator.validate(path / "__init__.py")).passed,
            "absent": (await validator.validate(root / "absent")).passed,
            "entry point": await async_outcome(
                lambda: _passed(validator.validate(str(path), entry_point="whatever"))
            ),
        }


async def _passed(result: Any) -> Any:
    return (await result).passed


# -- mount plans ----------------------------------------------------------------------


def _plan(plan: Any) -> Facts:
    facts = _verdict(MountPlanValidator().validate(plan))
    # Sections are visited in no particular order.
    return {"passed": facts["passed"], "checks": sorted(facts["checks"])}


SESSION = {"orchestrator": {"module": "o"}, "context": {"module": "c"}}


def sound_plans() -> Facts:
    return {
        "small": _plan({"session": SESSION}),
        "large": _plan(
            {
                "session": SESSION,
                "providers": [{"module": "p", "config": {}, "source": "s"}],
                "tools": [],
                "hooks": [{"module": "h"}],
                "agents": {"any": 1},
            }
        ),
    }


def plans_of_a_wrong_shape() -> Facts:
    return {
        "none": _plan(None),
        "list": _plan([]),
        "empty": _plan({}),
        "session": _plan({"session": []}),
        "no context": _plan({"session": {"orchestrator": {"module": "o"}}}),
        "names": _plan({"session": {"orchestrator": "o", "context": "c"}}),
        "unknown section": _plan({"session": SESSION, "gadgets": []}),
        "no list": _plan({"session": SESSION, "tools": {"module": "t"}}),
    }


def entries_of_a_wrong_shape() -> Facts:
    def entry(value: Any) -> Facts:
        return _plan({"session": SESSION, "tools": [value]})

    return {
        "text": entry("t"),
        "no module": entry({"config": {}}),
        "number": entry({"module": 5}),
        "empty": entry({"module": ""}),
        "odd config": entry({"module": "t", "config": []}),
        "odd source": entry({"module": "t", "source": 5}),
    }


def results_of_plan_validation() -> Facts:
    result = MountPlanValidationResult()
    fine = result.format_errors()
    result.add(ValidationCheck("a", False, "words", "error"))
    result.add(ValidationCheck("b", False, "words", "warning"))
    text = result.format_errors()
    return {
        "fine": fine,
        "passed": result.passed,
        "summary": result.summary(),
        "first line": text.splitlines()[0],
        "named": "[a] words" in text and "[b]" not in text,
        "total": text.splitlines()[-1],
    }


def constants_of_plan_validation() -> Facts:
    names = (
        "REQUIRED_SECTIONS OPTIONAL_SECTIONS REQUIRED_SESSION_FIELDS REQUIRED_MODULE_SPEC_FIELDS"
    )
    return {name: sorted(getattr(MountPlanValidator, name)) for name in names.split()}


def results_on_the_wire() -> Facts:
    def count(found: list[str]) -> int:
        return len(found)

    return {
        "tool": count(validate_tool_result({"success": True})),
        "no success": count(validate_tool_result({})),
        "odd success": count(validate_tool_result({"success": "yes"})),
        "hook": count(validate_hook_result({})),
        "odd action": count(validate_hook_result({"action": "explode"})),
        "all odd": count(
            validate_hook_result(
                {
                    "action": "x",
                    "context_injection_role": "x",
                    "user_message_level": "x",
                    "approval_default": "x",
                }
            )
        ),
        "none": count(validate_hook_result({"user_message_level": None})),
    }
