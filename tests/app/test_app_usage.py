"""How the command is called: help, prompts, and mistakes in between."""

import os
import re
import sys

import pytest
from helpers_app import App

from amplifier.cli.run import given_text


def test_help_names_the_commands_and_how_to_begin(app: App) -> None:
    ended = app.run("--help")

    assert ended.code == 0
    assert 'amplifier run "What is in this folder?"' in ended.out
    assert re.search(r"run +Answer a prompt", ended.out)


def test_help_of_run_names_every_option(app: App) -> None:
    ended = app.run("run", "-h")

    options = ["--provider", "--model", "--output-format", "--allow-partial", "--verbose"]
    assert ended.code == 0
    assert [option for option in options if option not in ended.out] == []


def test_help_needs_neither_the_kernel_nor_asyncio(app: App) -> None:
    ended = app.run("run", "--help", PYTHONPROFILEIMPORTTIME="1")

    imported = {line.rpartition("|")[2].strip() for line in ended.err.splitlines()}
    assert "amplifier.cli" in imported
    assert imported.isdisjoint({"amplifier_core", "asyncio", "pydantic"})


def test_the_version_is_told(app: App) -> None:
    ended = app.run("--version")

    assert (ended.code, ended.out) == (0, "amplifier, version 2.1.0\n")


def test_the_prompt_is_read_from_stdin_if_it_is_left_out(app: App) -> None:
    app.offer_provider(
        """
        async def reply(number, request):
            return says("You said: " + request.messages[-1].content)
        """
    )

    ended = app.run("run", "-p", "mock", stdin="Grüße\n")

    assert (ended.code, ended.out) == (0, "You said: Grüße\n")


ECHO = """
    async def reply(number, request):
        return says(request.messages[-1].content)
"""


def test_what_is_piped_in_is_added_to_the_prompt(app: App) -> None:
    app.offer_provider(ECHO)

    assert app.run("run", "-p", "mock", "Review this.", stdin="a < b\n").out == (
        "Review this.\n\na < b\n"
    )


def test_a_file_as_stdin_is_added_to_the_prompt(app: App) -> None:
    app.offer_provider(ECHO)
    (app.work / "notes.txt").write_text("Buy milk.")

    assert app.shell("$amplifier run -p mock Sort: < notes.txt").out == "Sort:\n\nBuy milk.\n"


@pytest.mark.parametrize("stdin", ["< /dev/null", "<&-", "< empty"])
def test_a_prompt_stands_alone_if_nothing_is_piped_in(app: App, stdin: str) -> None:
    app.offer_provider(ECHO)
    (app.work / "empty").touch()

    assert app.shell(f"$amplifier run -p mock Hello {stdin}").out == "Hello\n"


def test_a_silent_pipe_beside_a_prompt_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    with open(reading) as silent, open(writing, "w"):
        monkeypatch.setattr(sys, "stdin", silent)
        monkeypatch.setattr(sys.modules["amplifier.cli.run"], "SECONDS_TO_BEGIN", 0.01)

        assert given_text("Hello") == "Hello"


def test_bytes_that_are_no_text_do_not_stop_a_prompt(app: App) -> None:
    app.offer_provider(
        """
        async def reply(number, request):
            return says(request.messages[-1].content)
        """
    )

    piped = app.run("run", "-p", "mock", stdin=b"caf\xe9!")
    given = app.shell("$amplifier run -p mock \"$(printf 'caf\\351!')\"")

    assert (piped.code, piped.out) == (0, "caf\ufffd!\n")
    assert (given.code, given.err) == (0, "Stand-in (tiny)\n")
    assert given.out.startswith("caf\ufffd")


@pytest.mark.parametrize("stdin", ["", " \n"])
def test_without_a_prompt_the_usage_is_shown(app: App, stdin: str) -> None:
    ended = app.run("run", stdin=stdin)

    assert (ended.code, ended.out) == (2, "")
    assert "There is no prompt." in ended.last_line


def test_a_closed_stdin_is_no_prompt(app: App) -> None:
    ended = app.shell("$amplifier run <&-")

    assert ended.code == 2
    assert "There is no prompt." in ended.last_line


def test_a_model_without_its_provider_is_refused(app: App) -> None:
    ended = app.run("run", "--model", "big", "Hello", "--output-format", "json")

    assert (ended.code, ended.out) == (2, "")
    assert "--model needs --provider" in ended.last_line


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["rnu"], "Did you mean 'run'?"),
        (["run", "--outputformat", "json", "Hello"], "--output-format"),
        (["run", "--output-format", "xml", "Hello"], "'text', 'json'"),
        (["run", "two", "prompts"], "prompts"),
    ],
)
def test_a_misspelt_command_line_is_refused_with_advice(
    app: App, arguments: list[str], advice: str
) -> None:
    ended = app.run(*arguments)

    assert (ended.code, ended.out) == (2, "")
    assert advice in ended.last_line


@pytest.mark.parametrize("name", ["moc", "provider-mok"])
def test_an_unknown_provider_is_refused_with_the_nearest_name(app: App, name: str) -> None:
    ended = app.run("run", "-p", name, "Hello")

    assert ended.code == 1
    assert ended.err == f"amplifier: There is no provider {name!r}. Did you mean 'mock'?\n"


def test_a_provider_unlike_any_other_is_refused_with_all_names(app: App) -> None:
    ended = app.run("run", "-p", "zzz", "Hello")

    assert ended.code == 1
    assert ended.err.startswith("amplifier: There is no provider 'zzz'. Installed: ")
    assert "local, mock" in ended.err


def test_a_provider_may_be_named_by_its_module_id(app: App) -> None:
    assert app.run("run", "-p", "provider-mock", "Hello").code == 0
