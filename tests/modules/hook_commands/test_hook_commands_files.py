"""Which hook files are read, and how loudly the wrong ones are refused."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_core.testing import MockContextManager, ScriptedOrchestrator
from helpers_hook_commands import command, group, on_tool, shell, write_hooks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amplifier_modules.hook_commands.shell import mount


async def refusal(project: Path, **config: Any) -> str:
    with pytest.raises(ValueError, match=r".") as refused:
        async with shell(project, **config):
            pass
    return str(refused.value)


def write_text(project: Path, text: str) -> Path:
    path = write_hooks(project)
    path.write_text(text)
    return path


async def test_files_in_the_folder_and_hooks_json_below_are_read_by_name(tmp_path: Path) -> None:
    for name in ("b.json", "a.json", "inner/hooks.json", "inner/data.json", "notes.txt"):
        write_hooks(tmp_path, name, PreToolUse=group(f"echo {name} >> ran"))

    await on_tool(tmp_path)

    assert (tmp_path / "ran").read_text().split() == ["a.json", "b.json", "inner/hooks.json"]


async def test_a_project_without_hooks_is_left_in_peace(tmp_path: Path) -> None:
    assert (await on_tool(tmp_path)).action == "continue"


async def test_nothing_is_read_or_run_when_disabled(tmp_path: Path) -> None:
    write_text(tmp_path, "no json at all")

    assert (await on_tool(tmp_path, enabled=False)).action == "continue"


async def test_a_configured_folder_wins_over_the_working_folder(tmp_path: Path) -> None:
    write_hooks(tmp_path / "other", PreToolUse=group("exit 2"))

    assert (await on_tool(tmp_path, working_dir=str(tmp_path / "other"))).action == "deny"


async def test_broken_json_is_refused_with_file_and_line(tmp_path: Path) -> None:
    path = write_text(tmp_path, '{"hooks": {\n  "Stop": [\n  }\n}')

    assert await refusal(tmp_path) == (
        f"The hook file {str(path)!r} is wrong in line 3: Expecting value."
    )


WRONG = {
    "an event": (
        '{"hooks": {\n"PreToolUs": []\n}}',
        "line 2: 'PreToolUs' is no hook event. Did you mean 'PreToolUse'?",
    ),
    "a key of the file": (
        '{\n"hoks": {},\n"hooks": {}}',
        "line 2: There is no key 'hoks'. Did you mean 'hooks'?",
    ),
    "a key of a group": (
        '{"hooks": {"Stop": [\n{"hooks": [],\n"matchr": "x"}]}}',
        "line 3: There is no key 'hooks.Stop.0.matchr'. Did you mean 'matcher'?",
    ),
    "a key of a hook": (
        '{"hooks": {"Stop": [{"hooks": [\n{"type": "command",\n"command": "x",\n"tmeout": 3}]}]}}',
        "line 4: There is no key 'hooks.Stop.0.hooks.0.tmeout'. Did you mean 'timeout'?",
    ),
    "a type": (
        '{"hooks": {"Stop": [{"hooks": [\n{"type": "comand", "command": "x"}]}]}}',
        "line 2: 'hooks.Stop.0.hooks.0' is wrong: Input tag 'comand' found using 'type'",
    ),
    "a value": (
        '{"hooks": {"Stop": [{"hooks": [{"type": "command",\n\n"command": ["x"]}]}]}}',
        "line 3: 'hooks.Stop.0.hooks.0.command' is wrong: Input should be a valid string.",
    ),
    "a timeout": (
        '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x",\n"timeout": 0}]}]}}',
        "line 2: 'hooks.Stop.0.hooks.0.timeout' is wrong: Input should be greater than 0.",
    ),
    "no hooks": ("\n\n{}", "line 3: 'hooks' is wrong: Field required."),
    "no object": ("[]", "line 1: It is no object with 'hooks'."),
    "a repeated event": (
        '{"hooks": {"Stop": [],\n"SessionEnd": [],\n"Stop": []}}',
        "line 3: The key 'Stop' is there twice, and the first would be lost.",
    ),
    "a bottomless nesting": ("[" * 100_000, "line 1: It is nested too deeply."),
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_wrong_file_is_refused_with_line_and_advice(tmp_path: Path, what: str) -> None:
    text, message = WRONG[what]
    path = write_text(tmp_path, text)

    assert f"The hook file {str(path)!r} is wrong in {message}" in await refusal(tmp_path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    where=st.sampled_from(["file", "group", "hook"]),
    blanks=st.lists(st.integers(0, 3), min_size=40, max_size=40),
)
async def test_the_named_line_is_that_of_the_wrong_key(
    tmp_path: Path, where: str, blanks: list[int]
) -> None:
    hook: dict[str, Any] = command('a, ] } { [ \\" : x')
    made: dict[str, Any] = group(command("{"), hook)
    hooks: dict[str, Any] = {"hooks": {"Stop": [group(), made]}}
    {"file": hooks, "group": made, "hook": hook}[where]["zz"] = [1, {"zz": 2}]
    tokens = iter(blanks * 20)
    pieces = json.dumps(hooks).split(" ")
    text = "".join(piece + " " + "\n" * next(tokens) for piece in pieces)
    # Blanks within a text are no blanks of the file, so such a layout may be no JSON at all.
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        line = error.lineno
    else:
        line = text[: text.index('"zz"')].count("\n") + 1
    write_text(tmp_path, text)

    assert f"is wrong in line {line}: " in await refusal(tmp_path)


async def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    write_hooks(tmp_path).write_bytes(b"\xff\xfe{}")

    assert "cannot be read" in await refusal(tmp_path)


async def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(write_hooks(tmp_path).with_name("pipe.json"))

    assert "pipe.json' is no regular file. Remove it." in await refusal(tmp_path)


async def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    write_text(tmp_path, " " * 1_000_001)

    assert "is larger than 1000000 bytes. Make it smaller." in await refusal(tmp_path)


@pytest.mark.parametrize("place", ["hooks.json", ".", "..", "inner"])
async def test_what_everybody_may_write_is_refused(tmp_path: Path, place: str) -> None:
    path = write_hooks(tmp_path, "inner/hooks.json" if place == "inner" else "hooks.json")
    chosen = path.parent if place == "inner" else path.parent / place
    chosen.chmod(0o777)

    message = await refusal(tmp_path)

    assert "can be written by every user." in message
    assert "`trusted: true`" in message


async def test_what_everybody_may_write_is_read_if_trusted(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreToolUse=group("exit 2")).chmod(0o666)

    assert (await on_tool(tmp_path, trusted=True)).action == "deny"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
async def test_a_file_of_another_user_is_refused_unless_trusted(tmp_path: Path) -> None:
    path = write_hooks(tmp_path, PreToolUse=group("exit 2"))
    os.chown(path, 12345, -1)

    assert "is owned by another user (id 12345)." in await refusal(tmp_path)
    assert (await on_tool(tmp_path, trusted=True)).action == "deny"


class Loader(ModuleLoader):
    """Stand-ins for all but the hooks."""

    def __init__(self, project: Path) -> None:
        super().__init__()
        self.project = project

    async def load(self, module_id: str, *args: Any, **kwargs: Any) -> Any:
        async def put(coordinator: Any) -> Any:
            coordinator.register_capability("session.working_dir", str(self.project))
            if module_id == "loop":
                await coordinator.mount("orchestrator", ScriptedOrchestrator(["hi"]))
            elif module_id == "memory":
                await coordinator.mount("context", MockContextManager())
            else:
                return await mount(coordinator, {})
            return None

        return put


PLAN = {
    "session": {"orchestrator": "loop", "context": "memory"},
    "hooks": [{"module": "hooks-shell"}],
}


async def test_a_session_reports_a_wrong_file_as_a_failed_module(tmp_path: Path) -> None:
    write_text(tmp_path, "{")

    async with AmplifierSession(PLAN, loader=Loader(tmp_path)) as session:
        (failed,) = session.status.failed_modules or []

    assert failed["module_id"] == "hooks-shell"
    assert "is wrong in line 1" in failed["error"]


async def test_a_session_says_at_its_start_which_commands_are_active(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_hooks(tmp_path, Stop=group("notify --token abc123 X_KEY=def456", matcher="*"))
    seen: list[Any] = []

    async def note(event: str, data: Any) -> None:
        seen.append(data["hooks"])

    with caplog.at_level("INFO"):
        async with AmplifierSession(PLAN, loader=Loader(tmp_path)) as session:
            session.coordinator.hooks.register("hook_commands:active", note)
            await session.execute("hello")

    hook = {"event": "Stop", "matcher": "*", "type": "command", "source": str(path)}
    assert seen == [[{**hook, "command": "notify --token *** X_KEY=***"}]]
    assert "notify --token ***" in caplog.text
    assert "abc123" not in caplog.text
    assert "def456" not in caplog.text


async def test_an_unknown_key_of_the_config_is_refused_with_the_nearest_name(
    tmp_path: Path,
) -> None:
    assert "Did you mean 'fail_closed'?" in await refusal(tmp_path, fail_close=True)
