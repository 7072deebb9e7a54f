"""Where the tests of this folder keep compiled components: in one place, for all runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

_KEPT = Path(__file__).parents[2] / ".cache" / "amplifier-home"


@pytest.fixture(autouse=True, scope="session")
def _one_home() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AMPLIFIER_HOME", str(_KEPT))
        yield
