"""A coordinator whose events are logged to a file of the test, and secrets to look for."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from amplifier_core import ModuleCoordinator

from amplifier_modules.records import hooks_logging, hooks_redaction
from amplifier_modules.records.known import KnownSecrets
from amplifier_modules.records.redactor import Redactor

SECRET = "[REDACTED:SECRET]"
PII = "[REDACTED:PII]"


def _joined(*pieces: str) -> str:
    """In pieces, so that no scanner of repositories takes an example for the real thing."""
    return "".join(pieces)


_KEY_BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
TOKENS: dict[str, str] = {
    "AWS": _joined("AK", "IAIOSFODNN7EXAMPLE"),
    "AWS session": _joined("AS", "IAIOSFODNN7EXAMPLE"),
    "GitHub": _joined("gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"),
    "GitHub fine": _joined("github", "_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789"),
    "GitLab": _joined("gl", "pat-1a2B3c4D5e6F7g8H9i0J"),
    "Slack": _joined("xo", "xb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"),
    "Google": _joined("AI", "zaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"),
    "Google OAuth": _joined("ya", "29.a0AfH6SMBx1234567890abcdefghij"),
    "Anthropic": _joined("sk-", "ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_AA"),
    "OpenAI": _joined("sk-", "proj-AbCdEfGhIjKlMnOpQrSt0123456789"),
    "OpenAI old": _joined("sk-", "AbCdEfGhIjKlMnOpQrStT3BlbkFJ0123456789abcdefghij"),
    "Stripe": _joined("sk_", "live_4eC39HqLyjWDarjtT1zdp7dc"),
    "npm": _joined("np", "m_1234567890abcdefghijklmnopqrstuvwxyz"),
    "Hugging Face": _joined("hf", "_AbCdEfGhIjKlMnOpQrStUvWxYz012345"),
    "SendGrid": _joined("S", "G.ngeVfQFYQlKU0ufo8x5d1A.TwL2iGABf9DHoTf-09kqeF8tAmbihY"),
    "JWT": _joined(
        "ey", "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.",
        "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    ),
    "private key": _joined(
        "-----BEGIN RSA PRIV", f"ATE KEY-----\n{_KEY_BODY}\n-----END RSA PRIVATE KEY-----"
    ),
}  # fmt: skip
"""Tokens of well-known issuers; all of them are made up."""

IN_CONTEXT: dict[str, tuple[str, str]] = {
    "bearer": ("Authorization: Bearer {}", "a1B2c3D4e5F6g7H8i9J0"),
    "basic": ("curl -H 'Authorization: Basic {}' x", "YWxhZGRpbjpvcGVuc2VzYW1l"),
    "URL": ("postgresql://admin:{}@db.example.com:5432/app", "s3cr%2Ft-pass"),
    "URL token": ("git clone https://{}@git.example.com/x", "a1b2c3d4e5f6a7b8c9d0e1f2"),
    "connection string": ("Server=db;User Id=me;Password={};Encrypt=yes", "plainword"),
    "storage": ("AccountName=x;AccountKey={};Endpoint=y", "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4=="),
    "variable": ("export DB_PASSWORD={}\n", "tr0ub4dor"),
    "quoted variable": ('API_KEY="{}"', "0f1e2d3c4b5a"),
    "JSON text": ('{{\\"client_secret\\": \\"{}\\"}}', "9a8b7c6d5e"),
    "YAML": ("github_token: {}\n", "q1w2e3r4t5y6"),
    "query": ("GET /v1?api_key={}&page=2", "k3y0123456789"),
    "signed URL": ("https://x.example/b?sv=1&sig={}", "aB3%2Fq9ZxY7w8vU6tS5rQ4pO3nM2"),
    "webhook": ("https://hooks.slack.com/services/{}", "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXX"),
}
"""Secrets that only their surroundings give away: the surroundings, and the secret."""


def redactor(*rules: Any, allowlist: tuple[str, ...] = (), known: tuple[str, ...] = ()) -> Redactor:
    return Redactor(rules or ("secrets", "pii-basic"), allowlist, KnownSecrets(known))


def coordinator_of(
    session_id: str = "s1", config: dict[str, Any] | None = None
) -> ModuleCoordinator:
    plan = {"session": {"orchestrator": "o", "context": "c"}, **(config or {})}
    session = SimpleNamespace(session_id=session_id, parent_id=None, config=plan)
    coordinator = ModuleCoordinator(session)
    coordinator.hooks.set_default_fields(session_id=session_id, parent_id=None)
    return coordinator


class Logged:
    """A coordinator with hooks-logging, and what has been written so far."""

    def __init__(self, coordinator: ModuleCoordinator, path: Path) -> None:
        self.coordinator = coordinator
        self.path = path

    async def emit(self, event: str, **data: Any) -> None:
        await self.coordinator.hooks.emit(event, data)

    @property
    def records(self) -> list[dict[str, Any]]:
        return read(self.path)

    async def record(self, event: str, **data: Any) -> dict[str, Any]:
        """The record that an event makes."""
        await self.emit(event, **data)
        return self.records[-1]

    async def data(self, **data: Any) -> dict[str, Any]:
        """The `data` of the record of an event with this payload."""
        return (await self.record("tool:post", **data))["data"]


def read(path: Path) -> list[dict[str, Any]]:
    """The records in a file; every line must be whole and strict JSON."""
    content = path.read_bytes() if path.exists() else b""
    assert not content or content.endswith(b"\n")
    return [json.loads(line, parse_constant=_refuse) for line in content.splitlines()]


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


@asynccontextmanager
async def logged(
    folder: Path, coordinator: ModuleCoordinator | None = None, **config: Any
) -> AsyncIterator[Logged]:
    """hooks-logging in use; the file is `<folder>/<session id>.jsonl`."""
    coordinator = coordinator or coordinator_of()
    config.setdefault("session_log_template", str(folder / "{session_id}.jsonl"))
    close = await hooks_logging.mount(coordinator, config)
    try:
        await hooks_logging.on_session_ready(coordinator)
        yield Logged(coordinator, folder / f"{coordinator.session_id}.jsonl")
    finally:
        close()


@asynccontextmanager
async def redacting(
    coordinator: ModuleCoordinator | None = None, **config: Any
) -> AsyncIterator[ModuleCoordinator]:
    """hooks-redaction in use."""
    coordinator = coordinator or coordinator_of()
    close = await hooks_redaction.mount(coordinator, config)
    try:
        await hooks_redaction.on_session_ready(coordinator)
        yield coordinator
    finally:
        close()
