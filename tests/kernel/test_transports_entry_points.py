"""Installed modules: one scan of the distributions, and who wins where several offer an id."""

import importlib.metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from amplifier_core.loader import ModuleLoader
from amplifier_core.transports import entry_points
from helpers_loader import (
    clean_imports,  # noqa: F401
    distribution,
    install,
    on_path,
)


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for every scan for modules; other libraries look for plugins of their own."""
    counted: list[str] = []
    reader = importlib.metadata.entry_points

    def counting(**query: Any) -> Any:
        if query["group"] == entry_points.ENTRY_POINT_GROUP:
            counted.append(query["group"])
        return reader(**query)

    monkeypatch.setattr(importlib.metadata, "entry_points", counting)
    return counted


def test_distributions_are_scanned_once(tmp_path: Path, scans: list[str]) -> None:
    install(tmp_path / "site", "tool-probe")

    for _ in range(3):
        assert entry_points.installed.find("tool-probe") is not None
        assert "tool-probe" in entry_points.installed.table()
        assert entry_points.installed.find("tool-missing") is None

    assert scans == ["amplifier.modules"]


def test_a_miss_scans_again_when_sys_path_has_grown(tmp_path: Path, scans: list[str]) -> None:
    install(tmp_path / "site", "tool-probe")
    assert entry_points.installed.find("tool-late") is None

    install(tmp_path / "late", "tool-late")
    assert entry_points.installed.find("tool-probe") is not None
    assert len(scans) == 1, "a module that is known needs no scan"
    assert entry_points.installed.find("tool-late") is not None
    assert entry_points.installed.find("tool-never") is None

    assert len(scans) == 2


def test_the_table_follows_sys_path(tmp_path: Path) -> None:
    assert "tool-late" not in entry_points.installed.table()

    install(tmp_path / "late", "tool-late")

    assert "tool-late" in entry_points.installed.table()


def test_a_replaced_reader_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", "tool-probe")
    assert entry_points.installed.find("tool-probe") is not None

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **query: [])

    assert entry_points.installed.find("tool-probe") is None
    assert entry_points.installed.table() == {}


def test_a_failed_scan_is_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reader = importlib.metadata.entry_points

    def failing(**query: Any) -> Any:
        raise OSError("disk is gone")

    monkeypatch.setattr(importlib.metadata, "entry_points", failing)
    with pytest.raises(OSError, match="disk is gone"):
        entry_points.installed.find("tool-probe")
    monkeypatch.setattr(importlib.metadata, "entry_points", reader)
    install(tmp_path / "site", "tool-probe")

    assert entry_points.installed.find("tool-probe") is not None


def test_a_third_party_beats_a_bundled_module(tmp_path: Path) -> None:
    site = on_path(tmp_path / "site")
    distribution(site, "amplifier-bundle", {"tool-probe": "amplifier_modules.probe:mount"})
    distribution(site, "acme", {"tool-probe": "acme_probe:mount"})

    point = entry_points.installed.find("tool-probe")

    assert point is not None
    assert (point.value, entry_points.owner(point)) == ("acme_probe:mount", "acme")


def test_a_bundled_module_serves_when_nobody_replaces_it(tmp_path: Path) -> None:
    value = "amplifier_modules.probe:mount"
    distribution(on_path(tmp_path / "site"), "bundle", {"tool-probe": value})

    point = entry_points.installed.find("tool-probe")

    assert point is not None
    assert point.value == value


def test_two_third_parties_with_one_id_are_named(tmp_path: Path) -> None:
    site = on_path(tmp_path / "site")
    distribution(site, "zeta", {"tool-probe": "zeta:mount"})
    distribution(site, "alpha", {"tool-probe": "alpha:mount"})

    with pytest.raises(entry_points.AmbiguousModule, match="'alpha' and 'zeta'") as caught:
        entry_points.installed.find("tool-probe")

    assert "`source`" in str(caught.value)


def test_an_entry_point_without_a_distribution_is_owned_by_its_target() -> None:
    point = importlib.metadata.EntryPoint("tool-x", "acme:mount", entry_points.ENTRY_POINT_GROUP)

    assert entry_points.owner(point) == "acme:mount"
    assert entry_points.version_of(point) == "1.0.0"


def test_an_entry_point_knows_the_version_of_its_distribution(tmp_path: Path) -> None:
    install(tmp_path / "site", "tool-probe")

    point = entry_points.installed.find("tool-probe")

    assert point is not None
    assert entry_points.version_of(point) == "3.2.1"


def test_the_winner_over_a_bundled_module_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "amplifier_core.loader")
    site = on_path(tmp_path / "site")
    distribution(site, "bundle", {"tool-probe": "amplifier_modules.probe:mount"})
    distribution(site, "acme", {"tool-probe": "acme_probe:mount"})

    entry_points.installed.find("tool-probe")

    assert caplog.messages == ["Module 'tool-probe' is taken from 'acme', not the bundled one"]


def test_a_point_of_another_index_needs_no_more_than_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point: Any = SimpleNamespace(name="tool-own")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **query: [point])

    assert entry_points.installed.find("tool-own") is point
    assert entry_points.owner(point) == "tool-own"
    assert entry_points.version_of(point) == "1.0.0"


async def test_loaders_share_one_scan(tmp_path: Path, scans: list[str]) -> None:
    for name in ("a", "b", "c"):
        install(tmp_path / "site", f"tool-{name}")

    for loader in (ModuleLoader() for _ in range(3)):
        for name in ("a", "b", "c"):
            await loader.load(f"tool-{name}")
        await loader.discover()

    assert scans == ["amplifier.modules"]
