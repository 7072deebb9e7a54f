"""Talks with a session until the user has had enough."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from amplifier_core import AmplifierSession
from prompt_toolkit.patch_stdout import patch_stdout
from rich.console import RenderableType

from amplifier.secrets import masked
from amplifier.views import models_in_use

from . import drawing
from .commands import COMMANDS, CommandFailed, carry_out
from .drawing import Drawing, wants_colour
from .follower import Follower
from .prompt import ChatCompleter, Prompt, terminal_width
from .questions import Questions, TerminalApprovals
from .state import State

FAREWELLS = ("exit", "quit")
PAST_MESSAGES = 10


class Chat:
    """One conversation: reads what the user says, and shows what becomes of it."""

    def __init__(
        self, session: AmplifierSession, folder: Path, *, history: Path | None, remember: Any = None
    ) -> None:
        self.session = session
        self.state = State()
        self._drawing = Drawing(colour=wants_colour())
        self._questions = Questions(self.show, self._redraw)
        self._follower = Follower(self.state, self.show, terminal_width, self._redraw)
        self._approvals = TerminalApprovals(self._questions, folder, remember)
        self._prompt = Prompt(
            self.state,
            self._questions,
            self._follower.live_text,
            self.interrupt,
            ChatCompleter(COMMANDS, folder, self.agents),
            history,
        )
        self._turn: asyncio.Task[None] | None = None
        self._is_over = False

    async def talk(self) -> None:
        """Go on until the user ends it."""
        self._attach()
        with patch_stdout(raw=True):
            self._greet()
            await self._show_past()
            while not self._is_over:
                try:
                    text = await self._prompt.read()
                except EOFError:
                    if self.state.is_running:
                        self.show(drawing.note("The agent is at work. Ctrl-C stops it."))
                        continue
                    break
                await self._take(text)
            await self._stop_turn()

    def _attach(self) -> None:
        coordinator = self.session.coordinator
        _provider, self.state.model = models_in_use(self.session)
        self.state.window = _window(coordinator)
        self._follower.attach(self.session)
        coordinator.approval_system = self._approvals
        coordinator.display_system = self
        register = coordinator.get_capability("approval.register_provider")
        if register is not None:
            register(self._approvals)

    def _greet(self) -> None:
        self.show(
            drawing.note(
                f"{self.state.model}, session {self.session.session_id[:8]}. "
                "/help shows what you can do, Ctrl-D ends."
            )
        )

    async def _show_past(self) -> None:
        """The end of what was said before, for someone who comes back."""
        spoken = [(each.get("role"), text_of(each)) for each in await self.messages()]
        shown = [(role, text) for role, text in spoken if role in ("user", "assistant") and text]
        for role, text in shown[-PAST_MESSAGES:]:
            self.show(drawing.said_by_user(text) if role == "user" else drawing.markdown(text))

    # -- what the user says -----------------------------------------------------------------

    async def _take(self, text: str) -> None:
        question = self._questions.current
        if question is not None:
            question.decide("deny", text.strip())
        elif text.strip() in FAREWELLS:
            self.end()
        elif text.startswith("/"):
            await self._command(text)
        elif text.strip() and self.state.is_running:
            self._steer(text)
        elif text.strip():
            await self.submit(text)

    async def _command(self, text: str) -> None:
        try:
            said = await carry_out(self, text)
        except CommandFailed as error:
            self.show(drawing.note(str(error), "red"))
        else:
            if said:
                self.show(drawing.note(said, ""))

    def _steer(self, text: str) -> None:
        steer = self.session.coordinator.get_capability("session.steer")
        self.show(drawing.said_by_user(text))
        if steer is None:
            self.show(drawing.note("This loop cannot be steered. Say it again afterwards.", "red"))
            return
        try:
            steer(text)
        except RuntimeError as error:
            self.show(drawing.note(str(error), "red"))
            return
        self.state.steering += 1

    async def submit(self, text: str) -> None:
        """Begin a turn with what the user said."""
        if self.state.is_running:
            raise CommandFailed("The agent is at work. Wait, or stop it with Ctrl-C.")
        self.show(drawing.said_by_user(text))
        self.state.turn_begins()
        self._turn = asyncio.create_task(self._run_turn(text))

    def end(self) -> None:
        self._is_over = True

    # -- a turn ----------------------------------------------------------------------------

    async def _run_turn(self, text: str) -> None:
        token = self.session.coordinator.cancellation
        try:
            answer = await self.session.execute(text)
            self._follower.answer(answer)
            if token.is_cancelled:
                self.show(drawing.note("Stopped. The conversation goes on from here.", "yellow"))
        except asyncio.CancelledError:
            self._follower.flush()
            self.show(drawing.note("Stopped at once.", "yellow"))
        except Exception as error:
            self._follower.flush()
            self.show(drawing.note(masked(f"{type(error).__name__}: {error}"), "red"))
        finally:
            token.reset()
            self.state.turn_ends()
            self._redraw()

    def interrupt(self) -> None:
        """Ctrl-C: the first stops after the running step, the second at once."""
        if self._turn is None or self._turn.done():
            self.show(drawing.note("Ctrl-D ends the chat."))
            return
        question = self._questions.current
        if question is not None:
            question.decide("deny", "The user interrupted.")
        if self.session.coordinator.cancellation.request_graceful():
            self.state.is_stopping = True
            self.show(drawing.note("Stopping after this step. Ctrl-C again stops at once."))
        else:
            self.session.coordinator.cancellation.request_immediate()
        self._redraw()

    async def _stop_turn(self) -> None:
        if self._turn is not None and not self._turn.done():
            self.session.coordinator.cancellation.request_immediate()
            await asyncio.wait([self._turn], timeout=5)

    # -- what others ask -------------------------------------------------------------------

    def show(self, what: RenderableType) -> None:
        """Let it scroll by above the prompt."""
        sys.stdout.write(self._drawing.lines(what, terminal_width()))
        sys.stdout.flush()

    def show_message(self, message: str, level: str, source: str = "hook") -> None:
        style = {"warning": "yellow", "error": "red"}.get(level, "dim")
        self.show(drawing.note(f"{source}: {message}", style))

    async def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self.session.coordinator.get("context").get_messages()
        return found

    def agents(self) -> dict[str, str]:
        """The agents of the session and what they are for."""
        agents = self.session.config.get("agents") or {}
        return {
            name: str((agent or {}).get("description", ""))
            for name, agent in agents.items()
            if isinstance(agent, dict)
        }

    def _redraw(self) -> None:
        if hasattr(self, "_prompt"):
            self._prompt.redraw()


def text_of(message: dict[str, Any]) -> str:
    """What a message says in words."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def _window(coordinator: Any) -> int | None:
    for provider in (coordinator.get("providers") or {}).values():
        window = provider.get_info().defaults.get("context_window")
        return window if isinstance(window, int) else None
    return None
