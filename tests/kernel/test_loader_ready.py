"""on_session_ready: where it is looked for, when it is refused, and the queue of hosts."""

import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import ModuleCoordinator
from amplifier_core.loader import ModuleLoader, ModuleValidationError, module_failure_reason
from helpers_loader import (
    clean_imports,  # noqa: F401
    distribution,
    install,
    module_dir,
    on_path,
    package,
    tool_code,
)

READY = """
async def on_session_ready(coordinator):
    coordinator.register_capability("ready", True)
"""

UNUSABLE = {
    "def on_session_ready(coordinator): ...": "is not async",
    "on_session_ready = 'soon'": "is not async",
    "async def on_session_ready(): ...": "takes no coordinator",
    "async def on_session_ready(coordinator=None): ...": "takes no coordinator",
    "async def on_session_ready(*, coordinator): ...": "takes no coordinator",
}


def ready_of(mount: Any) -> Any:
    return getattr(mount, "__on_session_ready__", None)


async def place(by: str, tmp_path: Path, code: str) -> ModuleLoader:
    """Put the module `tool-probe` where a loader finds it in one of three ways."""
    if by == "directory":
        module_dir(tmp_path / "mods", "tool-probe", code)
        return ModuleLoader(search_paths=[tmp_path / "mods"])
    if by == "entry point":
        install(tmp_path / "site", "tool-probe", code, dist="acme")
    else:
        package(on_path(tmp_path / "lib") / "amplifier_module_tool_probe", code)
    return ModuleLoader()


@pytest.mark.parametrize("by", ["directory", "entry point", "conventional package"])
async def test_a_mount_carries_what_the_module_wants_called_later(tmp_path: Path, by: str) -> None:
    loader, coordinator = await place(by, tmp_path, tool_code() + READY), ModuleCoordinator()

    module_id, ready = ready_of(await loader.load("tool-probe"))
    await ready(coordinator)

    assert module_id == "tool-probe"
    assert coordinator.check_capability("ready")
    assert loader.get_on_session_ready_queue() == []


async def test_every_load_carries_it_and_the_modules_own_function_does_not(
    tmp_path: Path,
) -> None:
    """The module's function is shared by loaders that may know it under other ids."""
    loader = await place("directory", tmp_path, tool_code() + READY)

    mounts = [await loader.load("tool-probe") for _ in range(2)]

    assert ready_of(mounts[0]) == ready_of(mounts[1]) is not None
    module: Any = sys.modules["amplifier_module_tool_probe"]
    assert ready_of(module.mount) is None


async def test_a_module_without_one_has_nothing_to_carry(tmp_path: Path) -> None:
    loader = await place("directory", tmp_path, tool_code())

    assert ready_of(await loader.load("tool-probe")) is None


async def test_an_entry_point_is_searched_where_its_mount_is_defined(tmp_path: Path) -> None:
    site = on_path(tmp_path / "site")
    package(site / "acme", "from .inner import mount", inner=tool_code() + READY)
    package(site / "bare", "from .inner import mount\n" + READY, inner=tool_code())
    distribution(site, "acme", {"tool-inner": "acme:mount", "tool-outer": "bare:mount"})
    loader = ModuleLoader()

    assert ready_of(await loader.load("tool-inner")) is not None
    assert ready_of(await loader.load("tool-outer")) is None


@pytest.mark.parametrize("code", UNUSABLE)
async def test_an_unusable_one_is_refused_in_a_directory(tmp_path: Path, code: str) -> None:
    loader = await place("directory", tmp_path, tool_code(extra=code))

    with pytest.raises(ModuleValidationError, match="failed validation: on_session_ready") as e:
        await loader.load("tool-probe")

    assert UNUSABLE[code] in str(e.value)
    assert "async def on_session_ready(coordinator)" in str(e.value)
    assert module_failure_reason(e.value) == "invalid_entry_point"


@pytest.mark.parametrize("by", ["entry point", "conventional package"])
@pytest.mark.parametrize("code", UNUSABLE)
async def test_an_unusable_one_of_an_installed_module_is_skipped_with_a_warning(
    tmp_path: Path, by: str, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    loader = await place(by, tmp_path, tool_code(extra=code))

    assert ready_of(await loader.load("tool-probe")) is None

    [record] = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert "'tool-probe'" in record.getMessage()
    assert UNUSABLE[code] in record.getMessage()


async def test_further_parameters_with_defaults_do_no_harm(tmp_path: Path) -> None:
    code = "async def on_session_ready(coordinator, retries=3, *more, **rest): ..."
    loader = await place("directory", tmp_path, tool_code(extra=code))

    assert ready_of(await loader.load("tool-probe")) is not None


async def test_a_host_may_queue_functions_of_its_own() -> None:
    async def first(coordinator: Any) -> None: ...

    async def second(coordinator: Any) -> None: ...

    loader = ModuleLoader()
    loader.enqueue_on_session_ready("a", first)
    loader.enqueue_on_session_ready("b", second)

    queue = loader.get_on_session_ready_queue()
    assert queue == [("a", first), ("b", second)]
    queue.clear()
    assert len(loader.get_on_session_ready_queue()) == 2
    loader.clear_on_session_ready_queue()
    assert loader.get_on_session_ready_queue() == []
