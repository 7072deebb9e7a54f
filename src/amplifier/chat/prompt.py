"""The line to type on: it stays at the foot of the terminal while everything scrolls above it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output
from prompt_toolkit.styles import Style

from .questions import Answering, Question, Questions
from .state import State
from .terminal import is_dumb, terminal_size, terminal_width
from .texts import harmless, one_line, wrapped

MOST_LIVE_LINES = 12
MOST_QUEUED_LINES = 3
REDRAW_SECONDS = 0.05
CLOCK_SECONDS = 0.5
ESCAPE_SECONDS = 0.05
"""How long a terminal may take between the codes of one key."""
SEQUENCE_SECONDS = 0.3
"""How long a person may take between Esc and the key that belongs to it."""
STYLE = Style.from_dict(
    {
        "prompt": "ansicyan bold",
        "live": "",
        "queued": "ansibrightblack italic",
        "activity": "ansicyan",
        "question": "ansiyellow bold",
        "bottom-toolbar": "noreverse ansibrightblack",
    }
)


class _FileHistory(FileHistory):
    """Inputs of this project, for their owner only. A full disk is no reason to stop talking."""

    def __init__(self, file: Path) -> None:
        super().__init__(str(file))
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(file, os.O_CREAT | os.O_APPEND, 0o600))

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)


@contextmanager
def _in_one_write(output: Output) -> Iterator[None]:
    """What is flushed meanwhile leaves together at the end."""
    flush = output.flush
    output.flush = lambda: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        output.flush = flush  # type: ignore[method-assign]
        output.flush()


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
        self._draft = ""
        kept: History = _FileHistory(history) if history else InMemoryHistory()
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            bottom_toolbar=self._toolbar,
            completer=completer,
            complete_while_typing=True,
            complete_in_thread=True,
            history=kept,
            multiline=True,
            erase_when_done=True,
            enable_open_in_editor=True,
            enable_suspend=True,
            refresh_interval=CLOCK_SECONDS,
            style=STYLE,
            include_default_pygments_style=False,
            prompt_continuation="  ",
        )
        app = self._session.app
        app.min_redraw_interval = REDRAW_SECONDS
        app.ttimeoutlen, app.timeoutlen = ESCAPE_SECONDS, SEQUENCE_SECONDS
        self.answering = Answering(questions, self._keep, self._begin_reason, self.redraw)
        self._session.key_bindings = self._keys()

    async def read(self) -> str:
        """The next thing the user says.

        Raises:
            EOFError: the user is done.
        """
        draft, self._draft = self._draft, ""
        return await self._session.prompt_async(default=draft, handle_sigint=False)

    def leave(self) -> None:
        """Stop reading, as if there were nothing more to read."""
        app = self._session.app
        if app.is_running and not app.is_done:
            app.exit(exception=EOFError)

    def redraw(self) -> None:
        self._session.app.invalidate()

    def print_above(self, text: str) -> bool:
        """Let `text` scroll by above the line, in one write, so that nothing is seen to move.

        The library's own way hands the terminal over for each print: it would go blank, echo
        keys, and take a Ctrl-C for one that ends the program. False if an editor has it.
        """
        app = self._session.app
        raw = text.replace("\n", "\r\n")
        if app._running_in_terminal:
            return False
        if not app.is_running:
            app.output.write_raw(raw)
            app.output.flush()
            return True
        renderer = app.renderer
        drawn = renderer.last_rendered_screen
        below = max(renderer._min_available_height, drawn.height if drawn else 0)
        with _in_one_write(app.output):
            renderer.erase(leave_alternate_screen=False)
            app.output.write_raw(raw)
            # Known without asking the terminal: each line that is printed moves the prompt down.
            renderer._min_available_height = max(below - text.count("\n"), 1) if below else 0
            app._redraw()
        return True

    def put_back(self, text: str) -> None:
        """Let the user have `text` again, to send it or to change it."""
        buffer = self._session.default_buffer
        is_open = self._session.app.is_running
        typed = buffer.text if is_open else self._draft
        whole = f"{text}\n{typed}" if typed else text
        if is_open:
            buffer.text = whole
            buffer.cursor_position = len(whole)
        else:
            self._draft = whole

    def _keep(self, text: str) -> None:
        self._session.default_buffer.insert_text(text)

    def _begin_reason(self) -> None:
        buffer = self._session.default_buffer
        self._draft = buffer.text
        buffer.reset()

    # -- what is shown --------------------------------------------------------------------

    def _message(self) -> FormattedText:
        mark = "why? " if self._takes_reason() else "> "
        if is_dumb():
            return FormattedText([("", mark)])
        width = terminal_width()
        fragments = [("class:live", f"{line}\n") for line in self._live_lines(width)]
        question = self._questions.current
        if question is not None:
            hint = wrapped(self.answering.hint(question), width)
            fragments += [("class:question", f"{line}\n") for line in hint]
        elif self._state.is_running:
            fragments += [("class:queued", f"{line}\n") for line in self._queued_lines(width)]
            activity = one_line(f"{self._state.activity()}, Ctrl-C stops it", width - 2)
            fragments.append(("class:activity", f"… {activity}\n"))
        return FormattedText([*fragments, ("class:prompt", mark)])

    def _live_lines(self, width: int) -> list[str]:
        """The end of what the model is saying, as much as fits."""
        room = min(MOST_LIVE_LINES, terminal_size().lines - 6)
        text = self._live_text()
        if room <= 0 or not text.strip():
            return []
        return wrapped(harmless(text[-room * width :]), width)[-room:]

    def _queued_lines(self, width: int) -> list[str]:
        queued = list(self._state.queued)[:MOST_QUEUED_LINES]
        lines = [one_line(f"not read yet: {each}", width) for each in queued]
        more = len(self._state.queued) - len(lines)
        return [*lines, f"not read yet: {more} more"] if more > 0 else lines

    def _toolbar(self) -> str:
        return one_line(self._state.status(), terminal_width() - 1)

    # -- what keys do -----------------------------------------------------------------------

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        decides = Condition(lambda: self.answering.is_open)
        reasons = Condition(self._takes_reason)
        self._add_editing(keys, decides)
        self._add_answers(keys, decides, reasons)

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            if event.current_buffer.text and not self._state.is_running:
                event.current_buffer.reset()
            else:
                self._interrupt()

        @keys.add("escape", filter=~reasons)
        def _(event: KeyPressEvent) -> None:
            if event.current_buffer.complete_state is not None:
                event.current_buffer.cancel_completion()
            elif self._state.is_running:
                self._interrupt()

        @keys.add("c-d", filter=~decides)
        def _(event: KeyPressEvent) -> None:
            if event.current_buffer.text:
                event.current_buffer.delete()
            else:
                event.app.exit(exception=EOFError)

        return keys

    def _add_editing(self, keys: KeyBindings, decides: Condition) -> None:
        @keys.add("enter", filter=~decides)
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.document.text_before_cursor.endswith("\\"):
                buffer.delete_before_cursor()
                buffer.insert_text("\n")
            else:
                self.answering.noticed()
                buffer.validate_and_handle()

        @keys.add("c-j")
        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        def noticed(_sender: object) -> None:
            self.answering.noticed()

        self._session.default_buffer.on_text_insert += noticed

    def _add_answers(self, keys: KeyBindings, decides: Condition, reasons: Condition) -> None:
        """While a question is open, only its keys do something: no stray word is an answer."""

        @keys.add("<any>", filter=decides)
        @keys.add(Keys.BracketedPaste, filter=decides)
        def _(event: KeyPressEvent) -> None:
            key = event.key_sequence[0].key
            is_pasted = key is Keys.BracketedPaste
            is_text = is_pasted or not isinstance(key, Keys)
            text = event.data.replace("\r", "\n") if is_text else ""
            self.answering.typed(text, is_key=not is_pasted)
            self.redraw()

        @keys.add("enter", filter=decides)
        def _(_event: KeyPressEvent) -> None:
            self.answering.typed("")

        @keys.add("backspace", filter=decides)
        @keys.add("c-h", filter=decides)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.delete_before_cursor()
            self.answering.typed("")

        @keys.add("escape", filter=reasons, eager=True)
        def _(event: KeyPressEvent) -> None:
            question = self._questions.current
            if question is not None:
                question.takes_reason = False
                event.current_buffer.text, self._draft = self._draft, ""
            self.redraw()

    def _takes_reason(self) -> bool:
        question: Question | None = self._questions.current
        return question is not None and question.takes_reason
