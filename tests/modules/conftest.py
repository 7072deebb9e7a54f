"""A bundled module is tested alone with the kernel; tests marked `together` need others too."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("together") is None:
            item.add_marker(pytest.mark.island)
