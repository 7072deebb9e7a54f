"""What the tests of stores share: kinds of stores, and records to put into them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amplifier.sessions.files import FileStore
from amplifier.sessions.memory import MemoryStore
from amplifier.sessions.record import Record, new_record
from amplifier.sessions.store import Claim, Store


def file_store(folder: Path) -> Store:
    return FileStore(folder)


def relaxed_store(folder: Path) -> Store:
    return FileStore(folder, "relaxed")


def memory_store(_: Path) -> Store:
    return MemoryStore()


KINDS: dict[str, Callable[[Path], Store]] = {
    "files": file_store,
    "files-relaxed": relaxed_store,
    "memory": memory_store,
}


def records(start: int, count: int = 1, key: str = "k", **data: Any) -> list[Record]:
    """`count` records from number `start` on, the last of which carries the key."""
    last = start + count - 1
    return [
        new_record(seq, "note", {"n": seq, **data}, key=key if seq == last else None)
        for seq in range(start, last + 1)
    ]


def let_holder_die(store: Any, claim: Claim) -> None:
    """What remains of a claim when the process that holds it is gone."""
    if isinstance(store, FileStore):
        os.close(store._claims.pop(claim.token))
    else:
        del store._claims[claim.session_id]
