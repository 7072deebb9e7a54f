"""A budget stops a session before the call that would go beyond it, and keeps the work."""

from decimal import Decimal

import pytest
from click.testing import CliRunner

from amplifier.budget import Budget
from amplifier.cli import main
from amplifier.sessions.live import RecordedSession

LOOK = {"tool_calls": [{"name": "look", "arguments": {}}]}
DONE = {"text": "Done."}


def plan(*steps: dict[str, object]) -> dict[str, object]:
    return {
        "session": {
            "orchestrator": {"module": "loop-basic"},
            "context": {"module": "context-simple"},
        },
        "providers": [{"module": "provider-mock", "config": {"script": list(steps)}}],
        "tools": [{"module": "tool-look"}],
    }


async def answer(budget: Budget, *steps: dict[str, object]) -> str:
    session = RecordedSession(plan(*steps))
    session.limit(budget)
    async with session:
        return await session.execute("Go.")


def used(tokens_in: int, tokens_out: int, **step: object) -> dict[str, object]:
    return {**step, "usage": {"input_tokens": tokens_in, "output_tokens": tokens_out}}


async def test_steps_up_to_the_limit_are_made_and_the_next_is_not() -> None:
    assert await answer(Budget(max_steps=2), LOOK, DONE) == "Done."
    assert "2 model calls is used up" in await answer(Budget(max_steps=2), LOOK, LOOK, DONE)


async def test_tokens_of_all_calls_add_up() -> None:
    first = used(60, 50, **LOOK)

    assert "100 tokens (110 are used)" in await answer(Budget(max_tokens=100), first, DONE)
    assert await answer(Budget(max_tokens=111), first, DONE) == "Done."


async def test_a_price_that_is_not_known_cannot_be_limited_and_stops() -> None:
    assert "price is not known" in await answer(Budget(max_cost=Decimal(1)), LOOK, DONE)


async def test_money_that_is_spent_stops_the_next_call() -> None:
    budget = Budget(max_cost=Decimal("0.10"))
    budget.spent.add({"input_tokens": 1, "output_tokens": 1, "cost_usd": "0.12"})

    assert "$0.10 ($0.1200 is spent)" in await answer(budget, DONE)


async def test_a_child_spends_from_its_parents_budget() -> None:
    budget = Budget(max_steps=1)
    session = RecordedSession(plan(DONE, DONE))
    session.limit(budget)

    async with session, session.fork(plan(DONE)) as child:
        assert await session.execute("Go.") == "Done."
        assert "used up" in await child.execute("Go.")


async def test_what_was_said_before_the_limit_is_kept() -> None:
    session = RecordedSession(plan(LOOK, DONE))
    session.limit(Budget(max_steps=1))

    async with session:
        await session.execute("Go.")
        messages = await session.coordinator.get("context").get_messages()

    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize("amount", ["0", "-1", "much", "NaN", "Infinity"])
def test_an_amount_that_is_none_is_refused(amount: str) -> None:
    done = CliRunner().invoke(main, ["run", "--max-cost", amount, "Hello"])

    assert done.exit_code == 2
    assert "is no amount of money" in done.output
