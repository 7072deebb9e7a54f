"""The one test that all structural bases share."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from ..engine import ModuleValidator

__all__ = ["StructuralTests"]

NO_MODULE = "There is no module to test. Run inside its repository, or give --module-path."


class StructuralTests:
    """The module passes its validator with an empty config."""

    validator: ClassVar[type[ModuleValidator]]

    @pytest.mark.asyncio
    async def test_structural_validation(self, module_path: Path | None) -> None:
        if module_path is None:
            pytest.skip(NO_MODULE)
        result = await self.validator().validate(module_path)
        findings = "\n".join(f"  {each.name}: {each.message}" for each in result.errors)
        assert result.passed, f"{result.summary()}\n{findings}"
