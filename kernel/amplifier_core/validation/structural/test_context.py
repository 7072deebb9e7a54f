"""The structural test of a context module."""

from ..context import ContextValidator
from .base import StructuralTests

__all__ = ["ContextStructuralTests"]


class ContextStructuralTests(StructuralTests):
    """Subclass as `Test...` in the tests of a context module."""

    validator = ContextValidator
