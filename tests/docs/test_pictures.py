"""The pictures of the README are small, whole, and need nothing from elsewhere."""

import html
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

REPO = Path(__file__).resolve().parents[2]
FOLDER = REPO / "docs" / "pictures"
LARGEST = 60_000
SHOWN = {
    "chat": ("read_file", "Three steps"),
    "approval": ("May I", "return f", "yes, once"),
    "sessions": ("amplifier session list", "Which session?"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_shows_what_it_is_there_for(name: str) -> None:
    text = (FOLDER / f"{name}.svg").read_text()
    words = html.unescape(" ".join(ElementTree.fromstring(text).itertext())).replace("\xa0", " ")

    assert [each for each in SHOWN[name] if each not in words] == []
    assert len(text) < LARGEST


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_fetches_nothing(name: str) -> None:
    text = (FOLDER / f"{name}.svg").read_text()

    assert re.findall(r"https?://[^\s\"']+", text) == ["http://www.w3.org/2000/svg"]


def test_the_readme_has_them_all() -> None:
    page = (REPO / "README.md").read_text()

    assert {each.stem for each in FOLDER.iterdir()} == set(SHOWN)
    assert [each for each in SHOWN if f"](docs/pictures/{each}.svg)" not in page] == []
