"""Mounts a module on a mock coordinator and looks at what it did."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ..testing import MockCoordinator
from ..utils.spelling import did_you_mean
from .base import ValidationCheck, bad, good, named_error
from .contract import Contract
from .sandbox import Outcome, PrivateLoop

__all__ = ["cleanup_of", "cleanups", "try_mount"]

COMPLIANCE = "protocol_compliance"
CLEANUP = "cleanup"


async def try_mount(
    loop: PrivateLoop, module: Any, contract: Contract, config: dict[str, Any], timeout: float
) -> list[ValidationCheck]:
    """Mount, inspect and clean up, each within `timeout` seconds.

    The trial ends at the first step that does not come back.
    """
    coordinator = MockCoordinator()
    mounted = await loop.call(lambda: module.mount(coordinator, dict(config)), timeout)
    checks = [_failure("mount()", mounted, timeout, coordinator)] if _failed(mounted) else []
    if mounted.timed_out:
        return checks
    if not checks:
        looked = await loop.call(
            lambda: list(_inspect(module, contract, coordinator, mounted.value)), timeout
        )
        if _failed(looked):
            return [_failure("Looking at what was mounted", looked, timeout, coordinator)]
        checks = looked.value
    for cleanup in cleanups(contract, coordinator, mounted.value):
        ended = await loop.call(cleanup, timeout)
        if _failed(ended):
            checks.append(_cleanup_failure(ended, timeout))
        if ended.timed_out:
            break
    return checks


def _failed(outcome: Outcome) -> bool:
    return outcome.timed_out or outcome.error is not None


def _failure(
    what: str, outcome: Outcome, timeout: float, coordinator: MockCoordinator
) -> ValidationCheck:
    if outcome.timed_out:
        return bad(
            COMPLIANCE,
            f"{what} did not finish within {timeout:g} s. Connect on first use, or in a task "
            f"that mount() starts.",
        )
    if isinstance(outcome.error, SystemExit):
        return bad(COMPLIANCE, f"{what} called sys.exit(). Raise an exception instead.")
    mend = _better_place(coordinator) or (
        "Let it work with the config given here, or give the config it needs."
    )
    said = named_error(outcome.error).rstrip(".")
    return bad(COMPLIANCE, f"{what} raised {said}. {mend}")


def _better_place(coordinator: MockCoordinator) -> str:
    """Where the last mount should have gone, if there is no such place."""
    asked = [each["mount_point"] for each in coordinator.mount_history[-1:]]
    if not asked or asked[0] in coordinator.mount_points:
        return ""
    places = [each for each in coordinator.mount_points if each != "hooks"]
    return did_you_mean(asked[0], places, f"Mount at one of {', '.join(places)}.")


def _cleanup_failure(outcome: Outcome, timeout: float) -> ValidationCheck:
    what = f"did not finish within {timeout:g} s"
    if not outcome.timed_out:
        what = f"raised {named_error(outcome.error)}"
    text = f"The cleanup {what}; a session logs this and goes on, so something may be left open."
    return bad(CLEANUP, f"{text} Make it safe to call, once, without arguments.", "warning")


def _inspect(
    module: Any, contract: Contract, coordinator: MockCoordinator, returned: Any
) -> Iterator[ValidationCheck]:
    mounted = contract.mounted(coordinator)
    if not mounted and contract.may_be_returned and contract.recognises(returned):
        mounted = {contract.module_type: returned}
    for name, instance in mounted.items():
        yield from _inspect_instance(contract, name, instance)
    if mounted:
        return
    if contract.recognises(returned):
        text = f"mount() returned an object that implements {contract.label} interface"
        mend = f"but did not mount it. {contract.nothing}"
        yield good(COMPLIANCE, f"{text}, {mend}", "warning")
        yield from contract.checks(returned)
    elif callable(returned) or hasattr(module, "on_session_ready"):
        later = "returned a cleanup" if callable(returned) else "left it to on_session_ready"
        text = f"mount() mounted nothing and {later}, so there is nothing to look at."
        yield good(COMPLIANCE, f"{text} {contract.nothing}", "warning")
    else:
        yield bad(COMPLIANCE, f"{contract.nothing}{_elsewhere(coordinator)}")


def _inspect_instance(contract: Contract, name: str, instance: Any) -> Iterator[ValidationCheck]:
    lacking = contract.missing(instance)
    if inspect.isclass(instance):
        text = f"{name!r} is the class {instance.__name__}, not an instance of it."
        yield bad(COMPLIANCE, f"{text} Mount `{instance.__name__}(...)`.")
    elif lacking:
        kind = type(instance)
        text = f"{name!r} is no {contract.label}: it lacks {', '.join(lacking)}."
        is_theirs = kind.__module__ != "builtins"
        mend = "Add what is missing to" if is_theirs else "Give an object of your own, not a"
        yield bad(COMPLIANCE, f"{text} {mend} {kind.__name__}.")
    else:
        yield good(COMPLIANCE, f"{name!r} implements {contract.label} interface.")
        yield from contract.checks(instance)


def _elsewhere(coordinator: MockCoordinator) -> str:
    names = ", ".join(map(repr, coordinator.modules))
    return f" Mounted elsewhere: {names}." if names else ""


def cleanups(
    contract: Contract, coordinator: MockCoordinator, returned: Any
) -> list[Callable[[], Any]]:
    """What a session would call at its end, newest first."""
    ours = cleanup_of(contract, coordinator, returned)
    registered = [each for each in reversed(coordinator._cleanup_fns) if each != ours]
    return [*([ours] if ours else []), *registered]


def cleanup_of(
    contract: Contract, coordinator: MockCoordinator, returned: Any
) -> Callable[[], Any] | None:
    mounted = [*coordinator.modules.values(), *contract.mounted(coordinator).values()]
    is_instance = contract.recognises(returned) or any(each is returned for each in mounted)
    if callable(returned) and not is_instance:
        return returned  # type: ignore[no-any-return]
    for name in ("cleanup", "close"):
        method = getattr(returned, name, None)
        if callable(method):
            return method  # type: ignore[no-any-return]
    return None
