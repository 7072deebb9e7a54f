"""Which reply comes next: the script's steps, or the canned replies in a circle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from amplifier_core.llm_errors import ConfigurationError
from amplifier_core.message_models import ChatRequest, Message, TextBlock

from .script import MockSettings, ScriptedCall, Step

_READ_CALL = Step(tool_calls=[ScriptedCall(name="read", arguments={"path": "test.txt"})])


class Player:
    """Hands out the steps of one provider."""

    def __init__(self, settings: MockSettings) -> None:
        self._settings = settings
        self._script = settings.steps()
        self._canned = [Step(text=text) for text in settings.responses]
        self._call_numbers: Iterator[int] = count(1)
        self.calls = 0

    def next(self, request: ChatRequest) -> Step:
        """The reply to `request`.

        Raises:
            ConfigurationError: the script is over.
        """
        self.calls += 1
        if self._script is not None:
            return self._scripted(self._script)
        if self._settings.legacy_read_call and _asks_to_read(request.messages):
            return _READ_CALL
        # The first reply is the second element, as in the public mock.
        return self._canned[self.calls % len(self._canned)]

    def _scripted(self, script: list[Step]) -> Step:
        if self.calls <= len(script):
            return script[self.calls - 1]
        if script and self._settings.on_exhausted == "repeat":
            return script[(self.calls - 1) % len(script)]
        if script and self._settings.on_exhausted == "last":
            return script[-1]
        raise ConfigurationError(
            f"The script of the mock has {len(script)} steps and this is call {self.calls}. "
            f"Add a step, or set `on_exhausted` to 'repeat' or 'last'.",
            provider="mock",
        )

    def call_id(self, call: ScriptedCall) -> str:
        return call.id or f"call_{next(self._call_numbers)}"

    def left_over(self) -> list[str]:
        """The steps that were never played, in words."""
        steps = list(enumerate(self._script or [], start=1))
        return [f"step {number} {step}" for number, step in steps[self.calls :]]


def _asks_to_read(messages: list[Message]) -> bool:
    # A tool's answer may well contain the word; calling again would never end.
    return bool(messages) and messages[-1].role != "tool" and "read" in _text(messages[-1])


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return " ".join(block.text for block in message.content if isinstance(block, TextBlock))
