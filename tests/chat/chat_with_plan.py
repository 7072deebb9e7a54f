"""Chats with a session made from a mount plan in a JSON file: python chat_with_plan.py FILE

`child_script`, beside the plan's own keys, is what the models of child sessions play.
"""

import asyncio
import json
import sys
from pathlib import Path

from amplifier_core import AmplifierSession

from amplifier.chat.chat import Chat
from amplifier.sessions.live import RecordedSession


async def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    script = plan.pop("child_script", [])

    def play(child: AmplifierSession) -> None:
        child.config["providers"] = [{"module": "provider-mock", "config": {"script": script}}]

    session = RecordedSession(plan)
    session.watch_children(play)
    async with session:
        await Chat(session, Path.cwd(), history=None).talk()


asyncio.run(main())
