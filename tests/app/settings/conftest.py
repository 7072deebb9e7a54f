"""The command as it is after installing: nobody has set anything."""

import shutil
from pathlib import Path

import pytest
from helpers_app import App
from helpers_project import Project, Repository


@pytest.fixture
def app(tmp_path: Path) -> App:
    app = App(tmp_path)
    (app.home / "settings.yaml").unlink()
    (app.home / "bundles/plain.yaml").unlink()
    return app


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path / "own"))
    return Project(root, tmp_path / "own")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    return Repository(tmp_path / "repository")
