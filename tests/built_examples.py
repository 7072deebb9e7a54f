"""The examples in other languages, as `make examples` built them."""

from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[1]


@cache
def script() -> Any:
    spec = spec_from_file_location("examples_script", REPO / "scripts" / "examples.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(name: str) -> Path:
    """The module directory of example `name`; skips the test where it cannot be built."""
    try:
        return _found(name)
    except script().Skipped as reason:
        pytest.skip(str(reason))


@cache
def _found(name: str) -> Path:
    found: Path = script().find(name)
    return found
