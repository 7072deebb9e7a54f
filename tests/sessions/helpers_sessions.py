"""Sessions on a scripted model, with tools that count how often they run."""

from pathlib import Path
from typing import Any

from amplifier_core import ToolResult
from amplifier_core.correlation import tool_call

from amplifier.sessions.live import RecordedSession, Recording
from amplifier.sessions.loading import load
from amplifier.sessions.resuming import bring_back
from amplifier.sessions.store import Store

SESSION = "s1"


class Counter:
    """A tool that remembers its runs by key."""

    def __init__(self, name: str = "count", effect: str | None = None) -> None:
        self.name = name
        self.description = "Counts."
        self.input_schema = {"type": "object", "properties": {}}
        self.annotations = {"effect": effect} if effect else {}
        self.runs: list[str] = []
        self.inputs: list[dict[str, Any]] = []

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        scope = tool_call.get()
        self.runs.append(scope.idempotency_key if scope else "")
        self.inputs.append(input)
        return ToolResult(output=f"{self.name} ran")


def calls(*names: str, **arguments: Any) -> dict[str, Any]:
    """A step of the model that calls tools."""
    return {"tool_calls": [{"name": name, "arguments": arguments} for name in names]}


def plan(*script: dict[str, Any], **more: Any) -> dict[str, Any]:
    steps = list(script) or [{"text": "Hello."}]
    return {
        "session": {
            "orchestrator": {"module": "loop-streaming"},
            "context": {"module": "context-simple"},
        },
        "providers": [{"module": "provider-mock", "config": {"script": steps}}],
        **more,
    }


def session_of(
    store: Store, config: dict[str, Any], earlier: Any = None, session_id: str = SESSION
) -> RecordedSession:
    session = RecordedSession(config, session_id=session_id, is_resumed=earlier is not None)
    session.recording = Recording(store, {}, earlier)
    return session


async def mount_tools(session: RecordedSession, tools: Any) -> None:
    for tool in tools:
        await session.coordinator.mount("tools", tool, name=tool.name)


async def run(
    store: Store, prompt: str, *script: dict[str, Any], tools: Any = (), **more: Any
) -> str:
    """One turn in a new session."""
    async with session_of(store, plan(*script, **more)) as session:
        await mount_tools(session, tools)
        return await session.execute(prompt)


async def resume(
    store: Store, prompt: str, *script: dict[str, Any], tools: Any = (), ask: Any = None
) -> tuple[str, Any]:
    """One more turn in the same session; the answer, and the request that the model got."""
    state = await load(store, SESSION)
    async with session_of(store, plan(*script), state) as session:
        await mount_tools(session, tools)
        await bring_back(session, state, *([ask] if ask else []))
        answer = await session.execute(prompt)
        requests = session.coordinator.get("providers", "mock").requests
        return answer, requests[0].messages


def log_of(folder: Path, session_id: str = SESSION) -> Path:
    return folder / session_id / "events.jsonl"
