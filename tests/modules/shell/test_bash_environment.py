"""Commands see the user's environment without the secrets in it."""

from pathlib import Path

import pytest
from amplifier_core.testing import MockCoordinator
from helpers_bash import shell_in

from amplifier_modules.shell.bash import mount
from amplifier_modules.shell.environment import is_secret_name, scrubbed, secrets_in

SECRET = "correct-horse-battery"


async def seen(folder: Path, **config: object) -> dict[str, str]:
    async with shell_in(folder, **config) as shell:
        result = await shell.run("env -0 | tr '\\n\\0' ' \\n'")
    return dict(line.split("=", 1) for line in result.output["stdout"].splitlines())


async def test_a_command_does_not_see_keys_but_sees_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", SECRET)
    monkeypatch.setenv("ACME_REGION", "north")

    found = await seen(tmp_path)

    assert "ACME_API_KEY" not in found
    assert found["ACME_REGION"] == "north"
    assert found["PATH"]


async def test_what_is_passed_through_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_API_KEY", SECRET)
    monkeypatch.setenv("CI_JOB_TOKEN", "abc")
    monkeypatch.setenv("OTHER_TOKEN", "def")

    found = await seen(tmp_path, env_passthrough=["ACME_API_KEY", "CI_*"])

    assert found["ACME_API_KEY"] == SECRET
    assert found["CI_JOB_TOKEN"] == "abc"
    assert "OTHER_TOKEN" not in found


async def test_a_variable_that_repeats_a_secret_goes_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_TOKEN", SECRET)
    monkeypatch.setenv("ACME_HEADER", f"Bearer {SECRET}")

    assert "ACME_HEADER" not in await seen(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SESSION_TOKEN",
        "aws_secret_access_key",
        "GITHUB_PAT",
        "PGPASSWORD",
        "MYSQL_PWD",
        "SENTRY_DSN",
        "DB_PASS",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "NPM_CONFIG__AUTH",
        "client-secret",
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["PATH", "HOME", "PWD", "OLDPWD", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "KEYBOARD_LAYOUT"],
)
def test_names_of_other_things_are_kept(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "value",
    [
        "sk-" + "a1" * 12,
        "ghp_" + "a1" * 18,
        "AKIA" + "A1" * 8,
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.sig",
        "-----BEGIN RSA PRIVATE KEY-----",
        "postgres://me:hunter22@db/x",
    ],
)
def test_values_with_the_form_of_a_secret_go_under_any_name(value: str) -> None:
    assert scrubbed({"ACME": value}) == {}


@pytest.mark.parametrize("value", ["https://host:8080/path", "a-sk-b", "one:two@three", ""])
def test_values_that_only_look_a_little_like_it_stay(value: str) -> None:
    assert scrubbed({"ACME": value}) == {"ACME": value}


def test_a_short_secret_does_not_take_innocent_variables_along() -> None:
    assert scrubbed({"A_TOKEN": "1", "COLUMNS": "120"}) == {"COLUMNS": "120"}


async def test_a_secret_in_the_mount_plan_is_kept_from_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator = MockCoordinator()
    coordinator.config["providers"] = [{"module": "x", "config": {"api_key": SECRET}}]
    monkeypatch.setenv("INNOCENT", SECRET)
    await mount(coordinator, {"working_dir": str(tmp_path)})

    result = await coordinator.get("tools", "bash").execute({"command": "echo [$INNOCENT]"})

    assert result.output["stdout"] == "[]\n"


def test_secrets_of_the_mount_plan_are_known_wherever_they_stand() -> None:
    plan = {"providers": [{"module": "x", "config": {"api_key": SECRET, "max_tokens": 5}}]}

    known = list(secrets_in(plan))

    assert known == [SECRET]
    assert scrubbed({"INNOCENT": f"x{SECRET}y", "B": "c"}, known=known) == {"B": "c"}
