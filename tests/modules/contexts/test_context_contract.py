"""Both modules keep the kernel's contract for contexts, as its own test kit checks it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from amplifier_core.validation import ContextValidator
from amplifier_core.validation.behavioral import ContextBehaviorTests
from helpers_contexts import persistent_context, simple_context

from amplifier_modules.contexts import persistent, simple


@pytest.mark.parametrize("module", [simple, persistent])
async def test_the_validator_has_nothing_to_say(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))

    outcome = await ContextValidator().validate(module.__file__)

    assert outcome.passed, outcome.summary()
    assert not outcome.warnings
    assert module.__amplifier_module_type__ == "context"
    assert not list(tmp_path.iterdir())


class TestSimple(ContextBehaviorTests):
    """context-simple in use."""

    @pytest_asyncio.fixture
    async def context_module(self) -> AsyncIterator[Any]:
        async with simple_context() as context:
            yield context


class TestPersistent(ContextBehaviorTests):
    """context-persistent in use."""

    @pytest_asyncio.fixture
    async def context_module(self, tmp_path: Path) -> AsyncIterator[Any]:
        async with persistent_context(transcript_path=str(tmp_path / "file.jsonl")) as context:
            yield context
