"""What the tests of the OpenAI family share: the wires, and the helpers of all providers."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "providing"))
pytest.register_assert_rewrite("conformance_providers", "conformance_sessions")

from helpers_openai import VARIABLES, ResponsesWire  # noqa: E402


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def wire() -> ResponsesWire:
    return ResponsesWire()
