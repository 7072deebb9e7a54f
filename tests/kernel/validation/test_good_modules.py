"""What the validators accept, and how they treat the program around them."""

import asyncio
import contextvars
import threading
from pathlib import Path

import pytest
from amplifier_core.validation import (
    ApprovalValidator,
    ContextValidator,
    HookValidator,
    ToolValidator,
)
from amplifier_core.validation.context import _implements_context_interface
from amplifier_core.validation.discover import VALIDATORS
from amplifier_core.validation.engine import ModuleValidator
from amplifier_core.validation.hook import _implements_hook_interface
from amplifier_core.validation.orchestrator import _implements_orchestrator_interface
from amplifier_core.validation.provider import _implements_provider_interface
from amplifier_core.validation.tool import _implements_tool_interface
from sample_modules import (
    APPROVAL,
    GOOD,
    HOOK,
    OLDER_CONTEXT,
    ORCHESTRATOR,
    RETURNED_APPROVAL,
    TOOL,
    write_module,
)

NAME = "amplifier_module_sample"


def test_the_validators_differ_in_their_contracts_alone() -> None:
    assert {each.validate for each in VALIDATORS.values()} == {ModuleValidator.validate}
    contracts = {name: each.contract.module_type for name, each in VALIDATORS.items()}
    assert contracts == {name: name for name in (*GOOD, "approval")}


@pytest.mark.parametrize("module_type", GOOD)
async def test_a_good_module_has_no_finding(tmp_path: Path, module_type: str) -> None:
    package = write_module(tmp_path, NAME, GOOD[module_type])

    result = await VALIDATORS[module_type]().validate(package)

    assert [check for check in result.checks if not check.passed] == []
    assert (result.module_type, result.module_path) == (module_type, str(package))
    names = [check.name for check in result.checks[:4]]
    assert names == [
        "module_importable", "mount_exists", "mount_signature", "protocol_compliance"
    ]  # fmt: skip


TEXT_APPROVAL = APPROVAL.replace("(self, request)", "(self, prompt, options, timeout, default)")


@pytest.mark.parametrize("source", [APPROVAL, RETURNED_APPROVAL, TEXT_APPROVAL])
async def test_an_approval_module_may_set_or_return_what_decides(
    tmp_path: Path, source: str
) -> None:
    package = write_module(tmp_path, NAME, source)

    result = await ApprovalValidator().validate(package)

    assert result.passed
    assert not result.warnings
    assert "'approval' implements ApprovalProvider interface." in result.checks[3].message


@pytest.mark.parametrize(("module_type", "label"), [("tool", "Tool"), ("provider", "Provider")])
async def test_compliance_names_the_interface(tmp_path: Path, module_type: str, label: str) -> None:
    package = write_module(tmp_path, NAME, GOOD[module_type])

    result = await VALIDATORS[module_type]().validate(package)

    compliance = next(each for each in result.checks if each.name == "protocol_compliance")
    assert f"implements {label} interface" in compliance.message


async def test_a_context_of_the_older_contract_passes_with_warnings(tmp_path: Path) -> None:
    package = write_module(tmp_path, NAME, OLDER_CONTEXT)

    result = await ContextValidator().validate(package)

    assert result.passed
    assert [check.name for check in result.warnings] == [
        "context_get_messages_for_request", "context_set_messages", "context_clear"
    ]  # fmt: skip


RETURNING = TOOL.replace('await coordinator.mount("tools", Tool())', "return Tool()")
READY = "async def mount(coordinator, config): ...\nasync def on_session_ready(coordinator): ..."
HANDLER = """
class Listener:
    async def __call__(self, event, data): ...


async def mount(coordinator, config):
    return Listener()
"""


@pytest.mark.parametrize(
    ("module_type", "source", "part"),
    [
        ("tool", RETURNING, "implements Tool interface, but did not mount it"),
        ("tool", "async def mount(coordinator, config): return print", "returned a cleanup"),
        ("hook", "async def mount(coordinator, config): return print", "returned a cleanup"),
        ("hook", READY, "left it to on_session_ready"),
        ("hook", HANDLER, "implements HookHandler interface"),
    ],
)
async def test_what_cannot_be_fully_judged_passes_with_a_word_of_caution(
    tmp_path: Path, module_type: str, source: str, part: str
) -> None:
    package = write_module(tmp_path, NAME, source)

    result = await VALIDATORS[module_type]().validate(package)

    compliance = next(each for each in result.checks if each.name == "protocol_compliance")
    assert (compliance.passed, compliance.severity) == (True, "warning")
    assert part in compliance.message
    assert result.passed


async def test_the_config_reaches_mount(tmp_path: Path) -> None:
    source = TOOL.replace("await coordinator", "assert config['key'] == 5\n    await coordinator")
    package = write_module(tmp_path, NAME, source)

    assert not (await ToolValidator().validate(package)).passed
    assert (await ToolValidator().validate(package, config={"key": 5})).passed
    assert (await ToolValidator().validate(package, "ignored", {"key": 5})).passed


async def test_bound_methods_are_sound_handlers(tmp_path: Path) -> None:
    source = """
    class Hooks:
        async def before(self, event, data): ...
        async def after(self, event, data): ...

    async def mount(coordinator, config):
        hooks = Hooks()
        coordinator.get("hooks").register("tool:pre", hooks.before)
        coordinator.get("hooks").register("tool:post", hooks.after)
        return lambda: None
    """
    result = await HookValidator().validate(write_module(tmp_path, NAME, source))

    assert [check.name for check in result.checks].count("hook_call") == 2
    assert [check for check in result.checks if not check.passed] == []


async def test_an_orchestrator_may_require_the_coordinator(tmp_path: Path) -> None:
    source = ORCHESTRATOR.replace("hooks, **kwargs", "hooks, coordinator")

    result = await VALIDATORS["orchestrator"]().validate(write_module(tmp_path, NAME, source))

    assert result.errors == []


async def test_async_mocks_count_as_async(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = TOOL.replace("async def execute(self, input):", "execute = AsyncMock()\n    def x(_):")
    package = write_module(tmp_path, NAME, f"from unittest.mock import AsyncMock\n{source}")

    assert (await ToolValidator().validate(package)).passed


async def test_every_cleanup_runs_once_newest_first(tmp_path: Path) -> None:
    source = (
        TOOL
        + """
    log = config["log"]
    async def late():
        log.append("late")
    def own():
        log.append("own")
    coordinator.register_cleanup(lambda: log.append("early"))
    coordinator.register_cleanup(late)
    coordinator.register_cleanup(own)
    return own
"""
    )
    log: list[str] = []

    result = await ToolValidator().validate(
        write_module(tmp_path, NAME, source), None, {"log": log}
    )

    assert result.passed
    assert log == ["own", "late", "early"]


@pytest.mark.parametrize("method", ["cleanup", "close"])
async def test_a_returned_instance_is_closed(tmp_path: Path, method: str) -> None:
    source = f"""
    class Tool:
        name = description = "clock"
        input_schema = {{}}
        def __init__(self, log): self.log = log
        async def execute(self, input): ...
        async def {method}(self): self.log.append("closed")

    async def mount(coordinator, config):
        tool = Tool(config["log"])
        await coordinator.mount("tools", tool)
        return tool
    """
    log: list[str] = []

    await ToolValidator().validate(write_module(tmp_path, NAME, source), config={"log": log})

    assert log == ["closed"]


async def test_many_examinations_at_once_do_not_mix(tmp_path: Path) -> None:
    packages = [
        write_module(tmp_path / str(i), NAME, TOOL.replace('"clock"', f'"clock{i}"'))
        for i in range(5)
    ]

    async with asyncio.timeout(5):
        results = await asyncio.gather(*(ToolValidator().validate(each) for each in packages))

    named = [next(c for c in r.checks if c.name == "tool_name").message for r in results]
    assert named == [f"name is 'clock{i}'." for i in range(5)]


async def test_tasks_that_mount_starts_do_not_outlive_the_trial(tmp_path: Path) -> None:
    source = """
    import asyncio, threading

    async def tick(ended):
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def leave():
        raise SystemExit

    async def mount(coordinator, config):
        coordinator.session_state["tasks"] = [
            asyncio.create_task(tick(config["ended"])), asyncio.create_task(leave())
        ]
        await asyncio.sleep(0)
        return print
    """
    ended = threading.Event()
    before = asyncio.all_tasks()

    result = await ToolValidator().validate(
        write_module(tmp_path, NAME, source), None, {"ended": ended}
    )

    assert result.passed
    assert ended.is_set()
    assert asyncio.all_tasks() == before


async def test_mount_sees_the_context_variables_of_the_caller(tmp_path: Path) -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")
    source = TOOL.replace(
        "await coordinator", "assert config['variable'].get() == 'set'\n    await coordinator"
    )
    package = write_module(tmp_path, NAME, source)

    assert (await ToolValidator().validate(package, config={"variable": variable})).passed


async def test_what_a_module_prints_goes_to_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = TOOL.replace("await coordinator", "print('in mount')\n    await coordinator")

    await ToolValidator().validate(write_module(tmp_path, NAME, f"print('in import')\n{source}"))

    assert capsys.readouterr() == ("", "in import\nin mount\n")


async def test_a_subprocess_may_be_given_the_redirected_stdout(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = "import subprocess, sys\nsubprocess.run(['echo', 'child'], stdout=sys.stdout, check=True)"

    result = await ToolValidator().validate(write_module(tmp_path, NAME, f"{run}\n{TOOL}"))

    assert result.passed
    assert capfd.readouterr() == ("", "child\n")


def test_the_interface_predicates_tell_instances_from_others() -> None:
    class Everything:
        name = description = "x"
        get_info = list_models = complete = parse_tool_calls = execute = print
        add_message = get_messages = compact = print

    predicates = [
        _implements_tool_interface,
        _implements_provider_interface,
        _implements_orchestrator_interface,
        _implements_context_interface,
    ]
    assert [predicate(Everything()) for predicate in predicates] == [True] * 4
    assert [predicate(object()) for predicate in predicates] == [False] * 4
    assert (_implements_hook_interface(print), _implements_hook_interface(3)) == (True, False)


async def test_a_returned_unregister_is_taken_for_a_cleanup(tmp_path: Path) -> None:
    package = write_module(tmp_path, NAME, HOOK)

    result = await HookValidator().validate(package)

    assert [check.name for check in result.checks].count("hook_call") == 1
    assert [check for check in result.checks if not check.passed] == []
