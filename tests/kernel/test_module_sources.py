"""Where module code comes from: what a source means, directories, and the contracts of apps."""

import os
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import module_sources
from amplifier_core.module_sources import (
    FileSystemModuleSource,
    ModuleSource,
    ModuleSourceResolver,
    find_directory,
    local_path,
    module_directories,
)
from hypothesis import given
from hypothesis import strategies as st

# -- contracts ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ModuleNotFoundError", "ModuleLoadError"])
def test_the_errors_are_not_those_of_python_imports(name: str) -> None:
    error = getattr(module_sources, name)

    assert issubclass(error, Exception)
    assert not issubclass(error, ImportError)


def test_a_source_must_say_where_its_module_is(tmp_path: Path) -> None:
    class Silent(ModuleSource):
        pass

    class Folder(ModuleSource):
        def resolve(self) -> Path:
            return tmp_path

    with pytest.raises(TypeError, match="resolve"):
        Silent()  # type: ignore[abstract]
    assert Folder().resolve() == tmp_path


def test_a_resolver_is_recognised_by_its_shape_and_by_type_checkers_only() -> None:
    with pytest.raises(TypeError):
        isinstance(object(), ModuleSourceResolver)  # type: ignore[misc]


def test_a_list_of_directories_is_given_out_as_a_copy() -> None:
    paths = ["/srv/a", "/srv/b"]
    source = FileSystemModuleSource(paths)
    paths.append("/srv/c")
    source.get_module_paths().append("/srv/d")
    source.get_mention_mappings()["x"] = "/srv/e"

    assert source.get_module_paths() == ["/srv/a", "/srv/b"]
    assert source.get_mention_mappings() == {}
    assert FileSystemModuleSource().get_module_paths() == []


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
