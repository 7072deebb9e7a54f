"""The config keys of both contexts."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from amplifier_modules.settings import Settings

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class SimpleOptions(Settings):
    """Config of context-simple."""

    max_tokens: Annotated[int, Field(ge=1)] = 200_000
    """The budget if nobody names another; if set, also the most a provider's window may give."""
    compact_threshold: Annotated[float, Field(gt=0, le=1)] = 0.92
    target_usage: Annotated[float, Field(gt=0, le=1)] = 0.50
    protected_recent: Share = 0.30
    protected_tool_results: Count = 5
    truncate_chars: Count = 250
    output_reserve_fraction: Share = 0.5
    compaction_notice_enabled: bool = True
    compaction_notice_token_reserve: Count = 800
    compaction_notice_verbosity: Literal["minimal", "normal", "verbose"] = "normal"
    compaction_notice_min_level: Annotated[int, Field(ge=1)] = 1
    max_tool_result_bytes: Annotated[int, Field(ge=1)] = 131_072
    token_meter: Literal["actual", "estimate"] = "actual"
    spill_dir: str | None = None

    @field_validator("target_usage")
    @classmethod
    def _leaves_room(cls, target: float, info: ValidationInfo) -> float:
        threshold = info.data.get("compact_threshold", 1)
        if target > threshold:
            raise ValueError(f"it must not exceed compact_threshold ({threshold:g})")
        return target

    @cached_property
    def has_own_limit(self) -> bool:
        """Whether `max_tokens` was written down, and so limits providers too."""
        return "max_tokens" in self.model_fields_set


class PersistentOptions(SimpleOptions):
    """Config of context-persistent: all of context-simple's keys, and where things lie."""

    protected_recent: Share = 0.10
    transcript_path: str | None = None
    memory_files: tuple[str, ...] = ()
