"""What a command prints and how it ends reaches the model; `cd` lasts from one to the next."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.testing import MockCoordinator
from helpers_bash import message, shell_in, until

from amplifier_modules.shell.bash import mount


async def test_both_streams_and_the_return_code_are_told(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("echo out; echo err >&2")

    assert result.success
    assert result.output == {"stdout": "out\n", "stderr": "err\n", "returncode": 0}


async def test_a_failing_command_keeps_its_output(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("echo half; exit 3")

    assert message(result) == "The command ended with exit code 3."
    assert result.output == {"stdout": "half\n", "stderr": "", "returncode": 3}


async def test_a_shell_killed_by_a_signal_is_told_by_the_signals_name(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("kill -KILL $$")

    assert message(result) == "The command was killed by SIGKILL (9)."
    assert result.output["returncode"] == -9
    assert result.output["note"] == "The command was killed by SIGKILL (9)."


async def test_an_exit_code_that_stands_for_a_signal_is_explained(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("bash -c 'kill -TERM $$'; exit $?")

    assert message(result) == "Exit code 143 usually means killed by SIGTERM (15)."
    assert result.output["returncode"] == 143


async def test_there_is_nothing_to_read_on_stdin(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("cat; readlink /proc/self/fd/0 || true")

    assert result.output["stdout"] in ("/dev/null\n", "")


async def test_output_that_is_no_text_is_still_told(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run(r"printf 'a\xffb'")

    assert result.output["stdout"] == "a\N{REPLACEMENT CHARACTER}b"


async def test_several_lines_run_in_order(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("x=1\nif true; then\n  echo $((x + 1))\nfi\ncat <<E\nend\nE\n")

    assert result.output["stdout"] == "2\nend\n"


async def test_line_numbers_in_the_shells_messages_are_those_of_the_command(
    tmp_path: Path,
) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("true\nno-such-program-here")

    assert "line 2" in result.output["stderr"]
    assert result.output["returncode"] == 127


async def test_a_trap_of_the_commands_own_runs(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("trap 'echo bye' EXIT; exit 4")

    assert (result.output["stdout"], result.output["returncode"]) == ("bye\n", 4)


# -- the working folder -----------------------------------------------------------------


async def test_a_command_starts_in_the_sessions_working_folder(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("pwd")

    assert result.output["stdout"] == f"{tmp_path}\n"


async def test_a_configured_folder_wins_over_the_sessions(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    async with shell_in(tmp_path, working_dir=str(tmp_path / "inner")) as shell:
        result = await shell.run("pwd")

    assert result.output["stdout"] == f"{tmp_path / 'inner'}\n"


async def test_without_either_it_is_the_folder_of_the_process() -> None:
    coordinator = MockCoordinator()
    await mount(coordinator)

    result = await coordinator.get("tools", "bash").execute({"command": "pwd -P"})

    assert result.output["stdout"] == f"{os.path.realpath(os.getcwd())}\n"


@pytest.mark.parametrize("then", ["true", "false", "exit 7", "set -e; false"])
async def test_cd_lasts_however_the_command_ends(then: str, tmp_path: Path) -> None:
    (tmp_path / "with space\nand line").mkdir()
    async with shell_in(tmp_path) as shell:
        await shell.run(f"cd with*; {then}")
        result = await shell.run("pwd")

    assert result.output["stdout"] == f"{tmp_path}/with space\nand line\n"


async def test_cd_in_a_subshell_does_not_last(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        await shell.run("(cd /)")
        result = await shell.run("pwd")

    assert result.output["stdout"] == f"{tmp_path}\n"


async def test_variables_do_not_last(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        await shell.run("export LASTING=1")
        result = await shell.run("echo [$LASTING]")

    assert result.output["stdout"] == "[]\n"


async def test_a_command_that_stays_does_not_undo_the_cd_of_another(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    os.mkfifo(tmp_path / "gate")
    async with shell_in(tmp_path) as shell:
        slow = asyncio.create_task(shell.run("touch began; read line < gate"))
        await until((tmp_path / "began").exists)
        await shell.run("cd inner")
        (tmp_path / "gate").write_text("go\n")
        await slow
        result = await shell.run("pwd")

    assert result.output["stdout"] == f"{tmp_path / 'inner'}\n"


async def test_it_tells_where_the_next_command_starts(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    async with shell_in(tmp_path) as shell:
        first = shell.tool.folder
        await shell.run("cd inner")
        inner = shell.tool.folder
        (tmp_path / "inner").rmdir()

        assert (first, inner) == (str(tmp_path), str(tmp_path / "inner"))
        assert shell.tool.folder == str(tmp_path)


async def test_when_the_folder_is_gone_the_first_one_is_used_and_that_is_told(
    tmp_path: Path,
) -> None:
    (tmp_path / "inner").mkdir()
    async with shell_in(tmp_path) as shell:
        await shell.run("cd inner")
        (tmp_path / "inner").rmdir()
        result = await shell.run("pwd")

    assert result.output["stdout"] == f"{tmp_path}\n"
    assert result.output["note"] == (
        f"The folder {str(tmp_path / 'inner')!r} is gone, so this ran in {str(tmp_path)!r}."
    )


async def test_a_first_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    async with shell_in(tmp_path, working_dir=gone) as shell:
        result = await shell.run("pwd")

    assert message(result) == (
        f"The working folder {gone!r} is not there. Set 'working_dir' to one that is."
    )


async def test_a_command_that_waits_for_its_turn_runs_where_it_was_called(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    async with shell_in(tmp_path, max_concurrent=1) as shell:
        _, waited = await asyncio.gather(shell.run("cd inner"), shell.run("pwd"))
        after = await shell.run("pwd")

    assert waited.output["stdout"] == f"{tmp_path}\n"
    assert after.output["stdout"] == f"{tmp_path / 'inner'}\n"


# -- what cannot be run -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("input", "text"),
    [
        ({}, "There is no command. Pass the text to run as 'command'."),
        ({"command": "  "}, "There is no command. Pass the text to run as 'command'."),
        ({"command": 5}, "There is no command. Pass the text to run as 'command'."),
        ({"command": "a\0b"}, "The command contains a NUL character. Leave it out."),
        (
            {"command": "ls", "timeout": -1},
            "'timeout' cannot be -1. Pass a number of seconds above 0.",
        ),
        (
            {"command": "ls", "timeout": "long"},
            "'timeout' cannot be 'long'. Pass a number of seconds above 0.",
        ),
        (
            {"command": "ls", "run_in_background": "yes"},
            "'run_in_background' cannot be 'yes'. Pass true or false.",
        ),
    ],
)
async def test_bad_input_is_answered_with_what_to_pass(
    input: dict[str, Any], text: str, tmp_path: Path
) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.tool.execute(input)

    assert message(result) == text
    assert result.error["type"] == "invalid_input"


async def test_a_command_longer_than_the_system_takes_is_refused(tmp_path: Path) -> None:
    async with shell_in(tmp_path) as shell:
        result = await shell.run("true " + "x" * 4_000_000)

    assert message(result) == (
        "The command is too long for the system (4000005 bytes). "
        "Write it to a file first and run that file."
    )


# -- how many at once -------------------------------------------------------------------


async def _order_of_two(folder: Path, **config: Any) -> list[str]:
    """Two commands are called; the first ends only after the second had time to run."""
    os.mkfifo(folder / "gate")
    async with shell_in(folder, **config) as shell:
        first = asyncio.create_task(shell.run("touch began; read x < gate; echo first >> log"))
        await until((folder / "began").exists)
        second = asyncio.create_task(shell.run("echo second >> log"))
        await asyncio.wait([second], timeout=0.5)
        (folder / "gate").write_text("go\n")
        await asyncio.gather(first, second)
    return (folder / "log").read_text().split()


async def test_commands_run_side_by_side(tmp_path: Path) -> None:
    assert await _order_of_two(tmp_path) == ["second", "first"]


async def test_with_a_limit_a_command_waits_for_its_turn(tmp_path: Path) -> None:
    assert await _order_of_two(tmp_path, max_concurrent=1) == ["first", "second"]
