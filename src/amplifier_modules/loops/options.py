"""The config keys of the three loops."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from amplifier_modules.settings import Settings


class LoopSettings(Settings):
    """What every loop understands: all there is to loop-events."""

    max_iterations: int = Field(-1, ge=-1)
    """Model calls per turn; -1 means no limit."""
    default_provider: str | None = None
    """Mount name of the provider to use; otherwise the lowest priority number wins."""
    tool_timeout: float = Field(3600.0, ge=0)
    """Seconds that one tool call may take; 0 means no limit."""

    @property
    def most_parallel_tools(self) -> int:
        return 1


class BasicSettings(LoopSettings):
    """Keys of loop-basic."""

    extended_thinking: bool = False
    reasoning_effort: str | None = None
    max_parallel_tools: int = Field(8, ge=1)

    @property
    def most_parallel_tools(self) -> int:
        return self.max_parallel_tools


class StreamingSettings(BasicSettings):
    """Keys of loop-streaming."""

    stream_delay: float = Field(0.0, ge=0)
    """Seconds between words when a provider cannot stream by itself."""
    stream_idle_timeout: float = Field(300.0, ge=0)
    """Seconds a provider's stream may be silent; 0 means no limit."""
    min_delay_between_calls_ms: float = Field(0.0, ge=0)

    goal_stall_threshold: int = Field(3, ge=1)
    """Turns in a row without a tool call that make a goal look out of reach."""
    goal_model_role: str = "fast"
    goal_provider_preferences: list[dict[Literal["provider", "model"], str]] = Field(
        default_factory=list
    )
    """Who judges a goal if the role leads nowhere: `provider` and `model`, both may be globs."""
    goal_max_transcript_messages: int = Field(40, ge=1)
    goal_tool_content_clip_chars: int = Field(2000, ge=0)
    goal_transcript_char_budget: int = Field(20_000, ge=1)
    goal_busy_stall_window: int = Field(3, ge=2)
    """Turns in a row that fail for much the same reason."""
    goal_busy_stall_min_overlap: float = Field(0.5, ge=0, le=1)
    """What share of their words such reasons have in common."""
    goal_summary_max_reasons: int = Field(20, ge=1)
