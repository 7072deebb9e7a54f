"""Components that mean harm, or are broken: contained, told in one line, and nothing is left."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession
from helpers_wasm import guest_dir, mounted, mounted_tool, text_dir, tool_text

HERE = str(Path(__file__).parent)
BRIEF = {"wasm": {"timeout": 0.2}}
LOOP = "(loop $again (br $again))"


@pytest.mark.parametrize(
    ("do", "told"),
    [
        ("loop", "'guest' took longer than 0.2 s and was stopped."),
        ("trap", "'guest' failed: wasm trap: wasm `unreachable` instruction executed."),
        ("hog", "'guest' failed: wasm trap: "),
        ("garbage", "'guest' answered with no JSON: "),
        ("array", "'guest' answered with no ToolResult: "),
        ("number", "'guest' answered with no ToolResult: success: "),
        ("refuse", "I would rather not"),
    ],
)
async def test_a_hostile_tool_fails_in_one_line_and_can_be_called_again(
    tmp_path: Path, do: str, told: str
) -> None:
    config = BRIEF if do == "loop" else None
    async with mounted_tool(guest_dir(tmp_path, "tool"), config) as tool:
        result = await tool.execute({"do": do})
        again = await tool.execute({"input": "still there"})

    assert not result.success
    assert result.error["message"].startswith(f"Tool execution failed: {told}")
    assert "\n" not in result.error["message"]
    assert again.output == {"input": "still there"}


async def test_a_huge_answer_is_not_taken(tmp_path: Path) -> None:
    async with mounted_tool(guest_dir(tmp_path, "tool")) as tool:
        result = await tool.execute({"do": "large", "size": 50_000_000})

    assert result.error["message"].endswith("answered with more than 2,621,440 bytes.")


async def test_a_huge_input_is_not_handed_over(tmp_path: Path) -> None:
    async with mounted_tool(guest_dir(tmp_path, "tool")) as tool:
        result = await tool.execute({"input": "x" * 3_000_000})

    assert "a component takes 2,621,440 at most" in result.error["message"]


async def test_memory_is_limited_as_the_manifest_and_the_plan_say(tmp_path: Path) -> None:
    path = text_dir(tmp_path, tool_text(core='(memory 200) (export "m" (memory 1))'))
    (path / "amplifier.toml").write_text(
        '[module]\ntransport = "wasm"\n[wasm]\nmemory_mb = 8\n', encoding="utf-8"
    )

    with pytest.raises(RuntimeError, match="exceeds memory limit"):
        await mounted(path)
    async with mounted_tool(path, {"wasm": {"memory_mb": 16}}) as tool:
        assert tool.name == "written"


async def test_a_component_that_loops_while_it_is_mounted_is_stopped(tmp_path: Path) -> None:
    path = text_dir(tmp_path, tool_text(spec=LOOP))

    with pytest.raises(RuntimeError, match=r"get-spec failed: 'guest' took longer than 0\.2 s"):
        await mounted(path, BRIEF)


async def test_a_component_that_loops_while_it_comes_to_life_is_stopped(tmp_path: Path) -> None:
    path = text_dir(tmp_path, tool_text(core=f"(func $run {LOOP}) (start $run)"))

    with pytest.raises(RuntimeError, match=r"took longer than 0\.2 s"):
        await mounted(path, BRIEF)


async def test_a_component_that_calls_itself_without_end_is_stopped(tmp_path: Path) -> None:
    recursion = "(func $deeper (call $deeper))"
    path = text_dir(tmp_path, tool_text(core=recursion, execute="(call $deeper)"))

    async with mounted_tool(path) as tool:
        result = await tool.execute({})

    assert "call stack exhausted" in result.error["message"]


@pytest.mark.slow
def test_a_trap_does_not_end_a_process_that_handles_signals_itself(tmp_path: Path) -> None:
    guest_dir(tmp_path, "tool")
    program = """if True:
        import asyncio, faulthandler
        from pathlib import Path
        from helpers_wasm import mounted_tool

        async def main():
            async with mounted_tool(Path(sys.argv[1])) as tool:
                faulthandler.enable()
                print((await tool.execute({"do": "trap"})).success)

        asyncio.run(main())
    """

    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({HERE!r})\n{program}", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr


async def test_every_call_has_a_deadline_of_its_own(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "context"), {"wasm": {"timeout": 0.3}})
    context = coordinator.get("context")
    began = time.monotonic()

    while time.monotonic() - began < 0.5:
        await context.add_message({"role": "user", "content": "on and on"})

    assert await context.get_messages()


async def test_the_event_loop_goes_on_while_a_component_computes(tmp_path: Path) -> None:
    async with mounted_tool(guest_dir(tmp_path, "tool"), BRIEF) as tool:
        call = asyncio.ensure_future(tool.execute({"do": "loop"}))
        turns = 0
        while not call.done():
            await asyncio.sleep(0)
            turns += 1

    assert turns > 100


async def test_who_stops_waiting_stops_the_component(tmp_path: Path) -> None:
    async with mounted_tool(guest_dir(tmp_path, "tool")) as tool:
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(tool.execute({"do": "loop"}), 0.1)

        assert time.monotonic() - began < 1.0
        assert _calls_that_run() == 0


async def test_a_cancelled_turn_ends_what_its_orchestrator_waits_for(tmp_path: Path) -> None:
    tool = _Stuck()
    coordinator = await mounted(guest_dir(tmp_path, "orchestrator"))
    await coordinator.mount("tools", tool, name="stuck")
    prompt = 'execute-tool {"name": "stuck"}'

    turn = asyncio.ensure_future(coordinator.get("orchestrator").execute(prompt))
    await asyncio.wait_for(tool.begun.wait(), 5)
    turn.cancel()

    with pytest.raises(asyncio.CancelledError):
        await turn
    assert tool.was_cancelled
    assert _calls_that_run() == 0


async def test_waiting_for_the_host_does_not_count_as_computing(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "orchestrator"), BRIEF)
    await coordinator.mount("tools", _Slow(0.4), name="slow")

    answer = await coordinator.get("orchestrator").execute('execute-tool {"name": "slow"}')

    assert '"done"' in answer


async def test_an_orchestrator_that_loops_is_stopped(tmp_path: Path) -> None:
    coordinator = await mounted(guest_dir(tmp_path, "orchestrator"), BRIEF)

    with pytest.raises(RuntimeError, match=r"Orchestrator execute failed: .* 0\.2 s"):
        await coordinator.get("orchestrator").execute("loop -")


async def test_many_turns_that_wait_for_tools_in_components_do_not_block_each_other(
    tmp_path: Path,
) -> None:
    (tmp_path / "loop").mkdir()
    coordinator = await mounted(guest_dir(tmp_path / "loop", "orchestrator"))
    tools = await mounted(guest_dir(tmp_path, "tool"))
    await coordinator.mount("tools", tools.get("tools", "echo-tool"), name="echo-tool")
    prompt = 'execute-tool {"name": "echo-tool", "input": {}}'
    loop = coordinator.get("orchestrator")

    answers = await asyncio.wait_for(asyncio.gather(*(loop.execute(prompt) for _ in range(60))), 30)

    assert len(answers) == 60


async def test_a_session_goes_on_without_a_component_that_cannot_be_mounted(
    tmp_path: Path,
) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "good").mkdir()
    bad = text_dir(tmp_path / "bad", tool_text(spec="unreachable"))
    plan = {
        "session": {
            "orchestrator": {"module": "loop", "source": _named(tmp_path, "orchestrator")},
            "context": {"module": "context", "source": _named(tmp_path, "context")},
        },
        "tools": [
            {"module": "bad", "source": str(bad)},
            {"module": "good", "source": str(guest_dir(tmp_path / "good", "tool"))},
        ],
    }

    async with AmplifierSession(plan) as session:
        assert list(session.coordinator.get("tools")) == ["echo-tool"]
        (failed,) = session.status.failed_modules or ()

    assert "get-spec failed: 'bad' failed: wasm trap" in failed["error"]


@pytest.mark.slow
async def test_nothing_is_left_behind(tmp_path: Path) -> None:
    async with mounted_tool(guest_dir(tmp_path, "tool"), BRIEF) as tool:
        for do in ("loop", "trap", "hog"):
            await tool.execute({"do": do})
        threads, files = threading.active_count(), _open_files()
        for _ in range(3):
            for do in ("loop", "trap", "hog", "garbage"):
                await tool.execute({"do": do})

    assert threading.active_count() <= threads
    assert _open_files() <= files
    assert _calls_that_run() == 0


class _Stuck:
    name, description = "stuck", "never answers"

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.was_cancelled = False

    async def execute(self, input: Any) -> Any:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


class _Slow:
    name, description = "slow", "takes its time"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def execute(self, input: Any) -> str:
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        loop.call_later(self._seconds, over.set)
        await over.wait()
        return "done"


def _named(tmp_path: Path, guest: str) -> str:
    (tmp_path / guest).mkdir()
    return str(guest_dir(tmp_path / guest, guest))


def _calls_that_run() -> int:
    from amplifier_core.transports.wasm.engine import clock

    return clock.calls


def _open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
