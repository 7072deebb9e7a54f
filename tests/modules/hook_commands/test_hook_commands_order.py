"""Which hooks run for an event, in which order, and what their answers add up to."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.message_models import ChatRequest, ChatResponse, TextBlock
from helpers_hook_commands import (
    GUARDS,
    OBSERVERS,
    answer,
    command,
    group,
    on_tool,
    says,
    shell,
    write_hooks,
)

HITS = [
    ("", "bash"),
    ("*", "bash"),
    ("bash", "bash"),
    ("Bash", "bash"),
    ("edit_file|write_file", "write_file"),
    ("mcp_.*", "mcp_github_search"),
    ("Edit", "edit_file"),
    ("Write", "write_file"),
    ("Read", "read_file"),
    ("Edit|Write", "write_file"),
    ("edit", "edit_file"),
    ("[broken", "[broken"),
    ("[Broken", "[broken"),
    (".*", "two\nlines"),
    ("mcp_.*", "mcp_\nx"),
]
MISSES = [
    ("bas", "bash"),
    ("Edit", "write_file"),
    ("file", "edit_file"),
    ("[broken", "broken"),
    ("Bash", "bash2"),
]


@pytest.mark.parametrize(("matcher", "tool"), HITS)
async def test_a_matcher_hits(tmp_path: Path, matcher: str, tool: str) -> None:
    write_hooks(tmp_path, PreToolUse=group("exit 2", matcher=matcher))

    assert (await on_tool(tmp_path, tool)).action == "deny"


@pytest.mark.parametrize(("matcher", "tool"), MISSES)
async def test_a_matcher_misses(tmp_path: Path, matcher: str, tool: str) -> None:
    write_hooks(tmp_path, PreToolUse=group("exit 2", matcher=matcher))

    assert (await on_tool(tmp_path, tool)).action == "continue"


async def test_a_guard_also_judges_a_call_without_a_name(tmp_path: Path) -> None:
    write_hooks(tmp_path, PreToolUse=group("exit 2", matcher="bash"))

    assert (await answer(tmp_path, "tool:pre", {})).action == "deny"


@pytest.mark.parametrize(
    ("event", "matcher", "data"),
    [
        ("session:start", "startup", {}),
        ("session:resume", "resume", {}),
        ("delegate:agent_spawned", "explorer", {"agent": "explorer"}),
        ("task:agent_completed", "explorer", {"agent": "explorer"}),
        ("approval:required", "bash", {"tool_name": "bash"}),
    ],
)
async def test_each_event_is_matched_on_its_own_subject(
    tmp_path: Path, event: str, matcher: str, data: dict[str, Any]
) -> None:
    groups = [group("echo hit >> ran", matcher=matcher), group("echo miss >> ran", matcher="other")]
    names = ("SessionStart", "SubagentStart", "SubagentStop", "PermissionRequest")
    write_hooks(tmp_path, **dict.fromkeys(names, groups))

    await answer(tmp_path, event, data)

    assert (tmp_path / "ran").read_text().split() == ["hit"]


@pytest.mark.parametrize(("name", "event"), [*GUARDS.items(), *OBSERVERS.items()])
async def test_each_hook_event_runs_on_its_event_only(
    tmp_path: Path, name: str, event: str
) -> None:
    write_hooks(tmp_path, **{name: group(f"echo {name} >> ran")})

    async with shell(tmp_path) as coordinator:
        for each in [*GUARDS.values(), *OBSERVERS.values()]:
            await coordinator.hooks.emit(each, {})

    assert (tmp_path / "ran").read_text().split() == [name]


async def test_the_first_refusal_ends_the_chain(tmp_path: Path) -> None:
    first = group("echo 1 >> ran", "echo 2 >> ran; echo no >&2; exit 2", "echo 3 >> ran")
    write_hooks(tmp_path, PreToolUse=[first, group("echo 4 >> ran")])

    assert (await on_tool(tmp_path)).reason == "no"
    assert (tmp_path / "ran").read_text().split() == ["1", "2"]


async def test_an_injection_does_not_keep_a_later_guard_from_refusing(tmp_path: Path) -> None:
    helpful, strict = says(contextInjection="a hint"), "exit 2"
    write_hooks(tmp_path, PreToolUse=[group(helpful), group(strict)])

    async with shell(tmp_path) as coordinator:
        result = await coordinator.hooks.emit("tool:pre", {"tool_name": "bash"})
        later = await coordinator.hooks.emit("provider:request", {})

    assert result.action == "deny"
    assert "a hint" in later.context_injection


async def test_injections_of_several_hooks_are_joined_in_order(tmp_path: Path) -> None:
    hooks = [says(contextInjection="one"), says(contextInjection="two")]
    write_hooks(tmp_path, PostToolUse=group(*hooks))

    result = await answer(tmp_path, "tool:post")

    assert "one\n\ntwo" in result.context_injection


def waits_for(mine: str, other: str) -> str:
    return f"touch {mine}; until [ -e {other} ]; do sleep 0.02; done"


async def test_a_parallel_group_runs_together(tmp_path: Path) -> None:
    hooks = [command(waits_for("a", "b"), timeout=5), command(waits_for("b", "a"), timeout=5)]
    write_hooks(tmp_path, PreToolUse=group(*hooks, parallel=True))

    assert (await on_tool(tmp_path)).action == "continue"


async def test_in_a_parallel_group_any_refusal_counts_and_the_first_gives_the_reason(
    tmp_path: Path,
) -> None:
    hooks = ["true", "echo first >&2; exit 2", "echo second >&2; exit 2"]
    write_hooks(tmp_path, PreToolUse=group(*hooks, parallel=True))

    assert (await on_tool(tmp_path)).reason == "first"


async def test_calls_side_by_side_are_judged_side_by_side(tmp_path: Path) -> None:
    both = "touch $$.here; until [ $(ls | grep -c here) = 2 ]; do sleep 0.02; done"
    write_hooks(tmp_path, PreToolUse=group(command(both, timeout=5)))

    async with shell(tmp_path) as coordinator:
        call = {"tool_name": "bash"}
        emit = coordinator.hooks.emit
        results = await asyncio.gather(emit("tool:pre", call), emit("tool:pre", call))

    assert [each.action for each in results] == ["continue", "continue"]


@pytest.mark.parametrize("name", ["SessionStart", "PreCompact"])
async def test_what_nobody_listens_for_is_told_at_the_next_request_once(
    tmp_path: Path, name: str
) -> None:
    write_hooks(tmp_path, **{name: group(says(contextInjection="remember"))})

    async with shell(tmp_path) as coordinator:
        await coordinator.hooks.emit(OBSERVERS[name], {})
        first = await coordinator.hooks.emit("provider:request", {})
        second = await coordinator.hooks.emit("provider:request", {})

    assert "remember" in first.context_injection
    assert second.action == "continue"


async def test_a_stop_hook_that_blocks_is_heard_at_the_next_request(tmp_path: Path) -> None:
    write_hooks(tmp_path, Stop=group("echo 'tests are red' >&2; exit 2"))

    async with shell(tmp_path) as coordinator:
        result = await coordinator.hooks.emit("prompt:complete", {"response": "done"})
        later = await coordinator.hooks.emit("provider:request", {})

    assert (result.action, result.reason) == ("deny", "tests are red")
    assert "A Stop hook objects to your last answer: tests are red" in later.context_injection


async def test_an_event_that_takes_no_injection_says_so(tmp_path: Path) -> None:
    write_hooks(tmp_path, SessionEnd=group(says(contextInjection="too late")))

    async with shell(tmp_path) as coordinator:
        await coordinator.hooks.emit("session:end", {})
        ((text, level),) = coordinator.display_system.shown

    assert "cannot add to the conversation" in text
    assert level == "warning"


class Judge:
    """A provider that gives a verdict."""

    def __init__(self, verdict: str | Exception, priority: int = 10) -> None:
        self.verdict = verdict
        self.priority = priority
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        if isinstance(self.verdict, Exception):
            raise self.verdict
        if not self.verdict:
            await asyncio.Event().wait()
        return ChatResponse(content=[TextBlock(text=self.verdict)])


async def judged(project: Path, *judges: Judge, prompt: str = "Is it safe?") -> Any:
    hook = {"type": "prompt", "prompt": prompt, "timeout": 0.5}
    write_hooks(project, PreToolUse=group(hook))
    async with shell(project) as coordinator:
        for index, judge in enumerate(judges):
            await coordinator.mount("providers", judge, name=f"judge-{index}")
        return await coordinator.hooks.emit("tool:pre", {"tool_name": "bash"})


async def test_a_prompt_hook_asks_the_sessions_first_model(tmp_path: Path) -> None:
    judges = Judge('{"decision": "approve"}', 50), Judge('{"decision": "block", "reason": "no"}', 1)

    result = await judged(tmp_path, *judges)

    assert (result.action, result.reason) == ("deny", "no")
    asked = str(judges[1].requests[0].messages[1].content)
    assert asked.startswith("Is it safe?\n\n{")
    assert '"tool_name": "bash"' in asked
    assert judges[0].requests == []


async def test_a_prompt_may_say_where_the_event_goes(tmp_path: Path) -> None:
    judge = Judge('```json\n{"decision": "approve"}\n```')

    assert (await judged(tmp_path, judge, prompt="Look: $ARGUMENTS. Well?")).action == "continue"
    assert str(judge.requests[0].messages[1].content).endswith('"}. Well?')


@pytest.mark.parametrize(
    ("judges", "why"),
    [
        ([], "No provider is mounted that could be asked."),
        ([Judge("I think so.")], "The model answered something that is no JSON object."),
        ([Judge("{}")], "The model's answer has no 'decision'."),
        ([Judge(RuntimeError("down"))], "The model could not be asked: RuntimeError: down"),
        ([Judge("")], "It gave no answer within 0.5 s."),
        ([Judge("```\n" + "\n" * 20_000 + "x")], "something that is no JSON object."),
        ([Judge('{"decision": "block", "decision": "approve"}')], "no JSON object."),
    ],
)
async def test_a_model_that_gives_no_decision_denies(
    tmp_path: Path, judges: list[Judge], why: str
) -> None:
    result = await judged(tmp_path, *judges)

    assert result.action == "deny"
    assert why in result.reason
