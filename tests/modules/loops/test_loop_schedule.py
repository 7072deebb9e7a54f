"""Calls that touch the same files run in order; others run side by side."""

import asyncio
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from helpers_loops import Tool, calls, says, stage
from hypothesis import given, settings
from hypothesis import strategies as st

FILES = ["a", "b", "dir/c", "dir", "dir/sub/d"]
SPELLINGS = ["{}", "./{}", "x/../{}", "/work/{}"]
WORKING_DIR = "/work"


class Log:
    """When calls began and ended."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, int]] = []

    async def work(self, input: dict[str, Any]) -> str:
        self.entries.append(("start", input["n"]))
        for _ in range(3):
            await asyncio.sleep(0)
        self.entries.append(("end", input["n"]))
        return "ok"

    def is_over_before(self, first: int, second: int) -> bool:
        return self.entries.index(("end", first)) < self.entries.index(("start", second))

    def overlap(self, one: int, other: int) -> bool:
        return not self.is_over_before(one, other) and not self.is_over_before(other, one)


async def logged(*pairs: tuple[str, dict[str, Any]], most: int = 100) -> Log:
    """Run calls of the tools `read`, `write` and `free`, numbered in order."""
    log = Log()
    tools = {
        "read": Tool(log.work, {"effect": "pure", "reads": ["path"]}),
        "write": Tool(log.work, {"effect": "external", "writes": ["path"]}),
        "move": Tool(log.work, {"writes": ("path", "to")}),
        "copy": Tool(log.work, {"reads": "path", "writes": "to"}),
        "free": Tool(log.work),
    }
    numbered = [(name, {**arguments, "n": n}) for n, (name, arguments) in enumerate(pairs)]
    config = {"max_parallel_tools": most}
    ready = await stage(calls(*numbered), says("done"), config=config, **tools)
    ready.coordinator.register_capability("session.working_dir", WORKING_DIR)
    await ready.run()
    return log


CALL = st.tuples(
    st.sampled_from(["read", "write"]), st.sampled_from(FILES), st.sampled_from(SPELLINGS)
)


def conflict(one: tuple[str, str, str], other: tuple[str, str, str]) -> bool:
    a, b = PurePosixPath(one[1]), PurePosixPath(other[1])
    touch = a == b or a in b.parents or b in a.parents
    return touch and "write" in (one[0], other[0])


@settings(max_examples=60, deadline=None)
@given(st.lists(CALL, min_size=2, max_size=6), st.sampled_from([2, 100]))
def test_conflicting_calls_never_overlap_and_keep_their_order(
    made: list[tuple[str, str, str]], most: int
) -> None:
    pairs = [(name, {"path": spelling.format(file)}) for name, file, spelling in made]
    log = asyncio.run(logged(*pairs, most=most))

    for second in range(len(made)):
        for first in range(second):
            if conflict(made[first], made[second]):
                assert log.is_over_before(first, second)


@settings(max_examples=40, deadline=None)
@given(st.lists(CALL, min_size=2, max_size=6))
def test_calls_without_any_conflict_run_side_by_side(made: list[tuple[str, str, str]]) -> None:
    pairs = [(name, {"path": spelling.format(file)}) for name, file, spelling in made]
    log = asyncio.run(logged(*pairs))

    def waits_for_nothing(index: int) -> bool:
        return not any(conflict(earlier, made[index]) for earlier in made[:index])

    free = [index for index in range(len(made)) if waits_for_nothing(index)]
    for position, second in enumerate(free):
        for first in free[:position]:
            assert log.overlap(first, second)


async def test_two_edits_of_one_file_run_in_order_and_another_beside_them() -> None:
    log = await logged(
        ("write", {"path": "a"}), ("write", {"path": "./a"}), ("write", {"path": "b"})
    )

    assert log.is_over_before(0, 1)
    assert log.overlap(0, 2)


async def test_two_reads_of_one_file_run_side_by_side() -> None:
    log = await logged(("read", {"path": "a"}), ("read", {"path": "a"}))

    assert log.overlap(0, 1)


async def test_a_folder_conflicts_with_what_is_in_it() -> None:
    log = await logged(("write", {"path": "dir/c"}), ("read", {"path": "dir"}))

    assert log.is_over_before(0, 1)


async def test_the_root_contains_everything() -> None:
    log = await logged(("write", {"path": "/.."}), ("read", {"path": "a"}))

    assert log.is_over_before(0, 1)


@pytest.mark.parametrize("tool", ["move", "copy"])
async def test_every_argument_that_is_a_path_counts(tool: str) -> None:
    log = await logged((tool, {"path": "a", "to": "b"}), ("read", {"path": "b"}))

    assert log.is_over_before(0, 1)


async def test_each_path_of_a_list_counts() -> None:
    log = await logged(("write", {"path": ["a", "b"]}), ("read", {"path": "b"}))

    assert log.is_over_before(0, 1)


@pytest.mark.parametrize("odd", [{}, {"path": None}, {"path": 5}, {"path": ""}])
async def test_arguments_that_are_no_paths_conflict_with_nothing(odd: dict[str, Any]) -> None:
    log = await logged(("write", odd), ("write", odd))

    assert log.overlap(0, 1)


async def test_tools_that_say_nothing_run_side_by_side() -> None:
    log = await logged(("free", {"path": "a"}), ("free", {"path": "a"}))

    assert log.overlap(0, 1)


async def test_without_a_working_dir_paths_are_meant_from_where_the_process_is() -> None:
    log = Log()
    tool = Tool(log.work, {"writes": ["path"]})
    here = str(Path.cwd() / "a")
    ready = await stage(
        calls(("t", {"n": 0, "path": "a"}), ("t", {"n": 1, "path": here})), says("done"), t=tool
    )
    await ready.run()

    assert log.is_over_before(0, 1)


async def test_a_call_that_waits_does_not_take_the_place_of_one_that_could_run() -> None:
    log = await logged(("write", {"path": "a"}), ("write", {"path": "a"}), ("free", {}), most=2)

    assert log.overlap(0, 2)


async def test_the_next_call_on_a_file_runs_although_the_first_one_failed() -> None:
    async def fail(_: Any) -> None:
        raise OSError

    log = Log()
    ready = await stage(
        calls(("bad", {"path": "a"}), ("good", {"path": "a", "n": 0})),
        says("done"),
        bad=Tool(fail, {"writes": ["path"]}),
        good=Tool(log.work, {"writes": ["path"]}),
    )
    await ready.run()

    assert log.entries == [("start", 0), ("end", 0)]
