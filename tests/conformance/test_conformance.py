"""What every module does, of whatever kind, over whatever transport, in whatever language."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest
import pytest_asyncio
from stage import PATIENCE, USUALLY, Failed, Mounted, mounted
from subjects import SUBJECTS, Subject

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow]

Stage = Callable[[Subject], Awaitable[Mounted]]

TEXTS = ["hello", "ünïcödé 你好 🙂 \u202e \u0001", 'quo"ted \\ {"json": [1]}\n\ttabs', " "]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """Mounts each subject once for all tests of this file."""
    opened: dict[Subject, Mounted] = {}
    async with AsyncExitStack() as stack:

        async def find(subject: Subject) -> Mounted:
            if subject not in opened:
                folder = tmp_path_factory.mktemp(subject.id)
                opened[subject] = await stack.enter_async_context(mounted(subject, folder))
            return opened[subject]

        yield find


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
    before = int(await it.say("!cancelled"))

    async with asyncio.timeout(PATIENCE):
        while int(await it.say("!cancelled")) == before:
            asked = asyncio.create_task(it.say("!sleep 100"))
            await asyncio.wait([asked], timeout=0.05)
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
