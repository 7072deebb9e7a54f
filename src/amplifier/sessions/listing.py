"""Sessions as a person looks through them."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from amplifier.output import printable
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
        origin = f"(child of {each.parent_id}) " if each.is_child else ""
        about = f"{turns}, {each.status}  {name}{origin}{each.title}"
        return printable(f"{each.session_id}  {when}  {about}")

    def short(self) -> str:
        """What a person needs to tell it from others: name, age, first prompt, cost."""
        each = self.summary
        cost = f"  ${Decimal(each.cost):.2f}" if each.cost else ""
        name = f"[{each.name}] " if each.name else ""
        title = f"{name}{each.title or '(no prompt yet)'}{cost}"
        return printable(f"{age(time.time() - each.changed):>4}  {each.session_id[:8]}  {title}")


def age(seconds: float) -> str:
    """How long ago, in the largest unit that fits."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(seconds, 0):.0f}s"


def latest(store: FileStore, limit: int) -> list[Line]:
    """The sessions of a project that were used last and are nobody's child."""
    return _listed([store], limit, with_children=False)


def summaries(all_projects: bool, limit: int, *, with_children: bool = False) -> list[Line]:
    """The latest sessions."""
    stores = all_stores() if all_projects else [store_of(Path.cwd())]
    return _listed(stores, limit, with_children=with_children)


def _listed(stores: list[FileStore], limit: int, *, with_children: bool) -> list[Line]:
    listed = [(store, each) for store in stores for each in asyncio.run(store.list())]
    listed.sort(key=lambda pair: -pair[1].changed)
    found: list[Line] = []
    with Index.opened() as index:
        for store, each in listed:
            if len(found) >= limit:
                break
            summary = index.summary(store, each)
            if with_children or not summary.is_child:
                found.append(Line(store.folder.parent.name, summary))
    return found


async def children_of(store: FileStore, session_id: str) -> list[str]:
    """The sessions that did a part of the work of this one, directly or not."""
    with Index.opened() as index:
        every = [index.summary(store, each) for each in await store.list()]
    members = _grown({session_id}, [each for each in every if each.is_child])
    return sorted(members - {session_id})


def below(found: tuple[FileStore, str]) -> list[Line]:
    """A session and all that came of it, children and copies."""
    store, root = found
    with Index.opened() as index:
        every = [index.summary(store, each) for each in asyncio.run(store.list())]
    members = _grown({root}, every)
    kept = [each for each in every if each.session_id in members]
    return [Line(store.folder.parent.name, each) for each in kept]


def _grown(members: set[str], every: list[Summary]) -> set[str]:
    """`members` and all whose parent is one."""
    more = {each.session_id for each in every if each.parent_id in members} - members
    return _grown(members | more, every) if more else members
