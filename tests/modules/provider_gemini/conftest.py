"""What the tests of provider-gemini share: the wire, and the helpers of all providers."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "providing"))
pytest.register_assert_rewrite("conformance_providers", "conformance_sessions")

from helpers_gemini import GeminiWire  # noqa: E402


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> GeminiWire:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return GeminiWire()
