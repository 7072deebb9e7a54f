"""The one test that all structural bases share."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from ..engine import ModuleValidator
from ..harness import async_tests, skip_without_module

__all__ = ["StructuralTests"]


@async_tests
class StructuralTests:
    """The module passes its validator with an empty config."""

    validator: ClassVar[type[ModuleValidator]]

    async def test_structural_validation(self, module_path: Path | None) -> None:
        if module_path is None:
            skip_without_module()
        result = await self.validator().validate(module_path)
        findings = "\n".join(f"  {each.name}: {each.message}" for each in result.errors)
        assert result.passed, f"{result.summary()}\n{findings}"
