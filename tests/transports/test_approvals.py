"""Whoever is asked for approval may be asked by text, as by hooks, and by request."""

import asyncio
from typing import Any

import pytest
from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.interfaces import ApprovalRequest, ApprovalResponse
from amplifier_core.transports.approvals import asked_either_way, decision_on

ASKED = ApprovalRequest(tool_name="bash", action="ls", risk_level="low", timeout=7.0)


class OfRequests:
    """Approves what does not remove anything."""

    async def request_approval(self, request: ApprovalRequest) -> ApprovalResponse:
        if "wait" in request.action:
            raise TimeoutError("nobody there")
        return ApprovalResponse(approved="rm" not in request.action, reason=str(request.timeout))


class AtOnce:
    """The same without being async."""

    def request_approval(self, request: ApprovalRequest) -> ApprovalResponse:
        return ApprovalResponse(approved="rm" not in request.action)


class OfTexts:
    """Always says the same, and remembers how it was asked."""

    def __init__(self, says: str | Exception) -> None:
        self.says = says
        self.asked: tuple[Any, ...] = ()

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: str
    ) -> str:
        self.asked = (prompt, options, timeout, default)
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


class TextAtOnce:
    def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: str
    ) -> str:
        return options[0]


@pytest.mark.parametrize("decider", [OfRequests(), AtOnce()])
@pytest.mark.parametrize(
    ("prompt", "options", "answer"),
    [
        ("ls", ["Allow once", "Deny"], "Allow once"),
        ("ls", None, "Allow"),
        ("ls", ["Go", "Stop"], "Allow"),
        ("rm x", ["Allow", "Deny"], "Deny"),
    ],
)
async def test_who_decides_on_requests_answers_a_text_with_one_of_its_options(
    decider: Any, prompt: str, options: Any, answer: str
) -> None:
    asked = asked_either_way(decider)

    assert await asked.request_approval(prompt, options, 5.0, "deny") == answer


async def test_a_request_reaches_who_decides_on_requests_as_it_is() -> None:
    decision = await asked_either_way(OfRequests()).request_approval(ASKED)

    assert (decision.approved, decision.reason) == (True, "7.0")


async def test_a_decision_that_takes_too_long_is_the_time_out_that_hooks_know() -> None:
    with pytest.raises(ApprovalTimeoutError, match="nobody there"):
        await asked_either_way(OfRequests()).request_approval("wait", ["Allow"], 1.0, "deny")


def test_who_can_be_asked_by_text_is_left_alone() -> None:
    system = OfTexts("Allow")

    assert asked_either_way(system) is system
    assert "OfRequests" in repr(asked_either_way(OfRequests()))


@pytest.mark.parametrize(
    ("says", "is_approved"),
    [("Allow", True), ("allow always", True), ("Deny", False), ("Perhaps", False)],
)
async def test_a_request_is_put_into_words_for_who_is_asked_by_text(
    says: str, is_approved: bool
) -> None:
    system = OfTexts(says)

    decision = await decision_on(ASKED, system)

    assert system.asked == ("ls", ["Allow", "Deny"], 7.0, "deny")
    assert (decision.approved, decision.reason) == (is_approved, f"The answer was {says!r}.")


async def test_the_options_of_a_hook_come_through() -> None:
    asked = ApprovalRequest(
        tool_name="", action="May I?", details={"options": ["Allow once", "No"]}, risk_level="low"
    )
    system = OfTexts("Allow once")

    assert (await decision_on(asked, system)).approved
    assert system.asked == ("May I?", ["Allow once", "No"], 300.0, "deny")
    assert (await decision_on(asked, TextAtOnce())).approved


@pytest.mark.parametrize("options", [None, "Allow", [], [1], {"Allow": 1}])
async def test_options_that_are_no_list_of_texts_are_the_usual_ones(options: Any) -> None:
    asked = ASKED.model_copy(update={"tool_name": "", "details": {"options": options}})
    system = OfTexts("Deny")

    await decision_on(asked, system)

    assert system.asked[1] == ["Allow", "Deny"]


async def test_the_input_of_a_tool_is_shown_and_decides_nothing() -> None:
    given = {"command": "rm x", "options": ["Allow"], "default": "allow"}
    asked = ASKED.model_copy(update={"details": given})
    system = OfTexts("Deny")

    await decision_on(asked, system)

    assert system.asked == (f"ls with {given!r}", ["Allow", "Deny"], 7.0, "deny")


async def test_nobody_who_answers_in_time_is_no_decision_whatever_the_input_says() -> None:
    asked = ASKED.model_copy(update={"details": {"default": "allow"}})

    with pytest.raises(TimeoutError):
        await decision_on(asked, OfTexts(ApprovalTimeoutError("nobody there")))


async def test_both_kinds_decide_on_a_request() -> None:
    decisions = await asyncio.gather(decision_on(ASKED, OfRequests()), decision_on(ASKED, AtOnce()))

    assert [each.approved for each in decisions] == [True, True]


async def test_what_shows_no_signature_is_asked_by_text() -> None:
    class Silent:
        request_approval: Any = type

    assert asked_either_way(Silent) is Silent
    assert asked_either_way(asyncio) is asyncio
