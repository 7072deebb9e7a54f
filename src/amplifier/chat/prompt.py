"""The line to type on: it stays at the foot of the terminal while everything scrolls above it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.styles import Style

from .questions import DENY_WITH_REASON, KEYS, Questions
from .state import State
from .texts import harmless, one_line, wrapped

if TYPE_CHECKING:
    from .commands import Command

MOST_LIVE_LINES = 12
MOST_COMPLETIONS = 50
REDRAW_SECONDS = 0.05
CLOCK_SECONDS = 0.5
STYLE = Style.from_dict(
    {
        "prompt": "ansicyan bold",
        "live": "",
        "activity": "ansicyan",
        "question": "ansiyellow bold",
        "bottom-toolbar": "noreverse ansibrightblack",
    }
)


def terminal_size() -> os.terminal_size:
    """How large the window is now; variables like COLUMNS would not know of a change."""
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1)
    except (OSError, ValueError):
        return os.terminal_size((80, 24))


def terminal_width() -> int:
    return terminal_size().columns


class Prompt:
    """Reads what the user types; above the line it shows what still moves."""

    def __init__(
        self,
        state: State,
        questions: Questions,
        live_text: Callable[[], str],
        interrupt: Callable[[], None],
        completer: Completer,
        history: Path | None,
    ) -> None:
        self._state = state
        self._questions = questions
        self._live_text = live_text
        self._interrupt = interrupt
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            bottom_toolbar=self._toolbar,
            completer=completer,
            complete_while_typing=True,
            history=FileHistory(str(history)) if history else InMemoryHistory(),
            key_bindings=self._keys(),
            multiline=True,
            erase_when_done=True,
            refresh_interval=CLOCK_SECONDS,
            style=STYLE,
            include_default_pygments_style=False,
            prompt_continuation="  ",
        )
        self._session.app.min_redraw_interval = REDRAW_SECONDS
        self._session.app.ttimeoutlen = 0.05

    async def read(self) -> str:
        """The next thing the user says.

        Raises:
            EOFError: the user is done.
        """
        return await self._session.prompt_async(handle_sigint=False)

    def redraw(self) -> None:
        self._session.app.invalidate()

    # -- what is shown --------------------------------------------------------------------

    def _message(self) -> FormattedText:
        width = terminal_width()
        fragments = [("class:live", f"{line}\n") for line in self._live_lines(width)]
        question = self._questions.current
        if question is not None:
            hint = wrapped(question.hint(), width)
            fragments += [("class:question", f"{line}\n") for line in hint]
        elif self._state.is_running:
            activity = one_line(f"{self._state.activity()}, Ctrl-C stops it", width - 2)
            fragments.append(("class:activity", f"… {activity}\n"))
        mark = "why? " if question is not None and question.takes_reason else "> "
        return FormattedText([*fragments, ("class:prompt", mark)])

    def _live_lines(self, width: int) -> list[str]:
        """The end of what the model is saying, as much as fits."""
        room = min(MOST_LIVE_LINES, terminal_size().lines - 6)
        text = self._live_text()
        if room <= 0 or not text.strip():
            return []
        return wrapped(harmless(text[-room * width :]), width)[-room:]

    def _toolbar(self) -> str:
        return one_line(self._state.status(), terminal_width() - 1)

    # -- what keys do -----------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @Condition
        def decides() -> bool:
            question = self._questions.current
            return question is not None and not question.takes_reason

        @keys.add("enter", filter=~decides)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("c-j")
        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            if event.current_buffer.text and not self._state.is_running:
                event.current_buffer.reset()
            else:
                self._interrupt()

        @keys.add("c-d", filter=~decides)
        def _(event: KeyPressEvent) -> None:
            if not event.current_buffer.text:
                event.app.exit(exception=EOFError)

        self._add_answers(keys, decides)
        return keys

    def _add_answers(self, keys: KeyBindings, decides: Condition) -> None:
        """While a question is open, only its keys do something: no stray word is an answer."""

        @keys.add("<any>", filter=decides)
        def _(event: KeyPressEvent) -> None:
            question, key = self._questions.current, event.data.lower()
            if question is None:
                return
            if key == DENY_WITH_REASON:
                question.takes_reason = True
            elif key in KEYS and question.takes(KEYS[key][0]):
                question.decide(KEYS[key][0])
            self.redraw()

        @keys.add("enter", filter=decides)
        def _(_event: KeyPressEvent) -> None:
            self.redraw()


class ChatCompleter(Completer):
    """Completes slash commands at the start, and `@` with files or agents anywhere."""

    def __init__(
        self, commands: dict[str, Command], folder: Path, agents: Callable[[], Iterable[str]]
    ) -> None:
        self._commands = commands
        self._folder = folder
        self._agents = agents

    def get_completions(self, document: Document, _event: Any) -> Iterable[Completion]:
        text = document.text_before_cursor
        if text.startswith("/") and " " not in text and "\n" not in text:
            for name, command in self._commands.items():
                if f"/{name}".startswith(text):
                    yield Completion(f"/{name}", -len(text), display_meta=command.about)
            return
        word = text.split()[-1] if text and not text[-1].isspace() else ""
        if word.startswith("@"):
            found = [*self._matching_agents(word[1:]), *self._matching_files(word[1:])]
            for each in found[:MOST_COMPLETIONS]:
                yield Completion(f"@{each}", -len(word))

    def _matching_agents(self, start: str) -> list[str]:
        return sorted(each for each in self._agents() if each.startswith(start))

    def _matching_files(self, start: str) -> list[str]:
        parent, _, prefix = start.rpartition("/")
        folder = self._folder / parent
        try:
            found = [each for each in folder.iterdir() if each.name.startswith(prefix)]
        except OSError:
            return []
        before = f"{parent}/" if parent or start.startswith("/") else ""
        shown = [each for each in found if prefix or not each.name.startswith(".")]
        return sorted(f"{before}{each.name}{'/' if each.is_dir() else ''}" for each in shown)
