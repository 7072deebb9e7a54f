"""What has been shown of the model's current answer, so that nothing is shown twice."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

from amplifier_modules.terminal.usage import ModelCall

Source = Literal["blocks of the provider", "chunks of the loop"]


@dataclass(slots=True)
class Answer:
    """One model call, from the request on."""

    call: ModelCall = field(default_factory=ModelCall)
    started: float = field(default_factory=time.monotonic)
    source: Source | None = None
    thinking: str = ""
    """What was streamed of it and is not on the screen yet."""
    is_thinking: bool = False
    thinking_was_streamed: bool = False
    text_was_streamed: bool = False
    calls_tools: bool = False
    has_come: bool = False
    usage_is_due: bool = False
    usage_is_shown: bool = False

    def comes_from(self, source: Source) -> bool:
        """Whether `source` is the one to show: the same text may be streamed by two."""
        if self.source is None:
            self.source = source
        return self.source == source

    def begins_again(self) -> None:
        """The stream broke off; whatever is streamed now is new."""
        self.source = None
        self.thinking = ""
        self.is_thinking = self.thinking_was_streamed = self.text_was_streamed = False

    def came(self) -> None:
        self.has_come = self.usage_is_due = True
        if self.call.seconds is None:
            self.call.seconds = time.monotonic() - self.started
