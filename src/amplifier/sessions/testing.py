"""Turns a session into a test: a pytest file, and the records that it replays."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from amplifier.sessions.diffing import Difference
from amplifier.sessions.disk import Disk
from amplifier.sessions.loading import load_records
from amplifier.sessions.redacting import redacted, rewritten
from amplifier.sessions.replaying import replay
from amplifier.sessions.scanning import scan_file
from amplifier.sessions.store import Store

_TEST = '''"""Replays session {session_id}: the same prompts and answers lead to the same events."""

from pathlib import Path

from amplifier.sessions.testing import replay_file

RECORDS = Path(__file__).with_name("{data}")


def test_session_{name}_replays_as_recorded() -> None:
    difference = replay_file(RECORDS)

    assert difference is None, str(difference)
'''


async def write_test(store: Store, session_id: str, folder: Path) -> Path:
    """Write a test that replays a session, with secrets masked in its data; its path."""
    records = rewritten(await redacted(await load_records(store, session_id)))
    name = re.sub(r"\W+", "_", session_id)[:40].strip("_").lower()
    data, test = f"session_{name}.jsonl", folder / f"test_session_{name}.py"
    folder.mkdir(parents=True, exist_ok=True)
    content = b"".join(each.line for each in records)
    Disk().write_file(folder / data, content, durable=False)
    text = _TEST.format(session_id=session_id, data=data, name=name)
    Disk().write_file(test, text.encode(), durable=False)
    return test


def replay_file(path: Path) -> Difference | None:
    """Replay exported records; the first difference, if there is one.

    Raises:
        ValueError: the file is damaged.
    """
    found = scan_file(path)
    if found.problem is not None:
        raise ValueError(f"{path} is damaged. {found.problem}")
    return asyncio.run(replay(found.records))
