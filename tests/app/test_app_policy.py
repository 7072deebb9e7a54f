"""`amplifier policy explain`: the guard's verdict on a command, told in words or as JSON."""

import pytest
from helpers_app import App


@pytest.fixture
def guarded(app: App) -> App:
    """The command with the bundled guard as an installed module."""
    app.offer("hooks-approval", "from amplifier_modules.shell.approval import mount\n")
    return app


def test_an_approved_command_is_said_to_be_allowed_by_its_rule(guarded: App) -> None:
    ended = guarded.run("policy", "explain", "ls -la")

    assert ended.code == 0, ended.err
    assert ended.out.startswith("allowed: ")
    assert "rule: built-in: ls in the project" in ended.out
    assert "  'ls' '-la'" in ended.out


def test_the_parts_show_which_one_needs_a_person(guarded: App) -> None:
    ended = guarded.run("policy", "explain", "ls; A=1 rm $x > f")

    assert ended.out.splitlines() == [
        "asked about: It sets 'A', which may change what is run.",
        "rule: built-in: more than a plain command",
        "read as:",
        "  'ls'",
        "  'rm' <unknown>  [sets A]  [redirects >f]",
        "parts:",
        "  allow ls  (built-in: ls in the project)",
        "  ask   rm $x  (built-in: more than a plain command)",
    ]


def test_json_is_a_single_document(guarded: App) -> None:
    said = guarded.run("policy", "explain", "echo $(date)", "--json").document

    assert (said["tool"], said["verdict"]) == ("bash", "ask")
    assert [each["argv"] for each in said["commands"]] == [["echo", None], ["date"]]
    assert said["commands"][1]["inside"] == ["substitution"]


@pytest.mark.parametrize("text", ['{"deny": [{"command": "rm"}]}', "deny:\n- command: rm\n"])
def test_a_config_file_decides(guarded: App, text: str) -> None:
    (guarded.work / "policy.yaml").write_text(text)

    ended = guarded.run("policy", "explain", "sudo rm x", "--config", "policy.yaml")

    assert ended.code == 0, ended.err
    assert ended.out.startswith("denied: The config says deny for command 'rm'.")


def test_another_tool_is_judged_by_its_input(guarded: App) -> None:
    (guarded.work / "policy.yaml").write_text("allow: [{tool: web_fetch, host: example.org}]")
    arguments = ("policy", "explain", "--tool", "web_fetch", "--config", "policy.yaml", "--json")

    good = guarded.run(*arguments, '{"url": "https://example.org/x"}')
    bad = guarded.run(*arguments, '{"url": "https://example.org@evil.example"}')

    assert (good.document["verdict"], good.document["rule"]) == ("allow", "allow[0]")
    assert bad.document["verdict"] == "ask"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ls", "--tool", "look"], "JSON object"),
        (["ls", "--config", "gone.yaml"], "gone.yaml"),
        (["ls", "--config", "bad.yaml"], "neither YAML nor JSON"),
        (["ls", "--config", "list.yaml"], "holds no keys"),
        (["ls", "--config", "typo.yaml"], "Did you mean 'allow'?"),
        ([], "COMMAND"),
    ],
)
def test_a_mistake_is_told_in_a_line(guarded: App, arguments: list[str], says: str) -> None:
    (guarded.work / "bad.yaml").write_text("a: [")
    (guarded.work / "list.yaml").write_text("- a")
    (guarded.work / "typo.yaml").write_text("alow: []")

    ended = guarded.run("policy", "explain", *arguments)

    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
    assert "Traceback" not in ended.err


def test_no_character_of_a_command_steers_the_terminal(guarded: App) -> None:
    ended = guarded.run("policy", "explain", "ls\x1b[2J\u202e")

    assert ended.out.startswith("asked about: It cannot be judged: Invisible character U+001B")
    assert "\x1b" not in ended.out


def test_help_of_policy_needs_neither_the_kernel_nor_the_guard(guarded: App) -> None:
    ended = guarded.run("policy", "explain", "--help", PYTHONPROFILEIMPORTTIME="1")

    imported = {line.rpartition("|")[2].strip() for line in ended.err.splitlines()}
    assert "amplifier.cli" in imported
    assert imported.isdisjoint({"amplifier_core", "pydantic", "yaml"})
