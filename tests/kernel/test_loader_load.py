"""load(): from an id to a mount function, in the order of preference, and what is kept."""

import importlib.metadata
import inspect
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ModuleCoordinator
from amplifier_core.loader import ModuleLoader, ModuleValidationError, module_failure_reason
from helpers_loader import (
    clean_imports,  # noqa: F401
    distribution,
    install,
    module_dir,
    on_path,
    origin_of,
    package,
    probe_of,
    tool_code,
)


async def reason_of_failure(loader: ModuleLoader, module_id: str, **options: Any) -> str:
    with pytest.raises((ValueError, ModuleValidationError)) as caught:
        await loader.load(module_id, **options)
    return module_failure_reason(caught.value)


# -- order of preference --------------------------------------------------------------


async def test_places_are_tried_in_order_of_preference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One after the other, the preferred place is taken away."""
    source = package(tmp_path / "source" / "from_source", tool_code("source"))
    install(tmp_path / "site", "tool-probe", tool_code("installed"), dist="acme")
    for place in ("given", "second", "listed", "also"):
        path = tmp_path / place / "amplifier-module-tool-probe"
        package(path / f"amplifier_module_{place}", tool_code(place))
    conventional = on_path(tmp_path / "lib") / "amplifier_module_tool_probe"
    package(conventional, tool_code("conventional"))
    listed = [str(tmp_path / "listed"), str(tmp_path / "also")]
    monkeypatch.setenv("AMPLIFIER_MODULES", os.pathsep.join(listed))
    paths = [tmp_path / "given", tmp_path / "second"]

    async def origin(**options: Any) -> str:
        return await origin_of(ModuleLoader(search_paths=paths), "tool-probe", **options)

    assert await origin(source_hint=source) == "source"
    assert await origin() == "installed"
    sys.path.remove(str(tmp_path / "site"))
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **query: [])
    for place in ("given", "second", "listed", "also"):
        assert await origin() == place
        (tmp_path / place / "amplifier-module-tool-probe").rename(tmp_path / place / "gone")
    assert await origin() == "conventional"


async def test_a_third_party_is_loaded_instead_of_a_bundled_module(tmp_path: Path) -> None:
    site = on_path(tmp_path / "site")
    distribution(site, "bundle", {"tool-probe": "amplifier_modules.probe:mount"})
    install(site, "tool-probe", tool_code("third party"))

    assert await origin_of(ModuleLoader(), "tool-probe") == "third party"


async def test_an_id_offered_by_two_third_parties_is_refused_naming_both(tmp_path: Path) -> None:
    install(tmp_path / "site", "tool-twice", dist="acme-one")
    install(tmp_path / "site", "tool-twice", dist="acme-two")

    with pytest.raises(ValueError, match="'acme-one' and 'acme-two'") as caught:
        await ModuleLoader().load("tool-twice")

    assert module_failure_reason(caught.value) == "invalid_entry_point"


async def test_a_source_settles_which_of_two_is_meant(tmp_path: Path) -> None:
    install(tmp_path / "site", "tool-twice", dist="acme-one")
    install(tmp_path / "site", "tool-twice", dist="acme-two")
    source = tmp_path / "site" / "acme_two"

    assert await origin_of(ModuleLoader(), "tool-twice", source_hint=source) == "acme-two"


# -- entry points that do not load ----------------------------------------------------


async def test_an_entry_point_that_fails_to_import_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    install(tmp_path / "site", "tool-broken", "import no_such_library", dist="acme")

    with pytest.raises(ValueError, match=r"'tool-broken'.*entry point.*no_such_library") as caught:
        await ModuleLoader().load("tool-broken")

    assert module_failure_reason(caught.value) == "invalid_entry_point"
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert any(each.exc_info for each in caplog.records if each.levelno == logging.ERROR)


async def test_an_entry_point_without_its_function_is_an_invalid_one(tmp_path: Path) -> None:
    package(on_path(tmp_path / "site") / "acme", "")
    distribution(tmp_path / "site", "acme", {"tool-x": "acme:mount"})

    assert await reason_of_failure(ModuleLoader(), "tool-x") == "invalid_entry_point"


async def test_the_next_place_serves_when_an_entry_point_fails_to_import(tmp_path: Path) -> None:
    install(tmp_path / "site", "tool-probe", "raise RuntimeError('broken')")
    module_dir(tmp_path / "mods", "tool-probe", tool_code("directory"))

    loader = ModuleLoader(search_paths=[tmp_path / "mods"])

    assert await origin_of(loader, "tool-probe") == "directory"


async def test_an_entry_point_that_names_a_module_is_no_mount_function(tmp_path: Path) -> None:
    package(on_path(tmp_path / "site") / "acme", tool_code())
    distribution(tmp_path / "site", "acme", {"tool-x": "acme"})

    with pytest.raises(ModuleValidationError, match="mount is module, not a function"):
        await ModuleLoader().load("tool-x")


# -- conventional packages ------------------------------------------------------------


async def test_a_conventional_package_that_fails_to_import_is_not_reported_as_missing(
    tmp_path: Path,
) -> None:
    code = "import no_such_library"
    package(on_path(tmp_path / "lib") / "amplifier_module_tool_broken", code)

    with pytest.raises(ValueError, match=r"failed to load.*no_such_library") as caught:
        await ModuleLoader().load("tool-broken")

    assert module_failure_reason(caught.value) == "invalid_entry_point"


async def test_a_conventional_package_without_mount_is_refused(tmp_path: Path) -> None:
    package(on_path(tmp_path / "lib") / "amplifier_module_tool_bare", "")

    assert await reason_of_failure(ModuleLoader(), "tool-bare") == "invalid_entry_point"


@pytest.mark.parametrize("module_id", ["tool.x", "../tool", "", "tool x", "/"])
async def test_an_id_that_can_be_no_module_is_not_found(module_id: str) -> None:
    assert await reason_of_failure(ModuleLoader(), module_id) in ("missing_source", "unknown")


# -- not found ------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["tool-prboe", "probe-tool"])
async def test_a_missing_module_is_answered_with_the_nearest_known_id(
    tmp_path: Path, wrong: str
) -> None:
    install(tmp_path / "site", "tool-probe")

    with pytest.raises(ValueError, match=f"'{wrong}' was not found") as caught:
        await ModuleLoader().load(wrong)

    assert "Did you mean 'tool-probe'?" in str(caught.value)
    assert module_failure_reason(caught.value) == "missing_source"


async def test_the_nearest_id_may_be_that_of_a_directory(tmp_path: Path) -> None:
    module_dir(tmp_path, "zygote-probe")

    with pytest.raises(ValueError, match="Did you mean 'zygote-probe'"):
        await ModuleLoader(search_paths=[tmp_path]).load("zygote-prope")


async def test_without_a_near_id_the_answer_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="Install it, or give the entry a `source`"):
        await ModuleLoader().load("qqqqqqqqqqqqqqq")


async def test_a_source_that_needs_a_resolver_is_named_when_there_is_none(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hint = "git+https://acme.test/tool@main"

    with pytest.raises(ValueError, match="needs a module source resolver") as caught:
        await ModuleLoader().load("tool-absent", source_hint=hint)

    assert hint in str(caught.value)
    assert any(hint in each.getMessage() for each in caplog.records)


async def test_a_source_that_needs_a_resolver_leaves_an_installed_module_usable(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    install(tmp_path / "site", "tool-probe", dist="acme")
    hint = "git+https://acme.test/tool@main"

    assert await origin_of(ModuleLoader(), "tool-probe", source_hint=hint) == "acme"
    assert [each.levelname for each in caplog.records] == ["WARNING"]


async def test_a_failure_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValueError, match="tool-absent"):
        await ModuleLoader().load("tool-absent")

    [record] = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert record.name == "amplifier_core.loader"
    assert record.getMessage().startswith("Failed to load module 'tool-absent': ")


# -- what load gives ------------------------------------------------------------------


async def test_loading_does_not_mount(tmp_path: Path) -> None:
    code = "ran = []\n" + tool_code(extra="mount_once = mount") + "async def mount(c, config):\n"
    code += "    ran.append(config)\n    await mount_once(c, config)\n"
    install(tmp_path / "site", "tool-installed", code, dist="acme")
    module_dir(tmp_path / "mods", "tool-found", code)
    loader = ModuleLoader(search_paths=[tmp_path / "mods"])

    for module_id, name in (
        ("tool-installed", "acme"),
        ("tool-found", "amplifier_module_tool_found"),
    ):
        mount = await loader.load(module_id, {"n": 1})
        ran = sys.modules[name].ran  # type: ignore[attr-defined]
        assert ran == []
        await mount(ModuleCoordinator())
        assert ran == [{"n": 1}]


@pytest.mark.parametrize("by", ["entry point", "directory", "source"])
async def test_every_load_binds_its_own_config(tmp_path: Path, by: str) -> None:
    options: dict[str, Any] = {}
    if by == "entry point":
        install(tmp_path / "site", "tool-probe")
    else:
        path = module_dir(tmp_path, "tool-probe")
        options = {"source_hint": path} if by == "source" else {}
    loader = ModuleLoader(search_paths=[tmp_path])

    first = await loader.load("tool-probe", {"n": 1}, **options)
    second = await loader.load("tool-probe", {"n": 2}, **options)
    bare = await loader.load("tool-probe", **options)

    assert [(await probe_of(mount)).config for mount in (second, first, bare)] == [
        {"n": 2},
        {"n": 1},
        {},
    ]


async def test_a_module_is_imported_once_however_often_it_is_loaded(tmp_path: Path) -> None:
    code = "import sys\nsys.imported_probes = getattr(sys, 'imported_probes', 0) + 1\n"
    module_dir(tmp_path, "tool-probe", code + tool_code())
    try:
        for loader in (ModuleLoader(search_paths=[tmp_path]) for _ in range(3)):
            for _ in range(2):
                await loader.load("tool-probe")
        assert sys.imported_probes == 1  # type: ignore[attr-defined]
    finally:
        del sys.imported_probes  # type: ignore[attr-defined]


async def test_a_host_may_offer_a_mount_function_of_its_own() -> None:
    async def mount(coordinator: Any, config: dict[str, Any]) -> None:
        coordinator.register_capability("config", config)

    loader, coordinator = ModuleLoader(), ModuleCoordinator()
    loader._loaded_modules["tool-own"] = mount

    await (await loader.load("tool-own", {"n": 1}))(coordinator)

    assert coordinator.get_capability("config") == {"n": 1}


async def test_a_callable_object_may_be_a_mount_function(tmp_path: Path) -> None:
    """Whether it is async shows when it is called."""
    code = """
    class Mount:
        def __call__(self, coordinator, config):
            coordinator.register_capability("config", config)

    mount = Mount()
    """
    install(tmp_path / "site", "tool-odd", code)
    coordinator = ModuleCoordinator()

    await (await ModuleLoader().load("tool-odd", {"n": 1}))(coordinator)

    assert coordinator.get_capability("config") == {"n": 1}


# -- initialize -----------------------------------------------------------------------


async def test_initialize_mounts_and_gives_the_cleanup(tmp_path: Path) -> None:
    extra = """
    mount_probe = mount

    async def mount(coordinator, config):
        await mount_probe(coordinator, config)
        return lambda: "cleaned"
    """
    module_dir(tmp_path, "tool-probe", tool_code(extra=extra))
    loader, coordinator = ModuleLoader(search_paths=[tmp_path]), ModuleCoordinator()

    cleanup = await loader.initialize(await loader.load("tool-probe"), coordinator)

    assert "probe" in coordinator.get_all("tools")
    assert cleanup() == "cleaned"


async def test_initialize_logs_a_failure_and_leaves_nothing_mounted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    extra = """
    mount_probe = mount

    async def mount(coordinator, config):
        await mount_probe(coordinator, config)
        coordinator.register_capability("half", True)
        raise LookupError("no such host")
    """
    module_dir(tmp_path, "tool-probe", tool_code(extra=extra))
    loader, coordinator = ModuleLoader(search_paths=[tmp_path]), ModuleCoordinator()
    mount = await loader.load("tool-probe")

    with pytest.raises(LookupError, match="no such host"):
        await loader.initialize(mount, coordinator)

    assert coordinator.get_all("tools") == {}
    assert not coordinator.check_capability("half")
    assert "no such host" in caplog.text


# -- one loader for several sessions --------------------------------------------------


def plan(tmp_path: Path, answer: str) -> dict[str, Any]:
    loop = """
    class Loop:
        async def execute(self, prompt, context, providers, tools, hooks, **more):
            return await tools["probe"].execute({}) + tools["probe"].config["suffix"]

    async def mount(coordinator, config):
        await coordinator.mount("orchestrator", Loop())
    """
    memory = """
    class Memory:
        async def add_message(self, message): ...
        async def get_messages(self): return []

    async def mount(coordinator, config):
        await coordinator.mount("context", Memory())
    """
    if not (tmp_path / "amplifier-module-loop-test").exists():
        module_dir(tmp_path, "loop-test", inspect.cleandoc(loop.replace("{{}}", "{}")))
        module_dir(tmp_path, "context-test", memory)
        module_dir(tmp_path, "tool-probe", tool_code("probed"))
    return {
        "session": {"orchestrator": "loop-test", "context": "context-test"},
        "tools": [{"module": "tool-probe", "config": {"suffix": answer}}],
    }


async def test_two_sessions_may_share_a_loader(tmp_path: Path) -> None:
    loader = ModuleLoader(search_paths=[tmp_path])
    async with AmplifierSession(plan(tmp_path, " one"), loader=loader) as first:
        async with AmplifierSession(plan(tmp_path, " two"), loader=loader) as second:
            assert await second.execute("go") == "probed two"
        assert await first.execute("go") == "probed one"
    async with AmplifierSession(plan(tmp_path, " three"), loader=loader) as third:
        assert await third.execute("go") == "probed three"


# -- sys.path -------------------------------------------------------------------------


async def test_cleanup_takes_back_what_the_loader_added_to_sys_path(tmp_path: Path) -> None:
    before = list(sys.path)
    loader = ModuleLoader(search_paths=[tmp_path])
    paths = [str(module_dir(tmp_path, f"tool-{name}")) for name in ("a", "b", "c")]
    for name in ("a", "b", "c"):
        await loader.load(f"tool-{name}")
    assert sys.path == [*reversed(paths), *before]
    sys.path.remove(paths[1])

    loader.cleanup()
    assert sys.path == before
    loader.cleanup()
    assert sys.path == before


async def test_cleanup_leaves_an_entry_that_was_there_before(tmp_path: Path) -> None:
    path = str(on_path(module_dir(tmp_path, "tool-probe")))
    loader = ModuleLoader(search_paths=[tmp_path])
    await loader.load("tool-probe")

    loader.cleanup()

    assert sys.path.count(path) == 1


async def test_a_module_may_import_what_lies_beside_its_package_later(tmp_path: Path) -> None:
    extra = """
    class Late(Probe):
        async def execute(self, input):
            import beside_the_probe
            return beside_the_probe.word

    async def mount(coordinator, config):
        await coordinator.mount("tools", Late(config))
    """
    path = module_dir(tmp_path, "tool-probe", tool_code(extra=extra))
    (path / "beside_the_probe.py").write_text("word = 'found'")
    loader = ModuleLoader(search_paths=[tmp_path])

    probe = await probe_of(await loader.load("tool-probe"))

    assert await probe.execute({}) == "found"


async def test_a_module_that_fails_to_load_leaves_sys_path_alone(tmp_path: Path) -> None:
    before = list(sys.path)
    module_dir(tmp_path, "tool-raises", "raise RuntimeError('no')")
    module_dir(tmp_path, "tool-bare", "")
    loader = ModuleLoader(search_paths=[tmp_path])

    assert await reason_of_failure(loader, "tool-raises") == "validation_failed"
    assert await reason_of_failure(loader, "tool-bare") == "invalid_entry_point"

    assert sys.path == before


async def test_a_package_that_is_the_source_does_not_expose_its_parts(tmp_path: Path) -> None:
    """Its folder on sys.path would let its `json.py` replace everybody's."""
    source = package(tmp_path / "lib" / "my_probe", tool_code(), json="raise SystemExit")
    before = list(sys.path)

    await ModuleLoader().load("tool-probe", source_hint=source)

    assert sys.path == [str(tmp_path / "lib"), *before]


# -- what loading costs those who do not load ------------------------------------------


def test_the_tools_of_loading_are_imported_by_the_first_load() -> None:
    code = "import sys, amplifier_core; print(*sys.modules)"
    # Measuring coverage imports some of them itself.
    plain = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE")}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=plain,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    imported = run.stdout.split()
    assert "amplifier_core.loader" in imported
    late = {"amplifier_core.transports", "importlib.metadata", "tomllib", "difflib"}
    assert late.isdisjoint(imported)
