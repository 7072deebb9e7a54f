"""What every validator reports, and the checks that need no mounting."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Literal

from .signatures import is_async_callable, required_positional

__all__ = [
    "Severity",
    "ValidationCheck",
    "ValidationResult",
    "check_on_session_ready",
    "import_module_from_path",
]

_READY_SHAPE = "Write `async def on_session_ready(coordinator)`."

Severity = Literal["error", "warning", "info"]


@dataclass
class ValidationCheck:
    """One thing that was looked at. Only a failed check of severity error is fatal."""

    name: str
    passed: bool
    message: str
    severity: Severity


class Findings:
    """A list of checks and what it amounts to."""

    checks: list[ValidationCheck]

    def add(self, check: ValidationCheck) -> None:
        self.checks.append(check)

    @property
    def passed(self) -> bool:
        return not self.errors

    @property
    def errors(self) -> list[ValidationCheck]:
        return self._failed("error")

    @property
    def warnings(self) -> list[ValidationCheck]:
        return self._failed("warning")

    def _failed(self, severity: Severity) -> list[ValidationCheck]:
        return [each for each in self.checks if not each.passed and each.severity == severity]

    def summary(self) -> str:
        """One line with the verdict and the counts."""
        verdict = "PASSED" if self.passed else "FAILED"
        good = sum(each.passed for each in self.checks)
        return (
            f"{verdict}: {good}/{len(self.checks)} checks passed "
            f"({len(self.errors)} errors, {len(self.warnings)} warnings)"
        )


@dataclass
class ValidationResult(Findings):
    """What a validator found out about one module."""

    module_type: str
    module_path: str
    checks: list[ValidationCheck] = field(default_factory=list)


def good(name: str, message: str, severity: Severity = "info") -> ValidationCheck:
    return ValidationCheck(name, True, message, severity)


def bad(name: str, message: str, severity: Severity = "error") -> ValidationCheck:
    return ValidationCheck(name, False, message, severity)


def named_error(error: BaseException | None) -> str:
    """An error as one writes it in a sentence."""
    name = type(error).__name__
    return f"{name}: {error}" if str(error) else name


def check_on_session_ready(module: object) -> ValidationCheck | None:
    """What is wrong with a module's `on_session_ready`; None if it is sound or absent."""
    ready = getattr(module, "on_session_ready", None)
    if ready is None:
        return None
    name = "on_session_ready_async"
    if not is_async_callable(ready):
        return bad(name, f"on_session_ready is not async. {_READY_SHAPE}")
    try:
        parameters = required_positional(ready)
    except (TypeError, ValueError):
        return None
    if not parameters:
        return bad(name, f"on_session_ready has no parameter for the coordinator. {_READY_SHAPE}")
    return None


def import_module_from_path(module_path: Path) -> ModuleType:
    """Import the package folder or Python file at `module_path` under its own name.

    The import system is used as usual, with the parent folder first on `sys.path` for the
    time of the import. What is already loaded from there is returned as it is.

    Raises:
        ImportError: the name is taken by a module from another file.
    """
    from ..transports.python import import_package

    return import_package(module_path)
