"""The keys of the three loops, and what a wrong one says."""

import re
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.testing import MockCoordinator
from helpers_loops import LOOPS, model_of, mounted, says, stage

import amplifier_modules.loops
from amplifier_modules.loops.options import StreamingSettings
from amplifier_modules.loops.streaming import mount

COMMON: dict[str, Any] = {"max_iterations": 5, "default_provider": "m", "tool_timeout": 9.5}
BASIC = {
    **COMMON,
    "extended_thinking": True,
    "reasoning_effort": "high",
    "max_parallel_tools": 2,
}
STREAMING = {
    **BASIC,
    "stream_delay": 0.5,
    "stream_idle_timeout": 60,
    "min_delay_between_calls_ms": 100,
    "goal_stall_threshold": 4,
    "goal_model_role": "small",
    "goal_provider_preferences": [{"provider": "a", "model": "b*"}],
    "goal_max_transcript_messages": 10,
    "goal_tool_content_clip_chars": 100,
    "goal_transcript_char_budget": 1000,
    "goal_busy_stall_window": 2,
    "goal_busy_stall_min_overlap": 0.7,
    "goal_summary_max_reasons": 5,
}
KEYS = {"loop-basic": BASIC, "loop-streaming": STREAMING, "loop-events": COMMON}


@pytest.mark.parametrize("loop", LOOPS)
async def test_every_key_is_read(loop: str) -> None:
    ready = await mounted(loop, KEYS[loop])

    assert {key: getattr(ready.loop.settings, key) for key in KEYS[loop]} == KEYS[loop]
    assert set(type(ready.loop.settings).model_fields) == set(KEYS[loop])


@pytest.mark.parametrize("loop", LOOPS)
async def test_values_written_as_text_are_read(loop: str) -> None:
    ready = await mounted(loop, {"max_iterations": "5", "tool_timeout": "9.5"})

    assert (ready.loop.settings.max_iterations, ready.loop.settings.tool_timeout) == (5, 9.5)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("config", [None, {}])
async def test_nothing_need_be_set(loop: str, config: Any) -> None:
    ready = await mounted(loop, config)

    settings = ready.loop.settings
    assert (settings.max_iterations, settings.default_provider) == (-1, None)
    assert settings.tool_timeout == 3600


@pytest.mark.parametrize("loop", LOOPS)
async def test_an_unknown_key_is_refused_with_the_nearest_name(loop: str) -> None:
    with pytest.raises(ValueError, match=r"'max_iteration'.*Did you mean 'max_iterations'"):
        await mounted(loop, {"max_iteration": 3})


@pytest.mark.parametrize("key", sorted(set(STREAMING) - set(COMMON)))
async def test_loop_events_refuses_keys_that_mean_nothing_to_it(key: str) -> None:
    with pytest.raises(ValueError, match=f"'loop-events': there is no key '{key}'"):
        await mounted("loop-events", {key: STREAMING[key]})


@pytest.mark.parametrize("key", sorted(set(STREAMING) - set(BASIC)))
async def test_loop_basic_refuses_keys_that_mean_nothing_to_it(key: str) -> None:
    with pytest.raises(ValueError, match=f"'loop-basic': there is no key '{key}'"):
        await mounted("loop-basic", {key: STREAMING[key]})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("max_iterations", -2),
        ("max_iterations", "many"),
        ("tool_timeout", -1),
        ("max_parallel_tools", 0),
        ("stream_delay", -0.1),
        ("stream_idle_timeout", -1),
        ("min_delay_between_calls_ms", -5),
    ],
)
async def test_values_that_make_no_sense_are_refused(key: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"Config of 'loop-streaming': '{key}'"):
        await mounted("loop-streaming", {key: value})


def test_the_page_of_the_module_names_every_key_with_its_default() -> None:
    page = (Path(amplifier_modules.loops.__file__).parent / "README.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `?([^|`]+?)`? \|", page, flags=re.MULTILINE))

    for key, field in StreamingSettings.model_fields.items():
        default = field.get_default(call_default_factory=True)
        told = "none" if default is None else str(default).lower().removesuffix(".0")
        assert rows[key].removesuffix(".0") == told, key


async def test_a_refused_config_mounts_nothing() -> None:
    coordinator = MockCoordinator()
    with pytest.raises(ValueError, match="no key"):
        await mount(coordinator, {"speed": 3})

    assert coordinator.modules == {}
    assert coordinator.get_capability("session.steer") is None


@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming"])
async def test_thinking_and_effort_reach_the_provider(loop: str) -> None:
    config = {"extended_thinking": True, "reasoning_effort": "high"}
    ready = await stage(says("done"), loop=loop, config=config)
    await ready.run()

    assert model_of(ready).options == [{"extended_thinking": True}]
    assert model_of(ready).requests[0].reasoning_effort == "high"


@pytest.mark.parametrize("loop", LOOPS)
async def test_a_provider_is_told_nothing_that_was_not_set(loop: str) -> None:
    ready = await stage(says("done"), loop=loop)
    await ready.run()

    assert model_of(ready).options == [{}]
    assert model_of(ready).requests[0].reasoning_effort is None
