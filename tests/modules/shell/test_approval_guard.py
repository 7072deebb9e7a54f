"""hooks-approval in a session: who is asked, what is remembered, and that every failure denies."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import ApprovalResponse, HookResult
from amplifier_core.approval import ApprovalTimeoutError
from helpers_approval import Guarded, Person, StandIn


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    project = tmp_path / "project"
    project.mkdir()
    return Guarded(project)


class Nonsense:
    """Something of no known type, under the same name in every process."""

    def __repr__(self) -> str:
        return "nonsense"


class Dialogue:
    """The app's approval system: picks one of the options, or fails."""

    def __init__(self, choice: Any) -> None:
        self.choice = choice
        self.prompts: list[str] = []

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: str
    ) -> Any:
        self.prompts.append(prompt)
        if isinstance(self.choice, BaseException):
            raise self.choice
        return self.choice


async def test_reads_in_the_project_pass_without_a_word(guarded: Guarded) -> None:
    await guarded.mount()

    assert (await guarded.call("read_file", file_path="a.py")).action == "continue"
    assert guarded.events == []


async def test_everything_else_is_denied_when_nobody_can_be_asked(guarded: Guarded) -> None:
    await guarded.mount()

    for tool, given in (
        ("read_file", {"file_path": "/etc/passwd"}),
        ("read_file", {"file_path": "../x"}),
        ("write_file", {"file_path": "a.py"}),
        ("web_fetch", {"url": "https://example.org"}),
        ("bash", {"command": "rm x"}),
        ("unheard_of", {}),
    ):
        result = await guarded.call(tool, **given)
        assert (result.action, "nobody to ask" in (result.reason or "")) == ("deny", True), tool


async def test_a_plain_listing_passes_with_events(guarded: Guarded) -> None:
    await guarded.mount()

    assert (await guarded.bash("ls")).action == "continue"
    assert guarded.names == ["approval:required", "approval:granted"]


async def test_every_event_tells_the_rule_and_the_reason(guarded: Guarded) -> None:
    await guarded.mount(deny=[{"command": "rm", "description": "keep files"}])

    await guarded.bash("rm x")

    assert guarded.names == ["approval:required", "approval:denied"]
    required, denied = (data for _, data in guarded.events)
    assert (required["tool_name"], required["risk_level"]) == ("bash", "high")
    assert required["action"] == "run 'rm x'"
    assert (denied["rule"], denied["reason"]) == ("deny[0]", "keep files")


async def test_a_person_is_asked_with_all_that_is_known(guarded: Guarded) -> None:
    person = Person(reason="go on")
    await guarded.mount(person, default_timeout=60)

    assert (await guarded.call("write_file", file_path="a", content="b")).action == "continue"

    [request] = person.asked
    assert (request.tool_name, request.risk_level, request.timeout) == ("write_file", "medium", 60)
    assert request.details == {"file_path": "a", "content": "b"}
    assert guarded.events[-1][1]["reason"] == "go on"


async def test_a_no_is_a_denial_with_its_reason(guarded: Guarded) -> None:
    await guarded.mount(Person(False, reason="not now"))

    result = await guarded.bash("make")

    assert result.action == "deny"
    assert "not now" in (result.reason or "")


async def test_what_the_config_denies_is_never_asked_about(guarded: Guarded) -> None:
    person = Person()
    await guarded.mount(person, deny=[{"tool": "write_*"}], allow=[{"tool": "write_file"}])

    assert (await guarded.call("write_file", file_path="a")).action == "deny"
    assert person.asked == []


async def test_ask_beats_allow(guarded: Guarded) -> None:
    person = Person()
    await guarded.mount(
        person,
        ask=[{"command": "git fetch"}],
        allow=[{"command": "git fetch"}, {"command": "git log"}],
    )

    await guarded.bash("git log")
    await guarded.bash("git fetch")

    assert [each.details["command"] for each in person.asked] == ["git fetch"]


# -- remembering ------------------------------------------------------------------------


async def test_a_remembered_answer_is_for_the_very_same_call(guarded: Guarded) -> None:
    person = Person(remember=True)
    await guarded.mount(person)

    for command in ("make", "make", "make install", "make; rm x", "MAKE"):
        await guarded.bash(command)
    await guarded.call("write_file", file_path="make")

    asked = [each.details.get("command") for each in person.asked]
    assert asked == ["make", "make install", "make; rm x", "MAKE", None]


async def test_a_remembered_no_stays_no(guarded: Guarded) -> None:
    person = Person(False, remember=True)
    await guarded.mount(person)

    assert [(await guarded.bash("make")).action for _ in range(2)] == ["deny", "deny"]
    assert len(person.asked) == 1


async def test_an_answer_is_not_remembered_unless_wanted(guarded: Guarded) -> None:
    person = Person()
    await guarded.mount(person)

    await guarded.bash("make")
    await guarded.bash("make")

    assert len(person.asked) == 2


async def test_remembered_answers_are_listed_without_secrets_and_can_be_forgotten(
    guarded: Guarded,
) -> None:
    person = Person(remember=True, reason="fine")
    await guarded.mount(person)
    await guarded.bash("curl -H 'Authorization: Bearer abc123' x")

    capability = guarded.coordinator.get_capability
    [listed] = capability("approval.remembered")()

    assert (listed["tool_name"], listed["approved"], listed["reason"]) == ("bash", True, "fine")
    assert "abc123" not in str(listed)
    assert capability("approval.forget")() == 1
    assert capability("approval.remembered")() == []


async def test_sessions_do_not_share_what_is_remembered(tmp_path: Path) -> None:
    person = Person(remember=True)
    for _ in range(2):
        await (await Guarded(tmp_path).mount(person)).bash("make")

    assert len(person.asked) == 2


async def test_after_a_change_of_folder_relative_commands_are_new(guarded: Guarded) -> None:
    person = Person(remember=True)
    await guarded.mount(person)

    for command in ("make", "cd ..", "make", "ls"):
        await guarded.bash(command)

    assert [each.details["command"] for each in person.asked] == ["make", "cd ..", "make", "ls"]


async def test_a_shell_that_tells_its_folder_is_judged_there(guarded: Guarded) -> None:
    await guarded.mount()
    shell = StandIn("bash", folder=str(guarded.project))
    await guarded.coordinator.mount("tools", shell, name="bash")
    assert (await guarded.bash("ls")).action == "continue"

    shell.folder = "/"  # type: ignore[attr-defined]

    assert (await guarded.bash("ls")).action == "deny"


# -- the app's dialogue -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "action"),
    [
        ("Allow once", "continue"),
        ("allow", "continue"),
        ("Allow always", "continue"),
        ("Deny", "deny"),
        ("yes", "deny"),
        (True, "deny"),
        ({"approved": True}, "deny"),
        (None, "deny"),
        (RuntimeError("no screen"), "deny"),
        (ApprovalTimeoutError(), "deny"),
    ],
)
async def test_without_a_provider_the_app_is_asked(
    guarded: Guarded, choice: Any, action: str
) -> None:
    await guarded.mount()
    dialogue = guarded.coordinator.approval_system = Dialogue(choice)

    assert (await guarded.bash("make install")).action == action
    assert "make install" in dialogue.prompts[0]


async def test_always_is_remembered(guarded: Guarded) -> None:
    await guarded.mount()
    dialogue = guarded.coordinator.approval_system = Dialogue("Allow always")

    await guarded.bash("make")
    await guarded.bash("make")

    assert len(dialogue.prompts) == 1


async def test_a_person_sees_the_end_of_a_long_command(guarded: Guarded) -> None:
    await guarded.mount()
    dialogue = guarded.coordinator.approval_system = Dialogue("Deny")

    await guarded.bash(f"echo {'a' * 5_000}; rm x")

    assert "; rm x" in dialogue.prompts[0]


# -- failing closed ---------------------------------------------------------------------


class Slow:
    async def request_approval(self, request: Any) -> Any:
        await asyncio.Event().wait()


@pytest.mark.parametrize(("default_action", "action"), [("deny", "deny"), ("allow", "continue")])
async def test_when_nobody_answers_in_time_the_default_is_taken(
    guarded: Guarded, default_action: str, action: str
) -> None:
    await guarded.mount(Slow(), default_timeout=0.01, default_action=default_action)

    async with asyncio.timeout(5):
        result = await guarded.bash("make")

    assert result.action == action
    assert guarded.events[-1][1]["reason"] == "nobody answered in time"


class Broken:
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def request_approval(self, request: Any) -> Any:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


@pytest.mark.parametrize(
    "answer",
    [
        None, True, "yes", 1, {"approved": True}, Nonsense(), RuntimeError("key sk-1"),
        KeyError("x"), asyncio.CancelledError(), ApprovalResponse.model_construct(approved="yes"),
    ],
    ids=repr,
)  # fmt: skip
async def test_a_provider_that_fails_or_answers_nonsense_denies(
    guarded: Guarded, answer: Any
) -> None:
    await guarded.mount(Broken(answer))

    result = await guarded.bash("make")

    assert result.action == "deny"
    assert "sk-1" not in (result.reason or "")


@pytest.mark.parametrize(
    "data",
    [
        {}, None, {"tool_name": "bash"}, {"tool_name": "", "tool_input": {}}, {"tool_input": {}},
        {"tool_name": "bash", "tool_input": None}, {"tool_name": "bash", "tool_input": "ls"},
        {"tool_name": 3, "tool_input": {}}, {"tool_name": "read_file", "tool_input": ["a"]},
        {"tool_name": "bash", "tool_input": {"command": None}},
        {"tool_name": "bash", "tool_input": {"command": ["ls"]}},
        {"tool_name": "bash", "tool_input": {}},
        {"tool_name": "bash", "tool_input": {"command": "ls", "env": {"PATH": "."}}},
        {"tool_name": "bash", "tool_input": {"command": "rm x", "action": "list"}},
        {"tool_name": "read_file", "tool_input": {"file_path": 3}},
        {"tool_name": "read_file", "tool_input": {"file_path": "a\0b"}},
        {"tool_name": "read_file", "tool_input": {"file_path": "@other:file"}},
        {"tool_name": "read_file", "tool_input": {"file_path": ["a", "/etc/passwd"]}},
        {"tool_name": "read_file", "tool_input": {1: 2, "a": Nonsense()}},
    ],
    ids=repr,
)  # fmt: skip
async def test_a_call_that_cannot_be_judged_is_denied(guarded: Guarded, data: Any) -> None:
    await guarded.mount()

    assert (await guarded.coordinator.hooks.emit("tool:pre", data)).action == "deny"


async def test_a_session_that_cannot_be_looked_at_denies(guarded: Guarded) -> None:
    await guarded.mount(Person())

    guarded.coordinator.register_capability("session.working_dir", 3)

    result = await guarded.call("read_file", file_path="a")

    # By the module itself: not every kernel has guards.
    assert (result.action, result.reason) == ("deny", "The approval guard failed (TypeError).")


async def test_a_cancelled_question_is_cancelled(guarded: Guarded) -> None:
    await guarded.mount(Slow())
    task = asyncio.create_task(guarded.bash("make"))
    await asyncio.sleep(0)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


# -- after the approval -----------------------------------------------------------------


async def test_a_call_that_another_hook_changes_is_judged_again(guarded: Guarded) -> None:
    await guarded.mount()

    async def change(event: str, data: dict[str, Any]) -> HookResult:
        changed = {**data, "tool_input": {"command": "rm x"}}
        return HookResult(action="modify", data=changed)

    guarded.coordinator.hooks.register("tool:pre", change, priority=50)

    assert (await guarded.bash("ls")).action == "deny"


async def test_a_change_in_place_is_noticed_too(guarded: Guarded) -> None:
    await guarded.mount()

    def change(event: str, data: dict[str, Any]) -> None:
        data["tool_input"]["command"] = "rm x"

    guarded.coordinator.hooks.register("tool:pre", change, priority=50)

    assert (await guarded.bash("ls")).action == "deny"


async def test_a_person_is_asked_once_about_one_call(guarded: Guarded) -> None:
    person = Person()
    await guarded.mount(person)

    await guarded.bash("make")
    await guarded.coordinator.hooks.emit(
        "tool:pre", {"tool_name": "bash", "tool_input": {"command": "make"}}
    )

    assert len(person.asked) == 2


async def test_questions_of_parallel_calls_come_one_after_the_other(guarded: Guarded) -> None:
    open_questions, most = 0, 0

    class Counting:
        async def request_approval(self, request: Any) -> ApprovalResponse:
            nonlocal open_questions, most
            open_questions += 1
            most = max(most, open_questions)
            await asyncio.sleep(0)
            open_questions -= 1
            return ApprovalResponse(approved=True)

    await guarded.mount(Counting())
    calls = [guarded.call("bash", f"c{number}", command=f"make {number}") for number in range(5)]

    async with asyncio.timeout(5):
        results = await asyncio.gather(*calls)

    assert {each.action for each in results} == {"continue"}
    assert most == 1


async def test_a_denial_of_the_question_denies_the_call_with_its_reason(guarded: Guarded) -> None:
    person = Person()
    await guarded.mount(person)
    no = HookResult(action="deny", reason="not on Fridays")
    guarded.coordinator.hooks.register("approval:required", lambda *_: no, name="calendar")

    allowed, asked = await guarded.bash("ls"), await guarded.bash("make")

    for result in (allowed, asked):
        assert (result.action, "not on Fridays" in (result.reason or "")) == ("deny", True)
    assert person.asked == []
    assert guarded.names == ["approval:required", "approval:denied"] * 2


async def test_a_call_is_judged_again_if_the_shell_moves_before_it_runs(guarded: Guarded) -> None:
    shell = StandIn("bash", {"effect": "external"}, folder=str(guarded.project))
    await guarded.mount()
    await guarded.coordinator.mount("tools", shell, name="bash")

    def move(event: str, data: dict[str, Any]) -> None:
        shell.folder = "/"

    assert (await guarded.bash("ls")).action == "continue"
    guarded.coordinator.hooks.register("tool:pre", move, priority=0, name="other call")
    assert (await guarded.bash("ls")).action == "deny"


async def test_a_pipe_in_place_of_the_audit_file_denies_and_does_not_hang(
    guarded: Guarded, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "log")
    await guarded.mount(audit={"path": str(tmp_path / "log")})

    async with asyncio.timeout(5):
        result = await guarded.bash("ls")

    assert (result.action, "cannot be written" in (result.reason or "")) == ("deny", True)


@pytest.mark.parametrize("path", [".git/hooks/x", "sub/.amplifier/settings.yaml", ".git/config"])
async def test_a_tool_that_may_write_is_asked_about_protected_files(
    guarded: Guarded, path: str
) -> None:
    person = Person()
    await guarded.mount(person, allow=[{"tool": "write_file"}])

    await guarded.call("write_file", file_path="a.py")
    assert person.asked == []
    await guarded.call("write_file", file_path=path)
    assert len(person.asked) == 1
