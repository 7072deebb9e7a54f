"""The command as it is after installing: nobody has set anything."""

from pathlib import Path

import pytest
from helpers_app import App


@pytest.fixture
def app(tmp_path: Path) -> App:
    app = App(tmp_path)
    (app.home / "settings.yaml").unlink()
    (app.home / "bundles/plain.yaml").unlink()
    return app
