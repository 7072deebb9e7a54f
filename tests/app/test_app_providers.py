"""Providers are set up with one command; keys are kept apart and never shown."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from amplifier.cli import main
from amplifier.keys import BadKey, load_keys, read_keys, save_key
from amplifier.plans import CREDENTIALS


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for names in CREDENTIALS.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


def amplifier(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), env={"COLUMNS": "80"})


def listed() -> list[str]:
    found = json.loads(amplifier("provider", "list", "--json").stdout)
    return [each["name"] for each in found["configured"]]


def test_what_is_added_last_answers() -> None:
    amplifier("provider", "add", "mock")
    done = amplifier("provider", "add", "mock", "--id", "parrot", "--model", "polly")

    assert done.stdout == "parrot answers from now on, with polly.\n"
    assert listed() == ["parrot", "mock"]


def test_adding_again_changes_what_was_set_up() -> None:
    amplifier("provider", "add", "mock", "--model", "one")
    amplifier("provider", "add", "mock", "--model", "two")

    found = json.loads(amplifier("provider", "list", "--json").stdout)["configured"]
    assert [each["config"]["default_model"] for each in found] == ["two"]


def test_a_removed_provider_is_gone() -> None:
    amplifier("provider", "add", "mock")

    assert amplifier("provider", "remove", "mock").exit_code == 0
    assert listed() == []
    assert amplifier("provider", "remove", "mock").exit_code == 1


def test_a_provider_is_tried_before_it_is_kept() -> None:
    done = amplifier("provider", "add", "mock", "--set", "context_windw=5")

    assert done.exit_code == 1
    assert "context_window" in done.stderr
    assert listed() == []


def test_a_kind_that_is_not_installed_names_those_that_are() -> None:
    done = amplifier("provider", "add", "mokc")

    assert done.exit_code == 1
    assert "There is no provider 'mokc'. Installed:" in done.stderr


def test_without_a_key_and_a_terminal_the_variable_is_named() -> None:
    done = amplifier("provider", "add", "anthropic")

    assert done.exit_code == 1
    assert "Set ANTHROPIC_API_KEY." in done.stderr


def test_a_secret_is_not_taken_on_the_command_line() -> None:
    done = amplifier("provider", "add", "mock", "--set", "api_key=sk-123")

    assert done.exit_code == 2
    assert "sk-123" not in done.output


def test_init_without_keys_and_terminal_says_what_to_do() -> None:
    done = amplifier("init")

    assert done.exit_code == 1
    assert "No key was found." in done.stderr


def test_init_sets_up_the_provider_that_is_named() -> None:
    done = amplifier("init", "--provider", "mock")

    assert done.exit_code == 0
    assert listed() == ["mock"]


def test_models_are_listed_live() -> None:
    amplifier("provider", "add", "mock", "--model", "polly")

    assert json.loads(amplifier("provider", "models", "--json").stdout)[0]["id"] == "polly"
    assert amplifier("provider", "test").stdout == "mock works: it offers 1 models.\n"


# -- keys -------------------------------------------------------------------------------


def test_a_saved_key_is_for_its_owner_only_and_reaches_the_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Set first, so that it is taken out again afterwards.
    monkeypatch.setenv("SOME_API_KEY", "")
    monkeypatch.delenv("SOME_API_KEY")
    save_key("SOME_API_KEY", "sk-one two")

    load_keys()

    assert os.environ["SOME_API_KEY"] == "sk-one two"
    assert (home / "keys.env").stat().st_mode & 0o777 == 0o600


def test_the_environment_wins_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "from outside")
    save_key("SOME_API_KEY", "from-the-file")

    load_keys()

    assert os.environ["SOME_API_KEY"] == "from outside"


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1).map(str))
def test_any_printable_key_comes_back_as_it_was(key: str) -> None:
    if len(key) >= 2 and key[0] == key[-1] and key[0] in "'\"":
        key = f"k{key}"
    save_key("ANY_KEY", key)

    assert read_keys()["ANY_KEY"] == key


@pytest.mark.parametrize(("name", "value"), [("A B", "x"), ("A", ""), ("A", "x\ny"), ("", "x")])
def test_what_is_no_key_is_refused(name: str, value: str) -> None:
    with pytest.raises(BadKey):
        save_key(name, value)


def test_a_key_can_be_removed() -> None:
    save_key("A_KEY", "one")
    save_key("B_KEY", "two")
    save_key("A_KEY", None)

    assert read_keys() == {"B_KEY": "two"}
