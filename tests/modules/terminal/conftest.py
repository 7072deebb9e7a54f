"""The terminal that the tests of this folder look at."""

from collections.abc import Generator
from typing import Any

import pytest
from helpers_terminal import Terminal


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    # Not in the fixture: pytest sets the streams anew between set-up and call.
    terminal = pyfuncitem.funcargs.get("terminal")
    if not isinstance(terminal, Terminal):
        return (yield)
    with terminal.installed():
        return (yield)
