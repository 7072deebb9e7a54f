"""A list of sessions at the terminal, to choose one from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amplifier.sessions.listing import Line

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples

HINT = "up, down or a number: choose   Enter: go on with it   Esc: leave"


class Choice:
    """Which of several lines is chosen; it knows nothing of the terminal."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self.at = 0

    def move(self, by: int) -> None:
        self.at = (self.at + by) % len(self._lines)

    def jump(self, number: int) -> None:
        """To the line of this number, counted from 1; numbers of no line are ignored."""
        if 0 < number <= len(self._lines):
            self.at = number - 1

    @property
    def session_id(self) -> str:
        return self._lines[self.at].summary.session_id

    def shown(self) -> StyleAndTextTuples:
        """Pieces of text with their styles."""
        pieces: StyleAndTextTuples = [("bold", "Which session?\n")]
        for number, line in enumerate(self._lines):
            style, mark = ("reverse", ">") if number == self.at else ("", " ")
            pieces.append((style, f"{mark} {number + 1:>2}  {line.short()}\n"))
        return [*pieces, ("fg:ansibrightblack", HINT)]


def choose(lines: list[Line]) -> str | None:
    """The id of the session that the person chose; None if they left."""
    from prompt_toolkit.application import Application
    from prompt_toolkit.data_structures import Point
    from prompt_toolkit.layout import Dimension, Layout, Window
    from prompt_toolkit.layout.controls import FormattedTextControl

    choice = Choice(lines)
    # In a low window it scrolls to the line that is chosen.
    control = FormattedTextControl(
        choice.shown, show_cursor=False, get_cursor_position=lambda: Point(0, choice.at + 1)
    )
    window = Window(control, height=Dimension(preferred=len(lines) + 2), wrap_lines=False)
    application: Application[str | None] = Application(
        layout=Layout(window), key_bindings=_keys(choice), erase_when_done=True
    )
    application.ttimeoutlen = 0.05
    return application.run()


def _keys(choice: Choice) -> Any:
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    def on(*names: str) -> Any:
        def decorate(act: Any) -> Any:
            for name in names:
                keys.add(name)(act)
            return act

        return decorate

    on("up", "k", "s-tab")(lambda event: choice.move(-1))
    on("down", "j", "tab")(lambda event: choice.move(1))
    on("enter")(lambda event: event.app.exit(choice.session_id))
    on("escape", "q", "c-c", "c-d")(lambda event: event.app.exit(None))
    on(*"123456789")(lambda event: choice.jump(int(event.data)))
    return keys
