"""What is said about agents before they run is what they get."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers_app import App

from amplifier.cli import main

TEAM = """\
bundle: {name: team}
tools:
  - module: tool-look
  - module: tool-todo
  - {module: tool-task, config: {timeout: 90, max_iterations: 7}}
hooks: [{module: hooks-approval, config: {allow: [{tool: task}]}}]
agents:
  reader:
    description: Reads what is there.
    instruction: You read, and you never guess.
    tools: [tool-look, tool-bash]
    provider_preferences: [{provider: mock, model: big-*}]
"""


@pytest.fixture
def team(app: App, monkeypatch: pytest.MonkeyPatch) -> App:
    (app.home / "bundles/team.yaml").write_text(TEAM)
    (app.home / "settings.yaml").write_text("bundle: {active: team}\n")
    monkeypatch.setenv("AMPLIFIER_HOME", str(app.home))
    monkeypatch.chdir(app.work)
    return app


def amplifier(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), env={"COLUMNS": "80"})


def test_agents_are_listed_with_what_they_are_for_and_where_they_are_written(team: App) -> None:
    (found,) = json.loads(amplifier("agents", "list", "--json").stdout)

    assert (found["name"], found["description"]) == ("reader", "Reads what is there.")
    assert "team.yaml" in found["from"]
    assert "Reads what is there." in amplifier("agents", "list").stdout


def test_a_bundle_without_agents_names_one_with_agents(team: App) -> None:
    done = amplifier("agents", "list", "-B", "plain")

    assert (done.exit_code, done.stdout) == (0, "")
    assert "-B developer" in done.stderr


def test_an_agent_is_shown_as_it_is_written(team: App) -> None:
    shown = amplifier("agents", "show", "reader").stdout

    assert "You read, and you never guess." in shown
    assert "tool-look, tool-bash" in shown


@pytest.mark.parametrize("command", ["show", "explain"])
def test_an_unknown_agent_is_refused_with_the_nearest_name(team: App, command: str) -> None:
    done = amplifier("agents", command, "raeder")

    assert done.exit_code == 1
    assert "has no agent 'raeder'. Did you mean 'reader'?" in done.stderr


def explained(*arguments: str) -> dict[str, Any]:
    (found,) = json.loads(amplifier("agents", "explain", "reader", "--json", *arguments).stdout)
    return dict(found)


def test_it_is_explained_what_an_agent_gets_and_who_says_so(team: App) -> None:
    lines = amplifier("agents", "explain", "reader").stdout.splitlines()
    said = {line[:10].strip(): line[10:] for line in lines if line[:10].strip()}

    assert said["tools"].startswith("tool-look")
    assert "team.yaml:3" in said["tools"]
    assert "          not tool-todo, tool-task" in lines
    assert said["hooks"].startswith("hooks-approval")
    assert said["model"] == "provider: mock, model: big-*, if the parent has it"
    assert said["limits"].startswith("7 steps")
    assert "          90 s" in lines
    assert said["agents"] == "may not hand work on"
    assert said["left out"] == "tools: tool-bash: the parent does not have it"


def test_without_a_tool_that_runs_agents_there_is_nothing_to_explain(team: App) -> None:
    file = team.home / "bundles/team.yaml"
    file.write_text("\n".join(each for each in TEAM.splitlines() if "tool-task" not in each))

    done = amplifier("agents", "explain", "reader")

    assert done.exit_code == 1
    assert "Add tool-delegate or tool-task" in done.stderr


@pytest.mark.slow
def test_a_child_runs_on_exactly_the_plan_that_was_explained(team: App) -> None:
    team.offer_provider(
        """
        async def reply(number, request):
            if "Read." in str([each for each in request.messages if each.role == "user"][-1]):
                return says("It says hello.")
            if request.messages[-1].role == "tool":
                return says("Done.")
            return uses("task", agent="reader", instruction="Read.")
        """
    )

    ended = team.run("run", "-p", "mock", "--output-format", "json", "Go.")

    assert ended.code == 0, ended
    (child,) = ended.document["children"]
    exported = team.run("session", "export", "--format", "jsonl", child["session_id"]).out
    records = [json.loads(line) for line in exported.splitlines()]
    (ran,) = [each["data"]["plan"] for each in records if each["event"] == "session:composed"]
    plan = explained()["plan"]
    assert [ran[key] for key in ("tools", "hooks", "agents")] == (
        [plan[key] for key in ("tools", "hooks", "agents")]
    )
    assert ran["session"]["orchestrator"] == plan["session"]["orchestrator"]


def test_the_folders_with_agents_are_named(team: App) -> None:
    assert str(team.home / "agents") in amplifier("agents", "dirs").stdout.splitlines()
