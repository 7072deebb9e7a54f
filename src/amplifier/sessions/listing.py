"""Sessions as a person looks through them."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from amplifier.sessions.files import FileStore
from amplifier.sessions.index import Index, Summary
from amplifier.sessions.places import all_stores, store_of


class Line(NamedTuple):
    """One session in a list."""

    project: str
    summary: Summary

    def as_dict(self) -> dict[str, Any]:
        return {**self.summary._asdict(), "project": self.project}

    def line(self) -> str:
        each = self.summary
        when = datetime.fromtimestamp(each.changed).strftime("%Y-%m-%d %H:%M")
        name = f"[{each.name}] " if each.name else ""
        turns = f"{each.turns} turn" + ("" if each.turns == 1 else "s")
        return f"{each.session_id}  {when}  {turns}, {each.status}  {name}{each.title}"


def summaries(all_projects: bool, limit: int) -> list[Line]:
    """The latest sessions."""
    stores = all_stores() if all_projects else [store_of(Path.cwd())]
    listed = [(store, each) for store in stores for each in asyncio.run(store.list())]
    listed.sort(key=lambda pair: -pair[1].changed)
    with Index.opened() as index:
        return [
            Line(store.folder.parent.name, index.summary(store, each))
            for store, each in listed[:limit]
        ]


def below(found: tuple[FileStore, str]) -> list[Line]:
    """A session and all that came of it, children and copies."""
    store, root = found
    with Index.opened() as index:
        every = [index.summary(store, each) for each in asyncio.run(store.list())]
    members, grown = {root}, True
    while grown:
        more = {each.session_id for each in every if each.parent_id in members} - members
        members, grown = members | more, bool(more)
    kept = [each for each in every if each.session_id in members]
    return [Line(store.folder.parent.name, each) for each in kept]
