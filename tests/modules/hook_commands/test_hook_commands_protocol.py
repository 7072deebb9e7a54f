"""How hooks-shell talks with commands: stdin, exit codes, stdout, environment, limits."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.testing import wait_for
from helpers_hook_commands import (
    GUARDS,
    OBSERVERS,
    answer,
    command,
    group,
    on_tool,
    python,
    says,
    shell,
    write_hooks,
)


async def test_exit_code_zero_allows(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreToolUse=group("touch ran"))

    assert (await on_tool(tmp_path)).action == "continue"
    assert (tmp_path / "ran").exists()


async def test_exit_code_two_denies_with_stderr_as_the_reason(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreToolUse=group("echo 'not on my watch' >&2; exit 2"))

    result = await on_tool(tmp_path)

    assert (result.action, result.reason) == ("deny", "not on my watch")


async def test_a_decision_to_block_denies_with_its_reason(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreToolUse=group(says(decision="block", reason="no")))

    result = await on_tool(tmp_path)

    assert (result.action, result.reason) == ("deny", "no")


async def test_a_decision_to_approve_lets_pass_and_speaks_to_the_user(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreToolUse=group(says(decision="approve", systemMessage="checked")))

    async with shell(tmp_path) as coordinator:
        result = await coordinator.hooks.emit("tool:pre", {"tool_name": "bash"})
        await coordinator.process_hook_result(result, "tool:pre")

        assert result.action == "continue"
        assert coordinator.display_system.shown == [("checked", "info")]


async def test_a_context_injection_reaches_the_model_as_a_marked_reminder(tmp_path: Path) -> None:
    write_hooks(tmp_path, PostToolUse=group(says(contextInjection="run the tests")))

    result = await answer(tmp_path, "tool:post", {"tool_name": "edit_file"})

    assert result.action == "inject_context"
    assert result.context_injection_role == "user"
    assert result.context_injection == (
        '<system-reminder source="hooks-shell">\nrun the tests\n</system-reminder>'
    )


async def test_an_injection_is_cut_to_what_the_session_allows(tmp_path: Path) -> None:
    write_hooks(tmp_path, PostToolUse=group(says(contextInjection="x" * 1000)))

    async with shell(tmp_path) as coordinator:
        coordinator.config["session"]["injection_size_limit"] = 200
        result = await coordinator.hooks.emit("tool:post", {})

    assert len(result.context_injection) <= 200
    assert "…" in result.context_injection


async def test_the_command_is_told_the_event_as_json(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreToolUse=group("cat > told.json"))
    call = {"tool_name": "bash", "tool_input": {"command": "ls ü"}, "odd": {1, 2}.__class__}

    await answer(tmp_path, "tool:pre", call)

    told = json.loads((tmp_path / "told.json").read_text())
    assert told["hook_event_name"] == "PreToolUse"
    assert (told["tool_name"], told["tool_input"]) == ("bash", {"command": "ls ü"})
    assert told["session_id"] == "test-session"
    assert told["timestamp"]
    assert told["cwd"] == str(tmp_path)


async def test_a_command_that_reads_nothing_of_a_large_event_is_not_held_up(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreToolUse=group("true"))

    result = await answer(tmp_path, "tool:pre", {"tool_name": "t", "tool_input": "x" * 3_000_000})

    assert result.action == "continue"


async def test_the_command_knows_project_hooks_folder_and_session(tmp_path: Path) -> None:
    names = "AMPLIFIER_PROJECT_DIR AMPLIFIER_HOOKS_DIR AMPLIFIER_SESSION_ID"
    write_hooks(
        tmp_path, PreToolUse=group(f"for n in {names}; do printenv $n; done > seen; pwd >> seen")
    )

    await on_tool(tmp_path)

    hooks_dir = tmp_path / ".amplifier" / "hooks"
    seen = (tmp_path / "seen").read_text().split()
    assert seen == [str(tmp_path), str(hooks_dir), "test-session", str(tmp_path)]


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "MYAPIKEY", "SSH_AUTH_SOCK"),
        *("AWS_SECRET_2", "SSHPASS", "dbPasswd", "APIKEY2", "JWT"),
    ],
)
async def test_variables_named_like_secrets_are_kept_from_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "hush-hush")
    monkeypatch.setenv("HARMLESS", "banana")
    write_hooks(tmp_path, PreToolUse=group("env > seen"))

    await on_tool(tmp_path)

    seen = (tmp_path / "seen").read_text()
    assert "HARMLESS=banana" in seen
    assert "hush-hush" not in seen


@pytest.mark.parametrize(
    "address", ["postgres://me:hush-hush@host/db", "https://hush-hush@host.example/repository"]
)
async def test_an_address_with_a_login_is_kept_from_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("DATABASE", address)
    write_hooks(tmp_path, PreToolUse=group("env > seen"))

    await on_tool(tmp_path)

    assert "hush-hush" not in (tmp_path / "seen").read_text()


async def test_a_variable_that_is_passed_through_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI_TOKEN", "t1")
    monkeypatch.setenv("OTHER_TOKEN", "t2")
    write_hooks(tmp_path, PreToolUse=group("env > seen"))

    await on_tool(tmp_path, env_passthrough=["CI_*"])

    seen = (tmp_path / "seen").read_text()
    assert "CI_TOKEN=t1" in seen
    assert "t2" not in seen


FAILING: dict[str, tuple[dict[str, Any], str]] = {
    "another exit code": (command("echo broken >&2; exit 3"), "It ended with exit code 3: broken"),
    "a missing program": (command("./no-such-program"), "It ended with exit code 127"),
    "a crash": (command("kill -SEGV $$"), "It was killed by signal 11."),
    "a hang": (command("sleep 60", timeout=0.2), "It gave no answer within 0.2 s."),
    "text": (command("echo all fine"), "It printed something that is no JSON object."),
    "half an object": (command("printf '{\"decision\":'"), "no JSON object"),
    "two decisions": (
        command("""echo '{"decision": "block", "decision": "approve"}'"""), "no JSON object"
    ),
    "half a character": (command("""echo '{"reason": "\\ud800"}'"""), "no JSON object"),
    "a list": (command("echo '[]'"), "no JSON object"),
    "an unknown decision": (command(says(decision="deny")), "'decision': Input should be"),
    "a misspelt key": (command(says(decison="block")), "Did you mean 'decision'?"),
    "too much": (command("head -c 100000 /dev/zero"), "It printed more than `max_output` allows."),
}  # fmt: skip


@pytest.mark.parametrize("how", FAILING)
async def test_a_guard_that_fails_denies_and_says_why(tmp_path: Path, how: str) -> None:
    hook, why = FAILING[how]
    write_hooks(tmp_path, PreToolUse=group(hook))

    result = await on_tool(tmp_path)

    assert result.action == "deny"
    assert why in result.reason
    assert result.reason.endswith("A guard that fails denies.")
    assert "hooks.json" in result.reason


@pytest.mark.parametrize("name", GUARDS)
async def test_every_hook_that_can_block_is_a_guard(tmp_path: Path, name: str) -> None:
    write_hooks(tmp_path, **{name: group("exit 1")})

    assert (await answer(tmp_path, GUARDS[name])).action == "deny"


@pytest.mark.parametrize("name", GUARDS)
async def test_without_fail_closed_a_failing_guard_only_warns(tmp_path: Path, name: str) -> None:
    write_hooks(tmp_path, **{name: group("exit 1")})

    async with shell(tmp_path, fail_closed=False) as coordinator:
        result = await coordinator.hooks.emit(GUARDS[name], {})
        await coordinator.process_hook_result(result, GUARDS[name])

        assert result.action == "continue"
        ((text, level),) = coordinator.display_system.shown
        assert "exit code 1" in text
        assert level == "warning"


@pytest.mark.parametrize("failing", ["exit 1", "echo text", "echo no >&2; exit 2"])
@pytest.mark.parametrize("name", OBSERVERS)
async def test_an_observer_that_fails_or_blocks_only_warns(
    tmp_path: Path, name: str, failing: str
) -> None:
    write_hooks(tmp_path, **{name: group(failing)})

    async with shell(tmp_path) as coordinator:
        result = await coordinator.hooks.emit(OBSERVERS[name], {})
        await coordinator.process_hook_result(result, OBSERVERS[name])

        assert result.action == "continue"
        ((_, level),) = coordinator.display_system.shown
        assert level == "warning"


async def test_a_folder_that_is_gone_means_that_a_guard_cannot_be_started(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write_hooks(project, PreToolUse=group("true"))
    async with shell(project) as coordinator:
        project.rename(tmp_path / "moved")
        result = await coordinator.hooks.emit("tool:pre", {"tool_name": "bash"})

    assert result.action == "deny"
    assert "It cannot be started: No such file or directory." in result.reason


def is_alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def ended(pid_file: Path) -> bool:
    pid = int(pid_file.read_text())
    return await wait_for(lambda: not is_alive(pid), 5)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize("rest", ["wait", "exit 0"], ids=["timeout", "normal end"])
async def test_nothing_that_a_command_started_outlives_it(tmp_path: Path, rest: str) -> None:
    script = f"sleep 60 & echo $! > pid; {rest}"
    write_hooks(tmp_path, PreToolUse=group(command(script, timeout=1)))

    async with asyncio.timeout(5):
        await on_tool(tmp_path)

    assert await ended(tmp_path / "pid")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
async def test_cancelling_the_turn_kills_the_command(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreToolUse=group("echo $$ > new; mv new pid; sleep 60 & wait"))

    running = asyncio.create_task(on_tool(tmp_path))
    assert await wait_for((tmp_path / "pid").exists, 5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert await ended(tmp_path / "pid")


async def test_a_process_that_leaves_its_group_does_not_hold_the_session_up(tmp_path: Path) -> None:
    leave = python("import os, time; os.fork() or (os.setsid(), time.sleep(3))")
    write_hooks(tmp_path, PreToolUse=group(command(leave, timeout=60)))

    async with asyncio.timeout(2.5):
        result = await on_tool(tmp_path)

    assert result.action == "continue"


async def test_no_open_files_are_left_behind(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("looks at open files in /proc")
    write_hooks(tmp_path, PreToolUse=[group("true"), group("./missing")])
    await on_tool(tmp_path)
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(5):
        await on_tool(tmp_path)
    await asyncio.sleep(0)

    assert len(os.listdir("/proc/self/fd")) <= before
