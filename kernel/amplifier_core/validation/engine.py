"""The examination that all validators share: import, look at `mount`, try it.

What sets the types apart is in their contracts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, ClassVar

from ..loader import ModuleValidationError
from ..module_sources import ModuleLoadError
from ..transports import MODULE_TYPES
from ..transports.python import TYPE_MARKER
from ..utils.spelling import did_you_mean
from .base import ValidationCheck, ValidationResult, bad, check_on_session_ready, good, named_error
from .contract import Contract
from .foreign import foreign_module
from .locate import NotAModule, find_module
from .sandbox import Outcome, PrivateLoop, alone, apart, stdout_to_stderr
from .signatures import accepts, is_async_callable
from .trial import try_mount

__all__ = ["MOUNT_TIMEOUT", "ModuleValidator", "examine", "unknown_marker"]

MOUNT_TIMEOUT = 10.0
"""Seconds that each step of a trial may take."""
_TYPES = MODULE_TYPES
_IMPORTABLE = "module_importable"
_IMPORT_PATIENCE = 5
"""How many times as long as a step an import may take: it can pull in a large library."""
_MACHINERY = ("<", str(Path(importlib.__file__).parent), str(Path(__file__).parents[1]))
"""Where the files begin that only carry out an import."""
_MOUNT_SHAPE = "Write `async def mount(coordinator, config)`."
_IMPORT_RULE = "Let the import only define things, and do the work in mount()."

_SPEAKING = (ImportError, NotAModule, ModuleValidationError, ModuleLoadError)
"""Errors whose text says all there is to say."""

Chooser = Callable[[ModuleType], Contract | None]
"""Picks the contract for an imported module; None ends the examination."""


class ModuleValidator:
    """Examines one module of one type. A module is mounted on a mock coordinator only."""

    contract: ClassVar[Contract]

    def __init__(self, mount_timeout: float = MOUNT_TIMEOUT) -> None:
        self.mount_timeout = mount_timeout

    async def validate(
        self,
        module_path: str | Path,
        entry_point: str | None = None,
        config: dict[str, Any] | None = None,
    ) -> ValidationResult:
        """Examine the module at a path, or one that can be imported by its dotted name.

        Args:
            entry_point: accepted for older callers, and not used.
            config: what mount() gets; an empty one if left out.
        """
        result = ValidationResult(self.contract.module_type, str(module_path))

        def choose(module: ModuleType) -> Contract | None:
            marker = getattr(module, TYPE_MARKER, None)
            if not marker or marker == self.contract.module_type:
                return self.contract
            is_other_type = marker in _TYPES
            expected = self.contract.module_type
            result.add(_other_marker(marker, expected) if is_other_type else unknown_marker(marker))
            return None if is_other_type else self.contract

        await examine(result, choose, config or {}, self.mount_timeout)
        return result


def _other_marker(marker: str, expected: str) -> ValidationCheck:
    text = f"The module declares {TYPE_MARKER} = {marker!r}, but is examined as {expected!r}."
    return bad("module_type", f"{text} Correct the marker, or examine it as {marker!r}.")


def unknown_marker(marker: object) -> ValidationCheck:
    hint = did_you_mean(str(marker), _TYPES, f"Use one of {', '.join(_TYPES)}.")
    return bad("module_type", f"{TYPE_MARKER} is {marker!r}, which is no module type. {hint}")


async def examine(
    result: ValidationResult, choose: Chooser, config: dict[str, Any], timeout: float
) -> None:
    """Examine the module at `result.module_path` and add every check to `result`."""
    async with alone():
        with stdout_to_stderr() as spill, ExitStack() as stack:
            async with PrivateLoop() as loop:
                module = await _import(result, stack, loop, timeout)
                if module is not None:
                    await _examine_module(result, module, choose, loop, config, timeout)
        if spill.beginning:
            text = f"The module wrote to stdout, which belongs to the app: {spill.beginning!r}."
            mend = "Use logging, or return what the user should see."
            result.add(bad("stdout_clean", f"{text} {mend}", "warning"))


async def _import(
    result: ValidationResult, stack: ExitStack, loop: PrivateLoop, timeout: float
) -> ModuleType | None:
    target = result.module_path
    try:
        load: Any = None if _is_dotted_name(target) else foreign_module(Path(target))
        if load is None:
            place = target if _is_dotted_name(target) else find_module(Path(target))
            load = stack.enter_context(apart(place))
    except Exception as error:
        imported = Outcome(error=error)
    else:
        imported = await loop.call(load, timeout * _IMPORT_PATIENCE)
    if imported.timed_out:
        why = f"it did not finish within {timeout * _IMPORT_PATIENCE:g} s. {_IMPORT_RULE}"
    elif imported.error is not None:
        why = _why(imported.error)
    else:
        module: ModuleType = imported.value
        result.add(good(_IMPORTABLE, f"{module.__name__} was imported."))
        return module
    result.add(bad(_IMPORTABLE, f"Could not import {target!r}: {why}"))
    return None


def _is_dotted_name(target: str) -> bool:
    return not Path(target).exists() and all(part.isidentifier() for part in target.split("."))


def _why(error: BaseException) -> str:
    """Why an import failed, and what to do about it."""
    if isinstance(error, SystemExit):
        return f"it calls sys.exit(){_where(error)}. Raise an exception instead."
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return (
            f"{error.name!r} is not installed{_where(error)}. Run `pip install {package}`, or "
            f"install the module itself with what it depends on."
        )
    if isinstance(error, _SPEAKING) and str(error).endswith("."):
        return f"{error}"
    if isinstance(error, ImportError):
        return f"{error}. Check the name, and the version of the package that should have it."
    if isinstance(error, SyntaxError):
        return f"{error}. Correct it there."
    return f"{named_error(error)}{_where(error)}. {_IMPORT_RULE}"


def _where(error: BaseException) -> str:
    trace = extract_tb(error.__traceback__)
    frames = [each for each in trace if not each.filename.startswith(_MACHINERY)]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


async def _examine_module(
    result: ValidationResult,
    module: ModuleType,
    choose: Chooser,
    loop: PrivateLoop,
    config: dict[str, Any],
    timeout: float,
) -> None:
    contract = choose(module)
    if contract is None:
        return
    checks = list(_check_mount(getattr(module, "mount", None)))
    for check in checks:
        result.add(check)
    ready = check_on_session_ready(module)
    if ready is not None:
        result.add(ready)
    # A mount that cannot be called as sessions call it would only fail once more.
    if all(check.passed for check in checks):
        for check in await try_mount(loop, module, contract, config, timeout):
            result.add(check)


def _check_mount(mount: Any) -> list[ValidationCheck]:
    if not callable(mount):
        is_absent = mount is None
        what = "There is no mount()" if is_absent else f"mount is of type {type(mount).__name__}"
        return [bad("mount_exists", f"{what}. {_MOUNT_SHAPE}")]
    found = good("mount_exists", "mount() is there.")
    if not accepts(mount, object(), {}):
        text = "mount() must take 2 parameters, the coordinator and the config."
        return [found, bad("mount_signature", f"{text} {_MOUNT_SHAPE}")]
    if not is_async_callable(mount):
        return [found, bad("mount_signature", f"mount() is not async. {_MOUNT_SHAPE}")]
    return [found, good("mount_signature", "mount() is async and takes 2 parameters.")]
