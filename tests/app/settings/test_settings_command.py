"""`amplifier config`: see, explain and change settings."""

import stat
from pathlib import Path

import pytest
from helpers_app import App


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def own(app: App) -> Path:
    return Path(app.env["AMPLIFIER_HOME"]) / "settings.yaml"


def test_set_and_show(app: App, own: Path) -> None:
    done = app.run("config", "set", "bundle.active", "developer")
    shown = app.run("config", "show", "bundle.active")

    assert (done.code, done.out) == (0, f"Set in {own}.\n")
    assert shown.out == "developer\n"
    assert stat.S_IMODE(own.stat().st_mode) == 0o600


def test_explain_names_the_winner_and_every_loser(app: App, own: Path) -> None:
    write(own, "# mine\nbundle:\n  active: a\n")
    project = write(app.work / ".amplifier/settings.yaml", "bundle: {active: b}\n")
    local = write(app.work / ".amplifier/settings.local.yaml", "bundle:\n  active: c\n")

    lines = app.run("config", "explain", "bundle.active").out.splitlines()

    assert lines == [
        f'in effect  local    {local}:2  "c"',
        f'overridden project  {project}:1  "b"',
        f'overridden global   {own}:3  "a"',
    ]


def test_explain_of_a_list_names_all_who_made_it(app: App, own: Path) -> None:
    write(own, "bundle:\n  app: [a, b]\n")
    write(app.work / ".amplifier/settings.yaml", "bundle:\n  app: {$append: [c], $remove: [a]}\n")

    said = app.run("config", "explain", "bundle.app", "--json")

    assert [(each["scope"], each["in_effect"]) for each in _json(said.out)] == [
        ("project", True),
        ("global", True),
    ]


def test_set_keeps_comments_and_order(app: App, own: Path) -> None:
    write(own, "# head\nbundle:\n  active: a  # why\n\n# tail\nsources:\n  modules:\n    x: ./x\n")

    app.run("config", "set", "bundle.active", "b")
    app.run("config", "set", "sources.modules.y", "./y")
    app.run("config", "set", "overrides.z.config.limit", "5")
    app.run("config", "unset", "sources.modules.x")

    assert own.read_text() == (
        "# head\nbundle:\n  active: b  # why\n\n# tail\nsources:\n  modules:\n    y: ./y\n"
        "overrides:\n  z:\n    config:\n      limit: 5\n"
    )


def test_an_unknown_key_is_refused_and_nothing_is_written(app: App, own: Path) -> None:
    ended = app.run("config", "set", "bundle.activ", "b")

    assert ended.code == 1
    assert "There is no key 'activ' in 'bundle'. Did you mean 'active'?" in ended.err
    assert not own.exists()


def test_unset_of_what_is_not_there_is_said(app: App) -> None:
    ended = app.run("config", "unset", "bundle.active")

    assert (ended.code, ended.last_line.startswith("'bundle.active' is not set in")) == (1, True)


def test_secrets_are_not_shown(app: App, own: Path) -> None:
    write(own, "config:\n  providers:\n    - module: provider-x\n      config: {api_key: sk-123}\n")

    shown = app.run("config", "show")
    said = app.run("config", "explain", "config.providers.provider-x.config.api_key")

    assert "sk-123" not in shown.out + said.out
    assert f"{own}:4" in said.out


def test_a_file_that_cannot_be_used_is_named_and_not_overwritten(app: App, own: Path) -> None:
    write(own, "bundle: [\n")

    ended = app.run("config", "set", "bundle.active", "b")

    assert ended.code == 1
    assert f"{own}:2: It is not YAML" in ended.err
    assert own.read_text() == "bundle: [\n"


def test_edit_keeps_only_what_can_be_used(app: App, own: Path) -> None:
    write(own, "bundle: {active: a}\n")
    good = app.run("config", "edit", EDITOR="sed -i s/active/actief/")
    bad_text = own.read_text()
    app.run("config", "edit", EDITOR="sed -i s/a}/b}/")

    assert (good.code, bad_text) == (1, "bundle: {active: a}\n")
    assert own.read_text() == "bundle: {active: b}\n"


def test_the_home_folder_is_no_project(app: App) -> None:
    ended = app.run("config", "set", "bundle.active", "b", "--project", HOME=str(app.work))

    assert (ended.code, ended.last_line.startswith("Your home folder is no project")) == (1, True)


def test_settings_are_found_from_a_folder_below(app: App) -> None:
    write(app.work / ".amplifier/settings.yaml", "bundle: {active: b}\n")
    (app.work / "src/deep").mkdir(parents=True)

    assert app.shell("cd src/deep && $amplifier config show bundle.active").out == "b\n"


def test_settings_of_many_writers_are_all_kept(app: App, own: Path) -> None:
    line = "for i in 1 2 3 4 5 6; do $amplifier config set sources.modules.m$i ./m$i & done; wait"

    assert app.shell(line).code == 0
    assert sorted(each.strip() for each in own.read_text().splitlines()[2:]) == [
        f"m{i}: ./m{i}" for i in range(1, 7)
    ]


def test_settings_of_a_session_count_when_it_goes_on_and_for_no_other(app: App) -> None:
    app.run("run", "-p", "mock", "-B", "minimal", "Hello")
    (listed,) = _json(app.run("session", "list", "--json").out)
    id = str(listed["session_id"])
    key = "config.providers"
    value = "[{module: provider-mock, config: {responses: [From this session.]}}]"

    done = app.run("config", "set", key, value, "--session", id)
    said = app.run("config", "explain", key, "--session", id)
    went_on = app.run("run", "-B", "minimal", "--resume", id, "Again")
    other = app.run("run", "-p", "mock", "-B", "minimal", "Hello")
    removed = app.run("config", "unset", key, "--session", id)

    assert (done.code, removed.code) == (0, 0)
    assert said.out.startswith("in effect  session  ")
    assert went_on.out == "From this session.\n"
    assert "canned reply" in other.out
    assert "no session" in app.run("config", "show", "--session", "nothing").err.lower()


def _json(text: str) -> list[dict[str, object]]:
    import json

    found: list[dict[str, object]] = json.loads(text)
    return found
