"""glob: which paths a pattern means, in which order, and what is left out."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from helpers_files import done, refusal, search_tools
from hypothesis import example, given
from hypothesis import strategies as st

from amplifier_modules.files.globs import path_matcher
from amplifier_modules.files.refusals import Refused

PATHS = [
    "a.py",
    "b.txt",
    ".hidden",
    "src/c.py",
    "src/deep/d.py",
    "src/deep/[x].py",
    "build/e.py",
    "node_modules/f.py",
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files, each a second older than the one before."""
    for age, path in enumerate(PATHS):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x" * age)
        os.utime(tmp_path / path, (10_000 - age, 10_000 - age))
    return tmp_path


async def found(tree: Path, pattern: str, **arguments: Any) -> list[str]:
    call = await search_tools(tree)
    output = await done(call("glob", pattern=pattern, **arguments))
    assert output["count"] == output["total_files"] == len(output["matches"])
    return [Path(os.path.relpath(match["path"], tree)).as_posix() for match in output["matches"]]


async def test_matches_come_newest_first_with_type_and_size(tree: Path) -> None:
    call = await search_tools(tree)

    assert await done(call("glob", pattern="*")) == {
        "pattern": "*",
        "base_path": str(tree),
        "total_files": 3,
        "count": 3,
        "matches": [
            {"path": str(tree / "a.py"), "type": "file", "size": 0},
            {"path": str(tree / "b.txt"), "type": "file", "size": 1},
            {"path": str(tree / ".hidden"), "type": "file", "size": 2},
        ],
    }


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.py", ["a.py"]),
        ("./*.py", ["a.py"]),
        ("**/*.py", ["a.py", "src/c.py", "src/deep/d.py", "src/deep/[x].py"]),
        ("src/*.py", ["src/c.py"]),
        ("src/**", ["src/c.py", "src/deep/d.py", "src/deep/[x].py"]),
        ("src/**/d.py", ["src/deep/d.py"]),
        ("src/**/c.py", ["src/c.py"]),
        ("**/**/d.py", ["src/deep/d.py"]),
        ("?.{py,txt}", ["a.py", "b.txt"]),
        ("[ab].*", ["a.py", "b.txt"]),
        ("[!a].*", ["b.txt"]),
        ("**/[[]x].py", ["src/deep/[x].py"]),
        ("nothing", []),
        ("A.PY", []),
    ],
)
async def test_patterns_mean_paths(tree: Path, pattern: str, paths: list[str]) -> None:
    assert await found(tree, pattern) == paths


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"exclude": ["deep"]}, ["a.py", "src/c.py"]),
        ({"exclude": ["src/deep/*"]}, ["a.py", "src/c.py"]),
        ({"exclude": ["*.py"]}, []),
        ({"path": "src", "exclude": ["deep"]}, ["src/c.py"]),
        (
            {"include_ignored": True, "exclude": ["src"]},
            ["a.py", "build/e.py", "node_modules/f.py"],
        ),
        ({"path": "build"}, ["build/e.py"]),
    ],
)
async def test_what_is_left_out_can_be_chosen(
    tree: Path, arguments: dict[str, Any], paths: list[str]
) -> None:
    assert await found(tree, "**/*.py", **arguments) == paths


async def test_files_or_folders_or_both(tree: Path) -> None:
    assert await found(tree, "src/*") == ["src/c.py"]
    assert await found(tree, "src/*", type="file") == ["src/c.py"]
    assert await found(tree, "src/*", type="dir") == ["src/deep"]
    assert sorted(await found(tree, "src/*", type="any")) == ["src/c.py", "src/deep"]


async def test_more_than_the_limit_is_counted_only(tree: Path) -> None:
    call = await search_tools(tree, max_results=2)

    output = await done(call("glob", pattern="**/*.py"))

    assert (output["total_files"], output["count"], len(output["matches"])) == (4, 2, 2)
    assert output["results_capped"] is True
    assert output["matches"][0]["path"] == str(tree / "a.py")


async def test_five_hundred_are_returned_at_most_by_default(tmp_path: Path) -> None:
    for number in range(501):
        (tmp_path / f"{number}").touch()
    call = await search_tools(tmp_path)

    output = await done(call("glob", pattern="*"))

    assert (output["total_files"], output["count"]) == (501, 500)


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
async def test_links_are_listed_and_not_followed(tree: Path) -> None:
    (tree / "again").symlink_to("src")
    (tree / "z.py").symlink_to("a.py")

    assert "z.py" in await found(tree, "**/*.py")
    assert not [path for path in await found(tree, "**/*.py") if path.startswith("again")]
    assert "again" in await found(tree, "*", type="dir")


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "src/../../*", "~/*"])
async def test_a_pattern_that_leaves_the_folder_is_refused(tree: Path, pattern: str) -> None:
    call = await search_tools(tree)

    assert await refusal(call("glob", pattern=pattern)) == (
        f"The pattern {pattern!r} leaves the folder that is searched. "
        "Name the folder in 'path', and give a pattern below it."
    )


@given(path=st.text("ab/.", max_size=8).filter(lambda text: text.strip("/.")))
def test_a_path_without_special_characters_matches_itself(path: str) -> None:
    parts = [part for part in path.split("/") if part not in ("", ".")]

    assert path_matcher(path)("/".join(parts))
    assert path_matcher("**")("/".join(parts))
    assert not path_matcher(path)("/".join([*parts, "more"]))


@example("[?--]")
@example("[a&&b||c~~d]")
@given(pattern=st.text("ab*?[]{},!^-\\/&|~", max_size=10))
def test_any_pattern_is_understood_or_refused(pattern: str) -> None:
    with suppress(Refused):
        assert path_matcher(pattern)("ab") in (True, False)
