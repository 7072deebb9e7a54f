"""What a person or a program sees of a session. stdout is for the answer, stderr for the rest."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from amplifier_core import AmplifierSession

from amplifier.output import Output
from amplifier.sessions.live import RecordedSession

OutputFormat = Literal["text", "json", "json-trace"]


class View(Protocol):
    """Follows a session by its events and reports how it ended."""

    output: Output

    def attach(self, session: RecordedSession) -> None:
        """Listen to the session's events."""

    def answered(self, text: str) -> None:
        """The turn is over."""

    def failed(self, message: str) -> None:
        """There is no answer."""


def view_for(output_format: OutputFormat) -> View:
    if output_format != "text":
        from .document import DocumentView

        return DocumentView(Output(), with_trace=output_format == "json-trace")
    from .terminal import TerminalView

    return TerminalView(Output())


def models_in_use(session: AmplifierSession) -> tuple[str, str]:
    """The provider's display name and its model, as far as it tells them."""
    providers: dict[str, Any] = session.coordinator.get("providers") or {}
    for name, provider in providers.items():
        info = provider.get_info()
        model = getattr(provider, "default_model", None) or info.defaults.get("model")
        return info.display_name or name, str(model or name)
    return "none", "none"
