"""The structural test of a tool module."""

from ..tool import ToolValidator
from .base import StructuralTests

__all__ = ["ToolStructuralTests"]


class ToolStructuralTests(StructuralTests):
    """Subclass as `Test...` in the tests of a tool module."""

    validator = ToolValidator
