"""What a module must be to be loaded, and what it must mount to stay."""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core import ModuleCoordinator, loader
from amplifier_core.loader import (
    MODULE_FAILURE_REASONS,
    ModuleLoader,
    ModuleValidationError,
    module_failure_reason,
)
from amplifier_core.module_sources import ModuleLoadError, ModuleNotFoundError
from helpers_loader import (
    MARKER,
    clean_imports,  # noqa: F401
    distribution,
    install,
    module_dir,
    on_path,
    package,
    tool_code,
)

# -- failure reasons ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("x"), "missing_source"),
        (ModuleValidationError("x"), "validation_failed"),
        (ModuleValidationError("x", reason_code="invalid_entry_point"), "invalid_entry_point"),
        (ModuleValidationError("x", reason_code="made_up"), "unknown"),
        (ModuleValidationError("x", reason_code=["unknown"]), "unknown"),  # type: ignore[arg-type]
        (ModuleLoadError("x"), "unknown"),
        (ImportError("missing_source"), "unknown"),
        (ValueError("missing_source"), "unknown"),
        (KeyboardInterrupt(), "unknown"),
    ],
)
def test_a_failure_has_one_of_six_reasons(error: BaseException, reason: str) -> None:
    assert module_failure_reason(error) == reason
    assert reason in MODULE_FAILURE_REASONS


def test_a_foreign_error_does_not_choose_its_own_reason() -> None:
    class Foreign(Exception):
        reason_code = "missing_source"

    assert module_failure_reason(Foreign()) == "unknown"


# -- what is imported -----------------------------------------------------------------


WRONG_MOUNTS = {
    "": "it has no mount function",
    "mount = None": "it has no mount function",
    "mount = 7": "mount is int, not a function",
    "def mount(coordinator, config): ...": "mount is not async",
    "async def mount(coordinator): ...": "mount does not take 2 parameters",
    "async def mount(): ...": "mount does not take 2 parameters",
    "async def mount(coordinator, config, more): ...": "mount does not take 2 parameters",
    "async def mount(*, coordinator, config): ...": "mount does not take 2 parameters",
}


@pytest.mark.parametrize("code", WRONG_MOUNTS)
@pytest.mark.parametrize("by", ["directory", "conventional package"])
async def test_a_mount_that_cannot_be_called_is_refused(tmp_path: Path, code: str, by: str) -> None:
    if by == "directory":
        module_dir(tmp_path, "tool-wrong", code)
    else:
        package(on_path(tmp_path) / "amplifier_module_tool_wrong", code)

    with pytest.raises(ModuleValidationError, match="'tool-wrong' failed validation") as caught:
        await ModuleLoader(search_paths=[tmp_path]).load("tool-wrong")

    assert WRONG_MOUNTS[code] in str(caught.value)
    assert "async def mount(coordinator, config)" in str(caught.value)
    assert module_failure_reason(caught.value) == "invalid_entry_point"


async def test_a_mount_that_an_entry_point_names_is_checked_as_well(tmp_path: Path) -> None:
    install(tmp_path / "site", "tool-wrong", "def mount(coordinator, config): ...")

    with pytest.raises(ModuleValidationError, match="mount is not async"):
        await ModuleLoader().load("tool-wrong")


@pytest.mark.parametrize(
    "code",
    [
        "async def mount(coordinator, config=None): ...",
        "async def mount(coordinator, config, extra=1): ...",
        "async def mount(*arguments): ...",
        "async def mount(a, b, /, *, c=1): ...",
        "import functools\nasync def real(c, config): ...\n"
        "@functools.wraps(real)\ndef mount(*arguments):\n    return real(*arguments)",
        "import functools\nasync def real(x, c, config): ...\nmount = functools.partial(real, 1)",
        "class Module:\n    async def mount(self, c, config): ...\nmount = Module().mount",
    ],
)
async def test_every_mount_that_can_be_awaited_with_two_arguments_serves(
    tmp_path: Path, code: str
) -> None:
    module_dir(tmp_path, "tool-odd", code)

    mount = await ModuleLoader(search_paths=[tmp_path]).load("tool-odd")

    assert await mount(ModuleCoordinator()) is None


@pytest.mark.parametrize("by", ["directory", "entry point", "conventional package"])
@pytest.mark.parametrize("marker", ["'gadget'", "['tool']", "object()"])
async def test_a_module_of_unknown_type_is_refused(tmp_path: Path, by: str, marker: str) -> None:
    code = f"{tool_code()}\n{MARKER} = {marker}"
    if by == "directory":
        module_dir(tmp_path, "tool-odd", code)
    elif by == "entry point":
        install(tmp_path / "site", "tool-odd", code)
    else:
        package(on_path(tmp_path) / "amplifier_module_tool_odd", code)

    with pytest.raises(ModuleValidationError, match="has unknown type") as caught:
        await ModuleLoader(search_paths=[tmp_path]).load("tool-odd")

    assert module_failure_reason(caught.value) == "invalid_module_metadata"


@pytest.mark.parametrize("marker", ["None", "''", "'approval'", "'hook'"])
async def test_a_module_may_be_of_a_type_that_its_id_does_not_suggest(
    tmp_path: Path, marker: str
) -> None:
    module_dir(tmp_path, "tool-odd", f"{tool_code()}\n{MARKER} = {marker}")

    assert callable(await ModuleLoader(search_paths=[tmp_path]).load("tool-odd"))


async def test_a_directory_whose_code_fails_says_where_it_is_and_why(tmp_path: Path) -> None:
    path = module_dir(tmp_path, "tool-broken", "raise RuntimeError('no licence')")

    with pytest.raises(ModuleValidationError, match=r"found at .* failed to load") as caught:
        await ModuleLoader(search_paths=[tmp_path]).load("tool-broken")

    assert str(path) in str(caught.value)
    assert "RuntimeError: no licence" in str(caught.value)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert module_failure_reason(caught.value) == "validation_failed"


async def test_code_that_exits_ends_the_program_and_not_just_the_load(tmp_path: Path) -> None:
    module_dir(tmp_path, "tool-exit", "raise SystemExit(3)")

    with pytest.raises(SystemExit):
        await ModuleLoader(search_paths=[tmp_path]).load("tool-exit")


async def test_a_mended_module_loads_after_a_failure(tmp_path: Path) -> None:
    path = module_dir(tmp_path, "tool-probe", "from . import part\nraise RuntimeError", part="")
    loader = ModuleLoader(search_paths=[tmp_path])
    with pytest.raises(ModuleValidationError, match="RuntimeError"):
        await loader.load("tool-probe")

    package(path / "amplifier_module_tool_probe", tool_code("mended"))

    assert callable(await loader.load("tool-probe"))


async def test_a_broken_installed_module_is_reported_even_where_the_id_is_unknown_elsewhere(
    tmp_path: Path,
) -> None:
    """It would mislead to say that the module was not found."""
    distribution(on_path(tmp_path / "site"), "acme", {"tool-x": "no_such_package:mount"})

    with pytest.raises(ValueError, match="found at its entry point but failed to load"):
        await ModuleLoader().load("tool-x")


# -- what is mounted ------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "orchestrator": {"execute": lambda self: None},
    "context": {"add_message": lambda self: None, "get_messages": lambda self: None},
    "providers": {
        "name": "it",
        "get_info": lambda self: None,
        "list_models": lambda self: None,
        "complete": lambda self: None,
        "parse_tool_calls": lambda self: None,
    },
    "tools": {"name": "it", "description": "", "execute": lambda self: None},
}


def instance(members: dict[str, Any]) -> Any:
    return type("Thing", (), members)()


async def mounting(mount: Any) -> ModuleCoordinator:
    """Mount through a loader, as a session does."""
    own, coordinator = ModuleLoader(), ModuleCoordinator()
    own._loaded_modules["own"] = mount
    await (await own.load("own"))(coordinator)
    return coordinator


@pytest.mark.parametrize("point", GOOD)
async def test_what_keeps_the_contract_of_its_place_stays(point: str) -> None:
    module = instance(GOOD[point])

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.mount(point, module, name="it")

    assert module in (await mounting(mount)).get_all(point).values()


@pytest.mark.parametrize(
    ("point", "member"), [(point, member) for point, members in GOOD.items() for member in members]
)
async def test_what_lacks_a_member_is_refused_and_taken_out(point: str, member: str) -> None:
    members = {name: value for name, value in GOOD[point].items() if name != member}
    coordinators: list[ModuleCoordinator] = []

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        coordinators.append(coordinator)
        await coordinator.mount(point, instance(members), name="it")

    with pytest.raises(ModuleValidationError, match=f"mounted Thing at {point}.* lacks {member}"):
        await mounting(mount)

    assert coordinators[0].get_all(point) == {}


async def test_a_member_that_should_be_a_method_must_be_callable() -> None:
    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        tool = instance({**GOOD["tools"], "execute": "not a method"})
        await coordinator.mount("tools", tool, name="it")

    with pytest.raises(ModuleValidationError, match=r"at tools\['it'\], which lacks execute") as e:
        await mounting(mount)

    assert module_failure_reason(e.value) == "validation_failed"


async def test_a_member_that_raises_counts_as_lacking() -> None:
    def broken(self: Any) -> str:
        raise RuntimeError("not connected")

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        tool = instance({**GOOD["tools"], "description": property(broken)})
        await coordinator.mount("tools", tool, name="it")

    with pytest.raises(ModuleValidationError, match="lacks description"):
        await mounting(mount)


async def test_places_without_a_contract_take_anything() -> None:
    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        coordinator.mount_points["judge"] = "anything"
        await coordinator.mount("module-source-resolver", object())

    assert (await mounting(mount)).get("judge") == "anything"


async def test_only_what_the_module_itself_mounted_is_looked_at() -> None:
    """An app may have put something in its own way before."""

    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        await coordinator.mount("tools", instance(GOOD["tools"]), name="it")

    own, coordinator = ModuleLoader(), ModuleCoordinator()
    own._loaded_modules["own"] = mount
    await coordinator.mount("tools", object(), name="odd")

    await (await own.load("own"))(coordinator)

    assert list(coordinator.get_all("tools")) == ["odd", "it"]


async def test_a_refused_module_is_cleaned_up_and_leaves_nothing() -> None:
    ran: list[str] = []
    coordinator, own = ModuleCoordinator(), ModuleLoader()
    earlier = instance(GOOD["tools"])
    await coordinator.mount("tools", earlier, name="it")

    async def mount(coordinator: Any, config: dict[str, Any]) -> Any:
        await coordinator.mount("tools", object(), name="it")
        coordinator.hooks.register("x", lambda event, data: None)
        coordinator.register_capability("half", True)
        coordinator.register_cleanup(lambda: ran.append("registered"))
        return lambda: ran.append("returned")

    own._loaded_modules["own"] = mount

    with pytest.raises(ModuleValidationError):
        await (await own.load("own"))(coordinator)

    assert ran == ["returned", "registered"]
    assert coordinator.get_all("tools") == {"it": earlier}
    assert coordinator.hooks.list_handlers() == {}
    assert not coordinator.check_capability("half")


async def test_a_stand_in_for_a_coordinator_is_handed_through() -> None:
    """Validators and tests mount on doubles of their own."""
    seen: list[Any] = []

    async def mount(coordinator: Any, config: dict[str, Any]) -> str:
        seen.append(coordinator)
        if config:
            raise LookupError("no")
        return "returned"

    own, double = ModuleLoader(), object()
    own._loaded_modules["own"] = mount

    assert await (await own.load("own"))(double) == "returned"
    with pytest.raises(LookupError):
        await (await own.load("own", {"fail": True}))(double)
    assert seen == [double, double]


async def test_a_bound_mount_knows_its_module(tmp_path: Path) -> None:
    module_dir(tmp_path, "tool-probe")

    mount: Any = await ModuleLoader(search_paths=[tmp_path]).load("tool-probe")

    assert mount.__module_id__ == "tool-probe"


def test_loaders_say_what_they_do_under_one_name() -> None:
    assert loader.logger.name == "amplifier_core.loader"
