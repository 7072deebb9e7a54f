"""What the user can say to the chat itself: the commands that begin with a slash."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType

from amplifier.sessions import events
from amplifier.sessions.live import RecordedSession, holder

from . import drawing, reports

if TYPE_CHECKING:
    from .chat import Chat

KEYS = (
    ("Enter", "sends; while the agent works, it reads that at its next step"),
    ("Alt-Enter, Ctrl-J", "begin a new line, as does a \\ before Enter"),
    ("Tab", "completes commands after /, files and agents after @"),
    ("Up, Ctrl-R", "bring back earlier inputs"),
    ("Ctrl-X Ctrl-E", "opens what you type in your editor"),
    ("Ctrl-C, Esc", "stops the agent after the running step; again, at once"),
    ("Ctrl-D", "ends the chat"),
)
OFF = ("clear", "stop", "off", "reset", "none", "cancel")


class CommandFailed(Exception):
    """A command that cannot be carried out; the message says why."""


@dataclass(frozen=True)
class Command:
    """One slash command."""

    about: str
    run: Callable[[Chat, str], Awaitable[RenderableType | None]]
    usage: str = ""


async def carry_out(chat: Chat, line: str) -> RenderableType | None:
    """Run the command in `line`; the result is what to show.

    Raises:
        CommandFailed: there is no such command, or it could not do it.
    """
    name, _, rest = line[1:].strip().partition(" ")
    command = COMMANDS.get(name) or ALIASES.get(name)
    if command is None:
        near = get_close_matches(name, [*COMMANDS, *ALIASES], n=1)
        advice = f"Did you mean /{near[0]}?" if near else "/help lists them all."
        raise CommandFailed(f"There is no command {f'/{name}'!r}. {advice}")
    return await command.run(chat, rest.strip())


async def _help(_chat: Chat, _rest: str) -> RenderableType:
    commands = ((f"/{name} {each.usage}".strip(), each.about) for name, each in COMMANDS.items())
    return drawing.listing([*commands, ("", ""), *KEYS])


# -- telling --------------------------------------------------------------------------------


async def _status(chat: Chat, _rest: str) -> str:
    return await reports.status(chat)


async def _cost(chat: Chat, _rest: str) -> str:
    return reports.cost(chat)


async def _tools(chat: Chat, _rest: str) -> RenderableType:
    return reports.tools(chat)


async def _agents(chat: Chat, _rest: str) -> RenderableType:
    return reports.agents(chat)


async def _config(chat: Chat, _rest: str) -> str:
    return reports.configuration(chat)


async def _sessions(_chat: Chat, _rest: str) -> str:
    return await reports.sessions()


# -- the conversation -----------------------------------------------------------------------


def _must_rest(chat: Chat) -> None:
    if chat.state.is_running:
        raise CommandFailed("The agent is at work. Wait, or stop it with Ctrl-C.")


async def _clear(chat: Chat, _rest: str) -> str:
    _must_rest(chat)
    await chat.session.coordinator.get("context").clear()
    chat.session.coordinator.session_state.pop("goal", None)
    chat.state.context_tokens = 0
    return "The conversation begins anew. The log of the session still has what was said."


async def _compact(chat: Chat, _rest: str) -> str | None:
    _must_rest(chat)
    compact = getattr(chat.session.coordinator.get("context"), "compact", None)
    if compact is None:
        raise CommandFailed("The context of this session cannot be shortened.")
    shown = chat.follower.compactions
    await compact()
    if chat.follower.compactions == shown:
        return "There is nothing to shorten yet."
    return None


async def _save(chat: Chat, rest: str) -> str:
    path = Path(rest or f"amplifier-{chat.session.session_id[:8]}.json").expanduser()
    if path.exists():
        raise CommandFailed(f"{str(path)!r} exists. Name another file, as in `/save FILE`.")
    document = {"session_id": chat.session.session_id, "messages": await chat.messages()}
    try:
        path.write_text(json.dumps(document, indent=2, default=str) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{str(path)!r} cannot be written: {error.strerror}.") from error
    return f"The conversation is in {str(path)!r}."


async def _goal(chat: Chat, rest: str) -> str | None:
    state = chat.session.coordinator.session_state
    if rest in OFF:
        state.pop("goal", None)
        return "There is no goal any more."
    if not rest:
        goal = state.get("goal")
        return f"The goal: {goal['condition']}" if goal else "There is no goal."
    _must_rest(chat)
    cap, condition = _capped(rest)
    state["goal"] = {"condition": condition, "cap": cap}
    await chat.submit(condition)
    return None


def _capped(text: str) -> tuple[int | None, str]:
    if not text.startswith("--max-turns"):
        return None, text
    _, _, rest = text.partition(" ")
    number, _, condition = rest.strip().partition(" ")
    if not number.isdigit() or not condition.strip():
        raise CommandFailed("Write it as in `/goal --max-turns 5 all tests pass`.")
    return int(number), condition.strip()


async def _thinking(chat: Chat, rest: str) -> str:
    if rest not in ("", "on", "off"):
        raise CommandFailed("Write `/thinking on` or `/thinking off`.")
    shows = rest == "on" or (not rest and not chat.follower.shows_thinking)
    chat.follower.shows_thinking = shows
    return "What the model thinks is shown." if shows else "What the model thinks is not shown."


async def _permissions(chat: Chat, rest: str) -> str:
    word, _, start = rest.partition(" ")
    if word == "forget":
        forget = chat.session.coordinator.get_capability("approval.forget")
        count = forget() if forget is not None else 0
        return f"{count} answers of this session are forgotten."
    if word == "revoke" and start.strip():
        gone = chat.revoke(start.strip())
        return "\n".join(f"Will be asked about again: {each.action}" for each in gone) or (
            f"Nothing that was allowed has an id that begins with {start.strip()!r}."
        )
    if rest:
        raise CommandFailed("Write `/permissions`, `/permissions forget` or `... revoke ID`.")
    return reports.permissions(chat)


# -- sessions -------------------------------------------------------------------------------


def _recorded(chat: Chat) -> RecordedSession:
    session = chat.session
    if not isinstance(session, RecordedSession) or session.recorder is None:
        raise CommandFailed("This session is not kept. Begin one without --no-session.")
    return session


async def _rename(chat: Chat, rest: str) -> str:
    recorder = _recorded(chat).recorder
    assert recorder is not None
    if not recorder.journal.is_claimed:
        await recorder.journal.claim(holder())
    recorder.journal.note(events.NAMED, {"name": rest})
    await recorder.journal.commit()
    if not rest:
        return "The session has no name any more."
    return f"The session is called {rest!r}: `amplifier resume {rest!r}` finds it."


async def _fork(chat: Chat, rest: str) -> None:
    _recorded(chat)
    if rest and not rest.isdigit():
        raise CommandFailed("Write `/fork`, or `/fork 3` for a copy of the first three turns.")
    chat.move_to("fork", rest or None)


async def _undo(chat: Chat, _rest: str) -> None:
    _recorded(chat)
    _must_rest(chat)
    if not any(each.get("role") == "user" for each in await chat.messages()):
        raise CommandFailed("Nothing was said yet.")
    chat.move_to("undo", None)


async def _resume(chat: Chat, rest: str) -> str | None:
    if not rest:
        return await reports.sessions()
    _recorded(chat)
    chat.move_to("resume", rest)
    return None


async def _model(chat: Chat, rest: str) -> str | None:
    if not rest:
        chat.show(drawing.note("Asking the providers ..."), "note")
        return await reports.models(chat)
    _recorded(chat)
    chat.move_to("model", rest)
    return None


async def _exit(chat: Chat, _rest: str) -> None:
    chat.end()


COMMANDS: dict[str, Command] = {
    "help": Command("show this", _help),
    "status": Command("session, model, messages, context, what was spent", _status),
    "cost": Command("tokens and money, and who spent them", _cost),
    "model": Command("show the models, or change to another", _model, "[NAME]"),
    "tools": Command("what the model may call", _tools),
    "agents": Command("who it may hand work to", _agents),
    "permissions": Command("what was allowed; take it back", _permissions, "[forget|revoke ID]"),
    "config": Command("the modules of the session", _config),
    "goal": Command("go on until CONDITION holds", _goal, "[--max-turns N] CONDITION"),
    "thinking": Command("show what the model thinks, or not", _thinking, "[on|off]"),
    "compact": Command("shorten what the model is shown", _compact),
    "clear": Command("forget the conversation", _clear),
    "undo": Command("go back to before your last message (files stay)", _undo),
    "fork": Command("go on in a copy, up to a turn", _fork, "[TURN]"),
    "rename": Command("give the session a name", _rename, "NAME"),
    "sessions": Command("list the sessions of this project", _sessions),
    "resume": Command("go on with another session", _resume, "[ID]"),
    "save": Command("write the conversation to a file", _save, "[FILE]"),
    "exit": Command("end the chat", _exit),
}
ALIASES: dict[str, Command] = {
    "quit": COMMANDS["exit"],
    "approve": COMMANDS["permissions"],
    "provider": COMMANDS["model"],
}
