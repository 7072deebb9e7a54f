"""A budget stops a session before the call that would go beyond it, and keeps the work."""

import json
from decimal import Decimal

import pytest
from click.testing import CliRunner
from helpers_app import App, Ended

from amplifier.budget import Budget, Limits
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
    assert await answer(Budget(Limits(max_steps=2)), LOOK, DONE) == "Done."
    assert "2 model calls is used up" in await answer(Budget(Limits(max_steps=2)), LOOK, LOOK, DONE)


async def test_tokens_of_all_calls_add_up() -> None:
    first = used(60, 50, **LOOK)

    assert "100 tokens (110 are used)" in await answer(Budget(Limits(max_tokens=100)), first, DONE)
    assert await answer(Budget(Limits(max_tokens=111)), first, DONE) == "Done."


async def test_a_price_that_is_not_known_cannot_be_limited_and_stops() -> None:
    assert "price is not known" in await answer(Budget(Limits(max_cost=Decimal(1))), LOOK, DONE)


async def test_money_that_is_spent_stops_the_next_call() -> None:
    budget = Budget(Limits(max_cost=Decimal("0.10")))
    budget.spent.add({"input_tokens": 1, "output_tokens": 1, "cost_usd": "0.12"})

    assert "$0.10 ($0.1200 is spent)" in await answer(budget, DONE)


async def test_a_child_spends_from_its_parents_budget() -> None:
    budget = Budget(Limits(max_steps=1))
    session = RecordedSession(plan(DONE, DONE))
    session.limit(budget)

    async with session, session.fork(plan(DONE)) as child:
        assert await session.execute("Go.") == "Done."
        assert "used up" in await child.execute("Go.")


async def test_what_was_said_before_the_limit_is_kept() -> None:
    session = RecordedSession(plan(LOOK, DONE))
    session.limit(Budget(Limits(max_steps=1)))

    async with session:
        await session.execute("Go.")
        messages = await session.coordinator.get("context").get_messages()

    assert [each["role"] for each in messages] == ["user", "assistant", "tool", "assistant"]


# -- as a command -----------------------------------------------------------------------

LOOKS = "async def reply(number, request):\n    return uses('look')\n"
PRICED = """
    async def reply(number, request):
        usage = Usage(input_tokens=10, output_tokens=5, total_tokens=15, cost_usd="0.02")
        return ChatResponse(content=[TextBlock(text="Done.")], usage=usage)

    from amplifier_core import Usage
"""


def run(app: App, *options: str) -> Ended:
    return app.run("run", "-p", "mock", "--output-format", "json", *options, "Go.")


def go_on(app: App, *options: str) -> Ended:
    return app.run("continue", "--output-format", "json", *options, "Go on.")


def test_a_used_up_budget_has_an_exit_code_and_a_sentence_of_its_own(app: App) -> None:
    app.offer_tool("async def look(input):\n    return ToolResult(output='one file')\n")
    app.offer_provider(LOOKS)

    ended = run(app, "--max-steps", "2")

    assert ended.code == 3
    assert ended.document["error"].startswith("The budget of 2 model calls is used up.")
    assert ended.document["usage"]["model_calls"] == 2


@pytest.mark.slow
def test_a_budget_holds_after_a_restart_until_a_larger_one_is_given(app: App) -> None:
    app.offer_provider(PRICED)

    assert run(app, "--max-cost", "0.02").code == 0
    stopped = go_on(app)
    assert (stopped.code, stopped.document["usage"]["model_calls"]) == (3, 0)
    assert "$0.02 ($0.0200 is spent)" in stopped.document["error"]
    assert go_on(app, "--max-cost", "0.03").code == 0
    assert "$0.03 ($0.0400 is spent)" in go_on(app).document["error"]


@pytest.mark.slow
def test_a_budget_of_the_settings_holds_and_the_command_line_says_more(app: App) -> None:
    app.offer_provider(PRICED)
    (app.home / "settings.yaml").write_text(
        "bundle: {active: plain}\nbudget: {max_tokens: 15, max_cost: 1}\n"
    )

    assert run(app).code == 0
    assert "15 tokens (15 are used)" in go_on(app).document["error"]
    assert go_on(app, "--max-tokens", "100").code == 0


@pytest.mark.slow
def test_a_limit_can_be_taken_away(app: App) -> None:
    assert run(app, "--max-cost", "0.01").code == 0
    assert "`--max-cost none`" in go_on(app).document["error"]

    assert go_on(app, "--max-cost", "none").code == 0
    assert go_on(app).code == 0


@pytest.mark.parametrize("count", ["0", "-1", "1.5", "some"])
def test_a_count_that_is_none_is_refused(count: str) -> None:
    done = CliRunner().invoke(main, ["run", "--max-steps", count, "Hello"])

    assert done.exit_code == 2
    assert "is no number from 1 on" in done.output


def test_a_budget_of_the_settings_that_is_none_is_refused(app: App) -> None:
    (app.home / "settings.yaml").write_text("budget: {max_steps: 1.5}\n")

    ended = run(app)

    assert ended.code == 1
    assert "'budget.max_steps' must be a whole number" in ended.document["error"]


def agents_and_a_parent(app: App) -> None:
    """A parent that hands work to an agent; both are the same stand-in, told apart by prompt."""
    (app.home / "settings.yaml").write_text("bundle: {active: team}\n")
    (app.home / "bundles/team.yaml").write_text(
        "bundle: {name: team}\ntools: [{module: tool-look}, {module: tool-task}]\n"
        "agents: {reader: {description: Reads., tools: [tool-look]}}\n"
    )
    app.offer_tool("async def look(input):\n    return ToolResult(output='one file')\n")
    app.offer_provider(
        """
        from amplifier_core import Usage

        USAGE = Usage(input_tokens=10, output_tokens=5, total_tokens=15, cost_usd="0.02")

        def paid(response):
            return response.model_copy(update={"usage": USAGE})

        async def reply(number, request):
            users = [each for each in request.messages if each.role == "user"]
            if "Read." in str(users[-1].content):
                return paid(uses("look") if number == 1 else says("It says hello."))
            if request.messages[-1].role == "tool":
                return paid(says("The agent is done."))
            return paid(uses("task", agent="reader", instruction="Read."))
        """
    )


@pytest.mark.slow
def test_what_a_child_spends_is_told_apart_and_counts_after_a_restart(app: App) -> None:
    agents_and_a_parent(app)

    ended = run(app, "--max-steps", "4")

    document = ended.document
    assert (ended.code, document["response"]) == (0, "The agent is done.")
    assert document["usage"]["model_calls"] == 4
    assert document["usage"]["cost_usd"] == "0.08"
    (child,) = document["children"]
    assert child["agent"] == "reader"
    assert child["session_id"].startswith(document["session_id"])
    assert child["usage"] == {
        "model_calls": 2, "input_tokens": 20, "output_tokens": 10, "cost_usd": "0.04",
    }  # fmt: skip
    shown = json.loads(app.run("session", "show", child["session_id"], "--json").out)
    assert (shown["parent_id"], shown["cost_usd"]) == (document["session_id"], "0.04")
    assert "4 model calls is used up" in go_on(app).document["error"]


@pytest.mark.slow
def test_a_child_is_stopped_by_its_parents_budget(app: App) -> None:
    agents_and_a_parent(app)

    ended = run(app, "--max-steps", "2")

    assert (ended.code, ended.document["usage"]["model_calls"]) == (3, 2)
    assert ended.document["children"][0]["usage"]["model_calls"] == 1


@pytest.mark.parametrize("amount", ["0", "-1", "much", "NaN", "Infinity"])
def test_an_amount_that_is_none_is_refused(amount: str) -> None:
    done = CliRunner().invoke(main, ["run", "--max-cost", amount, "Hello"])

    assert done.exit_code == 2
    assert "is no amount of money" in done.output
