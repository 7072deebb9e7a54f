"""What the user says while a turn is running."""

from __future__ import annotations

import logging
from collections import deque

LONGEST_QUEUE = 100

logger = logging.getLogger(__name__)


class Steering:
    """A short queue of user messages, taken up at the next step of the running turn."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def steer(self, text: str) -> None:
        """Have the model read `text` at its next step.

        Raises:
            ValueError: there is nothing to read.
            RuntimeError: too much is waiting already.
        """
        if not isinstance(text, str) or not text.strip():
            raise ValueError("There is nothing to say in a blank text. Write a message.")
        if len(self._waiting) >= LONGEST_QUEUE:
            raise RuntimeError(
                f"{LONGEST_QUEUE} messages are waiting already. Let the turn take some of them up."
            )
        self._waiting.append(text)

    def take(self) -> str:
        return self._waiting.popleft()

    def clear(self) -> None:
        if self._waiting:
            logger.warning("%d messages to steer by came too late", len(self._waiting))
            self._waiting.clear()
