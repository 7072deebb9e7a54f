"""The config keys of hooks-shell."""

from __future__ import annotations

from pydantic import Field

from amplifier_modules.settings import Settings


class ShellSettings(Settings):
    """Keys of hooks-shell."""

    enabled: bool = True
    working_dir: str | None = None
    """The project; otherwise the session's working folder."""
    fail_closed: bool = True
    """Whether a guard that fails denies; otherwise it only warns."""
    trusted: bool = False
    """Whether to accept hook files that somebody else owns or may write."""
    skills: bool = True
    """Whether skills may bring hooks of their own."""
    env_passthrough: list[str] = Field(default_factory=list)
    """Variables that commands get although they look like secrets; globs are allowed."""
    max_output: int = Field(65_536, ge=1)
    """Bytes that a command may write to each of its two outputs."""
