"""The snippet runner itself: which blocks it finds, which it runs, and how it complains."""

import subprocess
import sys
from pathlib import Path

import pytest
import snippets
from hypothesis import given
from hypothesis import strategies as st
from snippets import PageError, Snippet, snippets_of

RUNNER = snippets.__file__


def run(tmp_path: Path, page: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "page.md"
    path.write_text(page)
    return subprocess.run(
        [sys.executable, RUNNER, path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_only_python_blocks_are_snippets() -> None:
    page = "# T\n\n```sh\nmake\n```\n\n```python\nx = 1\n```\n\n```\nplain\n```\n"

    assert snippets_of(page) == [Snippet(line=8, code="x = 1\n")]


def test_a_block_inside_a_list_is_dedented() -> None:
    assert snippets_of("1. Do:\n   ```python\n   if x:\n       y\n   ```\n") == [
        Snippet(line=3, code="if x:\n    y\n")
    ]


def test_a_longer_fence_may_hold_a_shorter_one() -> None:
    assert snippets_of("````md\n```python\nno\n```\n````\n") == []


def test_a_word_between_backticks_opens_no_block() -> None:
    assert snippets_of("```python``` is a fence\n") == []


def test_a_comment_above_a_block_leaves_it_out_and_says_why() -> None:
    page = "<!-- not run: needs a key -->\n\n```python\nx\n```\n\n```python\ny\n```\n"

    assert [snippet.not_run for snippet in snippets_of(page)] == ["needs a key", None]


def test_a_comment_further_up_does_not_reach_the_block() -> None:
    page = "<!-- not run: needs a key -->\nBut first:\n\n```python\nx\n```\n"

    assert snippets_of(page)[0].not_run is None


@pytest.mark.parametrize("comment", ["not run", "not run:"])
def test_leaving_a_block_out_takes_a_reason(comment: str) -> None:
    with pytest.raises(PageError, match=r"line 3 is not run\. Say why"):
        snippets_of(f"<!-- {comment} -->\n```python\nx\n```\n")


def test_a_marked_text_block_is_the_output_of_the_block_above() -> None:
    page = "```python\nprint(1)\n```\n\nIt prints:\n\n<!-- output -->\n```text\n1\n```\n"

    assert snippets_of(page) == [Snippet(line=2, code="print(1)\n", output="1\n")]


@pytest.mark.parametrize(
    "above",
    [
        "",
        "```python\nx\n```\n```sh\nls\n```\n",
        "<!-- file: x.py -->\n```python\nx\n```\n",
    ],
)
def test_output_without_a_block_right_above_that_runs_is_refused(above: str) -> None:
    with pytest.raises(PageError, match="no block above it that runs"):
        snippets_of(f"{above}<!-- output -->\n```text\n1\n```\n")


def test_a_marked_block_of_any_language_is_a_file() -> None:
    page = "<!-- file: a/b.toml -->\n```toml\nx = 1\n```\n"

    assert snippets_of(page) == [Snippet(line=3, code="x = 1\n", file="a/b.toml")]


def test_a_marked_shell_block_names_the_exit_code_it_ends_with() -> None:
    page = "<!-- run -->\n```sh\ntrue\n```\n<!-- run: exit 3 -->\n```bash\nexit 3\n```\n"

    assert [snippet.exit_code for snippet in snippets_of(page)] == [0, 3]


def test_a_block_that_is_never_closed_is_refused() -> None:
    with pytest.raises(PageError, match="opens on line 2"):
        snippets_of("\n```python\nx = 1\n")


code_lines = st.text(alphabet="abc =#'()", max_size=20).map(lambda text: "x" + text)


@given(st.lists(st.tuples(st.sampled_from(["python", "sh", ""]), st.lists(code_lines)), max_size=8))
def test_every_python_block_is_found_once_in_order(blocks: list[tuple[str, list[str]]]) -> None:
    page = "\n".join(
        "\n".join([f"```{language}", *lines, "```", "prose"]) for language, lines in blocks
    )

    found = [snippet.code for snippet in snippets_of(page)]

    assert found == [
        "".join(f"{line}\n" for line in lines) for language, lines in blocks if language == "python"
    ]


def test_blocks_share_names_and_may_await(tmp_path: Path) -> None:
    page = """
```python
import asyncio
async def answer():
    return 42
task_maker = answer
```
```python
value = await task_maker()
await asyncio.sleep(0)
print(value)
```
<!-- output -->
```text
42
```
"""
    result = run(tmp_path, page)

    assert result.returncode == 0, result.stderr


def test_a_block_may_start_its_own_event_loop(tmp_path: Path) -> None:
    page = """
```python
import asyncio
async def main():
    print("ran")
if __name__ == "__main__":
    asyncio.run(main())
```
<!-- output -->
```text
ran
```
"""
    result = run(tmp_path, page)

    assert result.returncode == 0, result.stderr


def test_what_runs_between_awaits_stays_alive(tmp_path: Path) -> None:
    page = """
```python
import asyncio
queue = asyncio.Queue()
async def worker():
    await queue.put("from the first block")
task = asyncio.create_task(worker())
await asyncio.sleep(0)
```
```python
print(await queue.get())
```
<!-- output -->
```text
from ...
```
"""
    result = run(tmp_path, page)

    assert result.returncode == 0, result.stderr


def test_a_failing_block_points_at_its_line_of_the_page(tmp_path: Path) -> None:
    result = run(tmp_path, "# T\n\n```python\nfine = 1\nfine / 0\n```\n")

    assert result.returncode != 0
    assert "page.md" in result.stderr
    assert "line 5" in result.stderr
    assert "ZeroDivisionError" in result.stderr


def test_a_block_that_prints_something_else_fails(tmp_path: Path) -> None:
    page = "```python\nprint('one')\n```\n<!-- output -->\n```text\ntwo\n```\n"

    result = run(tmp_path, page)

    assert result.returncode != 0
    assert "The block on line 2 prints something else." in result.stderr


def test_a_block_that_is_left_out_does_not_run(tmp_path: Path) -> None:
    result = run(tmp_path, "<!-- not run: breaks -->\n```python\n1 / 0\n```\n")

    assert result.returncode == 0, result.stderr


def test_files_and_commands_share_one_folder_with_the_python_blocks(tmp_path: Path) -> None:
    page = """
<!-- file: shop/prices.py -->
```python
tea = 3
```
```python
from shop.prices import tea
open("bill.txt", "w").write(str(2 * tea))
```
<!-- run -->
```bash
cat bill.txt && python -c 'from shop import prices; print(" for", prices.tea)'
```
<!-- output -->
```text
6 for 3
```
"""
    result = run(tmp_path, page)

    assert result.returncode == 0, result.stderr


def test_a_command_that_ends_otherwise_than_the_page_says_fails(tmp_path: Path) -> None:
    result = run(tmp_path, "# T\n<!-- run -->\n```sh\necho oh no\nexit 4\n```\n")

    assert result.returncode != 0
    assert "The block on line 4 ends with exit code 4, not 0." in result.stderr
    assert "oh no" in result.stderr


def test_a_command_that_must_fail_and_does_not_fails_the_page(tmp_path: Path) -> None:
    result = run(tmp_path, "<!-- run: exit 1 -->\n```sh\ntrue\n```\n")

    assert result.returncode != 0
    assert "exit code 0, not 1" in result.stderr
