"""The structural test of an orchestrator module."""

from ..orchestrator import OrchestratorValidator
from .base import StructuralTests

__all__ = ["OrchestratorStructuralTests"]


class OrchestratorStructuralTests(StructuralTests):
    """Subclass as `Test...` in the tests of an orchestrator module."""

    validator = OrchestratorValidator
