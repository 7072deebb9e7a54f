"""What a person or a program sees of a session. stdout is for the answer, stderr for the rest."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol

from amplifier_core import AmplifierSession

from amplifier.output import Output
from amplifier.sessions.live import RecordedSession

ANSWER_SHOWN = "ui.answer_shown"
"""Capability of a module that shows the session itself: whether it has shown the last answer."""

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

    def aside(self) -> AbstractContextManager[None]:
        """Leave the screen to a question."""


def view_for(output_format: OutputFormat) -> View:
    if output_format != "text":
        from .document import DocumentView

        return DocumentView(Output(), with_trace=output_format == "json-trace")
    output = Output()
    if output.is_seen and _shows_colours_and_moves():
        from .live import LiveView

        return LiveView(output)
    from .terminal import TerminalView

    return TerminalView(output)


def _shows_colours_and_moves() -> bool:
    """Whether answers and notes go to the same terminal, and it is more than a printer."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def models_in_use(session: AmplifierSession) -> tuple[str, str]:
    """The provider's display name and its model, as far as it tells them."""
    providers: dict[str, Any] = session.coordinator.get("providers") or {}
    for name, provider in providers.items():
        info = provider.get_info()
        model = getattr(provider, "default_model", None) or info.defaults.get("model")
        return info.display_name or name, str(model or name)
    return "none", "none"
