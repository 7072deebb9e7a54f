"""Fixtures for testing modules; pytest loads this file wherever the kernel is installed.

It works out which module the tests are about, from where they are or from --module-path.
What only module tests need is imported when a fixture asks for it.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from .testing import MockCoordinator

_LIBRARY = Path(__file__).parent / "validation"
_BASE_SUFFIXES = {"structural": "StructuralTests", "behavioral": "BehaviorTests"}
_REPOSITORY, _PACKAGE = "amplifier-module-", "amplifier_module_"
NO_MODULE = "There is no module to test. Run inside its repository, or give --module-path."

_detected = pytest.StashKey[Path | None]()

FixtureT = TypeVar("FixtureT", bound=Callable[..., Any])


def _async_fixture(function: FixtureT) -> FixtureT:
    make: Any = pytest.fixture
    try:
        import pytest_asyncio
    except ImportError:
        # Runs that have nothing to do with modules must not break for want of it.
        return make(_unavailable(function))  # type: ignore[no-any-return]
    make = pytest_asyncio.fixture
    return make(function)  # type: ignore[no-any-return]


def _unavailable(function: FixtureT) -> Callable[[], None]:
    def fixture() -> None:
        pytest.fail("Module tests are async. Install pytest-asyncio to run them.", pytrace=False)

    fixture.__name__ = function.__name__
    fixture.__doc__ = function.__doc__
    return fixture


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("amplifier", "Amplifier modules")
    group.addoption("--module-path", metavar="PATH", help="the module that the tests are about")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "module_validation: checks a module against its contract")


# -- which module ---------------------------------------------------------------------


def _given_path(config: pytest.Config) -> Path | None:
    """The package that --module-path means, or the path itself if there is none."""
    given = config.getoption("--module-path")
    if given is None:
        return None
    from .validation.locate import NotAModule, find_module

    path = Path(config.invocation_params.dir, given)
    try:
        return find_module(path)
    except NotAModule:
        return path


def _package_in(folder: Path) -> Path | None:
    for root in (folder, folder / "src"):
        for package in sorted(root.glob(f"{_PACKAGE}*")):
            if (package / "__init__.py").is_file():
                return package
    return None


def _repository_package(start: Path) -> Path | None:
    """The package of the nearest module repository that `start` lies in."""
    for folder in (start, *start.parents):
        if folder.name.startswith(_REPOSITORY):
            package = _package_in(folder)
            if package is not None:
                return package
    return None


def _session_module(config: pytest.Config) -> Path | None:
    """The module that this run is about, looked for once."""
    if _detected not in config.stash:
        starts = list(_starting_points(config))
        found = [_repository_package(each) or _package_in(each) for each in starts]
        config.stash[_detected] = next((each for each in found if each is not None), None)
    return config.stash[_detected]


def _starting_points(config: pytest.Config) -> Iterator[Path]:
    here = config.invocation_params.dir
    yield from (here, config.rootpath)
    for argument in config.args:
        place = here / argument.partition("::")[0]
        if place.exists():
            yield place.parent if place.is_file() else place


def _module_type_of(package: Path) -> str | None:
    from .transports.python import declared_type
    from .validation.locate import type_from_name

    declared = declared_type(package)
    if isinstance(declared, str):
        return declared
    return type_from_name(package.name.removeprefix(_PACKAGE), package.parent.name)


# -- the library's own test files -------------------------------------------------------


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> pytest.Collector | None:
    """Collect the test bases when pytest is pointed at their files.

    Their names do not start with `Test`, so that importing one elsewhere collects nothing.
    """
    suffix = _library_suffix(collector.path)
    if suffix is None or not inspect.isclass(obj) or not name.endswith(suffix) or name == suffix:
        return None
    return pytest.Class.from_parent(collector, name=name, obj=obj)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the library's own tests, keep those for the type of the module at hand."""
    ours = [item for item in items if _library_suffix(item.path) is not None]
    if not ours:
        return
    module = _given_path(config) or _session_module(config)
    module_type = _module_type_of(module) if module is not None else None
    for item in ours:
        subject = item.path.stem.removeprefix("test_")
        if module is None:
            item.add_marker(pytest.mark.skip(reason=NO_MODULE))
        elif subject != module_type:
            reason = f"The module is a {module_type}, not a {subject}."
            item.add_marker(pytest.mark.skip(reason=reason))


def _library_suffix(path: Path) -> str | None:
    return _BASE_SUFFIXES.get(path.parent.name) if path.parent.parent == _LIBRARY else None


# -- fixtures ---------------------------------------------------------------------------


@pytest.fixture
def module_path(request: pytest.FixtureRequest) -> Path | None:
    """The package of the module under test, or None."""
    config = request.config
    return (
        _given_path(config)
        or _repository_package(request.node.path.parent)
        or _session_module(config)
    )


@pytest.fixture
def module_type(module_path: Path | None) -> str | None:
    """The type of the module under test, by its marker or its name, or None."""
    return _module_type_of(module_path) if module_path is not None else None


@pytest.fixture
def is_module_context(request: pytest.FixtureRequest) -> bool:
    """Whether this run takes place in a module's repository."""
    return _session_module(request.config) is not None


@pytest.fixture
def module_config() -> dict[str, Any]:
    """The config that the module under test is mounted with; override it to give one."""
    return {}


@pytest.fixture
def coordinator() -> MockCoordinator:
    """A fresh mock coordinator, which the module under test is mounted on."""
    from .testing import MockCoordinator

    return MockCoordinator()


@pytest.fixture
def mock_deps() -> tuple[Any, dict[str, Any], dict[str, Any], Any]:
    """What an orchestrator needs for a turn: context, providers, tools and hooks."""
    from .testing import EventRecorder, MockContextManager, MockTool

    tools = {"test_tool": MockTool("test_tool", "test result")}
    return MockContextManager(), {"default": _mock_provider()}, tools, EventRecorder()


def _mock_provider() -> Any:
    from types import SimpleNamespace
    from unittest.mock import AsyncMock, Mock

    from .message_models import ChatResponse, TextBlock
    from .models import ProviderInfo

    answer = ChatResponse(content=[TextBlock(text="Mock response")])
    return SimpleNamespace(
        name="mock",
        get_info=Mock(return_value=ProviderInfo(id="mock", display_name="Mock Provider")),
        list_models=AsyncMock(return_value=[]),
        complete=AsyncMock(return_value=answer),
        parse_tool_calls=Mock(return_value=[]),
    )


@asynccontextmanager
async def _mounted(
    module_path: Path | None,
    coordinator: MockCoordinator,
    module_type: str,
    config: dict[str, Any],
) -> AsyncIterator[Any]:
    """The module's own cleanup or None, while the module is mounted."""
    if module_path is None:
        pytest.skip(NO_MODULE)
    from .validation.discover import VALIDATORS
    from .validation.locate import find_module
    from .validation.sandbox import apart
    from .validation.trial import cleanup_of, cleanups

    contract = VALIDATORS[module_type].contract
    with apart(find_module(Path(module_path))) as load:
        returned = await load().mount(coordinator, config)
        try:
            yield cleanup_of(contract, coordinator, returned)
        finally:
            for cleanup in cleanups(contract, coordinator, returned):
                outcome = cleanup()
                if inspect.isawaitable(outcome):
                    await outcome


def _first(coordinator: MockCoordinator, slot: str) -> Any:
    for instance in coordinator.get_all(slot).values():
        return instance
    pytest.fail(f"mount() put nothing into {slot!r}. Call `await coordinator.mount(...)` in it.")


@_async_fixture
async def provider_module(
    module_path: Path | None, coordinator: MockCoordinator, module_config: dict[str, Any]
) -> AsyncIterator[Any]:
    """The provider that the module under test mounts."""
    async with _mounted(module_path, coordinator, "provider", module_config):
        yield _first(coordinator, "providers")


@_async_fixture
async def tool_module(
    module_path: Path | None, coordinator: MockCoordinator, module_config: dict[str, Any]
) -> AsyncIterator[Any]:
    """The first tool that the module under test mounts."""
    async with _mounted(module_path, coordinator, "tool", module_config):
        yield _first(coordinator, "tools")


@_async_fixture
async def orchestrator_module(
    module_path: Path | None, coordinator: MockCoordinator, module_config: dict[str, Any]
) -> AsyncIterator[Any]:
    """The orchestrator that the module under test mounts."""
    async with _mounted(module_path, coordinator, "orchestrator", module_config):
        yield _first(coordinator, "orchestrator")


@_async_fixture
async def context_module(
    module_path: Path | None, coordinator: MockCoordinator, module_config: dict[str, Any]
) -> AsyncIterator[Any]:
    """The context manager that the module under test mounts."""
    async with _mounted(module_path, coordinator, "context", module_config):
        yield _first(coordinator, "context")


@_async_fixture
async def hook_cleanup(
    module_path: Path | None, coordinator: MockCoordinator, module_config: dict[str, Any]
) -> AsyncIterator[Any]:
    """The cleanup that the hook module under test returned, or None."""
    async with _mounted(module_path, coordinator, "hook", module_config) as cleanup:
        yield cleanup
