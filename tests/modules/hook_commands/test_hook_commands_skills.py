"""Hooks that a skill brings are active while it is loaded."""

from pathlib import Path
from typing import Any

import pytest
from helpers_hook_commands import Display, group, shell, write_hooks

CALL = {"tool_name": "bash"}


def loaded(folder: Path, hooks: Any, name: str = "careful") -> dict[str, Any]:
    return {"skill_name": name, "skill_directory": str(folder), "hooks": hooks}


async def test_hooks_of_a_skill_work_from_loading_to_unloading(tmp_path: Path) -> None:
    hooks = {"PreToolUse": [group("exit 2")]}

    async with shell(tmp_path) as coordinator:
        emit = coordinator.hooks.emit
        before = await emit("tool:pre", CALL)
        await emit("skill:loaded", loaded(tmp_path, hooks))
        meanwhile = await emit("tool:pre", CALL)
        await emit("skill:unloaded", {"skill_name": "careful"})
        after = await emit("tool:pre", CALL)

    assert [each.action for each in (before, meanwhile, after)] == ["continue", "deny", "continue"]


async def test_a_skills_commands_run_in_its_folder_and_know_the_project(tmp_path: Path) -> None:
    skill = tmp_path / "skill"
    (skill / "scripts").mkdir(parents=True)
    (skill / "scripts" / "check.sh").write_text('pwd > "$AMPLIFIER_PROJECT_DIR/ran"\n')
    hooks = {"hooks": {"PreToolUse": [group("sh scripts/check.sh")]}}

    async with shell(tmp_path) as coordinator:
        await coordinator.hooks.emit("skill:loaded", loaded(skill, hooks))
        result = await coordinator.hooks.emit("tool:pre", CALL)

    assert result.action == "continue"
    assert (tmp_path / "ran").read_text().strip() == str(skill)


async def test_loading_a_skill_again_does_not_double_its_hooks(tmp_path: Path) -> None:
    hooks = {"PreToolUse": [group("echo x >> ran")]}

    async with shell(tmp_path) as coordinator:
        for _ in range(2):
            await coordinator.hooks.emit("skill:loaded", loaded(tmp_path, hooks))
        await coordinator.hooks.emit("tool:pre", CALL)

    assert (tmp_path / "ran").read_text().split() == ["x"]


async def test_hooks_of_the_project_run_before_those_of_skills(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreToolUse=group("echo project >> ran"))
    hooks = {"PreToolUse": [group("echo skill >> ran")]}

    async with shell(tmp_path) as coordinator:
        await coordinator.hooks.emit("skill:loaded", loaded(tmp_path, hooks))
        await coordinator.hooks.emit("tool:pre", CALL)

    assert (tmp_path / "ran").read_text().split() == ["project", "skill"]


@pytest.mark.parametrize(
    ("hooks", "folder", "why"),
    [
        ({"PreToolUs": []}, "", "'PreToolUs' is no hook event. Did you mean 'PreToolUse'?"),
        ("all", "", "'hooks' is wrong"),
        ({"Stop": []}, "missing", "No such file"),
        ({"Stop": []}, "open", "can be written by every user."),
    ],
)
async def test_hooks_that_cannot_be_used_are_refused_loudly(
    tmp_path: Path, hooks: Any, folder: str, why: str
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)

    async with shell(tmp_path) as coordinator:
        result = await coordinator.hooks.emit("skill:loaded", loaded(tmp_path / folder, hooks))
        await coordinator.process_hook_result(result, "skill:loaded")
        display = coordinator.display_system

    assert result.action == "deny"
    assert why in result.reason
    assert isinstance(display, Display)
    assert display.shown == [(result.reason, "error")]


async def test_a_skill_that_does_not_say_where_it_is_brings_no_hooks(tmp_path: Path) -> None:
    async with shell(tmp_path) as coordinator:
        payload = {"skill_name": "lost", "hooks": {"Stop": []}}
        result = await coordinator.hooks.emit("skill:loaded", payload)

    assert "needs a 'skill_directory'" in result.reason


async def test_skills_bring_no_hooks_when_that_is_switched_off(tmp_path: Path) -> None:
    async with shell(tmp_path, skills=False) as coordinator:
        hooks = {"PreToolUse": [group("exit 2")]}
        await coordinator.hooks.emit("skill:loaded", loaded(tmp_path, hooks))
        result = await coordinator.hooks.emit("tool:pre", CALL)

    assert result.action == "continue"
