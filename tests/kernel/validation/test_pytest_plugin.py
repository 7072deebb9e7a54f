"""The pytest plugin: which module it takes the tests to be about, and what fixtures it gives."""

import os
import subprocess
import sys
from pathlib import Path

import amplifier_core
import pytest
from amplifier_core.pytest_plugin import NO_MODULE
from sample_modules import GOOD, NAMES, TOOL, write_module, write_repository

pytest_plugins = ["pytester"]

LIBRARY = Path(amplifier_core.__file__).parent / "validation"
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\n"
SHOW = """
def test_show(module_path, module_type, is_module_context):
    print(f"<{module_path}|{module_type}|{is_module_context}>")
"""


@pytest.fixture
def here(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that inner runs start in."""
    (pytester.path / "pytest.ini").write_text(INI)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return pytester.path


def run(pytester: pytest.Pytester, *arguments: object) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:randomly", "-rs", "-s", *arguments)


def shown(result: pytest.RunResult) -> list[tuple[str, ...]]:
    result.assert_outcomes(passed=1)
    lines = [line for line in result.outlines if "<" in line]
    return [tuple(line.split("<")[1].split(">")[0].split("|")) for line in lines]


def write_test(folder: Path, source: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test_it.py").write_text(source)
    return folder / "test_it.py"


# -- which module -----------------------------------------------------------------------


@pytest.mark.parametrize("module_type", GOOD)
def test_a_test_in_a_repository_is_about_the_module_there(
    pytester: pytest.Pytester, here: Path, monkeypatch: pytest.MonkeyPatch, module_type: str
) -> None:
    repository = write_repository(here, module_type)
    write_test(repository / "tests" / "deep", SHOW)
    monkeypatch.chdir(repository)

    package = repository / NAMES[module_type]
    assert shown(run(pytester)) == [(str(package), module_type, "True")]


def test_a_repository_is_recognised_from_above_by_its_tests(
    pytester: pytest.Pytester, here: Path
) -> None:
    repository = write_repository(here, "hook")
    test = write_test(repository / "tests", SHOW)

    package = str(repository / NAMES["hook"])
    assert shown(run(pytester)) == [(package, "hook", "False")]
    assert shown(run(pytester, f"{test}::test_show")) == [(package, "hook", "True")]


def test_a_package_may_lie_in_src(pytester: pytest.Pytester, here: Path) -> None:
    package = write_module(here / "amplifier-module-tool-x" / "src", NAMES["tool"], TOOL)
    write_test(here / "amplifier-module-tool-x" / "tests", SHOW)

    assert shown(run(pytester)) == [(str(package), "tool", "False")]


def test_a_folder_without_code_is_no_package(pytester: pytest.Pytester, here: Path) -> None:
    outer = write_repository(here, "tool")
    inner = outer / "amplifier-module-empty"
    (inner / "amplifier_module_empty").mkdir(parents=True)
    write_test(inner / "tests", SHOW)

    assert shown(run(pytester)) == [(str(outer / NAMES["tool"]), "tool", "False")]


def test_a_package_in_the_working_folder_is_found_in_a_folder_of_any_name(
    pytester: pytest.Pytester, here: Path
) -> None:
    package = write_module(here, NAMES["provider"], GOOD["provider"])
    write_test(here, SHOW)

    assert shown(run(pytester)) == [(str(package), "provider", "True")]


def test_tests_about_no_module_get_none(pytester: pytest.Pytester, here: Path) -> None:
    write_test(here, SHOW)

    assert shown(run(pytester)) == [("None", "None", "False")]


@pytest.mark.parametrize("below", [".", NAMES["context"]])
def test_the_option_names_a_repository_or_a_package(
    pytester: pytest.Pytester, here: Path, below: str
) -> None:
    write_repository(here, "tool")
    repository = write_repository(here, "context")
    write_test(here, SHOW)

    option = f"--module-path={(repository / below).relative_to(here)}"

    package = str(repository / NAMES["context"])
    assert shown(run(pytester, option)) == [(package, "context", "False")]


def test_an_option_that_names_no_module_is_taken_at_its_word(
    pytester: pytest.Pytester, here: Path
) -> None:
    write_test(here, SHOW + "\nasync def test_tool(tool_module): ...\n")

    result = run(pytester, "--module-path=tool-gone")

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"*<{here / 'tool-gone'}|tool|False>*", "*does not exist.*"])


@pytest.mark.parametrize(
    ("marker", "module_type"), [("'context'", "context"), ("3", "tool"), ("unknown()", "tool")]
)
def test_a_marker_tells_the_type_better_than_the_name(
    pytester: pytest.Pytester, here: Path, marker: str, module_type: str
) -> None:
    repository = write_repository(here, "tool", f"__amplifier_module_type__ = {marker}")
    test = write_test(repository, SHOW)

    assert shown(run(pytester, test))[0][1] == module_type


# -- fixtures ---------------------------------------------------------------------------


def test_the_stand_ins_need_no_module(pytester: pytest.Pytester, here: Path) -> None:
    write_test(
        here,
        """
import pytest
from amplifier_core import ChatRequest, EventRecorder, MockCoordinator

def test_coordinator(coordinator):
    assert type(coordinator) is MockCoordinator
    assert coordinator.modules == {}

@pytest.mark.asyncio
async def test_deps(mock_deps):
    context, providers, tools, hooks = mock_deps
    provider = providers["default"]
    response = await provider.complete(ChatRequest(messages=[]))
    assert response.content[0].text == "Mock response"
    assert (provider.name, provider.get_info().display_name) == ("mock", "Mock Provider")
    assert (await provider.list_models(), provider.parse_tool_calls(response)) == ([], [])
    assert (await tools["test_tool"].execute({})).output == "test result"
    assert await context.get_messages() == []
    assert isinstance(hooks, EventRecorder)
""",
    )

    run(pytester).assert_outcomes(passed=2)


MODULE_FIXTURES = [
    "provider_module", "tool_module", "orchestrator_module", "context_module", "hook_cleanup"
]  # fmt: skip


def test_a_test_that_needs_a_module_is_skipped_without_one(
    pytester: pytest.Pytester, here: Path
) -> None:
    tests = [f"async def test_{name}({name}): ..." for name in MODULE_FIXTURES]
    write_test(here, "\n".join(["import pytest", "pytestmark = pytest.mark.asyncio", *tests]))

    result = run(pytester)

    result.assert_outcomes(skipped=5)
    result.stdout.fnmatch_lines([f"*{NO_MODULE}"])


def test_a_structural_test_is_skipped_without_a_module(
    pytester: pytest.Pytester, here: Path
) -> None:
    name = "ToolStructuralTests"
    source = f"from amplifier_core.validation.structural import {name}\nclass TestIt({name}): ..."
    write_test(here, source)

    result = run(pytester)

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"*{NO_MODULE}"])


def test_a_module_that_mounts_nothing_fails_its_fixture(
    pytester: pytest.Pytester, here: Path
) -> None:
    repository = write_repository(here, "tool", "async def mount(coordinator, config): ...")
    source = "import pytest\n@pytest.mark.asyncio\nasync def test_it(tool_module): ...\n"

    result = run(pytester, write_test(repository, source))

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*mount() put nothing into 'tools'. Call *"])


CLEANING = """
class Tool:
    name = description = "clock"
    async def execute(self, input): ...
    def close(self): print("closed")

async def mount(coordinator, config):
    tool = Tool()
    await coordinator.mount("tools", tool)
    async def end(): print("ended")
    coordinator.register_cleanup(end)
    return tool
"""


def test_what_was_mounted_is_cleaned_up_after_the_test(
    pytester: pytest.Pytester, here: Path
) -> None:
    repository = write_repository(here, "tool", CLEANING)
    name = NAMES["tool"]
    source = f"""
import pytest, sys

@pytest.mark.asyncio
async def test_it(tool_module):
    assert type(tool_module).__module__ == {name!r}
    print("tested")

def test_next():
    print("next")
    assert {name!r} not in sys.modules
"""
    result = run(pytester, write_test(repository, source))

    result.assert_outcomes(passed=2)
    said = "".join(result.outlines).replace(".", "")
    positions = [said.index(word) for word in ("tested", "closed", "ended", "next")]
    assert positions == sorted(positions)


# -- the library's own tests ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["structural", "behavioral"])
@pytest.mark.parametrize("module_type", GOOD)
def test_the_bases_can_be_run_from_the_library_itself(
    pytester: pytest.Pytester, here: Path, kind: str, module_type: str
) -> None:
    repository = write_repository(here, module_type)

    result = run(pytester, LIBRARY / kind / f"test_{module_type}.py", "--module-path", repository)

    outcomes = result.parseoutcomes()
    assert outcomes.keys() <= {"passed", "skipped", "warnings"}
    assert outcomes["passed"] >= (1 if kind == "structural" else 5)


def test_library_tests_for_other_types_are_skipped(pytester: pytest.Pytester, here: Path) -> None:
    repository = write_repository(here, "tool")

    result = run(pytester, LIBRARY / "structural", "--module-path", repository)

    result.assert_outcomes(passed=1, skipped=4)
    result.stdout.fnmatch_lines(["*The module is a tool, not a hook."])


def test_library_tests_without_a_module_are_skipped(pytester: pytest.Pytester, here: Path) -> None:
    for place in ([LIBRARY / "structural"], ["--pyargs", "amplifier_core.validation.structural"]):
        result = run(pytester, *place)

        result.assert_outcomes(skipped=5)
        result.stdout.fnmatch_lines([f"*{NO_MODULE}"])


def test_importing_a_base_elsewhere_collects_nothing(pytester: pytest.Pytester, here: Path) -> None:
    write_test(here, "from amplifier_core.validation.behavioral import ToolBehaviorTests")

    assert run(pytester).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_the_marker_is_known(pytester: pytest.Pytester, here: Path) -> None:
    result = run(pytester, "--markers")

    result.stdout.fnmatch_lines(["@pytest.mark.module_validation: checks a module *"])


def test_a_module_is_mounted_with_the_config_that_its_tests_give(
    pytester: pytest.Pytester, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = TOOL.replace('"clock"', "None").replace("Tool()", 'Tool(), config["name"]')
    assert source != TOOL
    repository = write_repository(here, "tool", source)
    write_test(
        repository / "tests",
        """
import pytest

@pytest.fixture
def module_config():
    return {"name": "sundial"}

@pytest.mark.asyncio
async def test_it(tool_module, coordinator):
    assert list(coordinator.get("tools")) == ["sundial"]
""",
    )
    monkeypatch.chdir(repository)

    run(pytester).assert_outcomes(passed=1)


WITHOUT_ASYNCIO = """
import sys
sys.modules["pytest_asyncio"] = None
import pytest
sys.exit(pytest.main(["-q", "-p", "amplifier_core.pytest_plugin", "-c", "none.ini"]))
"""


def run_without_asyncio(here: Path, test: str) -> subprocess.CompletedProcess[str]:
    write_test(here, test)
    (here / "none.ini").write_text("[pytest]\n")
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_ASYNCIO],
        cwd=here,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_runs_without_pytest_asyncio_are_not_disturbed(here: Path) -> None:
    """The plugin is loaded into every run on the machine, also where no module is tested."""
    done = run_without_asyncio(here, "def test_it(coordinator): assert coordinator.session_id")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_module_tests_without_pytest_asyncio_say_what_to_install(here: Path) -> None:
    done = run_without_asyncio(here, "def test_it(tool_module): pass")

    assert done.returncode == 1, done.stdout + done.stderr
    assert "Install pytest-asyncio to run them." in done.stdout
