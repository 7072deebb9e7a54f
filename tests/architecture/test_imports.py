"""Importing the kernel brings in pydantic and nothing else: no wire formats, no test tools."""

import json
import os
import subprocess
import sys

import pytest

PYDANTIC_AND_WHAT_IT_NEEDS = {
    "amplifier_core",
    "annotated_types",
    "pydantic",
    "pydantic_core",
    "typing_extensions",
    "typing_inspection",
}

LIST_NEW_MODULES = """
import json, sys
before = set(sys.modules)
{statement}
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def modules_loaded_by(statement: str) -> set[str]:
    """Names of the modules that a fresh interpreter loads to run `statement`."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    run = subprocess.run(
        [sys.executable, "-c", LIST_NEW_MODULES.format(statement=statement)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout))


def is_part_of_python(name: str) -> bool:
    # The build's own settings are a module whose name depends on the platform.
    return name in sys.stdlib_module_names or name.startswith(("__", "_sysconfigdata"))


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return modules_loaded_by(
        "import amplifier_core; amplifier_core.AmplifierSession; amplifier_core.ChatRequest"
    )


def test_the_kernel_loads_only_pydantic_besides_the_standard_library(loaded: set[str]) -> None:
    top_level = {name.partition(".")[0] for name in loaded}
    third_party = {name for name in top_level if not is_part_of_python(name)}

    assert "amplifier_core.session" in loaded
    assert third_party <= PYDANTIC_AND_WHAT_IT_NEEDS


@pytest.mark.parametrize("heavy", ["yaml", "click", "rich", "grpc", "google", "wasmtime", "httpx"])
def test_the_kernel_does_not_load(heavy: str, loaded: set[str]) -> None:
    assert heavy not in loaded


@pytest.mark.parametrize("test_tool", ["unittest.mock", "pytest", "amplifier_core.testing"])
def test_the_kernel_does_not_load_test_tools(test_tool: str, loaded: set[str]) -> None:
    assert test_tool not in loaded
