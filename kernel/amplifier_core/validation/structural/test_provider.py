"""The structural test of a provider module."""

from ..provider import ProviderValidator
from .base import StructuralTests

__all__ = ["ProviderStructuralTests"]


class ProviderStructuralTests(StructuralTests):
    """Subclass as `Test...` in the tests of a provider module."""

    validator = ProviderValidator
