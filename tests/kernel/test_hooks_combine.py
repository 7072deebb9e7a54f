"""What one handler's answer means, and what the answers of several add up to."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core import ContextInjection, HookRegistry, HookResult
from amplifier_core.models import UserMessage
from helpers_hooks import answering, emitted, keeping, noting
from pydantic import BaseModel

INVALID = "Hook handler returned invalid response"


def inject(text: str, **fields: Any) -> HookResult:
    return HookResult(action="inject_context", context_injection=text, **fields)


def item(content: str, hook_name: str = "h0", **fields: Any) -> ContextInjection:
    return ContextInjection(content=content, hook_name=hook_name, event="tool:pre", **fields)


def message(text: str, source: str, **fields: Any) -> UserMessage:
    return UserMessage(text=text, source=source, **fields)


def without_timestamp(result: HookResult) -> dict[str, Any]:
    return {key: value for key, value in (result.data or {}).items() if key != "timestamp"}


# -- one answer -----------------------------------------------------------------------


class SubResult(HookResult):
    extra: int = 1


class Foreign(BaseModel):
    action: str = "deny"
    reason: str = "foreign"
    extra: int = 1


@pytest.mark.parametrize(
    "answer", [None, {}, {"source": "a"}, HookResult(), {"action": "continue"}, SubResult()]
)
async def test_answers_that_let_the_event_continue(answer: object) -> None:
    result = await emitted(answer, data={"a": 1})

    assert (result.action, result.reason) == ("continue", None)
    assert without_timestamp(result) == {"a": 1}


@pytest.mark.parametrize(
    "answer",
    [
        HookResult(action="deny", reason="foreign"),
        SubResult(action="deny", reason="foreign"),
        {"action": "deny", "reason": "foreign", "unknown": 1},
        Foreign(),
    ],
)
async def test_results_may_be_dicts_and_foreign_models(answer: object) -> None:
    result = await emitted(answer)

    assert isinstance(result, HookResult)
    assert (result.action, result.reason) == ("deny", "foreign")


class RefusesToDump:
    def model_dump(self) -> dict[str, Any]:
        raise RuntimeError("no")


def _changed(**fields: Any) -> HookResult:
    """A result made well and spoilt afterwards; assignments are not validated."""
    result = inject("text")
    for name, value in fields.items():
        setattr(result, name, value)
    return result


MALFORMED: list[Any] = [
    "ok", 5, True, False, ["continue"], (), object(), SimpleNamespace(action="continue"),
    {"action": "approve"}, {"action": None}, {"reason": 5}, {"data": [1]},
    HookResult, RefusesToDump(), Foreign(action="approve"),
    _changed(action="approve"), _changed(action=["continue"]), _changed(action="modify", data=[1]),
    _changed(action="continue", data=5), _changed(context_injection=5),
    _changed(context_injections=None), _changed(context_injections=[{"content": "x"}]),
    _changed(context_injections=[_changed()]), _changed(context_injection_role="tool"),
    _changed(context_injections=[ContextInjection.model_construct(content=5)]),
    _changed(user_message=5), _changed(action="continue", user_message=5),
    _changed(user_message="x", user_message_level="debug"), _changed(user_messages=None),
    _changed(action="ask_user", user_messages=["x"]), _changed(action="deny", user_messages=5),
    _changed(action="ask_user", approval_default="maybe"), HookResult.__new__(HookResult),
]  # fmt: skip


@pytest.mark.parametrize("answer", MALFORMED, ids=range(len(MALFORMED)))
async def test_a_malformed_answer_denies_and_leaves_a_security_note(
    answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    log: list[str] = []
    hooks = HookRegistry()
    hooks.register("e", answering(answer), name="broken")
    hooks.register("e", noting(log, "later"))

    result = await hooks.emit("e", {})

    assert result == HookResult(action="deny", reason=INVALID)
    assert log == []
    (record,) = caplog.records
    assert (record.levelname, "SECURITY" in record.message) == ("ERROR", True)
    assert "'broken'" in record.message


# -- deny -----------------------------------------------------------------------------


async def test_a_denial_ends_the_run_and_is_returned_as_it_is() -> None:
    log: list[str] = []
    hooks = HookRegistry()
    denial = HookResult(
        action="deny", reason="no", data={"a": 1}, user_message="stopped", suppress_output=True
    )
    hooks.register("e", noting(log, "first"))
    hooks.register("e", noting(log, "second", denial))
    hooks.register("e", noting(log, "third"))

    result = await hooks.emit("e", {"b": 2})

    assert result is denial
    assert log == ["first", "second"]


async def test_a_denial_without_data_does_not_get_the_data_of_the_event() -> None:
    modified = HookResult(action="modify", data={"a": 1})

    assert (await emitted(modified, HookResult(action="deny"))).data is None


async def test_a_denial_wins_over_all_that_was_answered_before() -> None:
    asked = HookResult(action="ask_user", approval_prompt="Really?")
    denial = HookResult(action="deny", reason="no")

    result = await emitted(inject("a"), asked, HookResult(action="modify", data={}), denial)

    assert (result.action, result.reason) == ("deny", "no")
    assert denial == HookResult(action="deny", reason="no")


async def test_a_denial_keeps_the_injections_and_messages_of_earlier_handlers() -> None:
    own = ContextInjection(content="own")
    result = await emitted(
        inject("a", user_message="hello"),
        HookResult(user_message="listen", user_message_level="warning"),
        HookResult(
            action="deny",
            user_message="stop",
            context_injections=[own],
            user_messages=[message("beside", "x")],
        ),
    )

    assert result.context_injections == [item("a"), own]
    assert result.user_messages == [
        message("hello", "h0"),
        message("listen", "h1", level="warning"),
        message("beside", "x"),
    ]
    assert result.user_message == "stop"


# -- modify ---------------------------------------------------------------------------


async def test_modify_replaces_the_data_for_later_handlers_and_the_result_continues() -> None:
    seen: list[Any] = []
    hooks = HookRegistry()
    hooks.register("e", answering(HookResult(action="modify", data={"b": 2})))
    hooks.register("e", keeping(seen))
    hooks.register("e", answering({"action": "modify", "data": {"c": 3}}))
    hooks.register("e", keeping(seen))

    result = await hooks.emit("e", {"a": 1})

    assert seen == [{"b": 2}, {"c": 3}]
    assert result == HookResult(action="continue", data={"c": 3})


async def test_modify_without_data_changes_nothing() -> None:
    result = await emitted(HookResult(action="modify"), data={"a": 1})

    assert (result.action, without_timestamp(result)) == ("continue", {"a": 1})


async def test_modify_with_empty_data_empties_the_event() -> None:
    result = await emitted(HookResult(action="modify", data={}), data={"a": 1})

    assert result.data == {}


async def test_the_data_of_a_result_that_continues_is_not_taken_over() -> None:
    result = await emitted(HookResult(data={"b": 2}, reason="why"), data={"a": 1})

    assert (without_timestamp(result), result.reason) == ({"a": 1}, None)


# -- ask_user -------------------------------------------------------------------------


async def test_the_first_question_is_returned_after_all_handlers_ran() -> None:
    log: list[str] = []
    hooks = HookRegistry()
    first = HookResult(action="ask_user", approval_prompt="First?", approval_options=["Yes", "No"])
    hooks.register("e", noting(log, "a", first))
    hooks.register("e", noting(log, "b", HookResult(action="ask_user", approval_prompt="Next?")))
    hooks.register("e", noting(log, "c"))

    assert await hooks.emit("e", {}) is first
    assert log == ["a", "b", "c"]


async def test_a_question_keeps_what_other_handlers_injected_said_and_modified() -> None:
    own = ContextInjection(content="own")
    asked = HookResult(
        action="ask_user",
        approval_prompt="Really?",
        user_message="asking",
        context_injections=[own],
        user_messages=[message("beside", "x")],
    )
    result = await emitted(
        inject("a"),
        asked,
        HookResult(action="modify", data={"b": 2}, user_message="changed"),
        inject("c"),
        HookResult(action="ask_user", user_message="me too"),
    )

    assert (result.action, result.approval_prompt) == ("ask_user", "Really?")
    assert result.context_injections == [item("a"), item("c", "h3"), own]
    assert result.data == {"b": 2}
    assert result.user_message == "asking"
    assert result.user_messages == [
        message("changed", "h2"),
        message("me too", "h4"),
        message("beside", "x"),
    ]
    assert asked.context_injections == [own]


async def test_a_question_keeps_its_own_data() -> None:
    modified = HookResult(action="modify", data={"b": 2})

    assert (await emitted(HookResult(action="ask_user", data={"a": 1}), modified)).data == {"a": 1}
    assert (await emitted(HookResult(action="ask_user"))).data is None


async def test_the_same_question_asked_twice_loses_no_message() -> None:
    asked = HookResult(action="ask_user", user_message="asking")

    result = await emitted(asked, asked)

    assert (result.user_message, result.user_messages) == ("asking", [message("asking", "h1")])


# -- inject_context -------------------------------------------------------------------


async def test_one_injection_keeps_all_fields_and_gains_its_origin() -> None:
    injected = inject(
        "text",
        context_injection_role="user",
        ephemeral=True,
        append_to_last_tool_result=True,
        reason="why",
        data={"a": 1},
        user_message="hello",
        suppress_output=True,
    )
    result = await emitted(injected)

    origin = item("text", role="user", ephemeral=True, append_to_last_tool_result=True)
    assert result == injected.model_copy(update={"context_injections": [origin]})
    assert result.user_messages == []
    assert injected.context_injections == []


async def test_an_empty_text_is_an_injection() -> None:
    result = await emitted(inject(""))

    assert (result.action, result.context_injections) == ("inject_context", [item("")])


async def test_an_injection_of_nothing_lets_the_event_continue() -> None:
    result = await emitted(HookResult(action="inject_context"), data={"a": 1})

    assert (result.action, without_timestamp(result)) == ("continue", {"a": 1})


async def test_a_list_of_injections_hides_the_single_text_and_forged_origins() -> None:
    listed = [
        ContextInjection(content="a", role="user", ephemeral=True, hook_name="forged", event="e"),
        ContextInjection(content="b", append_to_last_tool_result=True),
    ]
    result = await emitted(inject("ignored", context_injections=listed, reason="why"))

    assert result.context_injections == [
        item("a", role="user", ephemeral=True),
        item("b", append_to_last_tool_result=True),
    ]
    assert (result.context_injection, result.reason) == ("a\n\nb", "why")
    assert (result.context_injection_role, result.ephemeral) == ("user", True)
    assert result.append_to_last_tool_result is True
    assert listed[0].hook_name == "forged"


async def test_several_injections_are_merged_in_order() -> None:
    result = await emitted(
        inject("a", context_injection_role="assistant", ephemeral=True, reason="one",
               suppress_output=True, user_message="hello", data={"lost": 1}),
        inject("", append_to_last_tool_result=True),
        inject("x", context_injections=[ContextInjection(content="b")], reason="two"),
    )  # fmt: skip

    assert result == HookResult(
        action="inject_context",
        context_injection="a\n\n\n\nb",
        context_injection_role="assistant",
        ephemeral=True,
        append_to_last_tool_result=True,
        suppress_output=True,
        reason="one\ntwo",
        context_injections=[
            item("a", role="assistant", ephemeral=True),
            item("", "h1", append_to_last_tool_result=True),
            item("b", "h2"),
        ],
        user_messages=[message("hello", "h0")],
    )


async def test_several_injections_without_reasons_have_none() -> None:
    assert (await emitted(inject("a"), inject("b"))).reason is None


@pytest.mark.parametrize("injections", [1, 2])
async def test_injections_keep_modified_data(injections: int) -> None:
    modified = HookResult(action="modify", data={"a": 1})

    result = await emitted(*[inject("x")] * injections, modified)
    assert (result.action, result.data) == ("inject_context", {"a": 1})

    assert (await emitted(*[inject("x")] * injections)).data is None


async def test_a_single_injection_keeps_its_own_data() -> None:
    modified = HookResult(action="modify", data={"a": 1})

    assert (await emitted(modified, inject("x", data={"b": 2}))).data == {"b": 2}


async def test_one_injection_keeps_the_messages_of_all_handlers() -> None:
    result = await emitted(
        HookResult(user_message="before"),
        inject("x", user_message="own", user_messages=[message("beside", "x")]),
        HookResult(action="modify", user_message="after", user_message_source="me"),
    )

    assert result.user_message == "own"
    assert result.user_messages == [
        message("before", "h0"),
        message("after", "me"),
        message("beside", "x"),
    ]


# -- continue -------------------------------------------------------------------------


async def test_messages_of_results_that_continue_are_kept_in_order() -> None:
    result = await emitted(
        HookResult(user_message="a", user_message_level="error"),
        HookResult(action="inject_context", user_message="b"),
        HookResult(user_messages=[message("c", "x"), message("d", "y")]),
        HookResult(user_message=""),
    )

    assert result.action == "continue"
    assert result.user_message is None
    assert result.user_messages == [
        message("a", "h0", level="error"),
        message("b", "h1"),
        message("c", "x"),
        message("d", "y"),
    ]


async def test_a_result_shared_by_two_handlers_and_two_emits_stays_as_it_was() -> None:
    shared = HookResult(user_message="a", context_injection="not injected")
    hooks = HookRegistry()
    hooks.register("e", answering(shared), name="x")
    hooks.register("e", answering(shared), name="y")

    results = await asyncio.gather(hooks.emit("e", {}), hooks.emit("e", {}))

    for result in results:
        assert result.user_messages == [message("a", "x"), message("a", "y")]
        assert result.context_injections == []
    assert shared.user_messages == []
