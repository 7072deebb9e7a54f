"""What the tests of provider-ollama share: the wire, and the helpers of all providers."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "providing"))
pytest.register_assert_rewrite("conformance_providers", "conformance_sessions")

from helpers_ollama import OllamaWire  # noqa: E402


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> OllamaWire:
    for name in ("OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return OllamaWire()
