"""Python modules: where a package lies, what it declares, and what an import may touch."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from amplifier_core.transports.python import (
    declared_type,
    find_package_dir,
    import_package,
    package_name,
)
from helpers_loader import (
    MARKER,
    clean_imports,  # noqa: F401
    on_path,
    package,
)


def test_a_package_is_named_after_the_id() -> None:
    assert package_name("tool-web-fetch") == "amplifier_module_tool_web_fetch"


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


# -- importing from exactly one place -------------------------------------------------


def test_a_package_is_imported_as_python_would(tmp_path: Path) -> None:
    parts = {"part": "word = 'whole'", "late": "word = 'later'"}
    code = "from .part import word\ndef late():\n    from .late import word\n    return word"

    module = import_package(package(tmp_path / "probe_pkg", code, **parts))

    assert (module.__name__, module.word, module.late()) == ("probe_pkg", "whole", "later")
    assert sys.modules["probe_pkg"] is module
    assert import_package(tmp_path / "probe_pkg") is module


def test_a_single_file_is_imported_too(tmp_path: Path) -> None:
    (tmp_path / "probe_file.py").write_text("word = 'single'")

    assert import_package(tmp_path / "probe_file.py").word == "single"


def test_an_import_leaves_sys_path_as_the_package_made_it(tmp_path: Path) -> None:
    before = list(sys.path)
    code = f"import sys\nsys.path.append({str(tmp_path / 'own')!r})"

    import_package(package(tmp_path / "probe_pkg", code))

    assert sys.path == [*before, str(tmp_path / "own")]


def test_a_package_may_take_the_entry_for_it_from_sys_path_itself(tmp_path: Path) -> None:
    before = list(sys.path)

    import_package(package(tmp_path / "probe_pkg", "import sys\nsys.path.pop(0)"))

    assert sys.path == before


def test_a_package_elsewhere_on_sys_path_does_not_get_in_between(tmp_path: Path) -> None:
    package(on_path(tmp_path / "first") / "probe_pkg", "word = 'hijacked'")

    module = import_package(package(tmp_path / "ours" / "probe_pkg", "word = 'ours'"))

    assert module.word == "ours"


def test_a_name_that_other_code_holds_is_refused_and_kept(tmp_path: Path) -> None:
    first = import_package(package(tmp_path / "one" / "probe_pkg", "word = 1"))
    other = package(tmp_path / "two" / "probe_pkg", "raise SystemExit('ran')")

    with pytest.raises(ImportError, match="already imported from") as caught:
        import_package(other)

    assert caught.value.name == "probe_pkg"
    assert str(tmp_path / "one") in str(caught.value)
    assert str(other) in str(caught.value)
    assert sys.modules["probe_pkg"] is first


def test_a_name_that_a_module_without_a_file_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "probe_pkg", ModuleType("probe_pkg"))

    with pytest.raises(ImportError, match="already imported from None"):
        import_package(package(tmp_path / "probe_pkg", ""))


def test_a_finder_that_brings_other_code_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = package(tmp_path / "other" / "probe_pkg", "word = 'other'")

    class Hijacker:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            if name == "probe_pkg":
                return spec_from_file_location(name, other / "__init__.py")
            return None

    monkeypatch.setattr(sys, "meta_path", [Hijacker, *sys.meta_path])

    with pytest.raises(ImportError, match="already imported from"):
        import_package(package(tmp_path / "ours" / "probe_pkg", "word = 'ours'"))


def test_a_cached_part_from_elsewhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = ModuleType("probe_pkg.part")
    planted.__file__ = str(tmp_path / "evil" / "part.py")
    monkeypatch.setitem(sys.modules, "probe_pkg.part", planted)
    code = "from .part import word"

    with pytest.raises(ImportError, match=r"'probe_pkg\.part' is already imported from"):
        import_package(package(tmp_path / "probe_pkg", code, part="word = 'ours'"))

    assert "probe_pkg" not in sys.modules
    assert sys.modules["probe_pkg.part"] is planted


def test_cached_parts_of_other_packages_and_parts_without_a_file_do_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookalike = ModuleType("probe_pkg_two.part")
    lookalike.__file__ = str(tmp_path / "elsewhere.py")
    monkeypatch.setitem(sys.modules, "probe_pkg_two.part", lookalike)
    monkeypatch.setitem(sys.modules, "probe_pkg.made_up", ModuleType("probe_pkg.made_up"))

    assert import_package(package(tmp_path / "probe_pkg", "word = 1")).word == 1


def test_a_package_is_named_as_the_link_to_it(tmp_path: Path) -> None:
    package(tmp_path / "store" / "v1", "from .part import word", part="word = 'linked'")
    (tmp_path / "probe_link").symlink_to(tmp_path / "store" / "v1")

    module = import_package(tmp_path / "probe_link")

    assert (module.__name__, module.word) == ("probe_link", "linked")
    assert import_package(tmp_path / "probe_link") is module


def test_parts_of_a_package_that_failed_do_not_serve_the_next_attempt(tmp_path: Path) -> None:
    code = "from . import part\nraise RuntimeError(part.word)"
    path = package(tmp_path / "probe_pkg", code, part="word = 'first'")
    with pytest.raises(RuntimeError, match="first"):
        import_package(path)
    assert not [name for name in sys.modules if name.startswith("probe_pkg")]

    # Of another length, so that no clock has to tell its bytecode from the first one's.
    package(path, "from . import part\nword = part.word", part="word = 'the second'")

    assert import_package(path).word == "the second"


def test_parts_that_were_there_before_a_failure_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "probe_pkg.made_up", ModuleType("probe_pkg.made_up"))

    with pytest.raises(RuntimeError):
        import_package(package(tmp_path / "probe_pkg", "raise RuntimeError"))

    assert "probe_pkg.made_up" in sys.modules


def test_threads_that_import_one_package_get_one_module(tmp_path: Path) -> None:
    path = package(tmp_path / "probe_pkg", "runs = []\nruns.append(1)")
    gate = threading.Barrier(8, timeout=5)

    def run(_: int) -> ModuleType:
        gate.wait()
        return import_package(path)

    before = list(sys.path)
    with ThreadPoolExecutor(8) as pool:
        modules = set(pool.map(run, range(8)))

    assert len(modules) == 1
    assert modules.pop().runs == [1]
    assert sys.path == before
