"""Links lead somewhere, every page can be reached, and no command is shown untried."""

import re
from pathlib import Path

import pytest
from snippets import NOT_RUN, RUN, SHELL, blocks_of

REPO = Path(__file__).resolve().parents[2]
DOCS = REPO / "docs"
PAGES = sorted([*REPO.glob("*.md"), *DOCS.rglob("*.md"), *REPO.glob("*/README.md")])

CODE = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ +(?P<title>.+?) *$", re.MULTILINE)
ELSEWHERE = ("http://", "https://", "mailto:")


def links(page: Path) -> list[str]:
    """The links of a page to other places of the repository."""
    # The text of a link may be code; its target never is.
    text = CODE.sub(
        lambda found: "" if found[0].lstrip().startswith(("```", "~~~")) else "code",
        page.read_text(),
    )
    return [t for found in LINK.finditer(text) if not (t := found["target"]).startswith(ELSEWHERE)]


def anchors(page: Path) -> set[str]:
    """The places of a page that a link may point at, named as GitHub names them."""
    text = re.sub(r"^ *(```+).*?^ *\1 *$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = [found["title"].lower() for found in HEADING.finditer(text)]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def target_of(page: Path, link: str) -> tuple[Path, str]:
    place, _, anchor = link.partition("#")
    return (page.parent / place).resolve() if place else page, anchor


def name(page: Path) -> str:
    return page.relative_to(REPO).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        target, anchor = target_of(page, link)
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)

    assert broken == []


def test_every_page_of_the_docs_is_in_the_index() -> None:
    listed = {target_of(DOCS / "README.md", link)[0] for link in links(DOCS / "README.md")}

    assert set(DOCS.rglob("*.md")) - listed == {DOCS / "README.md"}


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=name)
def test_every_command_of_the_docs_is_run_or_says_why_not(page: Path) -> None:
    shown = [block for block in blocks_of(page.read_text()) if block.language in SHELL]

    assert [block.code for block in shown if not _is_settled(block.comment)] == []


def _is_settled(comment: str) -> bool:
    left_out = NOT_RUN.fullmatch(comment)
    return bool(RUN.fullmatch(comment) or (left_out and left_out["reason"]))


def test_a_heading_is_found_by_the_anchor_that_github_gives_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# What's `new`?\n\n```md\n# no heading\n```\n\n## Two words\n")

    assert anchors(page) == {"whats-new", "two-words"}


def test_links_in_code_are_not_followed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[`a`](a.md) `[b](b.md)`\n\n```md\n[c](c.md)\n```\n[d](https://d)\n")

    assert links(page) == ["a.md"]
