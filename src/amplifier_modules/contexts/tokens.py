"""How many tokens a message takes: a cheap estimate, corrected by what the provider counted.

The estimate looks at what is sent and not at how Python prints it. English prose has about
3.8 characters per token; text with hardly any blanks, such as packed JSON or base64, 2.6.
Outside ASCII, every UTF-8 byte beyond the first of a character adds a quarter of a token,
which makes three quarters of a token per Chinese character and half of one per Russian letter.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

PER_MESSAGE = 4
PER_FIELD = 2
PER_IMAGE = 1_600
CHARS = 3.8
DENSE_CHARS = 2.6
CHARS_PER_BLANK = 12
"""Text with fewer blanks is dense."""
PER_EXTRA_BYTE = 0.25


def estimate_tokens(message: Mapping[str, Any]) -> int:
    """What `message` takes in a request, roughly; computed once per message."""
    content = message.get("content")
    total = text_tokens(content) if isinstance(content, str) else _tokens_in(content)
    if "tool_calls" in message and not (isinstance(content, list) and _has_call_blocks(content)):
        total += _tokens_in_calls(message["tool_calls"])
    return PER_MESSAGE + ceil(total)


def text_tokens(text: str) -> float:
    """The estimate for a text on its own."""
    length = len(text)
    if text.isascii():
        if length <= CHARS_PER_BLANK:  # as ids and names: whether there is a blank is enough
            is_prose = " " in text or "\n" in text
        else:
            is_prose = (text.count(" ") + text.count("\n")) * CHARS_PER_BLANK >= length
        return length / (CHARS if is_prose else DENSE_CHARS)
    extra = len(text.encode("utf-8", "surrogatepass")) - length
    return length / CHARS + extra * PER_EXTRA_BYTE


def _has_call_blocks(content: list[Any]) -> bool:
    """Loops store a call twice, as a block and in `tool_calls`; it is sent once."""
    return any(isinstance(block, dict) and block.get("type") == "tool_call" for block in content)


def _tokens_in_calls(calls: Any) -> float:
    """Python writes them about as long as the JSON that is sent, and quickly."""
    try:
        return text_tokens(repr(calls)) if calls else 0
    except Exception:
        return _tokens_in(calls)


def _tokens_in(value: Any) -> float:
    total = 0.0
    waiting = [*value] if isinstance(value, list) else [value]
    for each in waiting:  # which grows meanwhile
        if isinstance(each, str):
            total += text_tokens(each)
        elif isinstance(each, dict):
            if each.get("type") == "image":
                total += PER_IMAGE
                continue
            total += PER_FIELD * len(each)
            for part in each.values():
                if isinstance(part, str):
                    total += text_tokens(part)
                else:
                    waiting.append(part)
        elif isinstance(each, (list, tuple)):
            waiting += each
        elif each is not None:
            total += 1
    return total


class Meter:
    """Turns estimates into the provider's tokens: `overhead + scale * estimate`.

    The overhead is what a request carries besides messages, mostly descriptions of tools.
    After each answer both are set so that the request just counted is measured exactly.
    """

    _LEAST_TELLING = 2_000
    _SCALES = (0.5, 3.0)

    def __init__(self) -> None:
        self.overhead = 0.0
        self.scale = 1.0
        self._has_counted = False
        self._sent: int | None = None

    def measure(self, estimate: int) -> int:
        """Tokens that the provider will count for messages of this estimate."""
        return ceil(self.overhead + self.scale * estimate)

    def room(self, tokens: float) -> int:
        """The largest estimate that measures at most `tokens`; negative if there is none."""
        return int((tokens - self.overhead) // self.scale)

    def sent(self, estimate: int) -> None:
        """A request with messages of this estimate is on its way."""
        self._sent = estimate

    def counted(self, tokens: int) -> None:
        """The provider counted `tokens` for a request.

        Only the first plausible count after `sent()` is believed: other model calls of a
        session, such as one that finds a title, report their usage too.
        """
        estimate = self._sent
        lowest, highest = self._SCALES
        if not estimate or tokens < estimate * lowest:
            return
        self._sent = None
        if not self._has_counted or estimate < self._LEAST_TELLING:
            self.overhead = max(0.0, tokens - estimate)
            self._has_counted = True
        scale = (tokens - self.overhead) / estimate
        self.scale = min(max(scale, lowest), highest)
        self.overhead = max(0.0, tokens - self.scale * estimate)
