"""The Tab key knows the commands, and the version says what is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers_app import App
from helpers_tmux import Terminal, needs_tmux

import amplifier
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


def offered(app: App, *words: str) -> list[str]:
    """What the Tab key offers for the last of the words, which may be empty."""
    asked = {
        "_AMPLIFIER_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["amplifier", *words]),
        "COMP_CWORD": str(len(words)),
    }
    return [line.removeprefix("plain,") for line in app.run(**asked).out.split()]


def test_sessions_are_completed_by_name_and_short_id(app: App) -> None:
    session_id = app.run("run", "-p", "mock", "--output-format", "json", "Hi").document[
        "session_id"
    ]
    app.run("session", "rename", session_id, "notes")

    assert offered(app, "resume", "") == ["notes", session_id[:8]]
    assert offered(app, "session", "show", "no") == ["notes"]
    assert offered(app, "run", "--resume", session_id[:3]) == [session_id[:8]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "--provider", "moc"), ["mock"]),
        (("provider", "add", "moc"), ["mock"]),
        (("provider", "use", ""), []),
        (("run", "-B", "dev"), ["developer"]),
        (("bundle", "use", "min"), ["minimal"]),
        (("agents", "explain", "-B", "developer", "ex"), ["explorer"]),
        (("module", "show", "tool-lo"), ["tool-look"]),
    ],
)
def test_values_are_completed(app: App, words: tuple[str, ...], expected: list[str]) -> None:
    assert offered(app, *words) == expected


@pytest.mark.parametrize("name", ["two words", "$(touch made)", "red\x1b[31m", "a;b"])
def test_a_name_that_a_shell_would_take_for_something_else_is_not_offered(
    app: App, name: str
) -> None:
    ended = app.run("run", "-p", "mock", "--output-format", "json", "Hi")
    session_id = ended.document["session_id"]
    app.run("session", "rename", session_id, name)

    assert offered(app, "resume", "") == [session_id[:8]]


def test_what_cannot_be_read_offers_nothing_and_says_nothing(app: App) -> None:
    (app.home / "settings.yaml").write_text("bundle: [")

    assert offered(app, "agents", "show", "") == []


SHELL_COMMANDS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--interactive"],
}
SOURCES = {
    "bash": 'eval "$(amplifier completion bash)"',
    "zsh": 'autoload -U compinit && compinit -u && eval "$(amplifier completion zsh)"',
    "fish": "amplifier completion fish | source",
}


@needs_tmux
@pytest.mark.slow
@pytest.mark.parametrize("shell", SHELL_COMMANDS)
def test_the_real_shell_completes_a_command_and_a_value(app: App, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"There is no {shell}.")
    # A terminal may begin with a login, which sets the path anew.
    path = f"PATH={Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["env", path, "TERM=xterm", *SHELL_COMMANDS[shell]]
    terminal = Terminal(command, app.work, environment={"AMPLIFIER_HOME": str(app.home)})
    try:
        terminal.say(f"{SOURCES[shell]}; echo is rea''dy")
        terminal.wait_for("is ready")
        terminal.type("amplifier agen")
        terminal.press("Tab")
        terminal.wait_for("amplifier agents")
        terminal.type("show -B developer expl")
        terminal.press("Tab")
        terminal.wait_for("developer explorer")
    finally:
        terminal.close()


@pytest.mark.parametrize("shell", SHELL_COMMANDS)
def test_the_line_is_added_to_the_start_up_file_once(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for _ in range(2):
        done = CliRunner().invoke(main, ["completion", shell, "--install"])
        assert done.exit_code == 0, done.output

    assert "has that line already" in done.output
    (file,) = (
        each for each in tmp_path.rglob("*") if each.is_file() and not each.name.endswith(".lock")
    )
    assert file.read_text().count(f"amplifier completion {shell}") == 1


def test_a_start_up_file_that_is_a_link_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "dotfiles").write_text("mine\n")
    (tmp_path / ".bashrc").symlink_to(tmp_path / "dotfiles")

    done = CliRunner().invoke(main, ["completion", "bash", "--install"])

    assert done.exit_code == 1
    assert "Add this line to it" in done.stderr
    assert (tmp_path / "dotfiles").read_text() == "mine\n"


def test_the_line_for_the_shell_in_use_is_named() -> None:
    done = CliRunner().invoke(main, ["completion"], env={"SHELL": "/usr/bin/fish"})

    assert "config.fish" in done.stdout


def test_the_version_names_kernel_and_python_if_asked() -> None:
    short = CliRunner().invoke(main, ["version"]).stdout
    long = CliRunner().invoke(main, ["version", "-v"]).stdout

    assert long.startswith(short)
    assert "amplifier-core 2." in long
    assert f"Python {sys.version.split()[0]}" in long
    assert "tool-bash" in long
    assert str(Path(amplifier.__file__).parent) in long
