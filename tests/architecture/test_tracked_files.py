"""What is in the repository speaks of the project alone, and is the same on every machine."""

import re
from collections import Counter
from pathlib import Path

import pytest
from repository import REPO, repository_files

MACHINE_PATH = re.compile(r"(?<![\w.\-])/(?:work|root|farm|Users|home)/\w")
REGISTRY_HOST = re.compile(r"(?:pypi|pythonhosted|npmjs|crates)\.(?:org|com|io)\b")
CRATES_INDEX = 'source = "registry+https://github.com/rust-lang/crates.io-index"'
"""How every Cargo.lock names the public registry, whatever mirror it was made with."""
LOCK_FILES = {"uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"}
UNFINISHED = re.compile(r"\b(?:[T]ODO|[F]IXME|[X]XX)\b")


def _texts() -> list[tuple[str, str]]:
    texts = []
    for path in repository_files():
        try:
            texts.append((path.relative_to(REPO).as_posix(), path.read_text()))
        except UnicodeDecodeError:
            continue
    return texts


def _places(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {line.strip()[:80]}"
        for name, text in _texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert not _places(MACHINE_PATH)


def test_no_file_names_this_checkout() -> None:
    assert not _places(re.compile(rf"{re.escape(str(REPO))}(?![\w-])"))


def test_no_file_names_a_package_registry() -> None:
    assert not [place for place in _places(REGISTRY_HOST) if not place.endswith(CRATES_INDEX)]


def test_lock_files_of_other_languages_name_no_place_to_fetch_from() -> None:
    crates = [name for name, _ in _texts() if name.endswith("Cargo.lock")]
    sources = _places(re.compile(r"^source = "))
    resolved = _places(re.compile(r'^\s*"resolved":'))

    assert crates
    assert not [place for place in sources if not place.endswith(CRATES_INDEX)]
    assert not resolved


def test_no_lock_file_of_python_is_kept() -> None:
    assert not [path for path in repository_files() if path.name in LOCK_FILES]


def test_nothing_is_left_unfinished() -> None:
    assert not _places(UNFINISHED)


def test_text_files_end_with_one_newline() -> None:
    ragged = [name for name, text in _texts() if text and (text[-1] != "\n" or text[-2:] == "\n\n")]

    assert not ragged


@pytest.mark.parametrize("folder", ["home", "work", "root", "Users"])
def test_a_machine_path_is_told_from_a_relative_one(folder: str) -> None:
    assert MACHINE_PATH.search(f"see /{folder}/ada")
    assert not MACHINE_PATH.search(f"the folder tests/{folder}/ada")
    assert not MACHINE_PATH.search(f"https://example.org/{folder}/ada")


def test_the_listing_holds_this_file_and_leaves_out_what_make_made() -> None:
    files = repository_files()

    assert Path(__file__).resolve() in files
    assert not [path for path in files if ".venv" in path.relative_to(REPO).parts]


def test_no_two_files_of_tests_have_one_name() -> None:
    """Python would import one of them in place of the other."""
    tests = [path for path in repository_files() if REPO / "tests" in path.parents]
    names = Counter(path.name for path in tests if path.suffix == ".py")

    assert {name for name, count in names.items() if count > 1} <= {"__init__.py", "conftest.py"}
