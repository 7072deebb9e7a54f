"""One command per test, in a folder of its own."""

from pathlib import Path

import pytest
from helpers_app import App


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(tmp_path)
