"""What becomes of an answer: once, for the session, for the project, or a no with its reason."""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ApprovalRequest, ApprovalResponse
from amplifier_core.approval import ApprovalTimeoutError

from amplifier.chat.approvals import LONGEST_COMMAND, Approvals
from amplifier.chat.drawing import Drawing, question_card
from amplifier.chat.questions import Answer, Question, Verdict
from amplifier.grants import Grants

PLAN = {
    "session": {"orchestrator": {"module": "loop-basic"}, "context": {"module": "context-simple"}},
    "tools": [{"module": "tool-bash"}],
}


class Person:
    """Answers every question in the same way, and remembers what was asked."""

    def __init__(self, verdict: Verdict = "once", reason: str = "") -> None:
        self.answer: Answer = (verdict, reason)
        self.asked: list[str] = []

    async def ask(self, question: Question, seconds: float | None) -> Answer:
        self.asked.append(Drawing(colour=False).lines(question_card(question), 200))
        return self.answer


def request(command: str = "make", **details: Any) -> ApprovalRequest:
    given = details or {"command": command}
    return ApprovalRequest(
        tool_name="bash", action=f"run {command!r}", details=given, risk_level="high"
    )


async def answered(approvals: Approvals, asked: ApprovalRequest) -> ApprovalResponse:
    response: ApprovalResponse = await approvals.request_approval(asked)
    return response


@pytest.mark.parametrize(
    ("verdict", "approved", "remembered"),
    [
        ("once", True, False),
        ("session", True, True),
        ("project", True, True),
        ("deny", False, False),
    ],
)
async def test_each_answer_is_passed_on(
    tmp_path: Path, verdict: Verdict, approved: bool, remembered: bool
) -> None:
    person = Person(verdict, "so be it")
    approvals = Approvals(person.ask, tmp_path, Grants(tmp_path / "approvals.json"))

    response = await answered(approvals, request())

    assert (response.approved, response.remember) == (approved, remembered)
    assert response.reason == "so be it"


async def test_what_is_allowed_for_the_project_is_allowed_there_and_nowhere_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "sub").mkdir()
    person = Person("project")
    approvals = Approvals(person.ask, tmp_path, Grants(tmp_path / "approvals.json"))
    async with AmplifierSession(PLAN) as session:
        session.coordinator.register_capability("session.working_dir", str(tmp_path))
        approvals.attach(session)
        await answered(approvals, request())
        await answered(approvals, request())
        assert len(person.asked) == 1

        session.coordinator.get("tools")["bash"]._folder = str(tmp_path / "sub")
        await answered(approvals, request())

    assert len(person.asked) == 2
    assert str(tmp_path / "sub") in person.asked[1]


async def test_an_answer_that_cannot_be_noted_is_a_no_that_says_so(tmp_path: Path) -> None:
    file = tmp_path / "approvals.json"
    file.write_text("[{}]")
    approvals = Approvals(Person("project").ask, tmp_path, Grants(file))

    response = await answered(approvals, request())

    assert not response.approved
    assert "cannot be noted" in str(response.reason)


async def test_nobody_is_asked_to_read_more_than_a_person_can(tmp_path: Path) -> None:
    person = Person()

    response = await answered(Approvals(person.ask, tmp_path), request("x" * (LONGEST_COMMAND + 1)))

    assert not response.approved
    assert person.asked == []


async def test_what_is_left_out_of_a_question_is_counted(tmp_path: Path) -> None:
    person = Person()
    approvals = Approvals(person.ask, tmp_path)

    await answered(approvals, request(url="x", body="line\n" * 500))
    await answered(approvals, request(url="x", body="y" * (LONGEST_COMMAND + 7)))

    assert "… 401 more lines" in person.asked[0]
    assert "… 7 more characters" in person.asked[1]


async def test_an_edit_is_shown_where_it_happens(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\ntwo\n")
    person = Person()
    approvals = Approvals(person.ask, tmp_path)
    change = {"file_path": "a.txt", "old_string": "two", "new_string": "2"}

    await answered(approvals, request(**change))
    await answered(approvals, request(**change, replace_all=True))

    assert [asked.count("-two") for asked in person.asked] == [1, 2]
    assert " one" in person.asked[0]


async def test_the_reason_of_the_rule_is_shown(tmp_path: Path) -> None:
    person = Person()
    approvals = Approvals(person.ask, tmp_path)
    async with AmplifierSession(PLAN) as session:
        approvals.attach(session)
        about = {"tool_name": "bash", "action": "run 'make'", "reason": "No.", "rule": "ask[0]"}
        await session.coordinator.hooks.emit("approval:required", about)

        await answered(approvals, request())

    assert "why:   No. Rule: ask[0]" in person.asked[0]


@pytest.mark.parametrize(
    ("verdict", "options", "chosen"),
    [
        ("once", ["Allow once", "Allow always", "Deny"], "Allow once"),
        ("session", ["Allow once", "Allow always", "Deny"], "Allow always"),
        ("deny", ["Allow once", "Allow always", "Deny"], "Deny"),
        ("once", ["Yes", "No"], "Yes"),
        ("deny", ["Go"], "deny"),
        ("deny", ["Allow now"], "deny"),
    ],
)
async def test_a_hook_gets_one_of_its_own_options(
    tmp_path: Path, verdict: Verdict, options: list[str], chosen: str
) -> None:
    approvals = Approvals(Person(verdict).ask, tmp_path)

    assert await approvals.request_approval("Really?", options, 5.0, "deny") == chosen


async def test_a_hook_hears_that_nobody_answered(tmp_path: Path) -> None:
    async def silent(question: Question, seconds: float | None) -> Answer:
        raise TimeoutError

    with pytest.raises(ApprovalTimeoutError):
        await Approvals(silent, tmp_path).request_approval("Really?", ["Yes", "No"], 5.0, "deny")
