"""Lets the tests of all providers see how each one's API looks."""

import sys
from pathlib import Path

for island in ("provider_anthropic", "provider_openai"):
    sys.path.append(str(Path(__file__).parents[1] / island))
