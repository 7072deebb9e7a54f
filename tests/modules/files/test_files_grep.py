"""grep: what is found, how it is shown, and what is left out."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from helpers_files import done, refusal, search_tools


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A few files, one of them in a folder that is left out."""
    for path, content in {
        "a.py": "import os\nneedle = 1\nprint(needle)\n",
        "src/b.ts": "one\ntwo\nNEEDLE\nfour\nfive\n",
        "src/c.txt": "nothing here\n",
        "src/node_modules/d.js": "needle\n",
        "docs/e.md": "a needle\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    return tmp_path


async def files(tree: Path, pattern: str = "needle", **arguments: Any) -> list[str]:
    """Which files are found, relative to the tree."""
    call = await search_tools(tree)
    output = await done(call("grep", pattern=pattern, **arguments))
    return [os.path.relpath(path, tree) for path in output["files"]]


async def test_files_with_matches_come_by_path(tree: Path) -> None:
    call = await search_tools(tree)

    assert await done(call("grep", pattern="needle")) == {
        "pattern": "needle",
        "output_mode": "files_with_matches",
        "total_matches": 2,
        "matches_count": 2,
        "files": [str(tree / "a.py"), str(tree / "docs/e.md")],
    }


async def test_content_shows_lines_with_numbers(tree: Path) -> None:
    call = await search_tools(tree)

    assert await done(call("grep", pattern="needle", path="a.py", output_mode="content")) == {
        "pattern": "needle",
        "output_mode": "content",
        "total_matches": 2,
        "matches_count": 2,
        "results": [
            {"file": str(tree / "a.py"), "line_number": 2, "content": "needle = 1"},
            {"file": str(tree / "a.py"), "line_number": 3, "content": "print(needle)"},
        ],
    }


async def test_counts_are_by_file(tree: Path) -> None:
    call = await search_tools(tree)

    assert await done(call("grep", pattern="needle", output_mode="count")) == {
        "pattern": "needle",
        "output_mode": "count",
        "total_matches": 3,
        "matches_count": 3,
        "counts": {str(tree / "a.py"): 2, str(tree / "docs/e.md"): 1},
    }


async def test_no_match_is_a_success(tree: Path) -> None:
    assert await files(tree, "unheard of") == []


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"-i": True}, ["a.py", "docs/e.md", "src/b.ts"]),
    ({"include_ignored": True}, ["a.py", "docs/e.md", "src/node_modules/d.js"]),
    ({"path": "src/node_modules"}, ["src/node_modules/d.js"]),
    ({"type": "py"}, ["a.py"]),
    ({"type": "python"}, ["a.py"]),
    ({"type": "typescript", "-i": True}, ["src/b.ts"]),
    ({"glob": "*.md"}, ["docs/e.md"]),
    ({"glob": "!*.md"}, ["a.py"]),
    ({"glob": "*.{py,md}"}, ["a.py", "docs/e.md"]),
    ({"glob": "docs/**"}, ["docs/e.md"]),
    ({"head_limit": 1}, ["a.py"]),
    ({"head_limit": 1, "offset": 1}, ["docs/e.md"]),
    ({"head_limit": 0}, ["a.py", "docs/e.md"]),
    ({"path": "docs/e.md"}, ["docs/e.md"]),
]


async def test_filters_choose_files(tree: Path) -> None:
    # Side by side, as most of the time goes into starting processes.
    chosen = await asyncio.gather(*(files(tree, **arguments) for arguments, _ in FILTERS))

    for (arguments, found), got in zip(FILTERS, chosen, strict=True):
        assert got == found, arguments


@pytest.mark.parametrize(
    ("context", "shown"),
    [
        ({}, [3]),
        ({"-A": 1}, [3, 4]),
        ({"-B": 2}, [1, 2, 3]),
        ({"-C": 1}, [2, 3, 4]),
        ({"-C": 1, "-A": 9, "-B": 9}, [2, 3, 4]),
        ({"-C": 99}, [1, 2, 3, 4, 5]),
    ],
)
async def test_context_lines_are_delivered(
    tree: Path, context: dict[str, int], shown: list[int]
) -> None:
    call = await search_tools(tree)

    output = await done(call("grep", pattern="NEEDLE", output_mode="content", **context))

    assert [line["line_number"] for line in output["results"]] == shown
    assert [line["line_number"] for line in output["results"] if "is_context" not in line] == [3]
    assert output["total_matches"] == output["matches_count"] == 1


async def test_lines_without_numbers(tree: Path) -> None:
    call = await search_tools(tree)

    output = await done(call("grep", pattern="NEEDLE", output_mode="content", **{"-n": False}))

    assert output["results"] == [{"file": str(tree / "src/b.ts"), "content": "NEEDLE"}]


async def test_pages_of_lines_are_cut_by_match(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"hit {number}\n" for number in range(10)))
    call = await search_tools(tmp_path)

    output = await done(call("grep", pattern="hit", output_mode="content", head_limit=2, offset=3))

    assert [line["content"] for line in output["results"]] == ["hit 3", "hit 4"]
    assert (output["total_matches"], output["matches_count"]) == (10, 2)
    assert output["results_capped"] is True


async def test_default_limits_and_the_highest_number_of_results(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hit\n" * 20)
    limited = await search_tools(tmp_path, grep={"default_limits": {"content": 5}})
    capped = await search_tools(tmp_path, max_results=7)

    by_default = await done(limited("grep", pattern="hit", output_mode="content"))
    asked = await done(limited("grep", pattern="hit", output_mode="content", head_limit=0))
    most = await done(capped("grep", pattern="hit", output_mode="content", head_limit=0))

    counts = [output["matches_count"] for output in (by_default, asked, most)]
    assert counts == [5, 20, 7]
    assert "results_capped" not in asked


async def test_multiline_lets_a_match_span_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x\r\nbegin\r\nmiddle\r\nend\r\ny\r\n")
    call = await search_tools(tmp_path)
    arguments = {"pattern": "begin.*end$", "output_mode": "content"}

    apart = await done(call("grep", **arguments))
    spanned = await done(call("grep", multiline=True, **arguments))

    assert apart["results"] == []
    assert [line["content"] for line in spanned["results"]] == ["begin", "middle", "end"]
    assert (await done(call("grep", pattern="begin\nmiddle", multiline=True)))["files"]


async def test_a_long_line_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("needle" + "x" * 5000)
    call = await search_tools(tmp_path)

    (line,) = (await done(call("grep", pattern="needle", output_mode="content")))["results"]

    assert line["content"].endswith("... [cut after 2000 of 5006 characters]")


async def test_files_that_are_no_text_or_too_large_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"needle\0")
    (tmp_path / "large").write_bytes(b"needle" * 100)
    (tmp_path / "utf16").write_bytes("needle".encode("utf-16"))
    (tmp_path / "latin").write_bytes("café needle".encode("latin-1"))
    call = await search_tools(tmp_path, grep={"max_file_size": 500})

    output = await done(call("grep", pattern="needle"))
    named = await done(call("grep", pattern="needle", path="binary"))

    assert output["files"] == [str(tmp_path / "latin"), str(tmp_path / "utf16")]
    assert output["files_skipped"] == {"too_large": 1}
    assert named["files_skipped"] == {"binary": 1}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
async def test_pipes_links_and_loops_do_not_hold_a_search_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "twice").symlink_to("a")
    (tmp_path / "a").write_text("needle")
    call = await search_tools(tmp_path)

    async with asyncio.timeout(5):
        assert (await done(call("grep", pattern="needle")))["files"] == [str(tmp_path / "a")]


async def test_a_pattern_that_takes_years_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a" * 60 + "b")
    call = await search_tools(tmp_path, grep={"timeout": 0.5})

    async with asyncio.timeout(5):
        text = await refusal(call("grep", pattern="(a+)+$"))

    assert text == "The search took over 0.5 s. Narrow 'path', 'glob' or 'pattern'."


async def test_cancelling_a_search_ends_its_process(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a" * 60 + "b")
    call = await search_tools(tmp_path)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await call("grep", pattern="(a+)+$")


async def test_a_part_of_the_config_for_one_tool_wins(tree: Path) -> None:
    call = await search_tools(
        tree,
        working_dir=str(tree / "docs"),
        grep={"working_dir": str(tree), "exclusions": ["docs"]},
    )

    found = (await done(call("grep", pattern="needle")))["files"]
    listed = (await done(call("glob", pattern="*")))["base_path"]

    assert found == [str(tree / "a.py"), str(tree / "src/node_modules/d.js")]
    assert listed == str(tree / "docs")


async def test_an_answer_holds_so_much_and_says_what_it_left_out(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(("hit" + "x" * 1900 + "\n") * 1500)
    call = await search_tools(tmp_path)

    output = await done(call("grep", pattern="hit", output_mode="content", head_limit=0))

    assert (output["total_matches"], output["results_capped"]) == (1500, True)
    assert 900 < output["matches_count"] == len(output["results"]) < 1100
    assert output["note"].startswith(f"Only the first {output['matches_count']} of 1500 matches")


async def test_an_answer_that_fits_is_whole_and_has_no_note(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("hit\n" * 1500)
    call = await search_tools(tmp_path)

    output = await done(call("grep", pattern="hit", output_mode="content", head_limit=0))

    assert (len(output["results"]), "note" in output) == (1500, False)
