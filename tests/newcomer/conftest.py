"""What other tests have is of use here, too: pages, a terminal, a vendor's words on the wire."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path += [
    str(TESTS / each)
    for each in ("docs", "chat", "modules/providing", "modules/provider_anthropic")
]
