"""The stores that come along keep what every store promises."""

import os
from pathlib import Path
from typing import Any

import pytest

from amplifier.sessions.conformance import StoreTests
from amplifier.sessions.files import FileStore
from amplifier.sessions.memory import MemoryStore
from amplifier.sessions.store import Claim


class TestFileStore(StoreTests):
    @pytest.fixture(params=["full", "relaxed"])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
        return FileStore(tmp_path, request.param)

    async def let_holder_die(self, store: Any, claim: Claim) -> None:
        os.close(store._claims.pop(claim.token))


class TestMemoryStore(StoreTests):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()

    async def let_holder_die(self, store: Any, claim: Claim) -> None:
        del store._claims[claim.session_id]
