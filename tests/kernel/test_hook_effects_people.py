"""Carrying out what hooks decided: messages shown to people and questions put to them."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core import ContextInjection, HookResult
from amplifier_core.approval import ApprovalTimeoutError
from amplifier_core.models import UserMessage
from helpers_coordinator import Approvals, Context, Display, coordinator_with, process


def asking(prompt: str | None = "Delete?", **fields: Any) -> HookResult:
    return HookResult(action="ask_user", approval_prompt=prompt, **fields)


def denied(reason: str, **fields: Any) -> HookResult:
    return HookResult(action="deny", reason=reason, **fields)


def levels(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [record.levelno for record in caplog.records]


# -- messages -------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["continue", "deny", "modify", "inject_context"])
async def test_a_message_is_shown_whatever_the_action(action: Any) -> None:
    display = Display()

    await process(HookResult(action=action, user_message="hello"), display=display)

    assert display.shown == [("hello", "info", "hook:guardian")]


async def test_a_message_is_shown_with_its_level_and_source() -> None:
    display = Display()
    result = HookResult(
        user_message="hello", user_message_level="error", user_message_source="linter"
    )

    await process(result, display=display)

    assert display.shown == [("hello", "error", "hook:linter")]


@pytest.mark.parametrize("message", [None, ""])
async def test_an_empty_message_is_not_shown(message: str | None) -> None:
    display = Display()

    await process(HookResult(user_message=message), display=display)

    assert display.shown == []


async def test_messages_of_other_hooks_are_shown_first_each_with_its_source() -> None:
    display = Display()
    others = [UserMessage(text="one", level="warning", source="a"), UserMessage(text="two")]

    await process(HookResult(user_message="own", user_messages=others), display=display)

    assert display.shown == [
        ("one", "warning", "hook:a"),
        ("two", "info", "hook:guardian"),
        ("own", "info", "hook:guardian"),
    ]


async def test_a_hook_that_only_speaks_is_shown_after_an_emit() -> None:
    display = Display()
    coordinator = coordinator_with(display=display)
    coordinator.hooks.register("tool:post", lambda *_: HookResult(user_message="done"), name="log")

    result = await coordinator.hooks.emit("tool:post", {})
    await coordinator.process_hook_result(result, "tool:post", "loop")

    assert display.shown == [("done", "info", "hook:log")]


async def test_an_async_display_is_awaited() -> None:
    shown: list[str] = []

    async def show(message: str, level: str, source: str) -> None:
        await asyncio.sleep(0)
        shown.append(message)

    await process(HookResult(user_message="hello"), display=SimpleNamespace(show_message=show))

    assert shown == ["hello"]


async def test_a_display_may_use_the_coordinator() -> None:
    coordinator = coordinator_with()

    def show(message: str, level: str, source: str) -> None:
        coordinator.register_capability("shown", message)
        coordinator.session_state["session"] = coordinator.session_id

    coordinator.display_system = SimpleNamespace(show_message=show)
    await coordinator.process_hook_result(HookResult(user_message="hello"), "tool:pre")

    assert coordinator.get_capability("shown") == "hello"
    assert coordinator.session_state == {"session": "session-1"}


@pytest.mark.parametrize("error", [RuntimeError("closed"), asyncio.CancelledError()])
async def test_a_display_that_fails_is_logged_and_the_rest_goes_on(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    context, display = Context(), Display(error)
    result = HookResult(
        action="inject_context",
        context_injection="text",
        user_message="own",
        user_messages=[UserMessage(text="other")],
    )

    left = await process(result, context=context, display=display)

    assert left.action == "continue"
    assert context.contents == ["text"]
    assert [message for message, *_ in display.shown] == ["other", "own"]
    assert levels(caplog) == [logging.ERROR] * 2


async def test_an_interrupt_in_the_display_goes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        await process(HookResult(user_message="m"), display=Display(KeyboardInterrupt()))


async def test_cancelling_while_a_message_is_shown_goes_through() -> None:
    started = asyncio.Event()

    async def hang(*arguments: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    processing = asyncio.create_task(
        process(HookResult(user_message="m"), display=SimpleNamespace(show_message=hang))
    )
    async with asyncio.timeout(5):
        await started.wait()
        processing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await processing


async def test_a_message_is_shown_even_if_the_injection_beside_it_is_refused() -> None:
    display = Display()
    result = HookResult(action="inject_context", context_injection="text", user_message="hello")

    with pytest.raises(ValueError, match="exceeds 1"):
        await process(result, display=display, injection_size_limit=1)
    with pytest.raises(RuntimeError, match="disk full"):
        await process(result, display=display, context=Context(RuntimeError("disk full")))

    assert [message for message, *_ in display.shown] == ["hello", "hello"]


async def test_without_a_display_a_message_goes_to_the_debug_log_cut_short(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "amplifier_core.coordinator")

    await process(HookResult(user_message="x" * 300))

    assert caplog.messages == ["Hook message: " + "x" * 200]


async def test_suppressing_output_is_only_noted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "amplifier_core.coordinator")
    display = Display()

    await process(HookResult(suppress_output=True, user_message="hello"), display=display)

    assert len(display.shown) == 1
    assert caplog.messages == ["Hook 'guardian' asked to suppress its output"]


# -- questions ------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["Allow", "allow", "ALLOW ONCE", "Allow always"])
async def test_an_allowing_answer_lets_the_event_continue(answer: str) -> None:
    assert await process(asking(reason="why"), approvals=Approvals(answer)) == HookResult()


@pytest.mark.parametrize("answer", ["Deny", "deny", "DENY"])
async def test_a_denying_answer_denies(answer: str, caplog: pytest.LogCaptureFixture) -> None:
    outcome = await process(asking(), approvals=Approvals(answer))

    assert outcome == denied("User denied: Delete?")
    assert levels(caplog) == []


@pytest.mark.parametrize("answer", ["yes", "", " allow", "allow ", "allow_once", "Yes, allow"])
async def test_any_other_answer_denies_with_a_warning(
    answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = await process(asking(approval_options=["yes", "no"]), approvals=Approvals(answer))

    assert outcome == denied("User denied: Delete?")
    assert levels(caplog) == [logging.WARNING]


@pytest.mark.parametrize("answer", [True, None, 1, b"allow", ["allow"]])
async def test_an_answer_that_is_no_str_is_an_error(answer: Any) -> None:
    with pytest.raises(TypeError, match="An approval must be a str"):
        await process(asking(), approvals=Approvals(answer))


async def test_a_question_carries_its_options_timeout_and_default() -> None:
    approvals = Approvals("deny")
    result = asking(approval_options=["Yes"], approval_timeout=1.5, approval_default="allow")

    await process(result, approvals=approvals)

    assert approvals.asked == [("Delete?", ["Yes"], 1.5, "allow")]


async def test_a_question_without_words_gets_the_usual_ones() -> None:
    approvals = Approvals("deny")

    outcome = await process(asking(None), approvals=approvals)

    assert approvals.asked == [("Allow this operation?", ["Allow", "Deny"], 300.0, "deny")]
    assert outcome.reason == "User denied: Allow this operation?"


async def test_an_empty_prompt_and_empty_options_are_asked_as_they_are() -> None:
    approvals = Approvals("deny")

    outcome = await process(asking("", approval_options=[]), approvals=approvals)

    assert approvals.asked == [("", [], 300.0, "deny")]
    assert outcome.reason == "User denied: "


async def test_without_an_approval_system_a_question_is_a_denial(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outcome = await process(asking(approval_default="allow"))

    assert outcome == denied("No approval system available")
    assert levels(caplog) == [logging.ERROR]


async def test_an_approval_system_need_not_be_async() -> None:
    approvals = SimpleNamespace(request_approval=lambda *_: "allow")

    assert await process(asking(), approvals=approvals) == HookResult()


@pytest.mark.parametrize(
    ("default", "outcome"),
    [("allow", HookResult()), ("deny", denied("Approval timeout - denied by default: Delete?"))],
)
async def test_a_question_nobody_answers_takes_its_default_and_says_so(
    default: Any, outcome: HookResult, caplog: pytest.LogCaptureFixture
) -> None:
    result = asking(approval_default=default)

    assert await process(result, approvals=Approvals(ApprovalTimeoutError())) == outcome
    assert caplog.messages == [f"Nobody answered in time; the default is {default!r}"]


@pytest.mark.parametrize(
    "error", [RuntimeError("down"), TimeoutError(), asyncio.CancelledError(), KeyboardInterrupt()]
)
@pytest.mark.parametrize("default", ["allow", "deny"])
async def test_an_approval_system_that_fails_otherwise_is_heard(
    error: BaseException, default: Any
) -> None:
    with pytest.raises(type(error)) as raised:
        await process(asking(approval_default=default), approvals=Approvals(error))

    assert raised.value is error


@pytest.mark.parametrize(
    ("length", "quoted"), [(200, "x" * 200), (201, "x" * 200 + "...[truncated]")]
)
async def test_a_long_prompt_is_cut_in_the_reason_but_not_in_the_question(
    length: int, quoted: str
) -> None:
    approvals, silence = Approvals("deny"), Approvals(ApprovalTimeoutError())
    result = asking("x" * length)

    refused = await process(result, approvals=approvals)
    unanswered = await process(result, approvals=silence)

    assert refused.reason == f"User denied: {quoted}"
    assert unanswered.reason == f"Approval timeout - denied by default: {quoted}"
    assert approvals.asked[0][0] == "x" * length


async def test_a_question_shows_no_message_of_its_own_and_injects_no_text_of_its_own(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "amplifier_core.coordinator")
    context, display = Context(), Display()
    result = asking(user_message="own", context_injection="own", suppress_output=True)

    await process(result, context=context, display=display, approvals=Approvals("allow"))

    assert display.shown == []
    assert context.messages == []
    assert caplog.messages == []


async def test_a_question_may_come_from_an_object_that_only_has_its_attributes() -> None:
    fields = HookResult(action="ask_user").model_dump(exclude={"context_injections", "data"})

    outcome = await process(SimpleNamespace(**fields), approvals=Approvals("allow"))

    assert outcome == HookResult()


# -- beside a question ----------------------------------------------------------------

LASTING = ContextInjection(content="lasting", role="user")
FLEETING = ContextInjection(content="fleeting", role="user", ephemeral=True)


async def test_messages_of_other_hooks_are_shown_before_the_question_is_put() -> None:
    display = Display()

    async def allow_if_warned(*arguments: Any) -> str:
        return "allow" if display.shown else "deny"

    result = asking(user_messages=[UserMessage(text="production!", level="warning", source="ops")])
    outcome = await process(
        result, display=display, approvals=SimpleNamespace(request_approval=allow_if_warned)
    )

    assert outcome.action == "continue"
    assert display.shown == [("production!", "warning", "hook:ops")]


async def test_changed_data_survives_an_approval() -> None:
    outcome = await process(asking(data={"tool_input": "safe"}), approvals=Approvals("allow"))

    assert outcome == HookResult(data={"tool_input": "safe"})


async def test_a_change_by_one_hook_survives_the_approval_that_another_asked_for() -> None:
    coordinator = coordinator_with(approvals=Approvals("allow"))
    safe = HookResult(action="modify", data={"tool_input": "safe"})
    coordinator.hooks.register("tool:pre", lambda *_: safe, 1)
    coordinator.hooks.register("tool:pre", lambda *_: asking(), 2)

    emitted = await coordinator.hooks.emit("tool:pre", {"tool_input": "risky"})
    outcome = await coordinator.process_hook_result(emitted, "tool:pre")

    assert outcome.action == "continue"
    assert outcome.data == {"tool_input": "safe"}


async def test_a_denied_question_changes_no_data() -> None:
    outcome = await process(asking(data={"a": 1}), approvals=Approvals("deny"))

    assert outcome.data is None


async def test_injections_beside_an_allowed_question_are_stored_or_left() -> None:
    context = Context()
    result = asking(context_injections=[LASTING, FLEETING])

    outcome = await process(result, context=context, approvals=Approvals("allow"))

    assert context.contents == ["lasting"]
    assert outcome == HookResult(
        action="inject_context",
        context_injection="fleeting",
        context_injection_role="user",
        ephemeral=True,
        context_injections=[FLEETING],
    )


@pytest.mark.parametrize("approvals", [Approvals("deny"), None])
async def test_injections_beside_a_denied_question_are_stored_or_left(approvals: Any) -> None:
    context = Context()
    result = asking(context_injections=[LASTING, FLEETING])

    outcome = await process(result, context=context, approvals=approvals)

    assert context.contents == ["lasting"]
    assert outcome.action == "deny"
    assert outcome.context_injections == [FLEETING]


@pytest.mark.parametrize("error", [RuntimeError("disk full"), asyncio.CancelledError()])
async def test_a_denying_answer_stands_when_the_context_beside_it_fails(
    error: BaseException,
) -> None:
    result = asking(context_injections=[LASTING])

    outcome = await process(result, context=Context(error), approvals=Approvals("deny"))

    assert outcome == denied("User denied: Delete?", context_injections=[LASTING])


async def test_a_denying_answer_stands_when_an_injection_beside_it_is_too_long() -> None:
    result = asking(context_injections=[LASTING])

    outcome = await process(result, approvals=Approvals("deny"), injection_size_limit=1)

    assert outcome.reason == "User denied: Delete?"


async def test_an_injection_beside_an_allowed_question_obeys_the_size_limit() -> None:
    result = asking(context_injections=[LASTING])

    with pytest.raises(ValueError, match="exceeds 1"):
        await process(result, approvals=Approvals("allow"), injection_size_limit=1)
