"""Validators: is this a module, and does this mount plan make sense?

The test bases in `structural` and `behavioral` are imported on their own.
"""

from .approval import ApprovalValidator
from .base import ValidationCheck, ValidationResult
from .context import ContextValidator
from .hook import HookValidator
from .mount_plan import MountPlanValidationResult, MountPlanValidator
from .orchestrator import OrchestratorValidator
from .provider import ProviderValidator
from .tool import ToolValidator

__all__ = [
    "ApprovalValidator",
    "ContextValidator",
    "HookValidator",
    "MountPlanValidationResult",
    "MountPlanValidator",
    "OrchestratorValidator",
    "ProviderValidator",
    "ToolValidator",
    "ValidationCheck",
    "ValidationResult",
]
