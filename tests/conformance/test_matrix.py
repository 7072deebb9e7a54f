"""The documentation says what the suite tests."""

from matrix import PAGE, page
from subjects import KINDS, SUBJECTS


def test_the_page_of_transports_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "Run `python tests/conformance/matrix.py`."


def test_every_kind_is_tested_over_every_transport() -> None:
    tested = {(each.kind, each.transport) for each in SUBJECTS}

    for transport in ("python", "process", "sidecar", "grpc", "wasm"):
        assert {kind for kind, over in tested if over == transport} == set(KINDS)
