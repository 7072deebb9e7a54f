"""Whole turns of real sessions as a person sees them; `# ` marks what goes to stderr."""

import asyncio
from typing import Any

import pytest
from amplifier_core import AmplifierSession
from amplifier_core.models import HookResult
from helpers_terminal import Terminal, session_with

pytestmark = pytest.mark.together

THINKS_AND_CALLS = {
    "thinking": "The tool will tell. " * 4,
    "text": "Let me ask.",
    "tool_calls": [
        {"name": "echo", "arguments": {"output": {"stdout": "yes\n", "stderr": "hm"}}},
        {"name": "echo", "arguments": {"failure": "Nobody answers."}},
    ],
    "usage": {"input_tokens": 1200, "output_tokens": 30},
}
ANSWERS = {"text": "It says\nyes.", "usage": {"input_tokens": 1300, "output_tokens": 4}}

RULE = "─" * 60
SERIAL_TOOLS = """\
# ● echo
#   output:
#     stdout: yes
#     stderr: hm
# ✓ echo
#   yes
# ● echo
#   failure: Nobody answers.
# ✗ echo
#   Nobody answers.
"""
STREAMED = f"""\
# Thinking ...
# {RULE}
# The tool will tell. The tool will tell. The tool will tell.
# The tool will tell.
# {RULE}
Let me ask.
# mock-model, N s
# in 1,200 | out 30 | total 1,230 | ?
{SERIAL_TOOLS}\
It says
yes.
# mock-model, N s
# in 1,300 | out 4 | total 1,304 | ?
# turn cost ? | session cost ?
"""
IN_ONE_PIECE = f"""\
# Thinking ...
# {RULE}
# The tool will tell. The tool will tell. The tool will tell.
# The tool will tell.
# {RULE}
→ Let me ask.
# mock-model, N s
# in 1,200 | out 30 | total 1,230 | ?
{SERIAL_TOOLS}\
# mock-model, N s
# in 1,300 | out 4 | total 1,304 | ?
# turn cost ? | session cost ?
"""


async def run(session: AmplifierSession, *prompts: str) -> None:
    async with asyncio.timeout(5), session:
        for prompt in prompts or ["go"]:
            await session.execute(prompt)


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("loop-streaming", STREAMED),
        ("loop-basic", IN_ONE_PIECE),
        ("loop-events", IN_ONE_PIECE),
    ],
)
async def test_a_turn_with_thinking_tools_and_an_answer(
    terminal: Terminal, loop: str, expected: str
) -> None:
    await run(session_with(THINKS_AND_CALLS, ANSWERS, loop=loop))

    assert terminal.transcript == expected


async def test_without_text_streaming_the_answer_is_left_to_the_host(terminal: Terminal) -> None:
    session = session_with(THINKS_AND_CALLS, ANSWERS, config={"show_text_stream": False})

    await run(session)

    assert terminal.transcript == IN_ONE_PIECE


@pytest.mark.parametrize(("loop", "was_shown"), [("loop-streaming", True), ("loop-basic", False)])
async def test_the_host_can_ask_whether_the_answer_was_shown(
    terminal: Terminal, loop: str, was_shown: bool
) -> None:
    session = session_with(ANSWERS, loop=loop)
    async with asyncio.timeout(5), session:
        ask = session.coordinator.get_capability("ui.answer_shown")
        assert not ask()
        await session.execute("go")

        assert ask() is was_shown


async def test_what_was_streamed_before_a_failure_ends_its_line(terminal: Terminal) -> None:
    step = {"stream": ["It is "], "error": {"type": "StreamError", "message": "Line cut."}}
    session = session_with(step)
    async with asyncio.timeout(5), session:
        with pytest.raises(Exception, match=r"Line cut\."):
            await session.execute("go")

    assert terminal.transcript == "It is \n# The answer broke off: Line cut.\n"


SUB_AGENT = f"""\
#     [scout] Thinking ...
#     {"─" * 52}
#     The tool will tell. The tool will tell. The tool
#     will tell. The tool will tell.
#     {"─" * 52}
    → Let me ask.
#     mock-model, N s
#     in 1,200 | out 30 | total 1,230 | ?
#     ● [scout] echo
#       output:
#         stdout: yes
#         stderr: hm
#     ✓ [scout] echo
#       yes
#     ● [scout] echo
#       failure: Nobody answers.
#     ✗ [scout] echo
#       Nobody answers.
#     mock-model, N s
#     in 1,300 | out 4 | total 1,304 | ?
"""


@pytest.mark.parametrize(
    "options",
    [
        {"parent_id": "p", "metadata": {"agent_name": "scout"}},
        {"metadata": {"agent_name": "scout"}, "session_id": "plain"},
        {"parent_id": "p", "session_id": "p-x_scout"},
        {"session_id": "0123456789abcdef-0123456789abcdef_scout"},
    ],
)
async def test_a_sub_agent_is_indented_and_named_and_does_not_stream(
    terminal: Terminal, options: dict[str, Any]
) -> None:
    await run(session_with(THINKS_AND_CALLS, ANSWERS, **options))

    assert terminal.transcript == SUB_AGENT


async def test_a_child_without_any_name_is_an_agent(terminal: Terminal) -> None:
    await run(session_with({"thinking": "Hm.", "text": "x"}, parent_id="p", session_id="child"))

    assert terminal.transcript.startswith("#     [agent] Thinking ...\n")


async def test_a_root_with_an_underscore_in_its_id_is_no_sub_agent(terminal: Terminal) -> None:
    await run(session_with(ANSWERS, session_id="my_project"))

    assert terminal.transcript.startswith("It says\nyes.\n")


async def test_each_turn_has_its_own_cost_and_the_session_has_the_sum(terminal: Terminal) -> None:
    session = session_with(ANSWERS, ANSWERS)

    async def with_price(_: str, data: dict[str, Any]) -> Any:
        data["usage"]["cost_usd"] = "0.004"

    async with asyncio.timeout(5), session:
        session.coordinator.hooks.register("llm:response", with_price)
        await session.execute("one")
        await session.execute("two")

    costs = [line for line in terminal.transcript.split("\n") if "turn cost" in line]
    assert costs == [
        "# turn cost $0.0040 | session cost $0.0040",
        "# turn cost $0.0040 | session cost $0.0080",
    ]


async def test_the_cost_that_providers_contribute_is_the_cost_of_the_session(
    terminal: Terminal,
) -> None:
    session = session_with(ANSWERS)
    async with asyncio.timeout(5), session:
        for name, cost in (("a", "1.25"), ("b", None), ("c", 0.5)):
            session.coordinator.register_contributor(
                "session.cost", name, lambda cost=cost: {"cost_usd": cost}
            )
        await session.execute("go")

    assert "# turn cost ? | session cost $1.75 + ?\n" in terminal.transcript


async def test_a_turn_in_which_no_model_was_asked_has_no_cost_line(terminal: Terminal) -> None:
    session = session_with()
    async with asyncio.timeout(5), session:
        session.coordinator.hooks.register(
            "provider:request", lambda *_: HookResult(action="deny", reason="no")
        )
        await session.execute("go")

    assert terminal.transcript == ""
