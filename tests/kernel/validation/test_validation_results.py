"""Results, the check of on_session_ready, and the small questions about callables."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core.validation import ValidationCheck, ValidationResult
from amplifier_core.validation.base import check_on_session_ready, import_module_from_path
from amplifier_core.validation.signatures import accepts, is_async_callable, parameter_count
from sample_modules import write_module


def check(passed: bool, severity: Any) -> ValidationCheck:
    return ValidationCheck("name", passed, "message", severity)


def test_an_empty_result_passes() -> None:
    result = ValidationResult("tool", "here")

    assert result.passed
    assert result.summary() == "PASSED: 0/0 checks passed (0 errors, 0 warnings)"


def test_only_failed_errors_fail_a_result() -> None:
    result = ValidationResult("tool", "here", [check(True, "warning"), check(True, "error")])
    result.add(check(False, "warning"))
    result.add(check(False, "info"))
    assert result.passed
    assert result.summary() == "PASSED: 2/4 checks passed (0 errors, 1 warnings)"

    result.add(check(False, "error"))
    assert not result.passed
    assert result.errors == [check(False, "error")]
    assert result.warnings == [check(False, "warning")]
    assert result.summary() == "FAILED: 2/5 checks passed (1 errors, 1 warnings)"


async def ready(coordinator: Any) -> None: ...
async def ready_with_more(coordinator: Any, more: int = 0) -> None: ...
async def ready_with_default(coordinator: Any = None) -> None: ...
async def ready_by_keyword(*, coordinator: Any) -> None: ...


class AsyncCallable:
    async def __call__(self, event: str, data: dict[str, Any]) -> None: ...


@pytest.mark.parametrize("function", [None, ready, ready_with_more])
def test_a_sound_on_session_ready_has_no_finding(function: Any) -> None:
    module = SimpleNamespace(on_session_ready=function)

    assert check_on_session_ready(module) is None


def test_a_module_without_on_session_ready_has_no_finding() -> None:
    assert check_on_session_ready(SimpleNamespace()) is None


@pytest.mark.parametrize("function", [ready_with_default, ready_by_keyword])
def test_on_session_ready_must_take_the_coordinator(function: Any) -> None:
    found = check_on_session_ready(SimpleNamespace(on_session_ready=function))

    assert found is not None
    assert (found.name, found.passed, found.severity) == ("on_session_ready_async", False, "error")
    assert "coordinator" in found.message


def test_on_session_ready_must_be_async() -> None:
    found = check_on_session_ready(SimpleNamespace(on_session_ready=lambda coordinator: None))

    assert found is not None
    assert "async" in found.message


def test_a_signature_that_cannot_be_read_is_given_the_benefit_of_the_doubt() -> None:
    class Opaque(AsyncCallable):
        __signature__ = "none"

    assert check_on_session_ready(SimpleNamespace(on_session_ready=Opaque())) is None
    assert accepts(Opaque(), 1, 2, 3)


def test_async_functions_and_objects_count_as_async() -> None:
    assert [is_async_callable(each) for each in (ready, AsyncCallable(), print, 3)] == [
        True, True, False, False
    ]  # fmt: skip


def test_self_is_not_counted_as_a_parameter() -> None:
    def function(self: Any, one: int, *rest: int, **more: int) -> None: ...

    assert parameter_count(function) == 3


def test_a_package_is_imported_under_its_own_name(tmp_path: Path) -> None:
    package = write_module(tmp_path, "sample_by_path", "value = 5")
    paths = list(sys.path)

    module = import_module_from_path(package)

    assert (module.__name__, module.value) == ("sample_by_path", 5)
    assert import_module_from_path(package) is module
    assert sys.path == paths
    del sys.modules["sample_by_path"]


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    import_module_from_path(write_module(tmp_path / "one", "sample_taken", ""))

    with pytest.raises(ImportError, match="sample_taken"):
        import_module_from_path(write_module(tmp_path / "two", "sample_taken", ""))
    del sys.modules["sample_taken"]


def test_validators_and_test_bases_can_be_imported_without_pytest() -> None:
    script = """
import sys
sys.modules["pytest"] = None
import amplifier_core.validation, amplifier_core.validation.base, amplifier_core.cli
import amplifier_core.validation.discover, amplifier_core.loader, amplifier_core.coordinator
from amplifier_core.validation import behavioral, structural
names = [*behavioral.__all__, *structural.__all__]
found = [getattr(behavioral, each, None) or getattr(structural, each) for each in names]
sys.exit(len(found) != 11)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)


def test_importing_the_kernel_does_not_import_the_workbench() -> None:
    script = """
import sys, amplifier_core
late = {"unittest.mock", "amplifier_core.testing", "amplifier_core.validation", "argparse"}
sys.exit(", ".join(late & sys.modules.keys()) or 0)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)
