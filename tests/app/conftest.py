"""One command per test, in a folder of its own."""

import sys
from pathlib import Path

import pytest
from helpers_app import App

# The terminal is that of the chat's tests.
sys.path.append(str(Path(__file__).parents[1] / "chat"))


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(tmp_path)
