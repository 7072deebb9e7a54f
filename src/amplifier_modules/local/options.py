"""The config of provider-local."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from amplifier_modules.settings import Settings

MODULE_ID = "provider-local"
MOUNT_NAME = "local"

Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]


class LocalSettings(Settings):
    """Settings of provider-local, as written under `config:` in a mount plan."""

    model_path: Path | None = None
    """A GGUF file. None takes the small demo model, if it is installed."""
    default_model: str | None = None
    """What the model is called; None takes the name of the file."""
    context_window: Count | None = None
    """Tokens; None takes what the file says, up to 8192."""
    max_tokens: Count | None = None
    """Longest answer, in tokens; None means 512 for the demo model and 2048 for others."""
    temperature: Annotated[float, Field(ge=0)] = 0.2
    seed: Annotated[int, Field(ge=0)] | None = None
    """Makes answers repeatable on one machine."""
    threads: Count = 1
    """More are faster on an idle machine, and far slower on a busy one."""
    timeout: Seconds = 600
    first_token_timeout: Seconds = 300
    """Includes loading the model, waiting for other sessions and reading the prompt."""
    tool_choice: str = "auto"
    """`auto`, `none`, `required` or a tool's name, where the request does not say."""
    max_tool_rounds: Annotated[int, Field(ge=0)] | None = None
    """After so many tool results in a row the model has to answer in words.

    None means 3 for the demo model, which never has enough, and no limit for others.
    """
    priority: int = 100
    raw: bool = False
    """Put the whole request to the engine into `llm:request`."""

    def output_limit(self) -> int:
        return self.max_tokens or (512 if self.is_demo else 2048)

    def round_limit(self) -> float:
        if self.max_tool_rounds is not None:
            return self.max_tool_rounds
        return 3 if self.is_demo else float("inf")

    @property
    def is_demo(self) -> bool:
        """Whether the demo model answers, which needs to be held by the hand."""
        return self.model_path is None
