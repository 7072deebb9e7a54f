"""hooks-streaming-ui keeps the kernel's contract and reads both forms of its config."""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core.cli import main
from amplifier_core.testing import MockCoordinator
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from helpers_terminal import Terminal, block, coordinator_with, play

from amplifier_modules.terminal import hook


@pytest.fixture
def module_path() -> Path:
    return Path(hook.__file__)


class TestBehavior(HookBehaviorTests):
    pass


class TestStructure(HookStructuralTests):
    pass


def test_the_validator_finds_nothing_wrong(
    module_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(module_path)]) == 0, capsys.readouterr().out


async def test_cleanup_takes_every_listener_back() -> None:
    coordinator = MockCoordinator()
    cleanup = await hook.mount(coordinator)

    cleanup()

    assert not coordinator.hooks.list_handlers()


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"show_tool_line": 3}, "there is no key 'show_tool_line'. Did you mean 'show_tool_lines'"),
        ({"ui": {"show_tool_line": 3}}, "there is no key 'ui.show_tool_line'."),
        ({"show_tool_lines": -1}, "'show_tool_lines'"),
        (
            {"show_tool_lines": 3, "ui": {"show_tool_lines": 4}},
            "'show_tool_lines' and 'ui.show_tool_lines' differ. Keep one of them.",
        ),
    ],
)
async def test_a_config_that_cannot_be_understood_is_refused(
    config: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match="hooks-streaming-ui") as caught:
        await hook.mount(MockCoordinator(), config)

    assert complaint in str(caught.value)


EVERYTHING = [
    *block(0, 2, type="thinking", thinking="Hm."),
    *block(1, 2, type="text", text="Well.", usage={"input_tokens": 1, "output_tokens": 1}),
    ("tool:pre", {"tool_name": "t", "tool_input": {"a": "1\n2"}}),
    ("orchestrator:complete", {}),
]


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize(
    ("key", "value", "gone"),
    [
        ("show_thinking_stream", False, ["Thinking", "Hm."]),
        ("show_tool_lines", 1, ["    1"]),
        ("show_tool_lines", 0, ["a: |"]),
        ("show_token_usage", False, ["total", "turn cost"]),
    ],
)
async def test_each_key_works_flat_and_under_ui(
    terminal: Terminal, key: str, value: Any, gone: list[str], is_nested: bool
) -> None:
    await play(await coordinator_with(), *EVERYTHING)
    before = terminal.transcript
    assert all(each in before for each in gone)
    terminal.written.clear()

    await play(
        await coordinator_with(**({"ui": {key: value}} if is_nested else {key: value})), *EVERYTHING
    )

    assert not any(each in terminal.transcript for each in gone)
    assert "# ● t\n" in terminal.transcript


async def test_the_same_key_in_both_places_is_no_conflict_if_the_values_agree() -> None:
    await hook.mount(MockCoordinator(), {"show_tool_lines": 3, "ui": {"show_tool_lines": 3}})
