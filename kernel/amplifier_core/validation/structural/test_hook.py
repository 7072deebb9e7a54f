"""The structural test of a hook module."""

from ..hook import HookValidator
from .base import StructuralTests

__all__ = ["HookStructuralTests"]


class HookStructuralTests(StructuralTests):
    """Subclass as `Test...` in the tests of a hook module."""

    validator = HookValidator
