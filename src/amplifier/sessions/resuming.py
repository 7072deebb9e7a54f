"""Lets a session go on: its messages return, and calls that were cut off are settled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal

from amplifier_core.correlation import ToolCallScope, tool_call
from amplifier_core.events import TOOL_POST, TOOL_PRE
from amplifier_core.models import ToolResult

from amplifier.secrets import MASK
from amplifier.sessions import events
from amplifier.sessions.loading import undisturbed
from amplifier.sessions.packing import MISSING
from amplifier.sessions.projection import Call, State, stand_in, unknown_outcome
from amplifier.sessions.record import to_json
from amplifier.sessions.recorder import HARMLESS, effect_of
from amplifier.sessions.sentences import CUT_OFF, DONE, NOT_DONE

if TYPE_CHECKING:
    from amplifier.sessions.live import RecordedSession

Outcome = Literal["unknown", "done", "not done", "again"]
Ask = Callable[[Call], Awaitable[Outcome]]
"""What a person says about a call whose outcome is not known."""

SECONDS_PER_CALL = 600.0


async def _nobody(_: Call) -> Outcome:
    return "unknown"


async def bring_back(session: RecordedSession, state: State, ask: Ask = _nobody) -> list[Call]:
    """Give an initialized session its past; the calls whose outcome stays unknown.

    A finished call is not run again. One that was interrupted is repeated only if its tool says
    that this does no harm, or a person does; it is looked into if the tool can.
    """
    unknown = []
    answers: dict[int, str] = {}
    for call in state.open_calls:
        if call.state == "started":
            text = await _settled(session, call, ask)
            answers[id(call)] = text
            if text == unknown_outcome(call):
                unknown.append(call)
    await _restore(session, state, answers)
    return unknown


async def _restore(session: RecordedSession, state: State, answers: dict[int, str]) -> None:
    recorder, context = session.recorder, session.coordinator.get("context")
    assert recorder is not None
    messages = _with_answers(state, answers)
    own = [each for each in await context.get_messages() if each.get("role") == "system"]
    if own:
        messages = [*own, *(each for each in messages if each.get("role") != "system")]
    with recorder.unheard(), undisturbed():
        if hasattr(context, "set_messages"):
            await context.set_messages(messages)
        else:
            for message in messages:
                await context.add_message(message)
    await _write_what_was_missing(recorder, state, answers, messages)


def _with_answers(state: State, answers: dict[int, str]) -> list[dict[str, Any]]:
    """The transcript, with what was found out about calls in the place of stand-ins."""
    messages = list(state.messages)
    for call in state.open_calls:
        if id(call) in answers:
            old = stand_in(call)
            at = len(messages) - 1 - messages[::-1].index(old)
            messages[at] = {**old, "content": answers[id(call)]}
    return messages


async def _write_what_was_missing(
    recorder: Any, state: State, answers: dict[int, str], messages: list[dict[str, Any]]
) -> None:
    """Put into the log what the transcript has beyond it, so that it is settled for good."""
    journal = recorder.journal
    for call in state.open_calls:
        message = stand_in(call)
        message["content"] = answers.get(id(call), message["content"])
        if call.result_seq is not None:
            slim = {name: value for name, value in message.items() if name != "content"}
            journal.note(events.MESSAGE, {"message": slim, "content_of": call.result_seq})
        else:
            journal.note(events.MESSAGE, {"message": message})
    last = messages[-1] if messages else {}
    if state.is_cut_off:
        if last.get("content") == CUT_OFF:
            journal.note(events.MESSAGE, {"message": last})
        journal.note(events.TURN_END, {"status": "interrupted"})
    await journal.commit()


async def _settled(session: RecordedSession, call: Call, ask: Ask) -> str:
    tool = (session.coordinator.get("tools") or {}).get(call.tool)
    is_known = _is_as_it_was(call)
    if call.effect in HARMLESS and effect_of(tool) in HARMLESS and is_known:
        return await _run_again(session, tool, call)
    check = getattr(tool, "check", None)
    if callable(check) and is_known:
        found = await _in_scope(call, check, call.input)
        return NOT_DONE if found is None else _text(found)
    outcome = await ask(call)
    if outcome == "again" and tool is not None and is_known:
        return await _run_again(session, tool, call)
    return {"done": DONE, "not done": NOT_DONE}.get(outcome, unknown_outcome(call))


def _is_as_it_was(call: Call) -> bool:
    """Whether the log has all of the call's input; secrets and lost values it has not."""
    written = to_json([call.input, call.planned])
    return MASK not in written and MISSING.search(written) is None


async def _run_again(session: RecordedSession, tool: Any, call: Call) -> str:
    """Run a call once more with the same key; hooks have the same say as the first time."""
    coordinator = session.coordinator

    async def attempt(given: dict[str, Any]) -> Any:
        about = {"tool_name": call.tool, "tool_input": given, "tool_call_id": call.call_id}
        verdict = await coordinator.hooks.emit(TOOL_PRE, about)
        verdict = await coordinator.process_hook_result(verdict, TOOL_PRE, "resume")
        changed = (verdict.data or about).get("tool_input", given)
        if verdict.action == "deny" or changed != call.input:
            # Under this key something else was begun.
            return unknown_outcome(call)
        result = await tool.execute(changed)
        shown = result.safe_hook_presentation() if isinstance(result, ToolResult) else result
        await coordinator.hooks.emit(TOOL_POST, {**about, "tool_input": changed, "result": shown})
        return result

    return _text(await _in_scope(call, attempt, call.planned))


async def _in_scope(
    call: Call, work: Callable[[dict[str, Any]], Awaitable[Any]], given: dict[str, Any]
) -> Any:
    """Do something for a call, under the key that it had."""
    token = tool_call.set(ToolCallScope(call.call_id, call.idempotency_key or call.call_id))
    try:
        async with asyncio.timeout(SECONDS_PER_CALL):
            return await work(given)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return ToolResult(success=False, error={"message": said, "type": type(error).__name__})
    finally:
        tool_call.reset(token)


def _text(result: Any) -> str:
    made = result if isinstance(result, ToolResult) else ToolResult(output=result)
    return made.get_serialized_output()
