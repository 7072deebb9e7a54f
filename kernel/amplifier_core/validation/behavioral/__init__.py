"""Test bases that put a mounted module to use, under pytest with pytest-asyncio.

Subclass one as `Test...` in a module's own tests. Each test may be overridden by name.
"""

from .test_context import ContextBehaviorTests
from .test_hook import HookBehaviorTests
from .test_orchestrator import OrchestratorBehaviorTests
from .test_provider import ProviderBehaviorTests
from .test_tool import ToolBehaviorTests

__all__ = [
    "ContextBehaviorTests",
    "HookBehaviorTests",
    "OrchestratorBehaviorTests",
    "ProviderBehaviorTests",
    "ToolBehaviorTests",
]
