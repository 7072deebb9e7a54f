"""The bundled modules use the public contract, so they also run on the public kernel."""

from pathlib import Path

import pytest
from bundled import entry_points, problems_on
from compare import peer_python
from table import declining_modules


def test_every_bundled_module_joins_a_session_on_the_public_kernel(tmp_path: Path) -> None:
    peer = peer_python()
    if peer is None:
        pytest.skip("There is no public kernel to try. `make differential` installs it.")

    found = problems_on(peer, tmp_path)

    assert found.keys() == entry_points().keys()
    assert {name: text for name, text in found.items() if text} == dict.fromkeys(
        declining_modules(), "declined"
    )
