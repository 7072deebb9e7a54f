"""The structural and behavioural test bases, on good modules and on broken ones.

Good modules are tested right here, the way a module's own repository does it. Broken ones
are tested by an inner pytest run, which has to fail.
"""

from pathlib import Path

import pytest
from amplifier_core.validation import behavioral, structural
from sample_modules import (
    CONTEXT,
    GOOD,
    HOOK,
    OLDER_CONTEXT,
    ORCHESTRATOR,
    PROVIDER,
    TOOL,
    changed,
    write_repository,
)

pytest_plugins = ["pytester"]


class GoodModule:
    """Takes the place of the repository that tests usually run in."""

    module_type: str
    source: str | None = None

    @pytest.fixture
    def module_path(self, tmp_path: Path) -> Path:
        return write_repository(tmp_path, self.module_type, self.source)


class TestProvider(
    GoodModule, behavioral.ProviderBehaviorTests, structural.ProviderStructuralTests
):
    module_type = "provider"


class TestTool(GoodModule, behavioral.ToolBehaviorTests, structural.ToolStructuralTests):
    module_type = "tool"


class TestHook(GoodModule, behavioral.HookBehaviorTests, structural.HookStructuralTests):
    module_type = "hook"


class TestHookWithAsyncCleanup(GoodModule, behavioral.HookBehaviorTests):
    module_type = "hook"
    source = """
    async def listen(event, data):
        return {"action": "continue"}

    def grumble(event, data):
        raise ValueError(data["missing"])

    async def mount(coordinator, config):
        coordinator.hooks.register("tool:pre", listen)
        coordinator.hooks.register("tool:pre", grumble)
        async def cleanup(): ...
        return cleanup
    """


class TestHookWithoutCleanup(GoodModule, behavioral.HookBehaviorTests):
    module_type = "hook"
    source = HOOK.replace("return coordinator", "coordinator")


class TestOrchestrator(
    GoodModule, behavioral.OrchestratorBehaviorTests, structural.OrchestratorStructuralTests
):
    module_type = "orchestrator"


class TestCautiousOrchestrator(GoodModule, behavioral.OrchestratorBehaviorTests):
    module_type = "orchestrator"
    source = changed(
        ORCHESTRATOR, "**kwargs):\n", "**kwargs):\n        if not prompt: raise ValueError\n"
    )


class TestContext(GoodModule, behavioral.ContextBehaviorTests, structural.ContextStructuralTests):
    module_type = "context"


class TestOlderContext(
    GoodModule, behavioral.ContextBehaviorTests, structural.ContextStructuralTests
):
    module_type = "context"
    source = OLDER_CONTEXT


class TestContextWithItsOwnInternals(GoodModule, behavioral.ContextBehaviorTests):
    module_type = "context"
    source = changed(
        changed(CONTEXT, "_should_compact(self, tokens, budget)", "_should_compact(self, tokens)"),
        "async def _compact_internal(self)",
        "async def _compact_internal(self, target)",
    )


class TestContextWithAsyncInternals(GoodModule, behavioral.ContextBehaviorTests):
    module_type = "context"
    source = changed(
        changed(
            CONTEXT, "def _should_compact(self, tokens, budget)", "async def _should_compact(self)"
        ),
        "return tokens > budget",
        "return False",
    )


class TestContextWithSyncCompaction(GoodModule, behavioral.ContextBehaviorTests):
    module_type = "context"
    source = changed(CONTEXT, "async def _compact_internal", "def _compact_internal")


# Type, source, the tests that fail because of it.
BROKEN = [
    ("tool", TOOL.replace('"clock"', "5").replace("Tool()", "Tool(), 't'"), ["tool_has_name"]),
    ("tool", TOOL.replace("Tells the time.", ""), ["tool_has_description"]),
    (
        "tool",
        TOOL.replace('ToolResult(output="noon")', "'noon'"),
        [
            "execute_returns_tool_result",
            "invalid_input_returns_error_result",
            "tool_result_has_required_fields",
        ],
    ),
    (
        "tool",
        TOOL.replace("return ToolResult", "input['_tool_call_id']; return ToolResult"),
        ["invalid_input_returns_error_result"],
    ),
    ("provider", PROVIDER.replace("return []", "return None"), ["list_models_returns_list"]),
    (
        "provider",
        PROVIDER.replace('display_name="Oracle"', 'display_name=""').replace(
            "response.tool_calls or []", "None"
        ),
        ["get_info_returns_valid_provider_info", "parse_tool_calls_returns_list"],
    ),
    (
        "hook",
        HOOK.replace('HookResult(action="continue")', "True"),
        ["handler_returns_hook_result"],
    ),
    (
        "hook",
        HOOK.replace('HookResult(action="continue")', "{'action': 'stop'}"),
        ["hook_result_has_valid_action"],
    ),
    (
        "orchestrator",
        ORCHESTRATOR.replace("return text", "return None"),
        ["execute_returns_string"],
    ),
    (
        "orchestrator",
        ORCHESTRATOR.replace('await context.add_message({"role"', '({"role"')
        .replace('await providers["default"].complete(object())', "None")
        .replace("response.content[0].text", "prompt and prompt[0]"),
        ["orchestrator_updates_context", "orchestrator_uses_provider"],
    ),
    (
        "orchestrator",
        ORCHESTRATOR.replace("prompt})", "prompt or {}['prompt']})", 1),
        ["execute_with_empty_prompt"],
    ),
    (
        "context",
        CONTEXT.replace("self.kept.append(message)", "self.kept.insert(0, message)"),
        ["multiple_messages"],
    ),
    ("context", CONTEXT.replace("self.kept.clear()", "pass"), ["clear_removes_messages"]),
    (
        "context",
        CONTEXT.replace("return list(self.kept)", "return None"),
        [
            "get_messages_for_request_returns_messages",
            "get_messages_never_returns_none",
            "message_round_trip",
            "multiple_messages",
        ],
    ),
    (
        "context",
        CONTEXT.replace('raise ValueError("A message needs a role.")', "message.role"),
        ["add_invalid_message_does_not_crash"],
    ),
    (
        "context",
        CONTEXT.replace("return tokens > budget", "return 'no'").replace(
            "return None", "return self.gone"
        ),
        ["internal_compact_does_not_crash", "internal_should_compact_returns_bool"],
    ),
]


@pytest.mark.parametrize(("module_type", "source", "failing"), BROKEN)
def test_a_broken_module_fails_the_tests_it_should(
    pytester: pytest.Pytester, module_type: str, source: str, failing: list[str]
) -> None:
    assert source != GOOD[module_type]
    write_repository(pytester.path, module_type, source)
    name = f"{module_type.title()}BehaviorTests"
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(
        f"from amplifier_core.validation.behavioral import {name}\nclass TestIt({name}): pass"
    )

    run = pytester.runpytest_inprocess("-p", "no:randomly", *pytester.path.glob("amplifier-*"), ".")

    failed = [report.nodeid.rpartition("::test_")[2] for report in run.reprec.getfailures()]
    assert sorted(failed) == failing


@pytest.mark.parametrize("module_type", GOOD)
def test_a_broken_module_fails_its_structural_test(
    pytester: pytest.Pytester, module_type: str
) -> None:
    write_repository(pytester.path, module_type, "mount = None")
    name = f"{module_type.title()}StructuralTests"
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makepyfile(
        f"from amplifier_core.validation.structural import {name}\nclass TestIt({name}): pass"
    )

    run = pytester.runpytest_inprocess(*pytester.path.glob("amplifier-*"), ".")

    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["*mount_exists: There is no mount()*"])
