"""Providers are set up with one command; keys are kept apart and never shown."""

import json
import os
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner, Result
from helpers_tmux import Terminal, needs_tmux
from hypothesis import given
from hypothesis import strategies as st

from amplifier.cli import main
from amplifier.cli.provider_setup import Offer, matching
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
    assert amplifier("provider", "test").stdout == "mock works: it offers 1 model.\n"


def test_a_provider_is_changed_where_it_stands() -> None:
    amplifier("provider", "add", "mock", "--model", "one", "--set", "context_window=500")
    amplifier("provider", "add", "mock", "--id", "parrot")

    done = amplifier("provider", "edit", "mock", "--model", "two", "--unset", "context_window")

    assert done.exit_code == 0, done.output
    assert listed() == ["parrot", "mock"]
    config = json.loads(amplifier("provider", "list", "--json").stdout)["configured"][1]["config"]
    assert (config["default_model"], "context_window" in config) == ("two", False)


def test_a_change_that_does_not_work_changes_nothing() -> None:
    amplifier("provider", "add", "mock", "--model", "one")

    assert amplifier("provider", "edit", "mock", "--set", "context_windw=5").exit_code == 1
    assert amplifier("provider", "edit", "mock", "--unset", "nothing").exit_code == 1
    assert amplifier("provider", "edit", "parrot").exit_code == 1
    found = json.loads(amplifier("provider", "list", "--json").stdout)["configured"]
    assert found[0]["config"] == {"default_model": "one", "priority": 1}


def test_a_provider_that_is_set_up_can_be_put_first() -> None:
    amplifier("provider", "add", "mock")
    amplifier("provider", "add", "mock", "--id", "parrot")

    assert amplifier("provider", "use", "mock").stdout.startswith("mock answers from now on")
    assert listed() == ["mock", "parrot"]


OFFERS = [
    Offer("provider-one", "big-1", True),
    Offer("provider-one", "small-1", False),
    Offer("provider-two", "big-1", True),
]


@pytest.mark.parametrize(
    ("said", "number"),
    [("2", 1), ("small-1", 1), ("SMALL", 1), ("two/big-1", 2), ("two", 2)],
)
def test_a_model_is_chosen_by_number_name_or_a_part_of_it(said: str, number: int) -> None:
    assert matching(OFFERS, said) is OFFERS[number]


@pytest.mark.parametrize("said", ["0", "4", "big-1", "big", "huge"])
def test_what_means_no_model_or_several_is_asked_again(said: str) -> None:
    assert matching(OFFERS, said) is None


def test_a_model_that_a_vendor_does_not_list_may_be_named() -> None:
    assert matching(OFFERS[:2], "preview-9") == Offer("provider-one", "preview-9", False)


# -- with a vendor ----------------------------------------------------------------------

GOOD, BAD = "sk-good-0123456789", "sk-bad-0123456789"


class _Vendor(BaseHTTPRequestHandler):
    """Knows one key, and lists two models to whoever has it."""

    def do_GET(self) -> None:
        is_known = GOOD in str(self.headers)
        models = [{"id": each, "object": "model", "created": 1} for each in ("gpt-5", "gpt-5-mini")]
        body = {"object": "list", "data": models} if is_known else {"error": {"message": "No."}}
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Vendor) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        Thread(target=server.serve_forever, daemon=True).start()
        yield url
        server.shutdown()


@pytest.mark.slow
def test_init_takes_the_first_key_that_works_and_tells_of_the_others(
    vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", BAD)
    monkeypatch.setenv("OPENAI_API_KEY", GOOD)

    done = amplifier("init")

    assert done.exit_code == 0, done.output
    assert listed() == ["openai"]
    assert "'provider-anthropic' does not work" in done.stderr
    assert "--new-key" in done.stderr
    assert BAD not in done.output


@pytest.mark.slow
def test_a_vendor_that_cannot_be_reached_does_not_pass_for_one_that_works(
    vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", GOOD)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")

    done = amplifier("provider", "test", "openai")

    assert done.exit_code == 1
    assert "could not be reached" in done.stderr


@needs_tmux
@pytest.mark.slow
def test_a_key_that_is_typed_is_kept_once_it_works_and_never_seen(
    vendor: str, tmp_path: Path, home: Path
) -> None:
    environment = {"AMPLIFIER_HOME": str(home), "OPENAI_BASE_URL": f"{vendor}/v1"}
    command = [sys.executable, "-m", "amplifier.cli", "init", "--provider", "openai"]
    for key, ends in ((BAD, "does not work"), (GOOD, "answers from now on")):
        terminal = Terminal(command, tmp_path, environment=environment)
        try:
            terminal.wait_for("Your key (OPENAI_API_KEY)")
            assert not (home / "keys.env").exists()
            terminal.say(key)
            if key == GOOD:
                terminal.wait_for("gpt-5-mini", "by number or name")
                terminal.say("mini")
            terminal.wait_for(ends, "ended with")
            assert key not in terminal.history()
        finally:
            terminal.close()

    assert read_keys() == {"OPENAI_API_KEY": GOOD}
    assert (home / "keys.env").stat().st_mode & 0o777 == 0o600
    assert GOOD not in (home / "settings.yaml").read_text()
    assert "gpt-5-mini" in (home / "settings.yaml").read_text()


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
