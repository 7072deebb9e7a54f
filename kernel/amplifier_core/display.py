"""How the kernel shows a hook's message. The application brings the implementation."""

from typing import Literal, Protocol


class DisplaySystem(Protocol):
    """Shows one line to the user, right away and without waiting."""

    def show_message(
        self, message: str, level: Literal["info", "warning", "error"], source: str = "hook"
    ) -> None:
        """Show `message`; `source` names who sent it."""
