"""What users of agent systems suffer from, by number, each shown to be gone.

1 installation at run time, 2 no lock, 3 a hundred repositories, 4 updates that break, 5 slow
starts, 6 processes that spoil each other's files, 7 silence about what is missing, 8 settings
that cannot be predicted, 13 a heavy prompt, 19 delegation that nobody can foresee. Each test
shows one of them in short; the tests beside this file go further.
"""

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import pytest
from amplifier_core.transports.entry_points import installed, version_of, winner
from helpers_app import App
from helpers_project import Project, Repository, greeting

from amplifier import __version__
from amplifier.bundles.planning import plan_for
from amplifier.settings.nodes import ConfigError
from amplifier.settings.scopes import load_settings
from amplifier.settings.writing import set_key
from amplifier.sources.adding import accept, changes, get_offer
from amplifier.sources.lock import read_lock, roll_back
from amplifier.sources.resolver import ModuleResolver
from amplifier.sources.uris import SourceError


def test_1_a_plan_is_made_without_network_and_without_other_programs(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("something was to be fetched or installed")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    project.write_home("bundles/x.yaml", "includes: ['git+https://example.org/x']\n")

    assert plan_for("developer").mounts["tools"]
    with pytest.raises(ConfigError, match=r"amplifier bundle add git\+https://example.org/x"):
        plan_for("x")


def test_2_a_branch_that_moves_changes_nothing_until_it_is_updated_and_can_be_taken_back(
    project: Project, repository: Repository
) -> None:
    lock = project.home / "amplifier.lock"
    repository.commit(greeting("1.0", "One."))
    first = get_offer(repository.uri)
    accept(lock, first, is_module=False)
    repository.commit(greeting("2.0", "Two."))

    def used() -> Any:
        resolver = ModuleResolver(locked=read_lock(lock), may_fetch=False)
        return resolver.resolve("tool-greet", repository.uri).resolve()

    assert used() == first.folder
    second = get_offer(repository.uri)
    assert "version: 1.0 -> 2.0" in (changes(lock, second) or [])
    accept(lock, second, is_module=False)
    assert used() == second.folder
    roll_back(lock, repository.uri)
    assert used() == first.folder


def test_3_all_bundled_modules_come_in_one_install_with_one_version() -> None:
    points = [winner(id, each) for id, each in installed.table().items()]
    bundled = [each for each in points if each.value.startswith("amplifier_modules.")]

    assert len(bundled) >= 25
    assert {version_of(each) for each in bundled} == {__version__}


def test_4_an_update_that_cannot_be_loaded_leaves_the_old_one_in_use(
    project: Project, repository: Repository
) -> None:
    lock = project.home / "amplifier.lock"
    repository.commit(greeting("1.0", "One."))
    accept(lock, get_offer(repository.uri), is_module=True)
    before = lock.read_bytes()
    repository.commit({"amplifier_module_tool_greet/__init__.py": "import nothing_like_it\n"})

    with pytest.raises(SourceError, match="It is not used"):
        accept(lock, get_offer(repository.uri), is_module=True)
    assert lock.read_bytes() == before


def test_5_the_same_start_reads_its_plan_and_does_not_make_it_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = plan_for("developer")
    monkeypatch.setitem(sys.modules, "amplifier.bundles.assembling", None)

    assert plan_for("developer") == first


def test_6_many_writers_at_once_lose_nothing_and_readers_see_whole_files(
    project: Project,
) -> None:
    file = project.home / "settings.yaml"

    def write(number: int) -> int:
        set_key(file, ["sources", "modules", f"m{number}"], f"/m{number}")
        return len(load_settings().value("sources", "modules"))

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(write, range(24)))

    assert min(seen) >= 1
    assert load_settings().value("sources", "modules") == {f"m{n}": f"/m{n}" for n in range(24)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("toolz: []", "There is no key 'toolz'. Did you mean 'tools'?"),
        ("bundle: {includes: [y]}", "There is no key 'includes' in 'bundle'"),
        ("includes: [{name: y}]", "There is no key 'name'"),
        ("includes: [y]", "There is no bundle 'y'"),
        ("tools: [{module: tool-bsh}]", "There is no module 'tool-bsh'. Did you mean 'tool-bash'?"),
        ("context: {include: [y.md]}", "There is no file 'y.md'"),
        ("agents: {include: [y]}", "There is no agent 'y'"),
    ],
)
def test_7_what_is_missing_or_misspelt_ends_the_start_with_file_and_line(
    project: Project, text: str, said: str
) -> None:
    file = project.write_home("bundles/x.yaml", f"# a bundle\n{text}\n")

    with pytest.raises(ConfigError) as refused:
        plan_for("x")
    assert str(refused.value).startswith(f"{file}:2: {said}")


def test_8_every_value_names_the_line_that_wins_and_all_that_lose(project: Project) -> None:
    own = project.write_home("settings.yaml", "overrides:\n  tool-bash: {config: {timeout: 1}}\n")
    theirs = project.write(
        ".amplifier/settings.yaml", "\n\noverrides:\n  tool-bash: {config: {timeout: 2}}\n"
    )

    said = load_settings().explain("overrides", "tool-bash", "config", "timeout")

    assert [(str(each.origin), each.value, each.is_in_effect) for each in said] == [
        (f"{theirs}:4", 2, True),
        (f"{own}:2", 1, False),
    ]


def test_8_two_entries_with_one_name_are_an_error_and_no_lottery(project: Project) -> None:
    entry = "{module: provider-mock}"
    project.write_home("settings.yaml", f"config:\n  providers:\n    - {entry}\n    - {entry}\n")

    with pytest.raises(ConfigError, match=r"settings.yaml:4: 'provider-mock' is in .* line 3"):
        load_settings()


@pytest.mark.parametrize("bundle", ["default", "developer"])
def test_13_the_prompt_is_small_and_each_part_tells_what_it_costs(app: App, bundle: str) -> None:
    costs = app.run("plan", "-B", bundle, "--tokens", "--json").document["tokens"]
    told = app.run("plan", "-B", bundle, "--tokens").out.splitlines()

    assert {"instruction", "tool bash", "tool read_file"} <= set(costs)
    assert sum(costs.values()) < 6_000
    assert [int(each.split()[0]) for each in told] == [
        *sorted(costs.values(), reverse=True),
        sum(costs.values()),
    ]


def test_19_agents_get_what_is_written_for_them_and_no_policy_of_another_bundle(
    project: Project,
) -> None:
    agent = "---\nmeta: {name: one, description: d}\nagents: none\n---\nFollow @rules.md.\n"
    project.write_home(
        "bundles/strict/bundle.yaml",
        "agents: {include: [one]}\nspawn: {exclude_tools: [tool-bash]}\n",
    )
    project.write_home("bundles/strict/agents/one.md", agent)
    project.write_home("bundles/strict/agents/rules.md", "Be kind.")
    project.write_home(
        "bundles/all.yaml",
        "includes: [strict]\ntools: [{module: tool-bash}, {module: tool-todo}]\n"
        "agents:\n  two: {description: d, instruction: i, provider_preferences: "
        "[{provider: mock, model: small}]}\n",
    )

    agents = plan_for("all").mounts["agents"]

    assert (agents["one"]["tools"], agents["one"]["agents"]) == (["tool-todo"], "none")
    assert "Be kind." in agents["one"]["instruction"]
    assert "tools" not in agents["two"]
    assert agents["two"]["provider_preferences"] == [{"provider": "mock", "model": "small"}]


def test_19_what_an_agent_gets_can_be_read(app: App) -> None:
    shown = app.run("agents", "show", "explorer", "-b", "developer")
    listed = app.run("agents", "list", "-b", "developer", "--compact")

    assert "tool-filesystem, tool-search" in shown.out
    assert "You explore a code base" in shown.out
    assert listed.out.split() == ["builder", "debugger", "explorer", "planner", "reviewer"]
