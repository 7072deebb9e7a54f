"""What a project brings does nothing until the user trusts exactly that content."""

import json

import pytest
from helpers_app import App
from helpers_project import Project

from amplifier.bundles.planning import Untrusted, plan_for
from amplifier.trust.review import review

HOOK = json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "evil"}]}]}})
WITH_TOOL = "modules:\n  tools:\n    - {module: tool-greet, source: ./modules/greet}\n"


def has_greet(project: Project) -> bool:
    return any(each["module"] == "tool-greet" for each in plan_for(None).mounts["tools"])


def test_settings_of_a_project_have_no_effect_until_they_are_trusted(project: Project) -> None:
    project.write(".amplifier/settings.yaml", "bundle: {active: minimal}\n")
    before = plan_for(None)
    project.trust()

    assert before.bundle == "default"
    assert "Not trusted, and so not used" in before.notes[0]
    assert (plan_for(None).bundle, plan_for(None).notes) == ("minimal", [])


@pytest.mark.parametrize("name", ["settings.yaml", "settings.local.yaml"])
def test_a_change_has_to_be_trusted_again(project: Project, name: str) -> None:
    file = project.write(f".amplifier/{name}", "bundle: {active: minimal}\n")
    project.trust()
    file.write_text("bundle: {active: developer}\n")

    assert plan_for(None).bundle == "default"


def test_a_module_of_a_project_is_trusted_by_its_content(project: Project) -> None:
    project.write(".amplifier/settings.yaml", WITH_TOOL)
    project.tool("modules/greet")
    before = has_greet(project)
    project.trust()
    trusted = has_greet(project)
    project.tool("modules/greet", answer="Something else.")

    assert (before, trusted) == (False, True)
    with pytest.raises(Untrusted, match="modules/greet"):
        plan_for(None)


def test_a_bundle_of_a_project_is_used_only_if_it_is_trusted(project: Project) -> None:
    project.write("bundle.md", "---\nbundle: {name: theirs}\n---\nDo as I say. @notes.md\n")
    notes = project.write("notes.md", "One.")

    with pytest.raises(Untrusted, match=r"bundle\.md, .*notes\.md"):
        plan_for("./bundle.md")
    project.trust("./bundle.md")
    assert plan_for("./bundle.md").bundle == "theirs"
    notes.write_text("Two.")
    with pytest.raises(Untrusted, match=r"notes\.md"):
        plan_for("./bundle.md")


def test_hooks_of_a_project_are_switched_off_until_they_are_trusted(project: Project) -> None:
    plan_for(None)
    project.write(".amplifier/hooks/check.json", HOOK)

    def config() -> object:
        hooks = plan_for(None).mounts["hooks"]
        return next(each for each in hooks if each["module"] == "hooks-shell").get("config")

    before = config()
    project.trust()

    assert before == {"enabled": False}
    assert config() is None


def hooks_config(project: Project) -> object:
    hooks = plan_for(None).mounts["hooks"]
    return next(each for each in hooks if each["module"] == "hooks-shell").get("config")


@pytest.mark.parametrize(
    "command", ["./scripts/x.sh --all", "sh scripts/x.sh", "${ROOT}/scripts/x.sh"]
)
def test_a_script_that_a_trusted_hook_names_is_trusted_as_it_is(
    project: Project, command: str
) -> None:
    project.write(".amplifier/hooks/check.json", HOOK.replace("evil", command))
    script = project.write("scripts/x.sh", "echo good\n")
    project.trust()
    before = hooks_config(project)
    script.write_text("echo evil\n")

    assert (before, hooks_config(project)) == (None, {"enabled": False})


def test_a_hook_file_of_long_words_is_looked_through(project: Project) -> None:
    project.write(".amplifier/hooks/check.json", HOOK.replace("evil", "x" * 5000))
    project.trust()

    assert hooks_config(project) is None


def test_a_hook_that_is_trusted_in_one_project_is_not_in_another(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(".amplifier/hooks/check.json", HOOK)
    project.trust()
    other = Project(project.root.parent / "other", project.home)
    other.write(".amplifier/hooks/check.json", HOOK)
    monkeypatch.chdir(other.root)

    assert hooks_config(other) == {"enabled": False}


def test_what_would_run_is_shown(project: Project) -> None:
    project.write(".amplifier/settings.yaml", WITH_TOOL + "overrides:\n  tool-bash:\n"
                  "    config: {safety_profile: unrestricted}\n")  # fmt: skip
    project.tool("modules/greet")
    project.write(".amplifier/hooks/check.json", HOOK)

    lines = list(review(None).lines())

    assert f"would use tools.tool-greet from {project.root}/modules/greet" in lines
    assert 'would set overrides.tool-bash.config.safety_profile to "unrestricted"' in lines
    assert "would run the command 'evil'" in lines
    assert len([each for each in lines if each.startswith("not trusted")]) == 3


def test_a_link_in_a_module_is_refused(project: Project) -> None:
    project.write(".amplifier/settings.yaml", WITH_TOOL)
    (project.tool("modules/greet") / "more.py").symlink_to("/etc/hostname")

    with pytest.raises(Exception, match="is a link or a special file"):
        review(None)


def test_malformed_settings_of_a_stranger_stop_nothing(app: App) -> None:
    (app.work / ".amplifier").mkdir()
    (app.work / ".amplifier/settings.yaml").write_text("bundle: [\n")

    ended = app.run("run", "-p", "mock", "-B", "minimal", "Hello")

    assert ended.code == 0
    assert "Not trusted, and so not used" in ended.err


def test_trusting_listing_and_revoking(app: App) -> None:
    (app.work / ".amplifier").mkdir()
    file = app.work / ".amplifier/settings.yaml"
    file.write_text("bundle: {active: minimal}\n")

    unasked = app.run("trust", "add")
    added = app.run("trust", "add", "--yes")
    listed = app.run("trust", "list")
    active = app.run("bundle", "current").out
    revoked = app.run("trust", "revoke")
    after = app.run("bundle", "current").out

    assert (unasked.code, unasked.last_line.startswith("Nobody is here to be asked")) == (1, True)
    assert 'would set bundle.active to "minimal"' in added.out
    assert str(file) in listed.out
    assert (active.split()[0], after.split()[0]) == ("minimal", "default")
    assert revoked.out == f"No longer trusted: {file}\n"


def test_what_the_user_sets_by_command_is_trusted(app: App) -> None:
    app.run("config", "set", "bundle.active", "minimal", "--project")
    own = app.run("bundle", "current").out
    file = app.work / ".amplifier/settings.yaml"
    file.write_text(file.read_text() + "# from elsewhere\n")
    app.run("config", "set", "bundle.active", "developer", "--project")

    assert own.startswith("minimal")
    assert app.run("bundle", "current").out.startswith("default")
