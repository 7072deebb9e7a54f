"""What hooks-streaming-ui makes of single events, from whichever loop or provider they come."""

from typing import Any

import pytest
from helpers_terminal import Terminal, block, coordinator_with, nothing_logged, play
from hypothesis import given, settings
from hypothesis import strategies as st

REQUEST = ("provider:request", {"provider": "p", "iteration": 1})
DONE = ("orchestrator:complete", {"status": "success"})
RULE = f"# {'─' * 60}\n"


def started(kind: str, index: int = 0) -> tuple[str, dict[str, Any]]:
    return ("llm:stream_block_start", {"block_type": kind, "block_index": index})


def piece(kind: str, text: str, index: int = 0) -> tuple[str, dict[str, Any]]:
    return ("llm:stream_block_delta", {"block_type": kind, "block_index": index, "text": text})


def ended(kind: str, index: int = 0) -> tuple[str, dict[str, Any]]:
    return ("llm:stream_block_end", {"block_type": kind, "block_index": index})


def chunk(**fields: Any) -> tuple[str, dict[str, Any]]:
    return ("provider:stream", {"chunk": fields})


async def shown(terminal: Terminal, *scripted: Any, **config: Any) -> str:
    await play(await coordinator_with(**config), *scripted)
    return terminal.transcript


# -- streams ---------------------------------------------------------------------------


async def test_text_that_both_the_provider_and_the_loop_stream_is_shown_once(
    terminal: Terminal,
) -> None:
    text = await shown(
        terminal,
        REQUEST,
        started("text"),
        piece("text", "Hel"),
        chunk(text="Hel"),
        piece("text", "lo."),
        chunk(text="lo."),
        ended("text"),
        *block(0, 1, type="text", text="Hello."),
        DONE,
    )

    assert text.split("\n", 1)[0] == "Hello."
    assert text.count("lo.") == 1


@pytest.mark.parametrize(
    "stream",
    [
        [
            started("thinking"),
            piece("thinking", "Let me "),
            piece("thinking", "see."),
            ended("thinking"),
            started("text", 1),
            piece("text", "Yes.", 1),
            ended("text", 1),
        ],
        [chunk(thinking="Let me "), chunk(thinking="see."), chunk(text="Yes."), chunk(response=1)],
    ],
)
async def test_streamed_thinking_is_framed_before_the_text(
    terminal: Terminal, stream: list[Any]
) -> None:
    blocks = [
        *block(0, 2, type="thinking", thinking="Let me see."),
        *block(1, 2, type="text", text="Yes."),
    ]

    text = await shown(terminal, REQUEST, *stream, *blocks, DONE, show_token_usage=False)

    assert text == f"# Thinking ...\n{RULE}# Let me see.\n{RULE}Yes.\n"


async def test_a_stream_that_breaks_off_may_begin_again_from_any_source(
    terminal: Terminal,
) -> None:
    aborted = ("llm:stream_aborted", {"error": {"type": "StreamError", "msg": "cut"}})

    text = await shown(
        terminal, REQUEST, piece("text", "Hel"), aborted, piece("text", "Hello."), DONE
    )

    assert text == "Hel\n# The answer broke off: cut\nHello.\n"


async def test_a_call_of_a_tool_in_a_stream_shows_nothing_of_its_own(terminal: Terminal) -> None:
    tool_use = [started("tool_use"), ended("tool_use"), chunk(text="a"), DONE]

    assert await shown(terminal, REQUEST, *tool_use) == "a\n"


# -- blocks ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("One.", "→ One.\n"),
        ("One.\nTwo.\n", "→ One.\n  Two.\n"),
        ("One.\n\nThree.", "│ One.\n│\n│ Three.\n"),
        (" \n", ""),
    ],
)
async def test_a_text_on_the_way_has_an_arrow_or_a_rail(
    terminal: Terminal, said: str, expected: str
) -> None:
    assert await shown(terminal, *block(0, 2, type="text", text=said)) == expected


async def test_a_last_text_is_the_answer_and_left_to_the_host(terminal: Terminal) -> None:
    assert await shown(terminal, *block(0, 1, type="text", text="The answer.")) == ""


async def test_a_last_text_that_comes_with_tool_calls_is_no_answer(terminal: Terminal) -> None:
    came = ("provider:response", {"tool_calls": True})

    text = await shown(terminal, REQUEST, came, *block(0, 1, type="text", text="One moment."))

    assert text == "→ One moment.\n"


@pytest.mark.parametrize(
    "thought",
    [
        {"type": "thinking", "thinking": "Aha."},
        {"type": "reasoning", "content": [], "summary": [{"text": "Aha."}]},
        {"type": "reasoning", "content": ["Aha."], "summary": []},
    ],
)
async def test_every_kind_of_thinking_is_framed(
    terminal: Terminal, thought: dict[str, Any]
) -> None:
    assert await shown(terminal, *block(0, 2, **thought)) == (
        f"# Thinking ...\n{RULE}# Aha.\n{RULE}"
    )


async def test_sealed_thinking_is_only_announced(terminal: Terminal) -> None:
    sealed = block(0, 2, type="redacted_thinking", data="gibberish")

    assert await shown(terminal, *sealed) == "# Thinking ...\n"


async def test_each_of_several_thoughts_has_its_frame(terminal: Terminal) -> None:
    thoughts = [
        *block(0, 3, type="thinking", thinking="One."),
        *block(1, 3, type="thinking", thinking="Two."),
    ]

    text = await shown(terminal, *thoughts)

    assert text.count("Thinking ...") == 2
    assert text.count(RULE) == 4


# -- tools -----------------------------------------------------------------------------


async def test_the_input_of_a_tool_is_laid_out_like_yaml(terminal: Terminal) -> None:
    given = {
        "path": "a.txt",
        "text": "one\ntwo",
        "options": {"deep": True, "none": None},
        "list": [1, {"a": "b"}, []],
    }

    text = await shown(
        terminal, ("tool:pre", {"tool_name": "write", "tool_input": given}), show_tool_lines=99
    )

    assert text == (
        "# ● write\n#   path: a.txt\n#   text: |\n#     one\n#     two\n"
        "#   options:\n#     deep: true\n#     none: null\n"
        "#   list:\n#     - 1\n#     -\n#       a: b\n#     - []\n"
    )


async def test_long_inputs_and_outputs_are_cut(terminal: Terminal) -> None:
    output = "\n".join(["x" * 500, *map(str, range(10))])

    text = await shown(
        terminal,
        ("tool:pre", {"tool_name": "t", "tool_input": {}}),
        ("tool:post", {"tool_name": "t", "result": {"success": True, "output": output}}),
        show_tool_lines=2,
    )

    assert text == f"# ● t\n# ✓ t\n#   {'x' * 197}...\n#   0\n#   ... (9 more lines)\n"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"success": True, "output": "fine"}, "# ✓ t\n#   fine\n"),
        ({"success": True, "output": None}, "# ✓ t\n"),
        ({"success": False, "error": {"message": "bad"}}, "# ✗ t\n#   bad\n"),
        ({"success": False, "output": "why", "error": {"message": "bad"}}, "# ✗ t\n#   why\n"),
        ("only text", "# ✓ t\n#   only text\n"),
        ({"free": "form"}, "# ✓ t\n#   free: form\n"),
        (None, "# ✓ t\n"),
        (
            {"success": True, "output": {"stdout": "o\n", "stderr": "e", "returncode": 0}},
            "# ✓ t\n#   o\n",
        ),
        (
            {"success": False, "output": {"stdout": "o\n", "stderr": "e", "returncode": 1}},
            "# ✗ t\n#   o\n#   e\n",
        ),
    ],
)
async def test_results_of_all_forms(terminal: Terminal, result: Any, expected: str) -> None:
    assert await shown(terminal, ("tool:post", {"tool_name": "t", "result": result})) == expected


@pytest.mark.parametrize(
    ("more", "expected"), [({}, "# ✗ t\n#   boom\n"), ({"result": {"success": False}}, "")]
)
async def test_an_error_is_shown_unless_the_result_that_follows_tells_it(
    terminal: Terminal, more: dict[str, Any], expected: str
) -> None:
    error = {"tool_name": "t", "error": {"type": "ValueError", "msg": "boom"}, **more}

    assert await shown(terminal, ("tool:error", error)) == expected


# -- usage -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 10, "output_tokens": 5}, "in 10 | out 5 | total 15 | ?"),
        (
            {"input_tokens": 1000, "output_tokens": 5, "cache_read_tokens": 250, "cost_usd": 0},
            "in 1,000 (25% cached) | out 5 | total 1,005 | $0.00",
        ),
        (
            {"input_tokens": 10, "output_tokens": 5, "cache_write_tokens": 90, "cost_usd": "1.239"},
            "in 100 (caching) | out 5 | total 105 | $1.24",
        ),
        (
            {"input_tokens": 10, "output_tokens": 5, "cost_usd": "nonsense"},
            "in 10 | out 5 | total 15 | ?",
        ),
        (
            {"input_tokens": 10, "output_tokens": 5, "cost_usd": "1E999999"},
            "in 10 | out 5 | total 15 | ?",
        ),
    ],
)
async def test_the_usage_of_an_answer(
    terminal: Terminal, usage: dict[str, Any], expected: str
) -> None:
    told = {"model": "m-1", "duration_ms": 1500, "usage": usage, "status": "ok"}

    text = await shown(
        terminal, REQUEST, ("llm:response", told), *block(0, 1, type="text", text="x")
    )

    assert text == f"# m-1, N s\n# {expected}\n"
    assert "m-1, 1.5 s\n" in terminal.text_of("stderr")


async def test_an_answer_without_blocks_shows_its_usage_before_the_tools(
    terminal: Terminal,
) -> None:
    came = {"usage": {"input_tokens": 1, "output_tokens": 2}, "tool_calls": True}

    text = await shown(
        terminal, REQUEST, ("provider:response", came), ("tool:pre", {"tool_name": "t"}), REQUEST
    )

    assert text == "# model, N s\n# in 1 | out 2 | total 3 | ?\n# ● t\n"


async def test_what_a_loop_asks_aside_is_paid_for_but_not_shown(terminal: Terminal) -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "cost_usd": "0.5"}
    aside = {"usage": usage, "iteration": 0, "purpose": "goal-judge"}

    text = await shown(
        terminal, REQUEST, ("llm:response", {"usage": usage}), ("provider:response", aside), DONE
    )

    assert text == "# turn cost $0.50 | session cost $0.50\n"


async def test_a_failed_call_costs_nothing(terminal: Terminal) -> None:
    failed = ("llm:response", {"status": "error", "usage": {"input_tokens": 1}})

    assert await shown(terminal, REQUEST, failed, DONE) == ""


# -- anything at all -------------------------------------------------------------------

EVENTS = [
    "prompt:submit",
    "provider:request",
    "provider:stream",
    "provider:response",
    "llm:stream_block_start",
    "llm:stream_block_delta",
    "llm:stream_block_end",
    "llm:stream_aborted",
    "llm:response",
    "content_block:start",
    "content_block:end",
    "tool:pre",
    "tool:post",
    "tool:error",
    "orchestrator:complete",
]
FIELDS = [
    "block", "block_index", "block_type", "chunk", "content", "cost_usd", "data", "duration_ms",
    "error", "input_tokens", "message", "model", "msg", "output", "purpose", "result", "status",
    "stdout", "success", "summary", "text", "thinking", "tool_calls", "tool_input", "tool_name",
    "total_blocks", "type", "usage",
]  # fmt: skip
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["text", "thinking", "reasoning", "error"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)
    ),
    max_leaves=6,
)
PAYLOADS = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6)


@settings(max_examples=100, deadline=None)
@given(scripted=st.lists(st.tuples(st.sampled_from(EVENTS), PAYLOADS), max_size=8))
async def test_no_event_makes_it_stumble_or_steer_the_terminal(
    scripted: list[tuple[str, dict[str, Any]]],
) -> None:
    screen = Terminal()
    coordinator = await coordinator_with()
    with screen.installed(), nothing_logged("amplifier_modules.terminal"):
        await play(coordinator, *scripted)

    for _, text in screen.written:
        assert not any(ord(each) < 0x20 and each not in "\n\t" for each in text)
    assert screen.transcript is not None  # checks that lines on stderr begin on lines of their own
