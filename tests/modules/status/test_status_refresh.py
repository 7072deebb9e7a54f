"""When hooks-status-context asks git again, and that waiting for it holds up nothing else."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.testing import MockTool
from helpers_status import Place, changes_in, needs_git, needs_sh, note_in, place, repository

NEW = "?? new.txt"


async def changed_after(here: Place, folder: Path, event: str | None, **data: Any) -> bool:
    """Whether the next note shows a file that was made after the last one."""
    assert NEW not in changes_in(await here.note())
    (folder / "new.txt").write_text("new")
    if event is not None:
        await here.emit(event, **data)
    return NEW in changes_in(await here.note())


@needs_git
async def test_between_two_requests_without_a_tool_git_is_not_asked(tmp_path: Path) -> None:
    folder = repository(tmp_path)

    assert not await changed_after(await place(folder), folder, None)


@needs_git
@pytest.mark.parametrize("event", ["tool:post", "prompt:submit"])
async def test_a_tool_or_a_new_turn_makes_it_ask_again(tmp_path: Path, event: str) -> None:
    folder = repository(tmp_path)

    assert await changed_after(await place(folder), folder, event, tool_name="write_file")


@needs_git
@pytest.mark.parametrize(("effect", "is_asked"), [("pure", False), ("external", True)])
async def test_a_tool_that_changes_nothing_does_not_make_it_ask(
    tmp_path: Path, effect: str, is_asked: bool
) -> None:
    folder = repository(tmp_path)
    here = await place(folder)
    tool = MockTool("look")
    tool.annotations = {"effect": effect}
    await here.coordinator.mount("tools", tool, name="look")

    assert await changed_after(here, folder, "tool:post", tool_name="look") is is_asked


@needs_git
async def test_another_folder_is_another_repository(tmp_path: Path) -> None:
    here = await place(repository(tmp_path / "one"))
    await here.note()
    other = repository(tmp_path / "two")
    (other / "new.txt").write_text("new")

    here.coordinator.register_capability("session.working_dir", str(other))

    assert changes_in(await here.note()) == [NEW]


# -- git that misbehaves ---------------------------------------------------------------

HANGS = "echo $$ >> {log}; sleep 600"
SLOW_STATUS = """
case "$*" in
  *rev-parse*) pwd -P;;
  *symbolic-ref*) echo quick;;
  *status*) echo asked >> {log}; sleep 600;;
esac
"""
FLOODS_STATUS = """
case "$*" in
  *rev-parse*) pwd -P;;
  *status*) exec yes '?? flood';;
esac
"""


@pytest.fixture
def fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a script in git's place; what it logs is in the file that is returned."""

    def install(script: str) -> Path:
        folder, log = tmp_path / "bin", tmp_path / "log"
        folder.mkdir()
        body = script.format(log=log)
        text = f'#!/bin/sh\ncase "$*" in *version*) echo git version 2.40.0; exit;; esac\n{body}\n'
        (folder / "git").write_text(text)
        (folder / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return log

    return install


@needs_sh
async def test_the_request_goes_out_when_git_hangs(tmp_path: Path, fake_git: Any) -> None:
    fake_git(HANGS)

    note = await note_in(tmp_path, git_timeout=0.2)

    assert "Git repository: not known\nDate and time" in note


@needs_sh
async def test_one_slow_answer_costs_only_itself_and_is_not_waited_for_again(
    tmp_path: Path, fake_git: Any
) -> None:
    log = fake_git(SLOW_STATUS)
    here = await place(tmp_path, git_timeout=1.5)

    first = await here.note()
    await here.emit("tool:post", tool_name="write_file")
    second = await here.note()

    for note in (first, second):
        assert "Git repository: yes\nBranch: quick\nDate and time" in note
    assert log.read_text() == "asked\n"


@needs_sh
async def test_endless_output_is_cut_off(tmp_path: Path, fake_git: Any) -> None:
    fake_git(FLOODS_STATUS)

    note = await note_in(tmp_path)

    assert "Git repository: yes" in note
    assert len(note) < 10_000


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - processes tell nobody how they are
            await asyncio.sleep(0.01)


@needs_sh
async def test_other_work_goes_on_while_git_is_waited_for(tmp_path: Path, fake_git: Any) -> None:
    log = fake_git(HANGS)
    here = await place(tmp_path)
    request = asyncio.ensure_future(here.emit("provider:request"))

    await until(log.exists)

    assert not request.done()
    request.cancel()
    await asyncio.wait([request])


@needs_sh
async def test_a_cancelled_request_leaves_no_process_behind(tmp_path: Path, fake_git: Any) -> None:
    log = fake_git(HANGS)
    here = await place(tmp_path)
    request = asyncio.ensure_future(here.emit("provider:request"))
    await until(lambda: log.exists() and log.read_text().endswith("\n"))

    request.cancel()
    async with asyncio.timeout(10):
        await asyncio.wait([request])

    assert request.cancelled()
    for group in map(int, log.read_text().split()):
        await until(lambda group=group: not _is_alive(group))


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    # Orphans that nobody reaps stay as zombies; those are dead as well.
    stats = [Path(each, "stat") for each in os.scandir("/proc") if each.name.isdigit()]
    for stat in stats:
        try:
            state, _, process_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if process_group == str(group) and state != "Z":
            return True
    return False


@pytest.mark.parametrize("version", ["2.30.9", "none"])
@needs_sh
async def test_a_git_that_is_too_old_to_be_safe_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    program = tmp_path / "git"
    program.write_text(f"#!/bin/sh\necho git version {version}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    assert "Git repository: not known\n" in await note_in(tmp_path)


async def test_without_git_the_note_says_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    note = await note_in(tmp_path)

    assert "Git repository: not known\nDate and time" in note
