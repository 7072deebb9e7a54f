"""discover(): what there is to load, without running any of it."""

import logging
import os
from pathlib import Path

import pytest
from amplifier_core.loader import TYPE_TO_MOUNT_POINT, ModuleLoader
from amplifier_core.models import ModuleInfo
from helpers_loader import (
    MARKER,
    clean_imports,  # noqa: F401
    distribution,
    install,
    module_dir,
    on_path,
    package,
)


async def found(loader: ModuleLoader) -> dict[str, ModuleInfo]:
    return {info.id: info for info in await loader.discover()}


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]


async def test_an_installed_module_is_described_from_its_entry_point(tmp_path: Path) -> None:
    install(tmp_path / "site", "provider-acme-cloud")

    info = (await found(ModuleLoader()))["provider-acme-cloud"]

    assert info.model_dump() == {
        "id": "provider-acme-cloud",
        "name": "Provider Acme Cloud",
        "version": "3.2.1",
        "type": "provider",
        "mount_point": "providers",
        "description": "Module: provider-acme-cloud",
        "config_schema": None,
    }


async def test_a_directory_is_described_from_its_declaration(tmp_path: Path) -> None:
    module_dir(tmp_path, "tool-odd", f'{MARKER} = "resolver"')

    info = (await found(ModuleLoader(search_paths=[tmp_path])))["tool-odd"]

    assert (info.type, info.mount_point) == ("resolver", "module-source-resolver")
    assert (info.name, info.version) == ("Tool Odd", "1.0.0")


async def test_every_module_that_load_finds_by_id_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", "tool-installed")
    module_dir(tmp_path / "given", "tool-given")
    module_dir(tmp_path / "one", "tool-one")
    module_dir(tmp_path / "two", "tool-two")
    listed = os.pathsep.join([str(tmp_path / "one"), str(tmp_path / "two")])
    monkeypatch.setenv("AMPLIFIER_MODULES", listed)
    loader = ModuleLoader(search_paths=[tmp_path / "given"])

    infos = await found(loader)

    ours = ["tool-installed", "tool-given", "tool-one", "tool-two"]
    assert [each for each in infos if each in ours] == ours
    for module_id in ours:
        assert callable(await loader.load(module_id))


async def test_an_empty_list_of_search_paths_leaves_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module_dir(tmp_path, "tool-listed")
    monkeypatch.setenv("AMPLIFIER_MODULES", str(tmp_path))

    assert "tool-listed" in await found(ModuleLoader(search_paths=[]))


async def test_a_module_offered_twice_is_listed_once_as_load_would_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", "tool-probe")
    module_dir(tmp_path / "given", "tool-probe", f'{MARKER} = "hook"')
    module_dir(tmp_path / "given", "tool-other", f'{MARKER} = "hook"')
    module_dir(tmp_path / "listed", "tool-other", f'{MARKER} = "context"')
    monkeypatch.setenv("AMPLIFIER_MODULES", str(tmp_path / "listed"))

    infos = await ModuleLoader(search_paths=[tmp_path / "given"]).discover()

    listed = [(info.id, info.type, info.version) for info in infos if "tool-" in info.id]
    assert listed.count(("tool-probe", "tool", "3.2.1")) == 1
    assert listed.count(("tool-other", "hook", "1.0.0")) == 1
    assert len([each for each in listed if each[0] in ("tool-probe", "tool-other")]) == 2


async def test_the_version_is_that_of_the_distribution_that_wins(tmp_path: Path) -> None:
    site = on_path(tmp_path / "site")
    bundled = {"tool-probe": "amplifier_modules.probe:mount"}
    distribution(site, "a-bundle", bundled, version="1.1")
    distribution(site, "the-acme", {"tool-probe": "acme:mount"}, version="7.7")

    assert (await found(ModuleLoader()))["tool-probe"].version == "7.7"


async def test_a_module_that_cannot_be_imported_is_listed_all_the_same(tmp_path: Path) -> None:
    site = on_path(tmp_path / "site")
    package(site / "broken", "raise SystemExit('ran')")
    distribution(site, "broken", {"tool-broken": "broken:mount"})
    distribution(site, "gone", {"tool-gone": "no_such_package:mount"})
    module_dir(tmp_path / "mods", "hook-broken", "raise SystemExit('ran')")
    module_dir(tmp_path / "mods", "tool-syntax", "def (")
    (tmp_path / "mods" / "amplifier-module-context-empty").mkdir()

    infos = await found(ModuleLoader(search_paths=[tmp_path / "mods"]))

    kinds = {"tool-broken": "tool", "tool-gone": "tool", "hook-broken": "hook"}
    kinds |= {"tool-syntax": "tool", "context-empty": "context"}
    assert {module_id: infos[module_id].type for module_id in kinds} == kinds


@pytest.mark.parametrize("marker", ['"gadget"', '["tool"]', "True", '"Tool"'])
async def test_a_module_of_unknown_type_is_left_out_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, marker: str
) -> None:
    module_dir(tmp_path, "tool-odd", f"{MARKER} = {marker}")
    module_dir(tmp_path, "tool-plain")

    infos = await found(ModuleLoader(search_paths=[tmp_path]))

    assert "tool-plain" in infos
    assert "tool-odd" not in infos
    [message] = errors(caplog)
    assert "'tool-odd'" in message
    assert ", ".join(TYPE_TO_MOUNT_POINT) in message


async def test_a_module_that_is_left_out_hides_what_load_would_not_reach(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    module_dir(tmp_path / "first", "tool-odd", f'{MARKER} = "gadget"')
    module_dir(tmp_path / "second", "tool-odd")
    loader = ModuleLoader(search_paths=[tmp_path / "first", tmp_path / "second"])

    assert "tool-odd" not in await found(loader)
    assert len(errors(caplog)) == 1


@pytest.mark.parametrize("marker", ['""', "None", "make_up()"])
async def test_without_a_declared_type_the_id_decides(tmp_path: Path, marker: str) -> None:
    module_dir(tmp_path, "context-x", f"{MARKER} = {marker}")

    assert (await found(ModuleLoader(search_paths=[tmp_path])))["context-x"].type == "context"


async def test_an_id_offered_by_two_third_parties_is_left_out_and_both_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    install(tmp_path / "site", "tool-twice", dist="acme-one")
    install(tmp_path / "site", "tool-twice", dist="acme-two")
    module_dir(tmp_path / "mods", "tool-twice")

    infos = await found(ModuleLoader(search_paths=[tmp_path / "mods"]))

    assert "tool-twice" not in infos
    [message] = errors(caplog)
    assert "'acme-one' and 'acme-two'" in message


async def test_a_module_of_another_language_has_the_type_of_its_manifest(tmp_path: Path) -> None:
    path = tmp_path / "amplifier-module-weather"
    path.mkdir()
    (path / "amplifier.toml").write_text('[module]\ntransport = "grpc"\ntype = "provider"\n')

    assert (await found(ModuleLoader(search_paths=[tmp_path])))["weather"].type == "provider"


async def test_a_package_knows_its_type_better_than_its_manifest(tmp_path: Path) -> None:
    path = module_dir(tmp_path, "weather", f'{MARKER} = "hook"')
    (path / "amplifier.toml").write_text('[module]\ntype = "provider"\n')

    assert (await found(ModuleLoader(search_paths=[tmp_path])))["weather"].type == "hook"


async def test_a_module_with_a_broken_manifest_is_left_out_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = module_dir(tmp_path, "tool-odd")
    (path / "amplifier.toml").write_text("module = [")

    assert "tool-odd" not in await found(ModuleLoader(search_paths=[tmp_path]))
    [message] = errors(caplog)
    assert "amplifier.toml" in message


async def test_a_missing_search_path_warns_and_the_others_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module_dir(tmp_path / "mods", "tool-probe")
    monkeypatch.setenv("AMPLIFIER_MODULES", str(tmp_path / "nowhere-listed"))
    paths = [tmp_path / "nowhere-given", tmp_path / "mods"]

    infos = await found(ModuleLoader(search_paths=paths))

    assert "tool-probe" in infos
    warned = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert [Path(message.split(": ")[1]).name for message in warned] == [
        "nowhere-given",
        "nowhere-listed",
    ]


async def test_discovering_again_sees_what_was_added(tmp_path: Path) -> None:
    loader = ModuleLoader(search_paths=[tmp_path / "mods"])
    (tmp_path / "mods").mkdir()
    before = await found(loader)

    module_dir(tmp_path / "mods", "tool-new")
    install(tmp_path / "site", "tool-late")

    assert (await found(loader)).keys() - before.keys() == {"tool-new", "tool-late"}


async def test_search_paths_may_be_strings(tmp_path: Path) -> None:
    module_dir(tmp_path, "tool-probe")
    loader = ModuleLoader(search_paths=[str(tmp_path)])  # type: ignore[list-item]

    assert "tool-probe" in await found(loader)


async def test_an_approval_module_has_no_mount_point_and_is_not_listed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    module_dir(tmp_path, "gate", f'{MARKER} = "approval"')
    loader = ModuleLoader(search_paths=[tmp_path])

    assert "gate" not in await found(loader)
    assert errors(caplog) == []
