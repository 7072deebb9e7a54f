"""Chats in a real terminal, with a model that follows a script."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers_tmux import Chatting, Terminal, plan_command


@pytest.fixture
def chatting(tmp_path: Path) -> Iterator[Chatting]:
    """Starts a chat whose model plays the given steps, and waits until it is ready."""
    opened: list[Terminal] = []

    def start(
        *script: dict[str, Any],
        tools: tuple[str, ...] = (),
        agents: tuple[str, ...] = (),
        child_script: tuple[dict[str, Any], ...] = (),
        allow: tuple[dict[str, str], ...] = (),
        ready: tuple[str, ...] = ("\n>", "\nmock-model"),
        program: str = "chat_with_plan.py",
        **options: Any,
    ) -> Terminal:
        guard = {"audit": {"enabled": False}, "allow": list(allow)}
        plan = {
            "session": {
                "orchestrator": {"module": "loop-streaming"},
                "context": {"module": "context-simple"},
            },
            "providers": [
                {"module": "provider-mock", "config": {"script": list(script)}},
            ],
            "tools": [{"module": tool} for tool in tools],
            "hooks": [{"module": "hooks-approval", "config": guard}],
            "agents": {
                name: {"description": f"Is {name}.", "instruction": "Go."} for name in agents
            },
            "child_script": child_script,
        }
        file = tmp_path / "plan.json"
        file.write_text(json.dumps(plan))
        terminal = Terminal(plan_command(program, file), tmp_path, **options)
        opened.append(terminal)
        terminal.wait_for(*ready)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()
