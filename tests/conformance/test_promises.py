"""What every module does, of whatever kind, over whatever transport, in whatever language."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from amplifier_core import HookResult
from amplifier_core.message_models import ChatRequest, Message
from amplifier_core.testing import wait_for
from stage import PATIENCE, USUALLY, Failed, Mounted, children, mounted, open_files
from subjects import SUBJECTS, Subject

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

Stage = Callable[[Subject], Awaitable[Mounted]]

FILES_OF_GRPC = 10
"""What it keeps open itself, once for a process."""

TEXTS = ["hello", "ünïcödé 你好 🙂 \u202e \u0001", 'quo"ted \\ {"json": [1]}\n\ttabs', " "]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Mounts each subject once for all tests of this file; in the end nothing may be left."""
    opened: dict[Subject, Mounted] = {}
    known, files = children(), len(open_files())
    async with AsyncExitStack() as stack:

        async def find(subject: Subject) -> Mounted:
            if subject not in opened:
                folder = tmp_path_factory.mktemp(subject.id)
                opened[subject] = await stack.enter_async_context(mounted(subject, folder))
            return opened[subject]

        yield find
    # A compiled component holds a file until it is collected as garbage.
    opened.clear()
    gc.collect()
    assert await wait_for(lambda: children() <= known, PATIENCE)
    assert await wait_for(lambda: len(open_files()) <= files + FILES_OF_GRPC, 10), open_files()


def every(*, but: Callable[[Subject], bool] = lambda _: False) -> pytest.MarkDecorator:
    """All subjects, except those of which the claim cannot be made."""
    chosen = [each for each in SUBJECTS if not but(each)]
    return pytest.mark.parametrize("subject", chosen, ids=lambda each: each.id)


def usual(subject: Subject, text: str) -> str:
    return USUALLY[subject.kind].format(text)


@every()
async def test_it_answers_to_any_text_as_its_config_asks(subject: Subject, stage: Stage) -> None:
    it = await stage(subject)

    answers = [await it.say(text) for text in TEXTS]

    assert answers == [usual(subject, text) for text in TEXTS]


@every()
async def test_payloads_of_100_kb_come_through_whole(subject: Subject, stage: Stage) -> None:
    it = await stage(subject)
    text = "ü🙂x" * 15_000

    assert await it.say(text) == usual(subject, text)


@every()
async def test_a_failure_is_told_in_its_words_and_is_over(subject: Subject, stage: Stage) -> None:
    it = await stage(subject)

    with pytest.raises(Failed, match="es ging nicht: ü"):
        await it.say("!fail es ging nicht: ü")

    assert await it.say("on") == usual(subject, "on")


@every()
async def test_who_cancels_a_call_does_not_wait_for_it(subject: Subject, stage: Stage) -> None:
    it = await stage(subject)

    asked = asyncio.create_task(it.say("!sleep 100"))
    await asyncio.wait([asked], timeout=0.05)
    asked.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asked, PATIENCE / 2)
    assert await it.say("on") == usual(subject, "on")


@every(but=lambda subject: not subject.counts)
async def test_the_module_hears_of_a_cancelled_call(subject: Subject, stage: Stage) -> None:
    it = await stage(subject)
    before, enough_to_arrive = int(await it.say("!cancelled")), 0.05

    async with asyncio.timeout(PATIENCE):
        while int(await it.say("!cancelled")) == before:
            asked = asyncio.create_task(it.say("!sleep 100"))
            await asyncio.wait([asked], timeout=enough_to_arrive)
            enough_to_arrive *= 2
            asked.cancel()
            with suppress(asyncio.CancelledError):
                await asked


@every(but=lambda subject: not subject.survives)
async def test_a_crash_in_mid_call_ends_the_call_and_nothing_else(
    subject: Subject, stage: Stage
) -> None:
    """What is left knows its config again; only its memory is gone."""
    it = await stage(subject)

    with pytest.raises(Failed) as told:
        await it.say("!crash")
    await it.revive()

    assert len(str(told.value).splitlines()) == 1
    assert subject.module_id in str(told.value)
    assert await it.say("on") == usual(subject, "on")


@every(but=lambda subject: not subject.survives)
async def test_a_huge_answer_is_refused(subject: Subject, stage: Stage) -> None:
    it = await stage(subject)

    with pytest.raises(Failed) as told:
        await it.say("!large 20000000")
    if subject.kind == "context":
        await it.coordinator.get("context").clear()

    assert len(str(told.value).splitlines()) == 1
    assert await it.say("on") == usual(subject, "on")


@every(but=lambda subject: subject.kind in ("context", "orchestrator"))
async def test_many_calls_at_once_get_their_own_answers(subject: Subject, stage: Stage) -> None:
    it = await stage(subject)
    texts = [f"number {n}" for n in range(20)]

    answers = await asyncio.gather(*map(it.say, texts))

    assert answers == [usual(subject, text) for text in texts]


@every()
async def test_a_session_runs_a_turn_with_it_as_with_any_other(
    subject: Subject, stage: Stage
) -> None:
    """The model asks for a tool, the tool answers, the model says it again."""
    it = await stage(subject)

    answer = await it.session.execute('!tool echo {"text": "hallo"}')

    assert "hallo" in answer
    assert '"length": 5' in answer or '"length":5' in answer


@every(but=lambda subject: not subject.can_refuse)
async def test_a_wrong_config_is_refused_by_name(subject: Subject, tmp_path: Path) -> None:
    wrong = {
        "orchestrator": {"max_steps": "many"},
        "context": {"max_messages": 0},
        "hook": {"forbid": ""},
    }[subject.kind]
    (key,) = wrong

    with pytest.raises(Exception, match=key):
        async with mounted(subject, tmp_path, wrong):
            pass


# -- what is particular to a kind -----------------------------------------------------


def all_of(kind: str) -> pytest.MarkDecorator:
    return every(but=lambda subject: subject.kind != kind)


@all_of("tool")
async def test_a_tool_tells_the_model_what_it_takes(subject: Subject, stage: Stage) -> None:
    tool = (await stage(subject)).coordinator.get("tools", "echo")

    counted = await tool.execute({"text": "🙂é"})
    refused = await tool.execute({"other": 1})

    assert tool.description
    assert tool.input_schema["required"] == ["text"]
    assert tool.input_schema["properties"]["text"]["type"] == "string"
    assert counted.output == {"text": "» 🙂é", "length": 2}
    assert not refused.success
    assert "text" in refused.error["message"]


@all_of("provider")
async def test_a_provider_tells_of_itself_and_of_its_models(subject: Subject, stage: Stage) -> None:
    provider = (await stage(subject)).coordinator.get("providers", "echo")

    (model,) = await provider.list_models()
    info = provider.get_info()

    assert (info.id, info.display_name) == ("echo", "Echo")
    assert (model.id, info.defaults["model"]) == ("echo-2", "echo-2")
    assert model.context_window > 0


@all_of("provider")
async def test_a_provider_answers_with_usage_and_with_tool_calls(
    subject: Subject, stage: Stage
) -> None:
    provider = (await stage(subject)).coordinator.get("providers", "echo")

    said = await provider.complete(asking("one two"))
    called = await provider.complete(asking('!tool look {"at": ["é", 1.5, null]}'))

    assert (said.usage.input_tokens, said.usage.output_tokens) == (2, 3)
    assert said.finish_reason == "stop"
    (call,) = provider.parse_tool_calls(called)
    assert (call.id, call.name, call.arguments) == ("call-1", "look", {"at": ["é", 1.5, None]})


@every(but=lambda subject: subject.kind != "provider" or subject.transport == "wasm")
async def test_a_provider_that_streams_says_the_same_in_pieces(
    subject: Subject, stage: Stage
) -> None:
    provider = (await stage(subject)).coordinator.get("providers", "echo")

    chunks = [chunk async for chunk in provider.stream_complete(asking("one twö three"))]

    pieces = [chunk["text"] for chunk in chunks if chunk.get("text")]
    assert len(pieces) > 1
    assert "".join(pieces).rstrip() == "» one twö three"
    assert chunks[-1]["response"].content[0].text == "» one twö three"


def asking(text: str) -> ChatRequest:
    return ChatRequest(messages=[Message(role="user", content=text)])


WHOLE: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "é", "name": "ada", "metadata": {"deep": [1, {"a": None}]}},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_call", "id": "1", "name": "look", "input": {"at": ["ü", 1.5]}},
        ],
    },
    {"role": "tool", "content": "seen", "tool_call_id": "1", "name": "look"},
]


@all_of("context")
async def test_a_context_gives_messages_back_whole(subject: Subject, stage: Stage) -> None:
    context = (await stage(subject)).coordinator.get("context")
    await context.clear()

    for message in WHOLE:
        await context.add_message(message)
    added = await context.get_messages()
    await context.clear()
    emptied = await context.get_messages()
    await context.set_messages(WHOLE)

    assert emptied == []
    for found in (added, await context.get_messages()):
        assert [essence(each) for each in found] == [essence(each) for each in WHOLE]


def essence(message: dict[str, Any]) -> dict[str, Any]:
    """Everything of a message that is something."""
    kept = Message.model_validate(message).model_dump(mode="json", exclude_none=True)
    return {key: value for key, value in kept.items() if value not in ({}, [])}


@all_of("context")
async def test_a_context_keeps_to_its_size_and_to_the_budget(
    subject: Subject, stage: Stage
) -> None:
    context = (await stage(subject)).coordinator.get("context")
    await context.clear()
    for number in range(45):
        await context.add_message({"role": "user", "content": f"{number:08}"})

    kept = await context.get_messages()
    fitting = await context.get_messages_for_request(token_budget=6)
    last = await context.get_messages_for_request(token_budget=1)

    assert [each["content"] for each in kept] == [f"{number:08}" for number in range(5, 45)]
    assert [each["content"] for each in fitting] == ["00000042", "00000043", "00000044"]
    assert [each["content"] for each in last] == ["00000044"]
    await context.clear()


@all_of("hook")
async def test_a_hook_stops_and_changes_events(subject: Subject, stage: Stage) -> None:
    emit = (await stage(subject)).coordinator.hooks.emit
    rest = {"tool_name": "echo", "other": object()}

    async def about(text: str) -> Any:
        return await emit("tool:pre", {**rest, "tool_input": {"text": text, "also": [1, "é"]}})

    denied, passed = await about("ist verboten"), await about("ist erlaubt")
    changed, injected = await about("!modify anders"), await about("!inject Merke: ü")

    assert (denied.action, denied.reason) == ("deny", "forbidden: verboten")
    assert passed.action == "continue"
    assert changed.data["tool_input"] == {"text": "anders", "also": [1, "é"]}
    assert changed.data["tool_name"] == "echo"
    assert (injected.action, injected.context_injection) == ("inject_context", "Merke: ü")


@all_of("hook")
async def test_a_denied_tool_is_not_run_and_the_model_hears_why(
    subject: Subject, stage: Stage
) -> None:
    it = await stage(subject)

    answer = await it.session.execute('!tool echo {"text": "verboten"}')

    assert "forbidden: verboten" in answer
    assert '"length"' not in answer


@all_of("approval")
async def test_an_approval_module_says_no_with_a_reason(subject: Subject, stage: Stage) -> None:
    it = await stage(subject)

    with pytest.raises(Failed, match="forbidden: verboten"):
        await it.say("etwas, das verboten ist")


@all_of("orchestrator")
async def test_an_orchestrator_announces_what_it_does(subject: Subject, stage: Stage) -> None:
    it = await stage(subject)
    heard: list[str] = []
    unregister = it.coordinator.hooks.register(
        ["prompt:submit", "provider:request", "tool:pre", "tool:post", "prompt:complete"],
        lambda event, data: heard.append(event),
    )

    await it.session.execute('!tool echo {"text": "hallo"}')
    unregister()

    assert heard == [
        "prompt:submit",
        "provider:request",
        "tool:pre",
        "tool:post",
        "provider:request",
        "prompt:complete",
    ]


@all_of("orchestrator")
async def test_an_orchestrator_obeys_hooks(subject: Subject, stage: Stage) -> None:
    it = await stage(subject)

    def judge(event: str, data: dict[str, Any]) -> HookResult:
        if data["tool_input"]["text"] == "nein":
            return HookResult(action="deny", reason="not that")
        return HookResult(action="modify", data={**data, "tool_input": {"text": "geändert"}})

    unregister = it.coordinator.hooks.register("tool:pre", judge)
    denied = await it.session.execute('!tool echo {"text": "nein"}')
    changed = await it.session.execute('!tool echo {"text": "anders"}')
    unregister()

    assert "not that" in denied
    assert '"length"' not in denied
    assert "anders" not in changed
    assert '"length": 8' in changed or '"length":8' in changed
