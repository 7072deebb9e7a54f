"""Talks with a session until the user has had enough."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from amplifier_core import AmplifierSession
from prompt_toolkit.patch_stdout import patch_stdout
from rich.console import RenderableType

from amplifier.bundles.attaching import with_files
from amplifier.grants import Grant, Grants, UnreadableGrants
from amplifier.secrets import masked
from amplifier.sessions.live import RecordedSession
from amplifier.views import models_in_use

from . import drawing
from .approvals import Approvals
from .commands import COMMANDS, CommandFailed, carry_out
from .completion import ChatCompleter
from .drawing import Drawing, wants_colour
from .follower import ChildFollower, ConversationFollower, agent_of
from .prompt import Prompt
from .questions import Questions
from .state import State
from .terminal import is_dumb, terminal_width

FAREWELLS = ("exit", "quit")
PAST_MESSAGES = 10
SECONDS_TO_STOP = 5.0
SECONDS_TO_GATHER = 0.03
"""What is shown within this time is printed together."""
SECONDS_FOR_OTHERS = 0.2
"""When to look again whether the terminal is free, for example of an editor."""


@dataclass(frozen=True)
class Move:
    """How the conversation goes on in another session, once this one is closed."""

    kind: Literal["resume", "fork", "undo", "model"]
    to: str | None = None
    """The session, the turn to copy up to, or the model."""


@dataclass(frozen=True)
class Welcome:
    """What is on the screen when a conversation begins."""

    shows_past: bool = True
    error: str = ""
    draft: str = ""
    """What the user has said before, and may want to change."""


class Chat:
    """One conversation: reads what the user says, and shows what becomes of it."""

    def __init__(
        self,
        session: AmplifierSession,
        folder: Path,
        *,
        history: Path | None,
        grants: Grants | None = None,
        welcome: Welcome | None = None,
    ) -> None:
        self.session = session
        self.state = State()
        self._grants = grants
        self._welcome = welcome or Welcome()
        self.move: Move | None = None
        self._drawing = Drawing(colour=wants_colour())
        self._last_group = "before"
        self._to_print: list[str] = []
        self._prompt: Prompt | None = None
        self._questions = Questions(self.state, self)
        self.follower = ConversationFollower(self.state, self)
        self._approvals = Approvals(self._questions.ask, folder, grants)
        self._prompt = Prompt(
            self.state,
            self._questions,
            self.follower.live_text,
            self.interrupt,
            ChatCompleter(COMMANDS, folder, self.agents),
            history,
        )
        self._prompt.put_back(self._welcome.draft)
        self._turn: asyncio.Task[None] | None = None
        self._is_over = False

    async def talk(self) -> Move | None:
        """Go on until the user ends it, or wants to be elsewhere."""
        self._attach()
        # What others print goes above the line too, without its codes.
        with patch_stdout(raw=False), self._heeding_signals():
            await self._greet()
            while not self._is_over:
                await self._read()
            await self._stop_turn()
            self._print()
        return self.move

    @contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        """Leave a terminal that works, and a turn that is closed, whoever ends the chat."""
        loop = asyncio.get_running_loop()
        heeded = {signal.SIGINT: self.interrupt, signal.SIGTERM: self._leave}
        if hasattr(signal, "SIGHUP"):
            heeded[signal.SIGHUP] = self._leave
        # Windows, and threads other than the first, have no such handlers.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            for number, react in heeded.items():
                loop.add_signal_handler(number, react)
        try:
            yield
        finally:
            with suppress(NotImplementedError, RuntimeError, ValueError):
                for number in heeded:
                    loop.remove_signal_handler(number)

    def _leave(self) -> None:
        self.end()
        if self._prompt is not None:
            self._prompt.leave()

    async def _read(self) -> None:
        assert self._prompt is not None
        try:
            text = await self._prompt.read()
        except EOFError:
            self._print()
            if not self.state.is_running or self._is_over:
                self.end()
            else:
                self.show(drawing.note("The agent is at work. Ctrl-C stops it."), "note")
            return
        self._print()
        await self._take(text)

    def _attach(self) -> None:
        coordinator = self.session.coordinator
        _provider, self.state.model = models_in_use(self.session)
        self.state.window = _window(coordinator)
        self.follower.attach(self.session)
        coordinator.approval_system = self._approvals
        coordinator.display_system = self
        self._approvals.attach(self.session)
        if isinstance(self.session, RecordedSession):
            self.session.watch_children(self._attach_child)

    def _attach_child(self, child: AmplifierSession) -> None:
        agent = agent_of(child)
        ChildFollower(self.state, self, agent, child.session_id).attach(child)
        self._approvals.attach_child(child)

    async def _greet(self) -> None:
        self.show(
            drawing.note(
                f"{self.state.model}, session {self.session.session_id[:8]}. "
                "/help shows what you can do, Ctrl-D ends."
            )
        )
        if self._welcome.shows_past:
            await self._show_past()
        if self._welcome.error:
            self.show(drawing.note(self._welcome.error, "red"))

    async def _show_past(self) -> None:
        """The end of what was said before, for someone who comes back."""
        spoken = [(each.get("role"), text_of(each)) for each in await self.messages()]
        shown = [(role, text) for role, text in spoken if role in ("user", "assistant") and text]
        if len(shown) > PAST_MESSAGES:
            hidden = len(shown) - PAST_MESSAGES
            self.show(drawing.note(f"{hidden} earlier messages are not shown."))
        for role, text in shown[-PAST_MESSAGES:]:
            self.show(drawing.said_by_user(text) if role == "user" else drawing.markdown(text))

    # -- what the user says -----------------------------------------------------------------

    async def _take(self, text: str) -> None:
        question = self._questions.current
        if question is not None and question.takes_reason:
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
        self.show(drawing.said_by_user(text, style="dim"))
        try:
            said = await carry_out(self, text)
        except CommandFailed as error:
            self.show(drawing.note(str(error), "red"))
        except Exception as error:
            self.show(drawing.note(masked(f"{type(error).__name__}: {error}"), "red"))
        else:
            if said:
                self.show(drawing.note(said, "") if isinstance(said, str) else said)

    def _steer(self, text: str) -> None:
        """Queue it for the running turn; it scrolls by when the model gets it."""
        steer = self.session.coordinator.get_capability("session.steer")
        try:
            if steer is not None:
                steer(text)
        except RuntimeError as error:
            self.show(drawing.note(str(error), "red"))
            self._put_back(text)
            return
        self.state.queued.append(text)
        if is_dumb():
            self.show(drawing.note("The model reads it at its next step."), "note")
        self.changed()

    async def submit(self, text: str) -> None:
        """Begin a turn with what the user said."""
        if self.state.is_running:
            raise CommandFailed("The agent is at work. Wait, or stop it with Ctrl-C.")
        self.show(drawing.said_by_user(text))
        self.state.turn_begins()
        self._turn = asyncio.create_task(self._run_turn(text))

    def end(self) -> None:
        self._is_over = True

    def move_to(self, kind: Literal["resume", "fork", "undo", "model"], to: str | None) -> None:
        """Close this session, and go on elsewhere."""
        if self.state.is_running:
            raise CommandFailed("The agent is at work. Wait, or stop it with Ctrl-C.")
        self.move = Move(kind, to)
        self.end()

    def grants(self) -> list[Grant]:
        """What was allowed in this project for good."""
        try:
            return self._grants.listed() if self._grants is not None else []
        except UnreadableGrants as error:
            raise CommandFailed(str(error)) from error

    def revoke(self, start: str) -> list[Grant]:
        try:
            return self._grants.revoke(start) if self._grants is not None else []
        except (UnreadableGrants, OSError) as error:
            raise CommandFailed(str(error)) from error

    def _put_back(self, text: str) -> None:
        if self._prompt is not None:
            self._prompt.put_back(text)

    # -- a turn ----------------------------------------------------------------------------

    async def _run_turn(self, text: str) -> None:
        token = self.session.coordinator.cancellation
        was_stopped = True
        try:
            answer = await self.session.execute(self._with_files(text))
            self.follower.answer(answer)
            was_stopped = token.is_cancelled
            if was_stopped:
                self.show(drawing.note(self._stopped(token.is_immediate), "yellow"))
        except asyncio.CancelledError:
            self.follower.flush()
            self.show(drawing.note(self._stopped(True), "yellow"))
        except Exception as error:
            self.follower.flush()
            self.show(drawing.note(masked(f"{type(error).__name__}: {error}"), "red"))
        finally:
            token.reset()
            self.state.turn_ends()
            self.changed()
        await self._go_on_with_queued(was_stopped)

    def _with_files(self, text: str) -> str:
        def tell(why: str) -> None:
            self.show(drawing.note(why, "yellow"))

        return with_files(text, text, self.session.config, tell)

    @staticmethod
    def _stopped(at_once: bool) -> str:
        how = "Stopped at once." if at_once else "Stopped after the step."
        return f"{how} What was done is kept; the conversation goes on from here."

    async def _go_on_with_queued(self, was_stopped: bool) -> None:
        """What the model did not get to read becomes the next prompt, or is given back."""
        text = "\n\n".join(self.state.queued)
        self.state.queued.clear()
        if text and (was_stopped or self._is_over):
            self._put_back(text)
        elif text:
            await self.submit(text)

    def interrupt(self) -> None:
        """Ctrl-C: the first stops after the running step, the second at once."""
        if self._turn is None or self._turn.done():
            self.show(drawing.note("Ctrl-D ends the chat."), "note")
            return
        self._questions.deny_all("The user interrupted.")
        token = self.session.coordinator.cancellation
        if token.request_graceful():
            self.state.is_stopping = True
            what = ", ".join(each.wait.what for each in self.state.own.tools.values())
            step = f"{what} is done" if what else "this step"
            self.show(drawing.note(f"Stopping after {step}. Ctrl-C again stops at once."), "note")
        elif token.request_immediate():
            # A module that does not look at the token is not waited for.
            asyncio.get_running_loop().call_later(SECONDS_TO_STOP, self._turn.cancel)
        else:
            self._turn.cancel()
        self.changed()

    async def _stop_turn(self) -> None:
        if self._turn is not None and not self._turn.done():
            self.session.coordinator.cancellation.request_immediate()
            await asyncio.wait([self._turn], timeout=SECONDS_TO_STOP)

    # -- what others ask -------------------------------------------------------------------

    def show(self, what: RenderableType, group: str = "", *, apart: bool | None = None) -> None:
        """Let it scroll by above the prompt, a blank line before it unless it belongs together."""
        if apart is None:
            apart = not group or group != self._last_group
        self._last_group = group
        gap = "\n" if apart else ""
        if not self._to_print:
            asyncio.get_running_loop().call_later(SECONDS_TO_GATHER, self._print)
        self._to_print.append(gap + self._drawing.lines(what, self.width()))

    def _print(self) -> None:
        text, self._to_print = "".join(self._to_print), []
        if text and self._prompt is not None and not self._prompt.print_above(text):
            self._to_print = [text]
            asyncio.get_running_loop().call_later(SECONDS_FOR_OTHERS, self._print)

    def width(self) -> int:
        return terminal_width()

    def changed(self) -> None:
        if self._prompt is not None:
            self._prompt.redraw()

    def show_message(self, message: str, level: str, source: str = "hook") -> None:
        style = {"warning": "yellow", "error": "red"}.get(level, "dim")
        self.show(drawing.note(f"{source}: {message}", style), "note")

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
