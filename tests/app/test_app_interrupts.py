"""Ctrl-C: the first lets the step finish, the second ends the turn at once. Exit code 130."""

import pytest
from helpers_app import App

STEP_BY_STEP = """
    async def reply(number, request):
        tell(f"step {number}")
        await wait_for("go")
        tell("stepped")
        return uses("look", show="files")
"""
ENDLESS = """
    async def reply(number, request):
        tell("asked")
        try:
            await asyncio.sleep(600)
        finally:
            tell("cut off")
"""


async def test_the_first_ctrl_c_lets_the_step_finish(app: App) -> None:
    app.offer_provider(STEP_BY_STEP)
    running = await app.start("run", "-p", "mock", "Hello")
    await running.told("step 1")

    running.interrupt()
    await running.told("Stopping after this step. Press Ctrl-C again to stop now.\n")
    (app.work / "go").touch()
    ended = await running.end()

    assert (ended.code, ended.out) == (130, "")
    assert ended.last_line == "amplifier: Interrupted."
    assert ended.err.count("stepped") == 1
    assert "step 2" not in ended.err


async def test_the_second_ctrl_c_ends_the_turn_at_once(app: App) -> None:
    app.offer_provider(ENDLESS)
    running = await app.start("run", "-p", "mock", "Hello")
    await running.told("asked")

    running.interrupt()
    await running.told("to stop now.\n")
    running.interrupt()
    ended = await running.end()

    assert (ended.code, ended.out) == (130, "")
    assert ended.err.splitlines()[-2:] == ["cut off", "amplifier: Interrupted."]


async def test_an_interrupted_turn_is_a_document_too(app: App) -> None:
    app.offer_provider(ENDLESS)
    running = await app.start("run", "-p", "mock", "Hello", "--output-format", "json")
    await running.told("asked")

    running.interrupt()
    await running.told("to stop now.\n")
    running.interrupt()
    ended = await running.end()

    assert ended.code == 130
    assert (ended.document["status"], ended.document["error"]) == ("error", "Interrupted.")


async def test_before_the_turn_there_is_no_step_to_wait_for(app: App) -> None:
    app.offer_provider(
        """
        async def mount(coordinator, config=None):
            tell("mounting")
            await asyncio.sleep(600)
        """
    )
    running = await app.start("run", "-p", "mock", "Hello")
    await running.told("mounting\n")

    running.interrupt()
    ended = await running.end()

    assert (ended.code, ended.last_line) == (130, "amplifier: Interrupted.")


async def test_while_modules_are_imported_ctrl_c_ends_the_program(app: App) -> None:
    app.offer_provider('tell("importing")\ntime.sleep(600)\n')
    running = await app.start("run", "-p", "mock", "Hello")
    await running.told("importing\n")

    running.interrupt()
    ended = await running.end()

    assert ended.code == 130
    assert "Traceback" not in ended.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "blocking", ["time.sleep(600)", "await asyncio.to_thread(time.sleep, 600)"]
)
async def test_a_module_that_blocks_cannot_keep_the_process(app: App, blocking: str) -> None:
    app.offer_provider(f"async def reply(number, request):\n    tell('asked')\n    {blocking}\n")
    running = await app.start("run", "-p", "mock", "Hello")
    await running.told("asked")

    running.interrupt()
    await running.told("to stop now.\n")
    running.interrupt()
    ended = await running.end()

    assert ended.code == 130
