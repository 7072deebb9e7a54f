"""A table of what is in all sessions, for lists and searches. It can be thrown away."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from amplifier.sessions.files import LOG, FileStore
from amplifier.sessions.places import home
from amplifier.sessions.projection import State, project
from amplifier.sessions.record import BadRecord
from amplifier.sessions.scanning import scan_file
from amplifier.sessions.store import Listed

FILE = "sessions-index.sqlite"
VERSION = 1
_TABLE = """
create table if not exists sessions (
    folder text, id text, changed real, size integer, parent text,
    is_child integer, name text, title text, turns integer,
    status text, cost text, text text, primary key (folder, id)
)"""
_FIELDS = "parent, is_child, name, title, turns, status, cost"
LONGEST_TITLE = 60


class Summary(NamedTuple):
    """A session in a list."""

    session_id: str
    changed: float
    size: int
    parent_id: str | None
    """The session it is a child or a copy of."""
    is_child: bool
    name: str | None
    title: str
    turns: int
    status: str
    cost: str | None


class Hit(NamedTuple):
    """A session in which a text was found."""

    folder: Path
    summary: Summary
    excerpt: str


class Index:
    """Reads a log again only if it has changed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @classmethod
    @contextmanager
    def opened(cls) -> Iterator[Index]:
        """The index; where it cannot be kept or is damaged, one that lives for this command."""
        try:
            connection = _open(home() / FILE)
        except (sqlite3.Error, OSError):
            connection = _prepared(sqlite3.connect(":memory:"))
        try:
            yield cls(connection)
            with suppress(sqlite3.Error):
                connection.commit()
        finally:
            connection.close()

    def summary(self, store: FileStore, listed: Listed) -> Summary:
        self._refresh(store, [listed])
        asked = f"select {_FIELDS} from sessions where folder = ? and id = ?"
        row = self._db.execute(asked, (str(store.folder), listed.session_id)).fetchone()
        return Summary(*listed, *row)

    def named(self, stores: Iterable[FileStore], name: str) -> list[tuple[FileStore, str]]:
        """Sessions of that name."""
        found = []
        for store in stores:
            self._refresh_all(store)
            asked = "select id from sessions where folder = ? and name = ?"
            rows = self._db.execute(asked, (str(store.folder), name))
            found += [(store, str(row[0])) for row in rows]
        return found

    def search(self, stores: Iterable[FileStore], text: str, limit: int) -> list[Hit]:
        """Sessions that contain a text, in any case, the latest first."""
        stores = list(stores)
        for store in stores:
            self._refresh_all(store)
        folders = {str(store.folder) for store in stores}
        pattern = "%" + text.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"
        asked = (
            f"select folder, id, changed, size, {_FIELDS}, text from sessions "
            "where text like ? escape '!' order by changed desc"
        )
        rows = self._db.execute(asked, (pattern,))
        hits = [
            Hit(Path(row[0]), Summary(*row[1:-1]), _excerpt(row[-1], text))
            for row in rows
            if row[0] in folders
        ]
        return hits[:limit]

    def _refresh_all(self, store: FileStore) -> None:
        import asyncio

        listed = asyncio.run(store.list())
        self._refresh(store, listed)
        known = self._db.execute("select id from sessions where folder = ?", (str(store.folder),))
        gone = {str(row[0]) for row in known} - {each.session_id for each in listed}
        for session_id in gone:
            self._db.execute(
                "delete from sessions where folder = ? and id = ?", (str(store.folder), session_id)
            )

    def _refresh(self, store: FileStore, listed: Iterable[Listed]) -> None:
        asked = "select id, changed, size from sessions where folder = ?"
        rows = self._db.execute(asked, (str(store.folder),))
        known = {row[0]: (row[1], row[2]) for row in rows}
        for each in listed:
            if known.get(each.session_id) != (each.changed, each.size):
                values = _row(store.folder / each.session_id / LOG)
                places = ", ".join("?" * (len(values) + 4))
                self._db.execute(
                    f"insert or replace into sessions values ({places})",
                    (str(store.folder), *each, *values),
                )


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=5)
    try:
        return _prepared(connection)
    except sqlite3.DatabaseError:
        connection.close()
        path.unlink()
        path.touch(mode=0o600)
        return _prepared(sqlite3.connect(path, timeout=5))


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    version = connection.execute("pragma user_version").fetchone()[0]
    if version != VERSION:
        connection.execute("drop table if exists sessions")
        connection.execute(f"pragma user_version = {VERSION}")
    connection.execute(_TABLE)
    connection.execute("select count(*) from sessions").fetchone()
    return connection


def _row(log: Path) -> tuple[object, ...]:
    try:
        state = project(scan_file(log).records)
    except (OSError, BadRecord):
        return (None, False, None, "", 0, "unreadable", None, "")
    cost = None if state.spent.cost is None else str(state.spent.cost)
    origin = state.facts.get("forked_from")
    parent = state.parent_id or (origin.get("session_id") if isinstance(origin, dict) else None)
    is_child = state.parent_id is not None
    facts = state.name, title_of(state), len(state.turns), state.status, cost
    return parent, is_child, *facts, _text(state)


def title_of(state: State) -> str:
    """Its first prompt, in one short line."""
    words = " ".join(state.turns[0].prompt.split()) if state.turns else ""
    return words if len(words) <= LONGEST_TITLE else f"{words[: LONGEST_TITLE - 3]}..."


def _text(state: State) -> str:
    from amplifier.sessions.exporting import text_of

    return "\n".join([state.name or "", *(text_of(each) for each in state.messages)])


def _excerpt(text: str, wanted: str) -> str:
    at = max(text.lower().find(wanted.lower()), 0)
    return " ".join(text[max(0, at - 40) : at + len(wanted) + 40].split())
