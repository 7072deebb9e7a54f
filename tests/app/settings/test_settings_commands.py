"""The commands around modules, tools, sources and the health of an installation."""

import json
import sys

import pytest
from helpers_app import App
from helpers_project import Repository, greeting


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tool", "hook", "context", "provider", "orchestrator"])
def test_a_new_module_validates_and_its_tests_pass(app: App, kind: str) -> None:
    made = app.run("module", "new", kind, "demo")
    (folder,) = app.work.iterdir()

    validated = app.run("module", "validate", folder.name)
    python = f"{sys.executable} -W ignore -m pytest -q -p no:randomly -p no:cacheprovider"
    tested = app.shell(f"cd {folder.name} && {python}")

    assert (made.code, validated.code) == (0, 0)
    assert "0 errors, 0 warnings" in validated.out
    assert (tested.code, " passed" in tested.out) == (0, True), tested.out[-2000:]


@pytest.mark.parametrize("name", ["../x", "-x", "", "x" * 80])
def test_a_module_has_a_plain_name(app: App, name: str) -> None:
    ended = app.run("module", "new", "tool", "--", name)

    assert (ended.code, list(app.work.iterdir())) == (1, [])


def test_modules_are_listed_with_those_in_use_marked(app: App) -> None:
    found = json.loads(app.run("module", "list", "-t", "context", "--json").out)

    assert [(each["id"], each["active"]) for each in found] == [
        ("context-persistent", False),
        ("context-simple", True),
    ]
    assert "Did you mean 'tool-bash'?" in app.run("module", "show", "tool-bahs").err
    assert "tool-bash" in app.run("module", "current").out.split()


def test_lists_are_printed_by_name_only_or_with_all_that_is_known(app: App) -> None:
    short = app.run("bundle", "list", "--compact").out
    long = app.run("module", "list", "-t", "context", "--detailed").out
    tool = app.run("tool", "list", "-b", "default", "--compact").out
    one = app.run("bundle", "show", "minimal", "--compact").out
    both = app.run("bundle", "list", "--compact", "--detailed")

    assert short.split() == ["default", "developer", "minimal"]
    assert "id:      context-simple\ntype:    context\n" in long
    assert "read_file" in tool.split()
    assert one.startswith("minimal  sha256:")
    assert (both.code, "not both" in both.err) == (2, True)


def test_an_override_is_set_listed_and_removed(app: App) -> None:
    app.run("module", "override", "set", "tool-bash", "-c", "timeout=7")
    tools = app.run("plan", "--json").document["plan"]["tools"]
    listed = app.run("module", "override", "list")
    removed = app.run("module", "override", "remove", "tool-bash")

    assert {"module": "tool-bash", "config": {"timeout": 7}} in tools
    assert "tool-bash" in listed.out
    assert removed.code == 0


def test_a_source_is_shown_with_the_layers_that_lose(app: App) -> None:
    app.run("source", "add", "tool-x", "/one")
    app.run("source", "add", "tool-x", "/two", "--project")

    lines = app.run("source", "show", "tool-x", AMPLIFIER_MODULE_TOOL_X="/three").out.splitlines()

    assert [line.split()[-1] for line in lines] == ["/three", "/two", "/one"]
    assert "tool-x" in app.run("source", "list").out
    assert app.run("source", "remove", "tool-x").code == 0


def test_a_tool_is_explained_and_run_without_a_model(app: App) -> None:
    (app.work / "a.txt").write_text("Inside.\n")

    schema = app.run("tool", "info", "read_file", "--json").document
    read = app.run("tool", "invoke", "read_file", "file_path=a.txt")
    missing = app.run("tool", "invoke", "raed_file")
    failed = app.run("tool", "invoke", "read_file", "file_path=none.txt", "-o", "json")

    assert "file_path" in schema["input_schema"]["properties"]
    assert "Inside." in read.out
    assert "Did you mean 'read_file'?" in missing.err
    assert (failed.code, failed.document["success"]) == (1, False)


def test_doctor_finds_nothing_wrong_with_a_new_installation(app: App) -> None:
    ended = app.run("doctor", "--json")

    states = {each["what"]: each["state"] for each in json.loads(ended.out)}
    assert ended.code == 0
    assert states == {
        "install": "ok",
        "settings": "ok",
        "keys": "warning",
        "cache": "ok",
        "trust": "ok",
        "plan": "ok",
    }


def test_doctor_says_how_to_mend_what_is_broken(app: App, repository: Repository) -> None:
    repository.commit(greeting("1.0", "One."))
    app.run("module", "add", "tool-greet", "-s", repository.uri, "--yes")
    (content,) = (app.home / "cache/content").iterdir()
    (content / "more.py").write_text("")
    keys = app.home / "keys.env"
    keys.write_text("A=1\n")
    keys.chmod(0o644)
    (app.work / ".amplifier").mkdir()
    (app.work / ".amplifier/settings.yaml").write_text("bundle: {active: minimal}\n")

    ended = app.run("doctor")

    assert ended.code == 1
    for text in ("was changed. Remove it", "Use `chmod 600", "is not trusted and has no effect"):
        assert text in ended.out


def test_doctor_names_settings_that_cannot_be_read(app: App) -> None:
    (app.home / "settings.yaml").write_text("bundel: {}\n")

    ended = app.run("doctor")

    assert ended.code == 1
    assert "settings.yaml:1: There is no key 'bundel'. Did you mean 'bundle'?" in ended.out


def test_a_run_imports_and_starts_nothing_that_it_does_not_need_once_its_plan_is_known(
    app: App,
) -> None:
    # Programs and connections that are started would be refused by this audit hook.
    (app.modules / "sitecustomize.py").write_text(
        "import sys\n"
        "def look(event, args):\n"
        "    if event in ('socket.connect', 'subprocess.Popen', 'os.system', 'os.exec'):\n"
        "        print('STARTED', event, args[0], file=sys.stderr)\n"
        "sys.addaudithook(look)\n"
        "import atexit\n"
        "unneeded = {'yaml', 'html.parser', 'amplifier.cli.session', 'amplifier.cli.bundle'}\n"
        "atexit.register(lambda: print('UNNEEDED', unneeded & {*sys.modules}, file=sys.stderr))\n"
    )
    app.run("run", "-p", "mock", "-B", "minimal", "Hello")

    ended = app.run("run", "-p", "mock", "-B", "minimal", "Hello")

    assert ended.code == 0
    assert "UNNEEDED set()" in ended.err
    assert "STARTED" not in ended.err


# Processes of their own that have imported everything already: fifty starts take seconds.
FIFTY = """\
import os, sys
import amplifier.bundles.running, amplifier.cli, amplifier.turns, amplifier.views.terminal

jobs = [["run", "-p", "mock", "-B", "minimal", "Hello"]] * 50
jobs.insert(10, ["module", "update", "--yes"])
jobs += [["config", "set", f"sources.modules.m{number}", f"/m{number}"] for number in (1, 2, 3)]
children = []
for number, job in enumerate(jobs):
    child = os.fork()
    if child == 0:
        out = os.open(f"out.{number}", os.O_WRONLY | os.O_CREAT)
        os.dup2(out, 1), os.dup2(out, 2)
        try:
            amplifier.cli.main(job)
        except SystemExit as ended:
            sys.stdout.flush()
            os._exit(ended.code or 0)
    children.append(child)
sys.exit(max(os.waitpid(child, 0)[1] for child in children) and 1)
"""


@pytest.mark.slow
def test_fifty_runs_and_an_update_at_once_leave_everything_whole(
    app: App, repository: Repository
) -> None:
    repository.commit(greeting("1.0", "One."))
    app.run("module", "add", "tool-greet", "-s", repository.uri, "--yes")
    repository.commit(greeting("2.0", "Two."))
    (app.work / "fifty.py").write_text(FIFTY)

    ended = app.shell(f"{sys.executable} fifty.py", seconds=120)

    outs = [each.read_text() for each in app.work.glob("out.*")]
    assert ended.code == 0, (ended.err, [each for each in outs if "canned reply" not in each])
    assert len([each for each in outs if "canned reply" in each]) == 50
    assert app.run("tool", "invoke", "greet").out == "Two.\n"
    assert json.loads(app.run("source", "list", "--json").out)["module"] == {
        f"m{number}": f"/m{number}" for number in (1, 2, 3)
    }
    assert not list((app.home / "cache/content").glob(".*"))
