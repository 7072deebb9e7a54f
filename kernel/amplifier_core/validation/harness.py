"""What the test bases use of pytest, which is not needed to import them."""

from __future__ import annotations

from typing import NoReturn, TypeVar

__all__ = ["async_tests", "fail", "skip", "skip_without_module"]

TestsT = TypeVar("TestsT", bound=type)


def async_tests(tests: TestsT) -> TestsT:
    """Have the coroutines of a test class awaited, whichever mode pytest-asyncio is in."""
    try:
        import pytest
    except ImportError:
        return tests
    marked: TestsT = pytest.mark.asyncio(tests)
    return marked


def fail(reason: str) -> NoReturn:
    import pytest

    pytest.fail(reason)


def skip(reason: str) -> NoReturn:
    import pytest

    pytest.skip(reason)


def skip_without_module() -> NoReturn:
    from ..pytest_plugin import NO_MODULE

    skip(NO_MODULE)
