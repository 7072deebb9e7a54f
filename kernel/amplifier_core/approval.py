"""How the kernel asks a person for permission. The application brings the implementation."""

from typing import Literal, Protocol


class ApprovalTimeoutError(Exception):
    """Nobody answered in time; the caller takes the default."""


class ApprovalSystem(Protocol):
    """Puts a question to the user. The kernel remembers no answers."""

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: Literal["allow", "deny"]
    ) -> str:
        """Return the chosen option; raise `ApprovalTimeoutError` after `timeout` seconds."""
