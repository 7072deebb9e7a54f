"""Checks the shape of a mount plan before a session is made from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..utils.spelling import did_you_mean
from .base import Findings, ValidationCheck, bad, good

__all__ = ["MountPlanValidationResult", "MountPlanValidator"]

_SESSION_SHAPE = "{'session': {'orchestrator': ..., 'context': ...}}"
_SPEC_SHAPE = "{'module': 'module-name', 'source': '...', 'config': {...}}"


@dataclass
class MountPlanValidationResult(Findings):
    """What was found out about one mount plan."""

    checks: list[ValidationCheck] = field(default_factory=list)

    def format_errors(self) -> str:
        """All errors as a numbered list for people."""
        if self.passed:
            return "No errors"
        rows = [f"  {i}. [{each.name}] {each.message}" for i, each in enumerate(self.errors, 1)]
        total = f"Total: {len(self.errors)} error(s)"
        return "\n".join(["Mount Plan Validation Failed:", "", *rows, "", total])


class MountPlanValidator:
    """Looks at the structure only: no module is searched for, imported or mounted."""

    REQUIRED_SECTIONS: ClassVar[set[str]] = {"session"}
    OPTIONAL_SECTIONS: ClassVar[set[str]] = {"providers", "tools", "hooks", "agents"}
    REQUIRED_SESSION_FIELDS: ClassVar[set[str]] = {"orchestrator", "context"}
    REQUIRED_MODULE_SPEC_FIELDS: ClassVar[set[str]] = {"module"}

    SETTINGS_SECTIONS: ClassVar[set[str]] = {"orchestrator", "context"}
    """Top-level sections that configure a session part given by its id alone."""
    MODULE_LISTS: ClassVar[tuple[str, ...]] = ("providers", "tools", "hooks")
    PLAIN_IDS_ALLOWED_AT: ClassVar[set[str]] = {"session.orchestrator", "session.context"}
    """Where a session takes a bare module id in place of a dict."""

    def validate(self, mount_plan: Any) -> MountPlanValidationResult:
        result = MountPlanValidationResult()
        if not isinstance(mount_plan, dict):
            found = type(mount_plan).__name__
            text = f"A mount plan must be a dict, not {found}. Begin with {_SESSION_SHAPE}."
            result.add(bad("root_type", text))
            return result
        result.add(good("root_type", "The mount plan is a dict."))
        self._check_sections(result, mount_plan)
        if "session" in mount_plan:
            self._check_session(result, mount_plan["session"])
        for section in self.MODULE_LISTS:
            if section in mount_plan:
                self._check_list(result, section, mount_plan[section])
        return result

    def _check_sections(self, result: MountPlanValidationResult, plan: dict[Any, Any]) -> None:
        if "session" in plan:
            result.add(good("session_present", "The session section is present."))
        else:
            text = f"The 'session' section is missing. Add {_SESSION_SHAPE}."
            result.add(bad("session_present", text))
        known = self.REQUIRED_SECTIONS | self.OPTIONAL_SECTIONS | self.SETTINGS_SECTIONS
        unknown = sorted(str(section) for section in plan if section not in known)
        if unknown:
            otherwise = f"Known sections are {', '.join(sorted(known))}."
            hint = did_you_mean(unknown[0], known, otherwise)
            text = f"Sections that are unknown and will be ignored: {unknown}. {hint}"
            result.add(bad("unknown_sections", text, "warning"))

    def _check_session(self, result: MountPlanValidationResult, session: Any) -> None:
        if not isinstance(session, dict):
            found = type(session).__name__
            text = f"The session section must be a dict, not {found}. Write {_SESSION_SHAPE}."
            result.add(bad("session_type", text))
            return
        for part in sorted(self.REQUIRED_SESSION_FIELDS, reverse=True):
            if part in session:
                self._check_spec(result, f"session.{part}", session[part])
            else:
                text = f"The session names no {part}. Add session.{part} with a module id."
                result.add(bad(f"session_{part}_present", text))
        if session.get("approval") is not None:
            self._check_spec(result, "session.approval", session["approval"])

    def _check_list(self, result: MountPlanValidationResult, section: str, specs: Any) -> None:
        if not isinstance(specs, list):
            found = type(specs).__name__
            text = f"Section {section!r} must be a list, not {found}. Write [{_SPEC_SHAPE}, ...]."
            result.add(bad(f"{section}_type", text))
        elif not specs:
            result.add(good(f"{section}_empty", f"Section {section!r} is empty."))
        else:
            for index, spec in enumerate(specs):
                self._check_spec(result, f"{section}[{index}]", spec)

    def _check_spec(self, result: MountPlanValidationResult, path: str, spec: Any) -> None:
        if isinstance(spec, str) and path in self.PLAIN_IDS_ALLOWED_AT:
            spec = {"module": spec}
        if not isinstance(spec, dict):
            text = f"The module at {path} must be a dict, not {type(spec).__name__}."
            result.add(bad(f"{path}_type", f"{text} Write {_SPEC_SHAPE}."))
            return
        result.add(_module_id(path, spec))
        if "config" in spec and not isinstance(spec["config"], dict):
            text = f"The config at {path} must be a dict, not {type(spec['config']).__name__}."
            result.add(bad(f"{path}_config_type", f"{text} Leave it out if there is none."))
        if "source" in spec and not isinstance(spec["source"], str):
            text = f"The source at {path} must be a string, not {type(spec['source']).__name__}."
            result.add(bad(f"{path}_source_type", f"{text} Write a path or a git+https URL."))
        if path.startswith("providers") and _has_two_names(spec):
            text = f"The provider at {path} has a name and a different instance_id. Keep one."
            result.add(bad(f"{path}_name_conflict", text))


def _module_id(path: str, spec: dict[Any, Any]) -> ValidationCheck:
    if "module" not in spec:
        text = f"The module at {path} is missing its 'module' field."
        return bad(f"{path}_module_required", f"{text}\n  Got: {spec}\n  Expected: {_SPEC_SHAPE}")
    module = spec["module"]
    if not isinstance(module, str):
        text = f"The module id at {path} must be a string, not {type(module).__name__}."
        return bad(f"{path}_module_type", f"{text} Write it as 'tool-name'.")
    if not module:
        return bad(f"{path}_module_empty", f"The module id at {path} is empty. Name a module.")
    return good(f"{path}_module_valid", f"The module id {module!r} at {path} is valid.")


def _has_two_names(spec: dict[Any, Any]) -> bool:
    names = {spec[key] for key in ("name", "instance_id") if isinstance(spec.get(key), str)}
    return len(names) > 1
