"""What the user can say to the chat itself: the commands that begin with a slash."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .chat import Chat


class CommandFailed(Exception):
    """A command that cannot be carried out; the message says why."""


@dataclass(frozen=True)
class Command:
    """One slash command."""

    about: str
    run: Callable[[Chat, str], Awaitable[str | None]]
    usage: str = ""


async def carry_out(chat: Chat, line: str) -> str | None:
    """Run the command in `line`; the result is what to show.

    Raises:
        CommandFailed: there is no such command, or it could not do it.
    """
    name, _, rest = line[1:].strip().partition(" ")
    command = COMMANDS.get(name)
    if command is None:
        near = get_close_matches(name, COMMANDS, n=1)
        advice = f"Did you mean /{near[0]}?" if near else "/help lists them all."
        raise CommandFailed(f"There is no command {f'/{name}'!r}. {advice}")
    return await command.run(chat, rest.strip())


async def _help(_chat: Chat, _rest: str) -> str:
    lines = [
        f"  {f'/{name} {command.usage}'.strip():<22} {command.about}"
        for name, command in COMMANDS.items()
    ]
    keys = (
        "  Enter sends, Ctrl-J begins a new line, @ completes files.\n"
        "  While the agent works, what you send steers it. Ctrl-C stops it after the\n"
        "  running step, twice at once. Ctrl-D ends the chat."
    )
    return "\n".join(["Commands:", *lines, "Keys:", keys])


async def _status(chat: Chat, _rest: str) -> str:
    coordinator = chat.session.coordinator
    messages = await chat.messages()
    return "\n".join(
        [
            f"session    {chat.session.session_id}",
            f"model      {chat.state.model}",
            f"messages   {len(messages)}",
            f"providers  {', '.join(coordinator.get('providers') or {}) or 'none'}",
            f"tools      {', '.join(coordinator.get('tools') or {}) or 'none'}",
            f"spent      {chat.state.status() or 'nothing yet'}",
        ]
    )


async def _tools(chat: Chat, _rest: str) -> str:
    tools = chat.session.coordinator.get("tools") or {}
    lines = [f"  {name:<18} {_first_sentence(tool.description)}" for name, tool in tools.items()]
    return "\n".join(lines) or "There are no tools."


async def _agents(chat: Chat, _rest: str) -> str:
    agents = chat.agents()
    lines = [f"  {name:<18} {_first_sentence(text)}" for name, text in agents.items()]
    return "\n".join(lines) or "There are no agents."


async def _clear(chat: Chat, _rest: str) -> str:
    await chat.session.coordinator.get("context").clear()
    chat.session.coordinator.session_state.pop("goal", None)
    return "The conversation begins anew."


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


async def _goal(chat: Chat, rest: str) -> str:
    state = chat.session.coordinator.session_state
    if rest in ("clear", "stop", "off", "reset", "none", "cancel"):
        state.pop("goal", None)
        return "There is no goal any more."
    if not rest:
        goal = state.get("goal")
        return f"The goal: {goal['condition']}" if goal else "There is no goal."
    cap, condition = _capped(rest)
    state["goal"] = {"condition": condition, "cap": cap}
    await chat.submit(condition)
    return None  # type: ignore[return-value]


def _capped(text: str) -> tuple[int | None, str]:
    if not text.startswith("--max-turns"):
        return None, text
    _, _, rest = text.partition(" ")
    number, _, condition = rest.strip().partition(" ")
    if not number.isdigit() or not condition.strip():
        raise CommandFailed("Write it as in `/goal --max-turns 5 all tests pass`.")
    return int(number), condition.strip()


async def _exit(chat: Chat, _rest: str) -> None:
    chat.end()


def _first_sentence(text: str) -> str:
    return " ".join(str(text).split()).partition(". ")[0][:100]


COMMANDS: dict[str, Command] = {
    "help": Command("show this", _help),
    "status": Command("session, model, messages, cost", _status),
    "tools": Command("what the model may call", _tools),
    "agents": Command("who it may hand work to", _agents),
    "goal": Command("go on until CONDITION holds", _goal, "[--max-turns N] CONDITION"),
    "save": Command("write the conversation to a file", _save, "[FILE]"),
    "clear": Command("forget the conversation", _clear),
    "exit": Command("end the chat", _exit),
}
