"""Finding and loading modules: places, sources, errors and their reasons."""

import os
import sys
from pathlib import Path
from typing import Any

from amplifier_core import ModuleCoordinator, ModuleLoader, ModuleValidationError
from amplifier_core.loader import (
    MODULE_FAILURE_REASONS,
    TYPE_TO_MOUNT_POINT,
    module_failure_reason,
)
from amplifier_core.module_sources import (
    FileSystemModuleSource,
    ModuleLoadError,
    ModuleNotFoundError,
    ModuleSource,
)
from facts import TOOL, Facts, async_outcome, folder, outcome, package, repository


class Source(ModuleSource):
    def __init__(self, path: Path) -> None:
        self.path = path

    def resolve(self) -> Path:
        return self.path


def _resolving(place: Path | Exception) -> ModuleCoordinator:
    class Fixed:
        asked: list[Any] = []  # noqa: RUF012

        def resolve(self, module_id: str, source_hint: Any = None, profile_hint: Any = None) -> Any:
            self.asked.append([module_id, source_hint, profile_hint])
            if isinstance(place, Exception):
                raise place
            return Source(place)

    coordinator = ModuleCoordinator()
    coordinator.mount_points["module-source-resolver"] = Fixed()
    return coordinator


async def _loaded(coordinator: ModuleCoordinator, module_id: str, **options: Any) -> Any:
    """What loading and mounting leads to: the names of tools, or the error and its reason."""
    loader = ModuleLoader(coordinator=coordinator)
    try:
        mount = await loader.load(module_id, **options)
        await mount(coordinator)
    except Exception as error:
        return [type(error).__name__.lstrip("_"), module_failure_reason(error)]
    return sorted(coordinator.get("tools"))


async def _from_folder(module_id: str, source: str, **options: Any) -> Any:
    with folder() as root:
        home = repository(root, module_id, source)
        return await _loaded(_resolving(home), module_id, **options)


def constants_of_the_loader() -> Facts:
    return {"types": TYPE_TO_MOUNT_POINT, "reasons": MODULE_FAILURE_REASONS}


def reasons_of_errors() -> Facts:
    class Special(ModuleValidationError):
        pass

    return {
        "validation": module_failure_reason(ModuleValidationError("x")),
        "coded": module_failure_reason(ModuleValidationError("x", reason_code="missing_source")),
        "odd code": module_failure_reason(ModuleValidationError("x", reason_code="whatever")),
        "subclass": module_failure_reason(Special("x")),
        "not found": module_failure_reason(ModuleNotFoundError("x")),
        "load": module_failure_reason(ModuleLoadError("x")),
        "builtin": module_failure_reason(ImportError("x")),
        "value": module_failure_reason(ValueError("x")),
    }


def validation_errors() -> Facts:
    return {
        "text": str(ModuleValidationError("x")),
        "code": ModuleValidationError("x").reason_code,
        "given": ModuleValidationError("x", reason_code="unknown").reason_code,
        "positional": outcome(lambda: ModuleValidationError("x", "unknown")),
        "bases": [base.__name__ for base in ModuleValidationError.__mro__],
    }


def sources_of_modules() -> Facts:
    listed = FileSystemModuleSource(["a", "b"])
    listed.get_module_paths().append("c")
    return {
        "paths": listed.get_module_paths(),
        "none": FileSystemModuleSource().get_module_paths(),
        "mentions": listed.get_mention_mappings(),
        "abstract": outcome(lambda: ModuleSource()),
        "not found": [base.__name__ for base in ModuleNotFoundError.__mro__],
        "load": [base.__name__ for base in ModuleLoadError.__mro__],
    }


async def a_module_from_a_resolver() -> Facts:
    with folder() as root:
        home = repository(root, "tool-diff-a", TOOL)
        coordinator = _resolving(home)
        tools = await _loaded(coordinator, "tool-diff-a", config={"a": 1}, source_hint="hint")
        resolver = coordinator.get("module-source-resolver")
        return {
            "tools": tools,
            "config": coordinator.get("tools", "probe").config,
            "asked": resolver.asked[0],
        }


async def a_package_folder_from_a_resolver() -> Facts:
    with folder() as root:
        path = package(root / "amplifier_module_tool_diff_b", TOOL)
        return {"tools": await _loaded(_resolving(path), "tool-diff-b")}


async def an_async_resolver() -> Facts:
    with folder() as root:
        home = repository(root, "tool-diff-c", TOOL)
        coordinator = ModuleCoordinator()

        class Later:
            async def async_resolve(self, module_id: str, **hints: Any) -> Source:
                return Source(home)

        coordinator.mount_points["module-source-resolver"] = Later()
        return {"tools": await _loaded(coordinator, "tool-diff-c")}


async def modules_that_are_nowhere() -> Facts:
    with folder() as root:
        return {
            "unknown": await _loaded(ModuleCoordinator(), "tool-diff-nowhere"),
            "resolver does not know": await _loaded(
                _resolving(ModuleNotFoundError("x")), "tool-diff-nowhere"
            ),
            "no such folder": await _loaded(_resolving(root / "absent"), "tool-diff-nowhere"),
            "empty folder": await _loaded(_resolving(root), "tool-diff-nowhere"),
        }


async def modules_that_cannot_be_imported() -> Facts:
    return {"syntax": (await _from_folder("tool-diff-d", "def broken("))[0] != "probe"}


async def reasons_of_modules_that_cannot_be_imported() -> Facts:
    return {
        "syntax": await _from_folder("tool-diff-e", "def broken("),
        "import": await _from_folder("tool-diff-f", "import there_is_no_such_module"),
        "error": await _from_folder("tool-diff-g", "raise ValueError('boom')"),
    }


async def modules_without_a_usable_mount() -> Facts:
    return {
        "none": await _from_folder("tool-diff-h", "x = 1"),
        "sync": await _from_folder("tool-diff-i", "def mount(coordinator, config): pass"),
        "one argument": await _from_folder("tool-diff-j", "async def mount(coordinator): pass"),
        "no function": await _from_folder("tool-diff-k", "mount = 5"),
    }


async def modules_that_mount_something_else() -> Facts:
    half = "class T:\n name = 't'\nasync def mount(c, config): await c.mount('tools', T())"
    nothing = "async def mount(coordinator, config): pass"
    boom = "async def mount(coordinator, config): raise ValueError('boom')"
    return {
        "half a tool": await _from_folder("tool-diff-l", half),
        "nothing": await _from_folder("tool-diff-m", nothing),
        "error": await _from_folder("tool-diff-n", boom),
    }


async def modules_of_an_unknown_type() -> Facts:
    source = TOOL.replace('"tool"', '"gadget"')
    return {"marker": await _from_folder("tool-diff-o", source)}


async def how_often_a_module_is_mounted() -> Facts:
    source = TOOL + "\nasync def mount(coordinator, config):\n"
    source += "    LOG.append(1)\n    await coordinator.mount('tools', Tool(config))\nLOG = []\n"
    with folder() as root:
        home = repository(root, "tool-diff-p", source)
        await _loaded(_resolving(home), "tool-diff-p")
        return {"runs": len(sys.modules["amplifier_module_tool_diff_p"].LOG)}


async def loading_twice() -> Facts:
    with folder() as root:
        coordinator = _resolving(repository(root, "tool-diff-q", TOOL))
        loader = ModuleLoader(coordinator=coordinator)
        first = await loader.load("tool-diff-q", {"n": 1})
        second = await loader.load("tool-diff-q", {"n": 2})
        await first(coordinator)
        configs = [coordinator.get("tools", "probe").config]
        await second(coordinator)
        configs.append(coordinator.get("tools", "probe").config)
        return {"configs": configs, "different": first is not second}


async def a_module_from_two_places() -> Facts:
    with folder() as one, folder() as two:
        coordinator = ModuleCoordinator()
        loader = ModuleLoader(coordinator=coordinator)
        places = [repository(root, "tool-diff-r", TOOL) for root in (one, two)]
        outcomes = []
        for place in places:
            coordinator.mount_points["module-source-resolver"] = _resolving(place).get(
                "module-source-resolver"
            )
            outcomes.append(await async_outcome(lambda: loader.load("tool-diff-r")))
        return {"first": callable(outcomes[0]), "second": outcomes[1]}


async def a_module_that_is_importable_by_name() -> Facts:
    with folder() as root:
        package(root / "amplifier_module_tool_diff_s", TOOL)
        sys.path.insert(0, str(root))
        return {"tools": await _loaded(ModuleCoordinator(), "tool-diff-s")}


def _installed(root: Path, module_id: str, source: str) -> None:
    name = f"dist_{module_id.replace('-', '_')}"
    package(root / name, source)
    info = root / f"{name}-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2.3\n")
    (info / "entry_points.txt").write_text(f"[amplifier.modules]\n{module_id} = {name}:mount\n")
    sys.path.insert(0, str(root))


async def an_installed_module() -> Facts:
    with folder() as root:
        _installed(root, "tool-diff-t", TOOL)
        return {"tools": await _loaded(ModuleCoordinator(), "tool-diff-t", config={"a": 1})}


async def installed_modules_that_cannot_be_imported() -> Facts:
    with folder() as root:
        _installed(root, "tool-diff-ae", "import there_is_no_such_module")
        return {"outcome": await _loaded(ModuleCoordinator(), "tool-diff-ae")}


async def a_module_installed_twice() -> Facts:
    with folder() as one, folder() as two:
        _installed(one, "tool-diff-af", TOOL)
        _installed(two, "tool-diff-af", TOOL)
        (two / "dist_tool_diff_af-1.2.3.dist-info").rename(two / "other-1.2.3.dist-info")
        (two / "other-1.2.3.dist-info" / "METADATA").write_text("Name: other\nVersion: 1.2.3\n")
        return {"outcome": await _loaded(ModuleCoordinator(), "tool-diff-af")}


async def discovering_installed_modules() -> Facts:
    with folder() as root:
        _installed(root, "tool-diff-u", TOOL)
        found = [each for each in await ModuleLoader().discover() if each.id == "tool-diff-u"]
        return {"found": [_info(each) for each in found]}


async def versions_of_installed_modules() -> Facts:
    with folder() as root:
        _installed(root, "tool-diff-v", TOOL)
        (found,) = [each for each in await ModuleLoader().discover() if each.id == "tool-diff-v"]
        return {"version": found.version}


def _info(info: Any) -> Facts:
    return {
        name: getattr(info, name) for name in ("id", "name", "type", "mount_point", "config_schema")
    }


async def discovering_in_search_paths() -> Facts:
    markers = {
        "tool-diff-w": "",
        "loop-diff": "",
        "hooks-diff": "",
        "context-diff": "",
        "provider-diff": "",
        "diff-plain": "",
        "diff-marked": '__amplifier_module_type__ = "provider"',
    }
    with folder() as root:
        for module_id, marker in markers.items():
            repository(root, module_id, marker)
        found = await ModuleLoader(search_paths=[root]).discover()
        return {each.id: _info(each) for each in found if each.id in markers}


async def discovering_in_the_environment() -> Facts:
    with folder() as root:
        repository(root, "tool-diff-x", TOOL)
        os.environ["AMPLIFIER_MODULES"] = str(root)
        try:
            found = await ModuleLoader().discover()
        finally:
            del os.environ["AMPLIFIER_MODULES"]
        return {"found": [each.id for each in found if each.id == "tool-diff-x"]}


async def loading_from_search_paths() -> Facts:
    with folder() as root:
        repository(root, "tool-diff-y", TOOL)
        coordinator = ModuleCoordinator()
        loader = ModuleLoader(coordinator=coordinator, search_paths=[root])

        async def load() -> list[str]:
            await (await loader.load("tool-diff-y"))(coordinator)
            return list(coordinator.get("tools"))

        return {"tools": await async_outcome(load)}


async def loading_from_the_environment() -> Facts:
    with folder() as root:
        repository(root, "tool-diff-z", TOOL)
        os.environ["AMPLIFIER_MODULES"] = str(root)
        try:
            return {"tools": await _loaded(ModuleCoordinator(), "tool-diff-z")}
        finally:
            del os.environ["AMPLIFIER_MODULES"]


async def a_local_path_as_a_source() -> Facts:
    with folder() as root:
        home = repository(root, "tool-diff-aa", TOOL)
        return {"tools": await _loaded(ModuleCoordinator(), "tool-diff-aa", source_hint=str(home))}


async def getting_ready_later() -> Facts:
    with folder() as root:
        ready = TOOL + "\nasync def on_session_ready(coordinator): pass\n"
        sync = TOOL + "\ndef on_session_ready(coordinator): pass\n"
        marks = {}
        for module_id, source in {
            "tool-diff-ab": ready,
            "tool-diff-ac": TOOL,
            "tool-diff-ad": sync,
        }.items():
            coordinator = _resolving(repository(root, module_id, source))
            loaded = await async_outcome(lambda c=coordinator, m=module_id: ModuleLoader(c).load(m))
            mark = getattr(loaded, "__on_session_ready__", None)
            marks[module_id] = loaded if isinstance(loaded, str) else mark and mark[0]
        return marks


async def the_queue_of_modules_to_get_ready() -> Facts:
    loader = ModuleLoader()
    loader.enqueue_on_session_ready("a", print)
    taken = loader.get_on_session_ready_queue()
    facts = {"ids": [module_id for module_id, _ in taken]}
    loader.clear_on_session_ready_queue()
    return {**facts, "after": loader.get_on_session_ready_queue()}


async def a_whole_session_from_folders() -> Facts:
    from amplifier_core import AmplifierSession

    with folder() as root:
        places = {
            "loop-diff-s": repository(root, "loop-diff-s", LOOP),
            "context-diff-s": repository(root, "context-diff-s", CONTEXT),
            "tool-diff-s": repository(root, "tool-diff-s2", TOOL),
        }

        class Places:
            def resolve(
                self, module_id: str, source_hint: Any = None, profile_hint: Any = None
            ) -> Any:
                return Source(places[module_id])

        config = {
            "session": {"orchestrator": "loop-diff-s", "context": "context-diff-s"},
            "tools": [{"module": "tool-diff-s"}],
        }
        session = AmplifierSession(config)
        session.coordinator.mount_points["module-source-resolver"] = Places()
        async with session:
            return {"answer": await session.execute("hi")}


LOOP = """
class Loop:
    async def execute(self, prompt, context, providers, tools, hooks, **more):
        await context.add_message({"role": "user", "content": prompt})
        return f"{prompt} {sorted(tools)} {len(await context.get_messages())}"

async def mount(coordinator, config):
    await coordinator.mount("orchestrator", Loop())
"""

CONTEXT = """
class Context:
    def __init__(self):
        self.messages = []

    async def add_message(self, message):
        self.messages.append(message)

    async def get_messages(self):
        return list(self.messages)

    async def get_messages_for_request(self, token_budget=None, provider=None):
        return list(self.messages)

    async def set_messages(self, messages):
        self.messages = list(messages)

    async def clear(self):
        self.messages = []

async def mount(coordinator, config):
    await coordinator.mount("context", Context())
"""
