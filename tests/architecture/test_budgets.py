"""The kernel is read in an hour, a file in one sitting, a function on one screen."""

from pathlib import Path
from statistics import median

import pytest
from repository import REPO, code_lines, functions, kernel_proper, length, python_files

MAX_KERNEL_LINES = 2_600
MAX_KERNEL_FILES = 24
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_MEDIAN_OF_KERNEL_FUNCTIONS = 12


def _name(path: Path) -> str:
    return path.relative_to(REPO).as_posix()


def test_the_kernel_proper_stays_within_its_line_budget() -> None:
    lines = {path.name: code_lines(path.read_text()) for path in kernel_proper()}

    assert 0 < sum(lines.values()) <= MAX_KERNEL_LINES, lines


def test_the_kernel_proper_stays_in_few_files() -> None:
    names = [path.name for path in kernel_proper()]

    assert len(names) <= MAX_KERNEL_FILES, names


def test_no_file_is_too_long_to_read_in_one_sitting() -> None:
    lines = {_name(path): len(path.read_text().splitlines()) for path in python_files()}

    assert lines
    assert not {name: count for name, count in lines.items() if count >= MAX_FILE_LINES}


def test_no_function_is_longer_than_a_screen() -> None:
    too_long = {
        f"{_name(path)}:{node.lineno} {node.name}": length(node)
        for path in python_files()
        for node in functions(path)
        if length(node) > MAX_FUNCTION_LINES
    }

    assert not too_long


def test_the_median_kernel_function_is_short() -> None:
    lengths = [length(node) for path in kernel_proper() for node in functions(path)]

    assert median(lengths) < MAX_MEDIAN_OF_KERNEL_FUNCTIONS


def test_every_source_file_opens_by_saying_what_it_is_for() -> None:
    silent = [
        _name(path)
        for path in python_files()
        if (source := path.read_text()).strip() and not source.lstrip().startswith(('"""', "#!"))
    ]

    assert not silent


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", 0),
        ("x = 1\n\n# why\ny = 2  # counted\n", 2),
        ('"""A module.\n\nTwo paragraphs.\n"""\nx = 1\n', 1),
        ('def f():\n    """What it is for."""\n    return 1\n', 2),
        ('x = """two\nlines"""\n', 2),
        ('class A:\n    x: int\n    """What x is."""\n', 3),
    ],
)
def test_code_lines_leave_out_blank_lines_comments_and_docstrings(
    source: str, expected: int
) -> None:
    assert code_lines(source) == expected
