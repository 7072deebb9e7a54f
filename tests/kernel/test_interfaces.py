"""The contracts of the module kinds and of the systems that an application brings."""

import asyncio
import inspect
from typing import Any

import pytest
from amplifier_core import approval, display, interfaces, message_models, models
from amplifier_core.approval import ApprovalSystem, ApprovalTimeoutError
from amplifier_core.display import DisplaySystem
from amplifier_core.interfaces import (
    ApprovalProvider,
    ApprovalRequest,
    ApprovalResponse,
    ContextManager,
    HookHandler,
    Orchestrator,
    Provider,
    Tool,
)
from amplifier_core.models import ToolResult
from pydantic import ValidationError

CONTRACTS: list[type] = [
    Orchestrator,
    Provider,
    Tool,
    ContextManager,
    HookHandler,
    ApprovalProvider,
    ApprovalSystem,
    DisplaySystem,
]
REQUEST = {"tool_name": "bash", "action": "run", "risk_level": "high"}


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_contract_is_not_for_isinstance(contract: type) -> None:
    assert not getattr(contract, "_is_runtime_protocol", False)
    with pytest.raises(TypeError, match="runtime"):
        isinstance(object(), contract)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_contract_cannot_be_instantiated(contract: type) -> None:
    with pytest.raises(TypeError, match="Protocols cannot be instantiated"):
        contract()


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        (Orchestrator.execute, "prompt context providers tools hooks kwargs"),
        (Provider.list_models, ""),
        (Provider.complete, "request kwargs"),
        (Tool.execute, "input"),
        (ContextManager.add_message, "message"),
        (ContextManager.get_messages_for_request, "token_budget provider"),
        (ContextManager.get_messages, ""),
        (ContextManager.set_messages, "messages"),
        (ContextManager.clear, ""),
        (HookHandler.__call__, "event data"),
        (ApprovalProvider.request_approval, "request"),
        (ApprovalSystem.request_approval, "prompt options timeout default"),
    ],
)
def test_what_a_module_may_wait_for_is_async_and_takes_these(method: Any, parameters: str) -> None:
    assert inspect.iscoroutinefunction(method)
    assert list(inspect.signature(method).parameters)[1:] == parameters.split()


def test_describing_parsing_and_showing_are_not_async() -> None:
    for method in (Provider.get_info, Provider.parse_tool_calls, DisplaySystem.show_message):
        assert not inspect.iscoroutinefunction(method)
    assert list(inspect.signature(Provider.parse_tool_calls).parameters) == ["self", "response"]


def test_names_and_descriptions_are_properties() -> None:
    for contract, name in [
        (Provider, "name"),
        (Tool, "name"),
        (Tool, "description"),
        (Tool, "input_schema"),
    ]:
        assert isinstance(inspect.getattr_static(contract, name), property)


@pytest.mark.parametrize("method", [Orchestrator.execute, Provider.complete])
def test_loops_and_providers_take_further_arguments_by_name(method: Any) -> None:
    kinds = [parameter.kind for parameter in inspect.signature(method).parameters.values()]

    assert kinds.count(inspect.Parameter.VAR_KEYWORD) == 1


def test_a_request_for_messages_needs_neither_budget_nor_provider() -> None:
    parameters = inspect.signature(ContextManager.get_messages_for_request).parameters

    assert parameters["token_budget"].default is None
    assert parameters["provider"].default is None


def test_a_tool_that_inherits_the_contract_has_an_empty_schema() -> None:
    class Clock(Tool):
        name = "clock"
        description = "Tells the time."

        async def execute(self, input: dict[str, Any]) -> ToolResult:
            return ToolResult(output="noon")

    assert Clock().input_schema == {}


def test_messages_are_shown_as_from_a_hook_unless_they_say_otherwise() -> None:
    parameters = inspect.signature(display.DisplaySystem.show_message).parameters

    assert list(parameters) == ["self", "message", "level", "source"]
    assert parameters["source"].default == "hook"


def test_an_approval_timeout_is_an_ordinary_exception_of_its_own() -> None:
    assert ApprovalTimeoutError.__bases__ == (Exception,)
    assert str(approval.ApprovalTimeoutError("nobody answered")) == "nobody answered"


def test_the_contracts_speak_of_the_same_models_as_everyone_else() -> None:
    for name in ("ChatRequest", "ChatResponse", "ToolCall"):
        assert getattr(interfaces, name) is getattr(message_models, name)
    for name in ("HookResult", "ModelInfo", "ProviderInfo", "ToolResult"):
        assert getattr(interfaces, name) is getattr(models, name)


@pytest.mark.parametrize("missing", REQUEST)
def test_an_approval_request_says_which_tool_wants_what_at_which_risk(missing: str) -> None:
    with pytest.raises(ValidationError, match=f"{missing}\n  Field required"):
        ApprovalRequest.model_validate({k: v for k, v in REQUEST.items() if k != missing})


def test_an_approval_request_has_no_details_and_waits_for_ever_by_default() -> None:
    assert ApprovalRequest(**REQUEST).model_dump() == REQUEST | {"details": {}, "timeout": None}


def test_a_risk_level_is_free_text() -> None:
    assert ApprovalRequest(**REQUEST | {"risk_level": "mild"}).risk_level == "mild"


def test_details_are_not_shared_between_requests() -> None:
    ApprovalRequest(**REQUEST).details["path"] = "x"

    assert ApprovalRequest(**REQUEST).details == {}


@pytest.mark.parametrize("timeout", [0, 0.0, -1, -0.5, float("-inf"), float("nan")])
def test_an_approval_timeout_that_is_not_positive_is_refused(timeout: float) -> None:
    with pytest.raises(ValidationError, match="timeout\n  Input should be greater than 0"):
        ApprovalRequest(**REQUEST, timeout=timeout)


@pytest.mark.parametrize("timeout", [0.001, 5, float("inf"), None])
def test_a_positive_approval_timeout_or_none_is_kept(timeout: float | None) -> None:
    assert ApprovalRequest(**REQUEST, timeout=timeout).timeout == timeout


def test_an_approval_answer_needs_a_decision_and_is_not_remembered_by_default() -> None:
    assert ApprovalResponse(approved=False).model_dump() == {
        "approved": False,
        "reason": None,
        "remember": False,
    }
    with pytest.raises(ValidationError, match="approved\n  Field required"):
        ApprovalResponse.model_validate({})


async def test_any_object_with_the_members_serves_as_an_approval_provider() -> None:
    class Cautious:
        async def request_approval(self, request: ApprovalRequest) -> ApprovalResponse:
            return ApprovalResponse(approved=request.risk_level == "low", reason=request.action)

    provider: ApprovalProvider = Cautious()
    async with asyncio.timeout(5):
        answer = await provider.request_approval(ApprovalRequest(**REQUEST))

    assert answer == ApprovalResponse(approved=False, reason="run")
