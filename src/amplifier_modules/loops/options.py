"""The config keys of the three loops."""

from __future__ import annotations

from typing import Any

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

    goal_stall_threshold: int = 3
    goal_model_role: str = "fast"
    goal_provider_preferences: list[dict[str, Any]] = Field(default_factory=list)
    goal_max_transcript_messages: int = 40
    goal_tool_content_clip_chars: int = 2000
    goal_transcript_char_budget: int = 20_000
    goal_busy_stall_window: int = 3
    goal_busy_stall_min_overlap: float = 0.5
    goal_summary_max_reasons: int = 20
