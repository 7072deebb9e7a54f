"""`amplifier chat` keeps what was said and what was allowed."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from amplifier_core import ApprovalRequest
from click.testing import CliRunner
from helpers_tmux import Terminal, needs_tmux

from amplifier.cli import main
from amplifier.grants import Grants, UnreadableGrants, fingerprint

AMPLIFIER = [sys.executable, "-m", "amplifier.cli"]


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Runs `amplifier` with arguments in a terminal, with a home of its own."""
    opened: list[Terminal] = []

    def start(*arguments: str, environment: dict[str, str] | None = None) -> Terminal:
        home = {"AMPLIFIER_HOME": str(tmp_path / "home"), **(environment or {})}
        opened.append(Terminal([*AMPLIFIER, *arguments], tmp_path, environment=home))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def asked(command: str, tool: str = "bash") -> ApprovalRequest:
    return ApprovalRequest(
        tool_name=tool, action=f"run {command!r}", details={"command": command}, risk_level="high"
    )


@needs_tmux
@pytest.mark.slow
def test_a_chat_can_be_left_and_gone_on_with(command: Callable[..., Terminal]) -> None:
    first = command("chat", "--provider", "mock")
    first.wait_for("\n>", "\nmock-model")
    first.say("Remember the milk.")
    first.wait_until(lambda screen: "out" in screen)
    first.press("C-d")
    screen = first.wait_for("Go on with `amplifier chat --resume", "ended with 0")
    session_id = screen.partition("--resume ")[2][:8]

    second = command("chat", "--resume", session_id)

    second.wait_for("> Remember the milk.")


@needs_tmux
@pytest.mark.slow
def test_a_message_is_taken_back_and_said_again_in_a_copy(command: Callable[..., Terminal]) -> None:
    terminal = command("chat", "--provider", "mock")
    terminal.wait_for("\n>", "\nmock-model")
    first = session_shown(terminal.screen())
    terminal.say("First words.")
    terminal.wait_for("A canned reply again.", "out ")
    terminal.say("/rename talk")
    terminal.wait_for("The session is called 'talk'")

    terminal.say("/undo")

    terminal.wait_until(lambda screen: session_shown(screen) != first, what="another session")
    terminal.wait_until(lambda screen: screen.rpartition("> ")[2].startswith("First words."))
    terminal.press("C-c")
    terminal.say(f"/resume {first}")
    terminal.wait_until(lambda screen: session_shown(screen) == first, what="the first session")
    terminal.wait_until(lambda screen: "A canned reply" in screen.rpartition(", session")[2])


@needs_tmux
@pytest.mark.slow
def test_a_move_that_is_not_possible_leaves_everything_as_it_was(
    command: Callable[..., Terminal],
) -> None:
    terminal = command("chat", "--provider", "mock")
    terminal.wait_for("\n>", "\nmock-model")
    terminal.say("Hello?")
    terminal.wait_for("out ")

    terminal.say("/resume nonsense")
    terminal.wait_for("There is no session 'nonsense'.")
    terminal.say("/model openai/gpt")
    terminal.wait_for("Provider 'provider-openai' cannot be used.")
    terminal.say("/status")

    terminal.wait_for("messages   2")


def session_shown(screen: str) -> str:
    """The beginning of the id of the session that was opened last."""
    return screen.rpartition("mock-model, session ")[2][:8]


@needs_tmux
@pytest.mark.slow
def test_run_shows_markdown_at_a_terminal_and_plain_text_elsewhere(
    command: Callable[..., Terminal], tmp_path: Path
) -> None:
    seen = command("run", "--provider", "mock", "Hello")
    screen = seen.wait_for("Mock (scripted replies)", "Give responses or a script", "ended with 0")
    assert "waiting for" not in screen

    dumb = command("run", "--provider", "mock", "Hello", environment={"TERM": "dumb"})
    dumb.wait_for("Give `responses` or a `script`", "ended with 0")


def test_without_a_terminal_the_other_command_is_named() -> None:
    done = CliRunner().invoke(main, ["chat", "--provider", "mock", "--no-session"])

    assert done.exit_code == 1


def test_a_model_needs_its_provider() -> None:
    done = CliRunner().invoke(main, ["chat", "--model", "x"])

    assert done.exit_code == 2
    assert "--model needs --provider" in done.output


def test_a_grant_is_for_the_very_same_call(tmp_path: Path) -> None:
    grants = Grants(tmp_path / "approvals.json")

    grants.keep(asked("make"))

    assert grants.allows(asked("make"))
    assert not grants.allows(asked("make install"))
    assert not grants.allows(asked("make", tool="other"))


def test_grants_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    grants = Grants(tmp_path / "approvals.json")

    grants.keep(asked("make"))

    assert (tmp_path / "approvals.json").stat().st_mode & 0o777 == 0o600


def test_a_broken_file_of_grants_allows_nothing_and_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "approvals.json"
    file.write_text("[{}]")
    grants = Grants(file)

    assert not grants.allows(asked("make"))
    with pytest.raises(UnreadableGrants):
        grants.keep(asked("make"))
    assert file.read_text() == "[{}]"


def test_grants_are_listed_and_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (file,) = [tmp_path / "projects" / str(tmp_path).replace("/", "-") / "approvals.json"]
    Grants(file).keep(asked("make"))
    runner, name = CliRunner(), fingerprint(asked("make"))

    listed = json.loads(runner.invoke(main, ["approve", "list", "--json"]).stdout)
    gone = runner.invoke(main, ["approve", "revoke", name[:6]])
    again = runner.invoke(main, ["approve", "revoke", name[:6]])

    assert [each["action"] for each in listed] == ["run 'make'"]
    assert gone.stdout == "Will be asked about again: run 'make'\n"
    assert again.exit_code == 1
    assert not Grants(file).allows(asked("make"))
