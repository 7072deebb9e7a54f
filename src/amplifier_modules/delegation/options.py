"""The config keys of tool-task and tool-delegate."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from amplifier_modules.delegation.narrowing import is_guard
from amplifier_modules.settings import Settings


def refuse_guards(hooks: list[str] | None) -> None:
    """Raise if a guard is to be left out of children."""
    guards = sorted(filter(is_guard, hooks or ()))
    if guards:
        raise ValueError(f"{guards[0]!r} is a guard, and children keep all guards")


class TaskSettings(Settings):
    """Keys of tool-task."""

    exclude_tools: list[str] | None = None
    """Module ids that children do not get."""
    inherit_tools: list[str] | None = None
    """The only module ids that children get."""
    exclude_hooks: list[str] | None = None
    inherit_hooks: list[str] | None = None
    """The only hooks that children get beside the guards."""
    max_recursion_depth: int = Field(1, ge=0)
    """How many levels of children there may be below the first session."""
    timeout: float | None = Field(None, gt=0)
    """Seconds that a child may work on one instruction."""
    max_iterations: int | None = Field(None, ge=1)
    """Model calls that a child may make for one instruction."""
    max_resumable: int = Field(50, ge=0)
    """How many children are remembered, so that they can go on."""

    @model_validator(mode="after")
    def _check_pairs(self) -> Self:
        for kind in ("tools", "hooks"):
            pair = f"exclude_{kind}", f"inherit_{kind}"
            if all(getattr(self, key) is not None for key in pair):
                raise ValueError(f"{pair[0]!r} and {pair[1]!r} exclude each other; give one")
        refuse_guards(self.exclude_hooks)
        return self


class SelfDelegation(Settings):
    enabled: bool = True
    max_depth: int = Field(3, ge=0)


class Switch(Settings):
    enabled: bool = True


class ContextInheritance(Settings):
    enabled: bool = True
    max_turns: int = Field(10, ge=1)


class DelegateFeatures(Settings):
    """What callers may ask for."""

    self_delegation: SelfDelegation = SelfDelegation()
    session_resume: Switch = Switch()
    context_inheritance: ContextInheritance = ContextInheritance()
    provider_selection: Switch = Switch()


class DelegatePolicy(Settings):
    """What children get."""

    exclude_tools: list[str] = Field(default_factory=lambda: ["tool-delegate"])
    exclude_hooks: list[str] = Field(default_factory=list)
    timeout: float | None = Field(None, gt=0)
    max_iterations: int | None = Field(None, ge=1)
    max_resumable: int = Field(50, ge=0)

    @model_validator(mode="after")
    def _check_hooks(self) -> Self:
        refuse_guards(self.exclude_hooks)
        return self


class DelegateSettings(Settings):
    """Keys of tool-delegate."""

    features: DelegateFeatures = DelegateFeatures()
    settings: DelegatePolicy = DelegatePolicy()
