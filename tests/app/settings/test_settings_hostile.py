"""Whatever a stranger has prepared is refused in words, and nothing of it takes effect."""

import importlib.util
import io
import json
import marshal
import time
import zipfile
from pathlib import Path

import pytest
from amplifier_core.module_sources import ModuleLoadError
from helpers_app import App
from helpers_project import TOOL, Project, Repository, greeting

from amplifier.bundles.format import split_context
from amplifier.bundles.mentions import mentions
from amplifier.bundles.planning import Untrusted, plan_for
from amplifier.settings.nodes import ConfigError
from amplifier.sources.adding import get_offer, missing_requirements
from amplifier.sources.inspection import describe
from amplifier.sources.lock import read_lock
from amplifier.sources.resolver import ModuleResolver
from amplifier.sources.uris import SourceError

WITH_TOOL = "modules:\n  tools:\n    - {module: tool-greet, source: ./modules/greet}\n"
EVIL = TOOL.format(name="greet", answer="Evil.")


def evil_pyc(source: Path) -> Path:
    """Compiled code for `source` that says of itself that it need not be compared with it."""
    data = importlib.util.MAGIC_NUMBER + (0b01).to_bytes(4, "little") + bytes(8)
    data += marshal.dumps(compile(EVIL, str(source), "exec"))
    place = Path(importlib.util.cache_from_source(str(source)))
    place = source.parent / "__pycache__" / place.name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(data)
    return place


# -- trusted trees --------------------------------------------------------------------


def trusted_tool(app: App) -> Path:
    package = app.work / "modules/greet/amplifier_module_tool_greet"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TOOL.format(name="greet", answer="Good."))
    (app.work / ".amplifier").mkdir()
    (app.work / ".amplifier/settings.yaml").write_text(WITH_TOOL)
    assert app.run("trust", "add", "--yes").code == 0
    return package


def test_compiled_code_that_comes_with_a_trusted_module_is_not_run(app: App) -> None:
    package = trusted_tool(app)
    evil_pyc(package / "__init__.py")

    assert app.run("tool", "invoke", "greet").out == "Good.\n"


def test_a_folder_beside_the_package_that_python_would_look_at_has_to_be_trusted(app: App) -> None:
    package = trusted_tool(app)
    (package.parent / "json.py").write_text("raise SystemExit('evil')\n")

    ended = app.run("tool", "invoke", "greet")

    assert (ended.code, "not trusted" in ended.err) == (1, True)


def test_what_is_loaded_is_what_was_looked_at(project: Project) -> None:
    project.write(".amplifier/settings.yaml", WITH_TOOL)
    project.tool("modules/greet", answer="Good.")
    project.trust()
    plan = plan_for(None)
    resolver = ModuleResolver(locked=plan.mounts["locked"], may_fetch=False)
    source = str(project.root / "modules/greet")

    good = resolver.resolve("tool-greet", source).resolve()
    project.tool("modules/greet", answer="Evil.")

    assert "Good." in (good / "amplifier_module_tool_greet/__init__.py").read_text()
    assert resolver.resolve("tool-greet", source).resolve() == good


def test_a_change_between_the_look_and_the_load_is_noticed(project: Project) -> None:
    project.write(".amplifier/settings.yaml", WITH_TOOL)
    project.tool("modules/greet", answer="Good.")
    project.trust()
    plan = plan_for(None)
    project.tool("modules/greet", answer="Evil.")
    resolver = ModuleResolver(locked=plan.mounts["locked"], may_fetch=False)

    with pytest.raises(ModuleLoadError, match="has changed since it was looked at"):
        resolver.resolve("tool-greet", str(project.root / "modules/greet"))


def test_a_linked_cache_folder_in_a_trusted_tree_leads_nowhere(
    project: Project, tmp_path: Path
) -> None:
    project.write(".amplifier/settings.yaml", WITH_TOOL)
    package = project.tool("modules/greet") / "amplifier_module_tool_greet"
    project.trust()
    (tmp_path / "evil").mkdir()
    (package / "__pycache__").symlink_to(tmp_path / "evil")
    resolver = ModuleResolver(locked=plan_for(None).mounts["locked"], may_fetch=False)

    folder = resolver.resolve("tool-greet", str(project.root / "modules/greet")).resolve()

    assert not (folder / "amplifier_module_tool_greet/__pycache__").exists()


@pytest.mark.parametrize("name", ["more.py", "amplifier.toml", "evil.pth", "sub/new.py"])
def test_a_file_that_is_added_later_ends_the_trust(project: Project, name: str) -> None:
    project.write(".amplifier/settings.yaml", WITH_TOOL)
    project.tool("modules/greet")
    project.trust()
    project.write(f"modules/greet/{name}", "evil = 1\n")

    with pytest.raises(Untrusted, match="modules/greet"):
        plan_for(None)


def test_a_module_inside_an_added_bundle_is_verified_at_every_load(
    app: App, repository: Repository
) -> None:
    files = {f"modules/greet/{name}": text for name, text in greeting("1.0", "Good.").items()}
    front = "---\nbundle: {name: theirs}\ntools: [{module: tool-greet, source: ./modules/greet}]\n"
    repository.commit({"bundle.md": f"{front}---\nHi.\n", **files})
    app.run("bundle", "add", repository.uri, "--yes")
    before = app.run("tool", "invoke", "greet", "-b", "theirs").out
    (code,) = (app.home / "cache/content").glob("*/modules/greet/*/__init__.py")
    code.write_text(EVIL)

    after = app.run("tool", "invoke", "greet", "-b", "theirs")

    assert (before, after.code) == ("Good.\n", 1)
    assert "is not what was locked" in after.err


def test_a_variable_of_a_project_does_not_reach_its_settings_unseen(project: Project) -> None:
    entry = "{module: provider-mock, config: {responses: ['${KEY}']}}"
    text = f"config:\n  providers:\n    - {entry}\n"
    project.write(".amplifier/settings.yaml", text)

    assert "providers" not in plan_for(None).mounts


# -- where the user happens to be -----------------------------------------------------


def test_files_of_the_current_folder_are_not_imported_when_a_module_is_examined(
    app: App, repository: Repository
) -> None:
    repository.commit(greeting("1.0", "Good."))
    for name in ("json.py", "amplifier_core.py", "pydantic.py"):
        (app.work / name).write_text("open('evil', 'w')\nraise SystemExit(9)\n")
    program = "from amplifier.cli import start; start()"
    python = f"{app.shell('echo $amplifier').out.split()[0]} -P -c '{program}'"

    added = app.shell(f"{python} module add tool-greet -s {repository.uri} --yes")

    assert (added.code, (app.work / "evil").exists()) == (0, False), added.err


# -- bundles --------------------------------------------------------------------------


def refusal(bundle: str) -> str:
    with pytest.raises(ConfigError) as refused:
        plan_for(bundle)
    return str(refused.value)


def test_bundles_that_include_each_other_again_and_again_are_stopped(project: Project) -> None:
    for number in range(19):
        below = f"b{number + 1}"
        project.write_home(f"bundles/b{number}.yaml", f"includes: [{below}, {below}]\n")
    project.write_home("bundles/b19.yaml", "bundle: {name: last}\n")

    assert "More than 200 bundles are included" in refusal("b0")


def test_context_without_end_is_stopped(project: Project) -> None:
    for number in range(6):
        project.write_home(f"bundles/x/{number}.md", f"{number}" * 400_000)
    listed = ", ".join(f"{number}.md" for number in range(6))
    project.write_home("bundles/x/bundle.yaml", f"context: {{include: [{listed}]}}\n")

    assert "more than 2,000,000 characters of context" in refusal("x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\x00\x01\xff", "not text in UTF-8"),
        (b"\x7fELF" + bytes(100), "It is not YAML"),
        (b"tools: " + b"[" * 3000, "not YAML"),
        (b"#" * 1_000_001, "more than 1,000,000 bytes"),
        (b"agents: {include: ['../../secret']}\n", "leads out of its bundle"),
        (b"bundle: {name: x, namespace_root: ../..}\n", "leads out of its bundle"),
        (b"a: &a [1,1]\nb: &b [*a,*a]\n" * 2, "second occurrence"),
    ],
)  # fmt: skip
def test_a_bundle_that_is_none_is_refused(project: Project, text: bytes, message: str) -> None:
    (project.home / "bundles").mkdir(parents=True)
    (project.home / "bundles/x.yaml").write_bytes(text)

    assert message in refusal("x")


def test_a_file_that_the_user_keeps_elsewhere_is_not_taken_into_a_strange_bundle(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    secret = tmp_path / "person/.ssh/id_ed25519"
    secret.parent.mkdir(parents=True)
    secret.write_text("PRIVATE")
    project.write("bundle.md", "---\nbundle: {name: x}\n---\nSee @~/.ssh/id_ed25519 please.\n")

    with pytest.raises(Untrusted, match="id_ed25519"):
        plan_for("./bundle.md")


@pytest.mark.parametrize("mention", ["@user:keys.env", "@linked.md", "@user:projects/log.jsonl"])
def test_a_strange_bundle_does_not_bring_keys_of_the_user_to_the_model(
    project: Project, mention: str
) -> None:
    project.write_home("keys.env", "KEY=secret")
    project.write_home("projects/log.jsonl", "{}")
    bundle = project.write("bundle.md", f"---\nbundle: {{name: x}}\n---\nSee {mention} please.\n")
    (bundle.parent / "linked.md").symlink_to(project.home / "keys.env")

    with pytest.raises(ConfigError, match=r"your own folder|leads out"):
        plan_for("./bundle.md", as_if_trusted=True)


def test_notes_of_the_user_may_be_mentioned_by_all_and_the_rest_by_themselves(
    project: Project,
) -> None:
    project.write_home("rules.md", "Be kind.")
    project.write_home("data.txt", "My data.")
    project.write("bundle.md", "---\nbundle: {name: x}\n---\nSee @user:rules.md please.\n")
    project.write_home("bundles/mine.md", "---\nbundle: {name: mine}\n---\n@user:data.txt\n")

    assert "Be kind." in plan_for("./bundle.md", as_if_trusted=True).mounts["instruction"]
    assert "My data." in plan_for("mine").mounts["instruction"]


# -- locks and archives ---------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{}", '{"version": 1, "sources": {"x": {"hash": "../../evil"}}}',
     '{"version": 1, "sources": {"x": {"hash": "sha256:../../../../etc"}}}', "\x00", "null"],
)  # fmt: skip
def test_a_lock_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "amplifier.lock").write_text(text)

    with pytest.raises(ConfigError, match="It is no lock file"):
        read_lock(tmp_path / "amplifier.lock")


def zipped(path: Path, *names: str, method: int = zipfile.ZIP_DEFLATED) -> str:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as opened:
        for name in names:
            opened.writestr(name, b"content that is long enough to be packed " * 20)
    path.write_bytes(data.getvalue())
    return f"zip+{path.as_uri()}"


def damaged(path: Path) -> str:
    uri = zipped(path, "a.txt")
    data = bytearray(path.read_bytes())
    data[40:60] = bytes(20)
    path.write_bytes(data)
    return uri


def test_archives_that_cannot_be_unpacked_are_refused_and_leave_nothing(
    project: Project, tmp_path: Path
) -> None:
    uris = [
        zipped(tmp_path / "1.zip", "a", "a/b"),
        zipped(tmp_path / "2.zip", "x" * 400),
        zipped(tmp_path / "3.zip", "a", method=zipfile.ZIP_LZMA),
        damaged(tmp_path / "4.zip"),
        zipped(tmp_path / "5.zip", "a/./../../b"),
    ]
    for uri in uris:
        with pytest.raises(SourceError):
            get_offer(uri)
    assert list((project.home / "cache/content").iterdir()) == []


def test_submodules_and_hooks_of_a_repository_are_not_followed(
    project: Project, repository: Repository, tmp_path: Path
) -> None:
    modules = (
        '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch evil"\n\tupdate = !touch evil\n'
    )
    files = {".gitmodules": modules, ".gitattributes": "* filter=evil\n"}
    repository.commit({**greeting("1.0", "Good."), **files, "hooks/post-checkout": "touch evil"})

    offer = get_offer(repository.uri)

    assert (offer.folder / ".gitmodules").is_file()
    assert not [each for each in tmp_path.rglob("evil") if each.is_file()]


def test_names_that_differ_by_case_alone_are_both_kept_or_refused(
    project: Project, tmp_path: Path
) -> None:
    uri = zipped(tmp_path / "x.zip", "Readme.md", "README.md")
    try:
        folder = get_offer(uri).folder
    except SourceError:
        return
    assert sorted(each.name for each in folder.iterdir()) == ["README.md", "Readme.md"]


def test_the_list_of_what_is_trusted_is_refused_if_it_is_none(project: Project) -> None:
    project.write(".amplifier/settings.yaml", "bundle: {active: minimal}\n")
    project.write_home("trust.json", json.dumps({"version": 1, "trusted": ["all"]}))

    with pytest.raises(ConfigError, match="It is no list of what you trust"):
        plan_for(None)


# -- what a person reads before they agree --------------------------------------------


def test_codes_that_would_hide_a_line_are_not_printed(app: App) -> None:
    (app.work / ".amplifier").mkdir()
    key = r'"tool\e[2K\e[1A"'
    text = f"overrides:\n  {key}: {{config: {{a: 1}}}}\n"
    (app.work / ".amplifier/settings.yaml").write_text(text)
    shown = app.run("trust", "show")
    (app.work / ".amplifier/settings.yaml").unlink()
    package = app.work / "m/amplifier_module_tool_greet"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TOOL.format(name="greet\\x1b[2K", answer="Hi."))
    added = app.run("module", "add", "tool-greet", "-s", "./m")

    assert "\x1b" not in shown.out + shown.err + added.out + added.err
    assert "greet?[2K" in added.out


@pytest.mark.parametrize(
    "text",
    ["project = 5", "a = " + "[" * 50_000, "[project]\ndependencies = 5\nversion = [1]",
     "[project]\ndependencies = ['', '..', '-r x']", "\x00"],
)  # fmt: skip
def test_a_project_file_that_is_none_says_nothing_about_a_module(
    project: Project, text: str
) -> None:
    folder = project.tool("m")
    project.write("m/pyproject.toml", text)

    assert describe(folder)["tools"] == ["greet"]
    assert isinstance(missing_requirements(folder), list)


@pytest.mark.parametrize("line", ["```a\n", "~~~ x\n", "`\n", "@a.b@", '<context_file paths="\n'])
def test_long_texts_are_looked_through_in_a_moment(line: str) -> None:
    text = line * (400_000 // len(line))
    start = time.process_time()

    list(mentions(text))
    split_context(text)

    assert time.process_time() - start < 5
