"""Finding modules without running them: names, layouts, sources, installed distributions."""

import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.module_sources import find_directory, local_path, module_directories
from amplifier_core.transports import entry_points, guess_type
from amplifier_core.transports.python import declared_type, find_package_dir, package_name
from amplifier_core.utils.spelling import did_you_mean
from helpers_loader import (
    MARKER,
    clean_imports,  # noqa: F401
    distribution,
    install,
    on_path,
    package,
)
from hypothesis import given
from hypothesis import strategies as st

# -- what a name says -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("module_id", "kind"),
    [
        ("loop-basic", "orchestrator"),
        ("my-orchestrator", "orchestrator"),
        ("provider-x", "provider"),
        ("tool-provider", "provider"),
        ("TOOL-bash", "tool"),
        ("context-tool", "tool"),
        ("hooks-logging", "hook"),
        ("context-simple", "context"),
        ("something", "tool"),
        ("", "tool"),
    ],
)
def test_an_id_suggests_a_type(module_id: str, kind: str) -> None:
    assert guess_type(module_id) == kind


def test_a_package_is_named_after_the_id() -> None:
    assert package_name("tool-web-fetch") == "amplifier_module_tool_web_fetch"


def test_the_nearest_known_name_is_offered() -> None:
    assert did_you_mean("tool-bsah", ["loop", "tool-bash"]) == "Did you mean 'tool-bash'?"
    assert did_you_mean("zzz", ["loop", "tool-bash"], "Look again.") == "Look again."


# -- where a package lies -------------------------------------------------------------


def test_a_directory_that_is_a_package_is_the_package(tmp_path: Path) -> None:
    package(tmp_path / "amplifier_module_inner", "")
    package(tmp_path, "")

    assert find_package_dir("inner", tmp_path) == tmp_path


@pytest.mark.parametrize("root", ["", "src"])
def test_the_package_of_the_id_comes_before_others(tmp_path: Path, root: str) -> None:
    package(tmp_path / root / "amplifier_module_a", "")
    expected = package(tmp_path / root / "amplifier_module_tool_x", "")

    assert find_package_dir("tool-x", tmp_path) == expected


def test_any_conventional_package_serves_when_none_is_named_after_the_id(tmp_path: Path) -> None:
    package(tmp_path / "amplifier_module_b", "")
    (tmp_path / "amplifier_module_0_empty").mkdir()
    first = package(tmp_path / "amplifier_module_a", "")

    assert find_package_dir("tool-x", tmp_path) == first


def test_a_directory_without_a_package_has_none(tmp_path: Path) -> None:
    package(tmp_path / "helpers", "")

    assert find_package_dir("tool-x", tmp_path) is None
    assert find_package_dir("tool-x", tmp_path / "missing") is None


# -- what a package declares ----------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "declared"),
    [
        (f'{MARKER} = "hook"', "hook"),
        (f'{MARKER}: str = "hook"', "hook"),
        (f'other = {MARKER} = "hook"', "hook"),
        (f'{MARKER} = "hook"\n{MARKER} = "tool"', "tool"),
        (f'{MARKER} = ["hook"]', ["hook"]),
        (f"{MARKER}: str", None),
        (f"{MARKER} = compute()", None),
        (f'holder.{MARKER} = "hook"', None),
        (f'def f():\n    {MARKER} = "hook"', None),
        ("x = 1", None),
        ("", None),
        ("def broken(:", None),
        ("\0", None),
    ],
)
def test_a_type_is_read_from_the_source(tmp_path: Path, code: str, declared: Any) -> None:
    assert declared_type(package(tmp_path / "p", code)) == declared


def test_a_package_without_a_source_file_declares_nothing(tmp_path: Path) -> None:
    assert declared_type(tmp_path) is None


def test_reading_the_type_runs_no_code(tmp_path: Path) -> None:
    code = f'raise SystemExit("ran")\n{MARKER} = "context"\n'

    assert declared_type(package(tmp_path / "p", code)) == "context"


# -- what a source means --------------------------------------------------------------


@pytest.mark.parametrize(
    ("hint", "path"),
    [
        ("/srv/mod", "/srv/mod"),
        ("./mod", "mod"),
        (".", "."),
        ("..", ".."),
        ("../mod", "../mod"),
        (".hidden/mod", ".hidden/mod"),
        (Path("mod"), "mod"),
        ("file:///srv/mod", "/srv/mod"),
        ("file://localhost/srv/mod", "/srv/mod"),
        ("file:///srv/two%20words", "/srv/two words"),
        ("file://./mod", "mod"),
        ("file:///C:/mods/x", "C:/mods/x"),
        ("C:/mods/x", "C:/mods/x"),
        ("C:\\mods\\x", "C:\\mods\\x"),
        (".\\mods\\x", ".\\mods\\x"),
        ("\\\\server\\share\\x", "\\\\server\\share\\x"),
    ],
)
def test_a_source_that_looks_like_a_path_is_one(hint: Any, path: str) -> None:
    assert local_path(hint) == Path(path)


@pytest.mark.parametrize(
    "hint",
    [
        None,
        "",
        "git+https://github.com/acme/tool@main",
        "https://acme.test/tool.zip",
        "amplifier-module-tool-x",
        "mods/x",
        {"type": "file", "path": "/srv/mod"},
        7,
    ],
)
def test_other_sources_need_a_resolver(hint: Any) -> None:
    assert local_path(hint) is None


@pytest.mark.parametrize("hint", ["~/mods/x", Path("~/mods/x"), "file://~/mods/x"])
def test_a_tilde_is_the_home_directory(hint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/houses/ada")
    monkeypatch.setenv("USERPROFILE", "/houses/ada")

    assert local_path(hint) == Path("/houses/ada/mods/x")


def test_the_home_of_nobody_stays_as_it_is_written() -> None:
    assert local_path("~no-such-user-0/x") == Path("~no-such-user-0/x")


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/\\:\0"), min_size=1).filter(
    lambda name: name not in (".", "..")
)


@pytest.mark.skipif(os.name == "nt", reason="URLs of Windows paths carry a drive")
@given(st.lists(NAMES, min_size=1, max_size=4))
def test_a_path_survives_being_written_as_text_or_url(names: list[str]) -> None:
    path = Path("/", *names)

    assert local_path(str(path)) == path
    assert local_path(path.as_uri()) == path
    assert local_path(path) == path


# -- directories ----------------------------------------------------------------------


def test_directories_come_by_root_and_then_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("given/b", "given/a", "listed/a", "also/c"):
        root, module_id = name.split("/")
        (tmp_path / root / f"amplifier-module-{module_id}").mkdir(parents=True)
    (tmp_path / "given" / "amplifier-module-file").write_text("")
    (tmp_path / "given" / "amplifier-module-").mkdir()
    (tmp_path / "given" / "other").mkdir()
    listed = os.pathsep.join([str(tmp_path / "listed"), "", str(tmp_path / "also")])
    monkeypatch.setenv("AMPLIFIER_MODULES", listed)

    found = [
        (module_id, path.parent.name)
        for module_id, path in module_directories([tmp_path / "given"])
    ]

    assert found == [("a", "given"), ("b", "given"), ("a", "listed"), ("c", "also")]
    assert find_directory("a", None) == tmp_path / "listed" / "amplifier-module-a"
    assert find_directory("b", None) is None


def test_a_listed_directory_may_lie_at_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("AMPLIFIER_MODULES", "~/mods")
    (tmp_path / "mods" / "amplifier-module-x").mkdir(parents=True)

    assert [module_id for module_id, _ in module_directories(None)] == ["x"]


# -- installed distributions ----------------------------------------------------------


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for every scan of the installed distributions."""
    counted: list[str] = []
    reader = importlib.metadata.entry_points

    def counting(**query: Any) -> Any:
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
    assert str(tmp_path / "site") in sys.path
