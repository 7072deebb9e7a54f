"""What the tests of provider-local share."""

import sys
from pathlib import Path

import pytest
from helpers_local import ENGINE, FakeEngine, gguf_file


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    fake = FakeEngine()
    monkeypatch.setitem(sys.modules, ENGINE, fake)
    return fake


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(gguf_file(tmp_path))
