"""What the tests of provider-anthropic share: the wire, and the helpers of all providers."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "providing"))
pytest.register_assert_rewrite("conformance_providers", "conformance_sessions")

from helpers_anthropic import AnthropicWire  # noqa: E402


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> AnthropicWire:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return AnthropicWire()
