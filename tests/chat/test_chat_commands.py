"""What can be said to the chat itself, and what its keys do."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from helpers_talking import plan, talking

from amplifier.chat.chat import Move
from amplifier.chat.commands import COMMANDS
from amplifier.chat.opening import with_model
from amplifier.sessions.live import Recording
from amplifier.sessions.loading import load
from amplifier.sessions.memory import MemoryStore

HELLO = {"text": "Hello.", "usage": {"input_tokens": 1500, "output_tokens": 20}}


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")


async def test_help_names_every_command_and_key(tmp_path: Path) -> None:
    async with talking(plan(HELLO), tmp_path) as talk:
        shown = await talk.say("/help", "Ctrl-X Ctrl-E")

    assert all(f"/{name}" in shown for name in COMMANDS)


async def test_status_and_cost_say_what_was_used(tmp_path: Path) -> None:
    async with talking(plan(HELLO, context_window=10_000), tmp_path) as talk:
        await talk.say("Hi", "Hello.", "in 1.5k, out 20", "context 15%")

        await talk.say("/status", "mock-model", "messages   2", "1,520 tokens of 10,000 (15%)")
        await talk.say("/cost", "1 model call, in 1.5k, out 20", "price of some calls")


async def test_tools_agents_and_modules_are_listed(tmp_path: Path) -> None:
    mounts = plan(HELLO, tools=("tool-bash", "tool-delegate"))
    mounts["agents"] = {"scout": {"description": "Looks around. And more."}}
    async with talking(mounts, tmp_path) as talk:
        await talk.say("/tools", "bash", "delegate")
        await talk.say("/agents", "scout", "Looks around")
        await talk.say("/config", "loop-streaming", "tool-bash, tool-delegate", "hooks-approval")


async def test_models_are_listed_and_changed(tmp_path: Path) -> None:
    async with talking(plan(HELLO), tmp_path, Recording(MemoryStore())) as talk:
        await talk.say("/model", "in use: mock-model", "mock/mock-model")
        await talk.say("/model parrot")
        assert await talk.left() == Move("model", "parrot")


@pytest.mark.parametrize(
    ("said", "move"),
    [
        ("/fork", Move("fork")),
        ("/fork 1", Move("fork", "1")),
        ("/undo", Move("undo")),
        ("/resume abc", Move("resume", "abc")),
        ("/exit", None),
        ("quit", None),
    ],
)
async def test_commands_that_go_on_elsewhere_end_the_chat(
    tmp_path: Path, said: str, move: Move | None
) -> None:
    async with talking(plan(HELLO), tmp_path, Recording(MemoryStore())) as talk:
        await talk.say("Hi", "Hello.", "out 20")
        await talk.say(said)

        assert await talk.left() == move


@pytest.mark.parametrize("said", ["/fork", "/undo", "/resume x", "/model x", "/rename x"])
async def test_a_session_that_is_not_kept_cannot_be_left_for_another(
    tmp_path: Path, said: str
) -> None:
    async with talking(plan(HELLO), tmp_path) as talk:
        await talk.say(said, "This session is not kept.")


async def test_a_name_goes_into_the_log(tmp_path: Path) -> None:
    store = MemoryStore()
    async with talking(plan(HELLO), tmp_path, Recording(store)) as talk:
        await talk.say("/rename my talk", "The session is called 'my talk'")
        session_id = talk.chat.session.session_id

    assert (await load(store, session_id)).name == "my talk"


async def test_the_context_is_cleared_and_shortened(tmp_path: Path) -> None:
    async with talking(plan(HELLO), tmp_path) as talk:
        await talk.say("Hi", "Hello.", "out 20")
        await talk.say("/compact", "nothing to shorten")
        await talk.say("/clear", "begins anew")
        await talk.say("/status", "messages   0")


async def test_the_conversation_is_saved_but_never_over_another(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    async with talking(plan(HELLO), tmp_path) as talk:
        await talk.say("Hi", "Hello.", "out 20")
        await talk.say(f"/save {file}", "The conversation is in")
        await talk.say(f"/save {file}", "exists. Name another file")
        await talk.say(f"/save {tmp_path}/no/where.json", "cannot be written")

    assert [each["role"] for each in json.loads(file.read_text())["messages"]] == [
        "user", "assistant",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("/goal", "There is no goal."),
        ("/goal clear", "There is no goal any more."),
        ("/goal --max-turns x y", "Write it as in `/goal --max-turns 5 all tests pass`."),
        ("/thinking", "is not shown"),
        ("/thinking maybe", "Write `/thinking on` or `/thinking off`."),
        ("/permissions", "nothing beyond the rules"),
        ("/permissions forget", "0 answers of this session are forgotten."),
        ("/permissions revoke abc", "Nothing that was allowed"),
        ("/permissions all", "Write `/permissions`"),
        ("/fork x", "Write `/fork`"),
        ("/undo", "Nothing was said yet."),
        ("/nonsense", "There is no command '/nonsense'. /help lists them all."),
        ("/statsu", "Did you mean /status?"),
    ],
)
async def test_what_commands_answer(tmp_path: Path, said: str, answer: str) -> None:
    async with talking(plan(HELLO), tmp_path, Recording(MemoryStore())) as talk:
        await talk.say(said, answer)


async def test_thinking_is_shown_unless_it_is_switched_off(tmp_path: Path) -> None:
    thoughts = [{"thinking": f"I think {n}.", "text": f"Answer {n}."} for n in (1, 2)]
    async with talking(plan(*thoughts), tmp_path) as talk:
        await talk.say("Hi", "I think 1.", "Answer 1.")
        await talk.say("/thinking off", "is not shown")

        assert "I think 2." not in await talk.say("Again", "Answer 2.", "mock-model | in")


# -- keys -----------------------------------------------------------------------------------


@pytest.mark.parametrize("new_line", ["\x1b\r", "\n", "\\\r"])
async def test_a_message_may_have_several_lines(tmp_path: Path, new_line: str) -> None:
    async with talking(plan(HELLO), tmp_path) as talk:
        await talk.say(f"first{new_line}second", "Hello.", "out 20")
        messages = await talk.chat.messages()

    assert messages[0]["content"] == "first\nsecond"


async def test_ctrl_c_clears_the_line_and_ends_nothing(tmp_path: Path) -> None:
    async with talking(plan(HELLO), tmp_path) as talk:
        talk.keys.send_text("nonsense\x03")
        await talk.say("Hi", "Hello.", "out 20")
        talk.keys.send_text("\x03")
        await talk.wait_for("Ctrl-D ends the chat.")
        messages = await talk.chat.messages()

    assert messages[0]["content"] == "Hi"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_to_end_closes_the_session(tmp_path: Path, number: signal.Signals) -> None:
    slow = {"stream": ["word "] * 1000, "chunk_delay": 0.05}
    async with talking(plan(slow), tmp_path) as talk:
        await talk.say("Hi", "word ")
        assert signal.getsignal(number) not in (signal.SIG_DFL, None)

        signal.raise_signal(number)

        assert await talk.left() is None


async def test_a_signal_to_interrupt_is_like_ctrl_c(tmp_path: Path) -> None:
    slow = {"stream": ["word "] * 1000, "chunk_delay": 0.05}
    async with talking(plan(slow, HELLO), tmp_path) as talk:
        await talk.say("Hi", "word ")
        for said in ("Stopping after this step.", "Stopped at once."):
            signal.raise_signal(signal.SIGINT)
            await talk.wait_for(said)


async def test_what_others_print_cannot_steer_the_terminal(tmp_path: Path) -> None:
    async with talking(plan(HELLO), tmp_path) as talk:
        print("look \x1b]0;stolen\x07 here", flush=True)
        await talk.wait_for("look ?]0;stolen")


async def test_a_failing_command_is_one_line(tmp_path: Path) -> None:
    async with talking(plan(HELLO), tmp_path) as talk:

        async def broken() -> Any:
            raise RuntimeError("out of order")

        talk.chat.messages = broken  # type: ignore[method-assign]

        await talk.say("/status", "RuntimeError: out of order")
        await talk.say("Hi", "Hello.")


# -- models ---------------------------------------------------------------------------------

MOUNTED = {
    "providers": [
        {"module": "provider-mock", "config": {"default_model": "a", "priority": 1}},
        {"module": "provider-local"},
    ]
}


def test_another_model_of_the_provider_in_use_keeps_its_settings() -> None:
    changed = with_model(MOUNTED, "org/b")

    assert changed["providers"] == [
        {"module": "provider-mock", "config": {"default_model": "org/b", "priority": 1}}
    ]


def test_a_model_may_be_that_of_another_provider() -> None:
    changed = with_model(MOUNTED, "local/c.gguf")

    assert changed["providers"] == [
        {"module": "provider-local", "config": {"default_model": "c.gguf"}}
    ]


def test_the_providers_of_a_plan_are_not_changed_in_place() -> None:
    with_model(MOUNTED, "b")

    assert MOUNTED["providers"][0]["config"]["default_model"] == "a"  # type: ignore[index]
