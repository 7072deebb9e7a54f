"""Explicit sources: resolvers, local directories, one place for one id, other transports."""

import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ModuleCoordinator, transports
from amplifier_core.loader import ModuleLoader, ModuleValidationError, module_failure_reason
from amplifier_core.module_sources import ModuleLoadError, ModuleNotFoundError
from amplifier_core.transports import Manifest, register_transport
from helpers_loader import (
    Resolver,
    Source,
    clean_imports,  # noqa: F401
    coordinator_with,
    install,
    module_dir,
    not_installed,
    origin_of,
    package,
    tool_code,
)

# -- resolvers ------------------------------------------------------------------------


@pytest.mark.parametrize("hint", ["git+https://acme.test/x@main", {"type": "odd"}, None, 7])
async def test_a_resolver_gets_the_source_under_both_names_and_unread(
    tmp_path: Path, hint: Any
) -> None:
    resolver = Resolver({"tool-probe": module_dir(tmp_path, "tool-probe", tool_code("resolved"))})
    loader = ModuleLoader(coordinator_with(resolver))

    assert await origin_of(loader, "tool-probe", source_hint=hint) == "resolved"

    [(module_id, hints)] = resolver.asked
    assert module_id == "tool-probe"
    assert hints == {"source_hint": hint, "profile_hint": hint}
    assert hints["source_hint"] is hint


async def test_an_async_resolver_is_preferred(tmp_path: Path) -> None:
    path = module_dir(tmp_path, "tool-probe", tool_code("resolved"))
    asked: list[dict[str, Any]] = []

    class Both:
        async def async_resolve(self, module_id: str, **hints: Any) -> Source:
            asked.append({"module_id": module_id, **hints})
            return Source(path)

        def resolve(self, module_id: str, **hints: Any) -> Source:
            raise AssertionError("the sync one is not asked")

    loader = ModuleLoader(coordinator_with(Both()))

    assert await origin_of(loader, "tool-probe", source_hint="x") == "resolved"
    assert asked == [{"module_id": "tool-probe", "source_hint": "x", "profile_hint": "x"}]


@pytest.mark.parametrize("form", [Source, lambda path: Source(str(path)), str, Path])
async def test_a_resolver_may_answer_with_a_source_or_a_path(tmp_path: Path, form: Any) -> None:
    path = form(module_dir(tmp_path, "tool-probe", tool_code("resolved")))

    class Answering:
        def resolve(self, module_id: str, source_hint: Any, profile_hint: Any) -> Any:
            return path

    assert await origin_of(ModuleLoader(coordinator_with(Answering())), "tool-probe") == "resolved"


async def test_a_resolved_source_beats_an_installed_module(tmp_path: Path) -> None:
    install(tmp_path / "site", "tool-probe", tool_code("installed"))
    path = module_dir(tmp_path / "mods", "tool-probe", tool_code("resolved"))
    loader = ModuleLoader(coordinator_with(Resolver({"tool-probe": path})))

    assert await origin_of(loader, "tool-probe") == "resolved"


async def test_the_coordinator_of_a_load_is_asked_before_that_of_the_loader(
    tmp_path: Path,
) -> None:
    near = Resolver({"tool-probe": module_dir(tmp_path / "near", "tool-probe")})
    far = Resolver({"tool-probe": module_dir(tmp_path / "far", "tool-probe")})
    loader = ModuleLoader(coordinator_with(far))

    origin = await origin_of(loader, "tool-probe", coordinator=coordinator_with(near))

    assert origin == "near"
    assert far.asked == []


async def test_coordinators_without_a_resolver_are_passed_over(tmp_path: Path) -> None:
    resolver = Resolver({"tool-probe": module_dir(tmp_path / "mods", "tool-probe")})
    empty = ModuleCoordinator()
    del empty.mount_points["module-source-resolver"]
    loader = ModuleLoader(coordinator_with(resolver))

    assert await origin_of(loader, "tool-probe", coordinator=empty) == "mods"


async def test_what_a_resolver_does_not_know_is_looked_up_by_id(tmp_path: Path) -> None:
    install(tmp_path / "site", "tool-probe", tool_code("installed"))
    resolver = Resolver({"tool-probe": ModuleNotFoundError("no source")})

    assert await origin_of(ModuleLoader(coordinator_with(resolver)), "tool-probe") == "installed"


async def test_what_nobody_knows_fails_with_the_resolvers_own_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    unknown = ModuleNotFoundError("no source for it")
    loader = ModuleLoader(coordinator_with(Resolver({"tool-absent": unknown})))

    with pytest.raises(ModuleNotFoundError) as caught:
        await loader.load("tool-absent")

    assert caught.value is unknown
    assert module_failure_reason(caught.value) == "missing_source"
    assert [each.levelno for each in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("error", [LookupError("offline"), TypeError("profile_hint")])
async def test_other_failures_of_a_resolver_are_raised_as_they_are(
    tmp_path: Path, error: Exception
) -> None:
    install(tmp_path / "site", "tool-probe")
    loader = ModuleLoader(coordinator_with(Resolver({"tool-probe": error})))

    with pytest.raises(type(error)) as caught:
        await loader.load("tool-probe")

    assert caught.value is error
    assert module_failure_reason(error) == "unknown"


async def test_a_session_loads_through_the_resolver_that_it_was_given(tmp_path: Path) -> None:
    memory = """
    class Memory:
        async def add_message(self, message): ...
        async def get_messages(self): return []

    async def mount(coordinator, config):
        await coordinator.mount("context", Memory())
    """
    loop = """
    class Loop:
        async def execute(self, prompt, context, providers, tools, hooks, **more):
            return await tools["probe"].execute({})

    async def mount(coordinator, config):
        await coordinator.mount("orchestrator", Loop())
    """
    places = {
        "loop": module_dir(tmp_path, "loop", loop),
        "memory": module_dir(tmp_path, "memory", memory),
        "tool-probe": module_dir(tmp_path, "tool-probe", tool_code("resolved")),
    }
    config = {
        "session": {"orchestrator": "loop", "context": "memory"},
        "tools": [{"module": "tool-probe", "source": "git+https://acme.test/x"}],
    }
    session = AmplifierSession(config)
    resolver = Resolver(places)
    await session.coordinator.mount("module-source-resolver", resolver)

    async with session:
        assert await session.execute("go") == "resolved"

    assert [(name, hints["source_hint"]) for name, hints in resolver.asked] == [
        ("loop", None),
        ("memory", None),
        ("tool-probe", "git+https://acme.test/x"),
    ]


# -- local directories ----------------------------------------------------------------


@pytest.mark.parametrize("layout", ["package", "folder", "src", "other name"])
async def test_a_directory_may_be_laid_out_in_several_ways(tmp_path: Path, layout: str) -> None:
    folders = {
        "package": "",
        "folder": "amplifier_module_tool_probe",
        "src": "src/amplifier_module_tool_probe",
        "other name": "amplifier_module_anything",
    }
    package(tmp_path / "probe_source" / folders[layout], tool_code(layout))

    origin = await origin_of(ModuleLoader(), "tool-probe", source_hint=tmp_path / "probe_source")

    assert origin == layout


async def test_a_relative_source_starts_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module_dir(tmp_path, "tool-probe", tool_code("beside us"))
    monkeypatch.chdir(tmp_path)
    hint = "./amplifier-module-tool-probe"

    assert await origin_of(ModuleLoader(), "tool-probe", source_hint=hint) == "beside us"


async def test_a_source_that_does_not_exist_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ModuleValidationError, match="no valid Python package") as caught:
        await ModuleLoader().load("tool-probe", source_hint=tmp_path / "gone")

    assert "there is no such directory" in str(caught.value)
    assert module_failure_reason(caught.value) == "missing_source"


async def test_a_source_without_a_package_is_laid_out_wrong(tmp_path: Path) -> None:
    with pytest.raises(ModuleValidationError, match="no valid Python package") as caught:
        await ModuleLoader().load("tool-probe", source_hint=tmp_path)

    assert "'amplifier_module_tool_probe'" in str(caught.value)
    assert module_failure_reason(caught.value) == "invalid_package_layout"


async def test_a_module_of_type_resolver_loads_from_a_directory(tmp_path: Path) -> None:
    code = """
    __amplifier_module_type__ = "resolver"

    async def mount(coordinator, config):
        await coordinator.mount("module-source-resolver", config["resolver"])
    """
    path, resolver = module_dir(tmp_path, "my-sources", code), Resolver({})
    coordinator = ModuleCoordinator()

    mount = await ModuleLoader().load("my-sources", {"resolver": resolver}, source_hint=path)
    await mount(coordinator)

    assert coordinator.get("module-source-resolver") is resolver


# -- one id, one place ----------------------------------------------------------------


async def test_an_id_is_not_loaded_from_a_second_place(tmp_path: Path) -> None:
    first = module_dir(tmp_path / "one", "tool-probe")
    second = module_dir(tmp_path / "two", "tool-probe", "raise SystemExit('ran')")
    loader = ModuleLoader()
    await loader.load("tool-probe", source_hint=first)

    with pytest.raises(ImportError, match="already loaded from") as caught:
        await loader.load("tool-probe", source_hint=second)

    assert caught.value.name == "tool-probe"
    assert str(first) in str(caught.value)
    assert str(second) in str(caught.value)
    assert module_failure_reason(caught.value) == "unknown"
    assert await origin_of(loader, "tool-probe", source_hint=first) == "one"


async def test_a_resolver_that_changes_its_mind_is_refused(tmp_path: Path) -> None:
    resolver = Resolver({"tool-probe": module_dir(tmp_path / "one", "tool-probe")})
    loader = ModuleLoader(coordinator_with(resolver))
    await loader.load("tool-probe")

    resolver.places["tool-probe"] = module_dir(tmp_path / "two", "tool-probe")

    with pytest.raises(ImportError, match="Use one source for one id"):
        await loader.load("tool-probe")


async def test_a_link_to_the_same_place_is_the_same_place(tmp_path: Path) -> None:
    path = module_dir(tmp_path / "one", "tool-probe")
    (tmp_path / "link").symlink_to(path)
    loader = ModuleLoader()
    await loader.load("tool-probe", source_hint=path)

    assert await origin_of(loader, "tool-probe", source_hint=tmp_path / "link") == "one"


async def test_a_package_name_that_is_taken_is_refused_for_another_loader_too(
    tmp_path: Path,
) -> None:
    first = module_dir(tmp_path / "one", "tool-probe")
    second = module_dir(tmp_path / "two", "tool-probe", "raise SystemExit('ran')")
    await ModuleLoader().load("tool-probe", source_hint=first)

    with pytest.raises(ModuleValidationError, match="already imported from") as caught:
        await ModuleLoader().load("tool-probe", source_hint=second)

    assert isinstance(caught.value.__cause__, ImportError)
    assert module_failure_reason(caught.value) == "validation_failed"


async def test_a_module_loaded_from_a_source_serves_its_id_later(tmp_path: Path) -> None:
    install(tmp_path / "site", "tool-probe", tool_code("installed"))
    path = module_dir(tmp_path / "mods", "tool-probe", tool_code("source"))
    loader = ModuleLoader()

    assert await origin_of(loader, "tool-probe", source_hint=path) == "source"
    assert await origin_of(loader, "tool-probe") == "source"


async def test_a_source_is_taken_even_after_the_installed_module_was_loaded(
    tmp_path: Path,
) -> None:
    install(tmp_path / "site", "tool-probe", tool_code("installed"))
    path = module_dir(tmp_path / "mods", "tool-probe", tool_code("source"))
    loader = ModuleLoader()

    assert await origin_of(loader, "tool-probe") == "installed"
    assert await origin_of(loader, "tool-probe", source_hint=path) == "source"


async def test_a_loader_that_was_cleaned_up_makes_modules_importable_again(
    tmp_path: Path,
) -> None:
    path = module_dir(tmp_path, "tool-probe")
    loader = ModuleLoader(search_paths=[tmp_path])
    await loader.load("tool-probe")
    loader.cleanup()
    assert str(path) not in sys.path

    await loader.load("tool-probe")

    assert sys.path[0] == str(path)


# -- other transports -----------------------------------------------------------------


class Cobol:
    """A transport that keeps what it was asked and mounts a probe."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Manifest, dict[str, Any], Any]] = []

    async def load(
        self, module_id: str, manifest: Manifest, config: dict[str, Any], coordinator: Any
    ) -> Any:
        self.asked.append((module_id, manifest, config, coordinator))

        async def mount(coordinator: Any) -> str:
            coordinator.register_capability("cobol", config)
            return "mounted"

        return mount


@pytest.fixture
def cobol(monkeypatch: pytest.MonkeyPatch) -> Cobol:
    monkeypatch.setattr(transports, "_loaders", {})
    transport = Cobol()
    register_transport("cobol", transport.load)
    return transport


def cobol_dir(root: Path) -> Path:
    path = root / "amplifier-module-tool-ledger"
    path.mkdir(parents=True)
    (path / "amplifier.toml").write_text('[module]\ntransport = "cobol"\n[cobol]\nport = 7\n')
    return path


@pytest.mark.parametrize("by", ["source", "search path"])
async def test_a_transport_gets_manifest_config_and_coordinator(
    tmp_path: Path, cobol: Cobol, by: str
) -> None:
    path, coordinator, config = cobol_dir(tmp_path), ModuleCoordinator(), {"n": 1}
    loader = ModuleLoader(search_paths=[tmp_path])
    hint = path if by == "source" else None

    mount = await loader.load("tool-ledger", config, source_hint=hint, coordinator=coordinator)

    [(module_id, manifest, given, owner)] = cobol.asked
    assert (module_id, manifest.path, owner) == ("tool-ledger", path, coordinator)
    assert manifest.settings["cobol"] == {"port": 7}
    assert given is config
    assert await mount(coordinator) == "mounted"
    assert coordinator.get_capability("cobol") is config


async def test_a_transport_gets_the_loaders_own_coordinator_when_none_is_given(
    tmp_path: Path, cobol: Cobol
) -> None:
    coordinator = ModuleCoordinator()

    await ModuleLoader(coordinator).load("tool-ledger", source_hint=cobol_dir(tmp_path))

    assert cobol.asked[0][3] is coordinator


async def test_modules_of_other_transports_are_loaded_afresh_and_not_put_on_sys_path(
    tmp_path: Path, cobol: Cobol
) -> None:
    loader, before = ModuleLoader(search_paths=[cobol_dir(tmp_path).parent]), list(sys.path)

    mounts = [await loader.load("tool-ledger", {"n": n}) for n in (1, 2)]

    assert mounts[0] is not mounts[1]
    assert [config["n"] for _, _, config, _ in cobol.asked] == [1, 2]
    assert (loader._loaded_modules, sys.path) == ({}, before)


async def test_what_another_transport_mounts_is_held_to_the_contract(
    tmp_path: Path, cobol: Cobol
) -> None:
    async def load(*asked: Any) -> Any:
        return lambda coordinator: coordinator.mount("tools", object(), name="bare")

    register_transport("cobol", load)
    coordinator = ModuleCoordinator()
    mount = await ModuleLoader().load("tool-ledger", source_hint=cobol_dir(tmp_path))

    with pytest.raises(ModuleValidationError, match="lacks name, description, execute"):
        await mount(coordinator)

    assert coordinator.get_all("tools") == {}


async def test_a_transport_that_nobody_serves_is_said_to_be_missing(
    tmp_path: Path, cobol: Cobol, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_installed("grpc", monkeypatch)
    path = module_dir(tmp_path, "tool-probe")
    (path / "amplifier.toml").write_text('[module]\ntransport = "grpc"\n')

    with pytest.raises(ModuleLoadError, match="'grpc' is not available"):
        await ModuleLoader().load("tool-probe", source_hint=path)


async def test_a_wrong_manifest_is_reported_as_such(tmp_path: Path) -> None:
    path = module_dir(tmp_path, "tool-probe")
    (path / "amplifier.toml").write_text('[module]\ntransport = "pyhton"\n')

    with pytest.raises(ModuleValidationError, match="Did you mean 'python'") as caught:
        await ModuleLoader().load("tool-probe", source_hint=path)

    assert module_failure_reason(caught.value) == "invalid_module_metadata"
