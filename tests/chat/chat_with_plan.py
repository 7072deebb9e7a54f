"""Chats with a session made from a mount plan in a JSON file: python chat_with_plan.py FILE"""

import asyncio
import json
import sys
from pathlib import Path

from amplifier.chat.chat import Chat
from amplifier.sessions.live import RecordedSession


async def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text())
    async with RecordedSession(plan) as session:
        await Chat(session, Path.cwd(), history=None).talk()


asyncio.run(main())
