"""What commands need of sessions: to find one, and to record a new or an earlier one."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amplifier.budget import Budget, Limits
from amplifier.output import note
from amplifier.sessions import live
from amplifier.sessions.files import FileStore
from amplifier.sessions.places import all_stores, store_of
from amplifier.sessions.projection import Call, State
from amplifier.sessions.store import Durability, NoSession

if TYPE_CHECKING:
    from amplifier.sessions.resuming import Outcome

ANSWERS: dict[str, Outcome] = {"u": "unknown", "d": "done", "n": "not done", "a": "again"}


@dataclass
class Recording:
    """A session of the command line that is kept."""

    store: FileStore
    provider: str | None
    model: str | None
    session_id: str | None = None
    state: State | None = None
    limits: dict[str, Any] = field(default_factory=dict)
    """What command lines said of this session may be spent: the latest counts."""

    def session(self, plan: dict[str, Any], approval_system: Any = None) -> live.RecordedSession:
        session = live.RecordedSession(
            plan,
            session_id=self.session_id,
            is_resumed=self.state is not None,
            approval_system=approval_system,
        )
        options = {"provider": self.provider, "model": self.model}
        facts = {"working_dir": str(Path.cwd()), "options": options}
        session.recording = live.Recording(self.store, facts, self.state, self.limits)
        return session

    async def count_earlier(self, budget: Budget) -> None:
        """What was spent before counts: a restart is no way around a limit."""
        if self.state is None or budget.limits == Limits():
            return
        from amplifier.sessions.listing import children_of
        from amplifier.sessions.loading import load

        budget.spent.include(self.state.spent)
        for child in await children_of(self.store, str(self.session_id)):
            budget.spent.include((await load(self.store, child)).spent)

    async def bring_back(self, session: Any) -> None:
        """Give a session that goes on its past, and tell the user what was lost."""
        if self.state is None:
            return
        from amplifier.sessions.resuming import bring_back

        if self.state.composition and session.recorder is not None:
            self._tell_changes(session)
        for call in await bring_back(session, self.state, ask_user):
            note(f"Interrupted, outcome unknown: {call.tool}({call.input}). See what it did.")

    def _tell_changes(self, session: live.RecordedSession) -> None:
        from amplifier.sessions.masking import Masker

        assert self.state is not None
        is_same = live.composed(session.config, Masker(session.config))["hash"]
        if self.state.composition.get("hash") != is_same:
            note("The session goes on with other modules or settings than before.")


async def ask_user(call: Call) -> Outcome:
    """Ask the person at the terminal, if there is one, what became of a call."""
    if not sys.stdin.isatty():
        return "unknown"
    import click

    question = (
        f"The session ended while {call.tool}({call.input}) was running. "
        "Did it take effect? [u]nknown, [d]one, [n]ot done, run it [a]gain"
    )
    choice = click.Choice(list(ANSWERS))
    answer = await asyncio.to_thread(
        click.prompt, question, type=choice, default="u", show_choices=False, err=True
    )
    return ANSWERS[answer]


def recording_for(
    resume: str | None, provider: str | None, model: str | None, durability: Durability
) -> Recording:
    """How to record a new session, or the one to go on with.

    Raises:
        StoreError: it cannot be found or read.
    """
    if resume is None:
        return Recording(store_of(Path.cwd(), durability), provider, model)
    store, session_id = find(resume)
    return resumed(FileStore(store.folder, durability), session_id, provider, model)


def resumed(
    store: FileStore, session_id: str, provider: str | None, model: str | None
) -> Recording:
    """How to go on with a session; with the provider it had, unless another is named."""
    from amplifier.sessions.loading import load_to_go_on

    state, torn = asyncio.run(load_to_go_on(store, session_id))
    if torn:
        note(f"The last record was torn by a crash and is left out ({torn} bytes).")
    options = state.facts.get("options")
    kept: dict[str, Any] = options if isinstance(options, dict) else {}
    if provider is None:
        provider, model = kept.get("provider"), kept.get("model")
    return Recording(store, provider, model, session_id, state, dict(state.limits))


def find(wanted: str) -> tuple[FileStore, str]:
    """The session that a person means by an id, the beginning of one, or a name.

    Raises:
        NoSession: none or several fit.
    """
    here = store_of(Path.cwd())
    elsewhere = [each for each in all_stores() if each.folder != here.folder]
    for stores in ([here], elsewhere):
        found = _by_id(stores, wanted) or _by_name(stores, wanted)
        if len(found) == 1:
            return found[0]
        if found:
            ids = ", ".join(sorted(session_id for _, session_id in found)[:5])
            raise NoSession(f"Several sessions fit {wanted!r}: {ids}. Write more of the id.")
    raise NoSession(f"There is no session {wanted!r}. See `amplifier session list`.")


def _by_id(stores: list[FileStore], wanted: str) -> list[tuple[FileStore, str]]:
    ids = [(store, each.session_id) for store in stores for each in asyncio.run(store.list())]
    exact = [pair for pair in ids if pair[1] == wanted]
    return exact or [pair for pair in ids if wanted and pair[1].startswith(wanted)]


def _by_name(stores: list[FileStore], wanted: str) -> list[tuple[FileStore, str]]:
    from amplifier.sessions.index import Index

    with Index.opened() as index:
        return index.named(stores, wanted)


def newest(store: FileStore) -> str:
    """The session of a project that was used last and is nobody's child.

    Raises:
        NoSession: there is none.
    """
    from amplifier.sessions.listing import latest

    found = latest(store, 1)
    if found:
        return found[0].summary.session_id
    raise NoSession("This project has no session yet. Begin one with `amplifier run`.")
