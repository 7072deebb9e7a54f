"""The Tab key knows the commands, and the version says what is installed."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from amplifier.cli import main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_a_script_of_its_own(shell: str) -> None:
    done = CliRunner().invoke(main, ["completion", shell])

    assert done.exit_code == 0
    assert f"_AMPLIFIER_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("amplifier sess", "session"),
        ("amplifier session sea", "search"),
        ("amplifier run --pro", "--provider"),
    ],
)
def test_commands_and_options_are_completed(words: str, offered: str) -> None:
    count = str(len(words.split()) - 1)
    asked = {"_AMPLIFIER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": count}
    done = subprocess.run(
        [sys.executable, "-c", "from amplifier.cli import main; main(prog_name='amplifier')"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )

    assert f"plain,{offered}" in done.stdout.splitlines()


def test_the_line_for_the_shell_in_use_is_named() -> None:
    done = CliRunner().invoke(main, ["completion"], env={"SHELL": "/usr/bin/fish"})

    assert "config.fish" in done.stdout


def test_the_version_names_kernel_and_python_if_asked() -> None:
    short = CliRunner().invoke(main, ["version"]).stdout
    long = CliRunner().invoke(main, ["version", "-v"]).stdout

    assert long.startswith(short)
    assert "amplifier-core 2." in long
    assert f"Python {sys.version.split()[0]}" in long
