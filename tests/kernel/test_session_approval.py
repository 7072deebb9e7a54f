"""An approval module in the plan: how it becomes the one that is asked."""

import asyncio
from typing import Any

import pytest
from amplifier_core import AmplifierSession, HookResult
from amplifier_core.interfaces import ApprovalRequest, ApprovalResponse
from helpers_modules import failing, forever, mounts_nothing, plan, session_of

PLAN = plan(session={"approval": {"module": "approval", "config": {"answer": "Allow"}}})


class Approval:
    """Gives the answer it was configured with, and knows whether it was closed."""

    def __init__(self, answer: str = "Deny") -> None:
        self.answer = answer
        self.closed = 0

    async def request_approval(
        self, prompt: str, options: list[str], timeout: float, default: str
    ) -> str:
        return self.answer

    def close(self) -> None:
        self.closed += 1


class CallableApproval(Approval):
    def __call__(self) -> None:
        raise AssertionError("an approval system is no cleanup")


async def _returned(coordinator: Any, config: dict[str, Any]) -> Approval:
    return Approval(config["answer"])


async def _assigned(coordinator: Any, config: dict[str, Any]) -> None:
    coordinator.approval_system = Approval(config["answer"])


async def _both(coordinator: Any, config: dict[str, Any]) -> Approval:
    coordinator.approval_system = CallableApproval(config["answer"])
    return coordinator.approval_system


async def _callable(coordinator: Any, config: dict[str, Any]) -> Approval:
    return CallableApproval(config["answer"])


class Judge:
    """Decides on requests, as approval modules in other languages do."""

    async def request_approval(self, request: ApprovalRequest) -> ApprovalResponse:
        return ApprovalResponse(approved=request.action == "May I?")


async def _judge(coordinator: Any, config: dict[str, Any]) -> None:
    coordinator.approval_system = Judge()


async def _returned_judge(coordinator: Any, config: dict[str, Any]) -> Judge:
    return Judge()


def _session(mount: Any, app_system: Any = None) -> AmplifierSession:
    return session_of(PLAN, {"approval": mount}, approval_system=app_system)


MOUNTS = [_returned, _assigned, _both, _callable, _judge, _returned_judge]


@pytest.mark.parametrize("mount", MOUNTS)
async def test_the_module_is_the_approval_system_or_sets_it(mount: Any) -> None:
    session = _session(mount, Approval("Deny"))
    await session.initialize()

    answer = await session.coordinator.process_hook_result(
        HookResult(action="ask_user", approval_prompt="May I?"), "tool:pre", "hook"
    )

    assert answer.action == "continue"


@pytest.mark.parametrize(
    ("mount", "closed"), [(_returned, 1), (_assigned, 0), (_both, 1), (_callable, 1)]
)
async def test_the_app_gets_its_own_system_back_and_the_modules_is_closed(
    mount: Any, closed: int
) -> None:
    own = Approval()
    session = _session(mount, own)
    async with session:
        system: Any = session.coordinator.approval_system
        assert system is not own

    assert session.coordinator.approval_system is own
    assert system.closed == closed


async def test_a_system_that_was_put_in_later_stays() -> None:
    later: Any = Approval()
    session = _session(_returned)
    async with session:
        session.coordinator.approval_system = later

    assert session.coordinator.approval_system is later


async def _sets_and_fails(coordinator: Any, config: dict[str, Any]) -> None:
    coordinator.approval_system = Approval()
    raise ValueError("broken")


async def _sets_and_hangs(coordinator: Any, config: dict[str, Any]) -> None:
    coordinator.approval_system = Approval()
    await forever()


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        (failing(ValueError("broken")), "broken"),
        (_sets_and_fails, "broken"),
        (_sets_and_hangs, "Module 'approval' was not mounted within 0.01 s"),
        (mounts_nothing, r"Module 'approval' offers no request_approval\(\)\."),
    ],
)
async def test_a_session_does_not_start_without_the_approval_it_was_promised(
    mount: Any, message: str
) -> None:
    own = Approval()
    session = _session(mount, own)
    session.config = plan(session={**PLAN["session"], "mount_timeout": 0.01})

    async with asyncio.timeout(5):
        with pytest.raises(
            RuntimeError, match=f"Cannot initialize without approval module: {message}"
        ):
            await session.initialize()

    assert session.coordinator.approval_system is own
    assert session.coordinator.get("orchestrator") is None


async def test_the_cleanup_of_a_refused_approval_module_still_runs() -> None:
    log: list[str] = []

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        return lambda: log.append("cleaned")

    with pytest.raises(RuntimeError, match="offers no request_approval"):
        await _session(mount).initialize()

    assert log == ["cleaned"]
