"""A whole session, with secrets planted in every place there is: none reaches a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import AmplifierSession, ModuleLoader
from amplifier_core.llm_errors import LLMError
from amplifier_core.models import ToolResult
from helpers_records import TOKENS
from pydantic import BaseModel

ENVIRONMENT = "Canary+Environment/1=="
CONFIG = "canary-config-2-wing"
URL_PASSWORD = "canary4url"
NAMED = "CanaryNamed5"
LOGGED = (
    "session:start", "session:config", "prompt:submit", "tool:pre", "tool:post", "tool:error",
    "provider:error", "llm:request:raw", "content_block:end", "my:error", "session:end",
)  # fmt: skip

pytestmark = pytest.mark.together


class Account(BaseModel):
    note: str
    password: str = NAMED


@dataclass
class Envelope:
    inner: Any


class Leak:
    """A tool that leaks in every way a tool can."""

    name = "leak"
    description = "Leaks."

    def __init__(self) -> None:
        self.input_schema = {"type": "object", "properties": {}}
        self.inputs: list[dict[str, Any]] = []

    async def execute(self, input: dict[str, Any]) -> Any:
        self.inputs.append(input)
        secrets = " ".join([*TOKENS.values(), ENVIRONMENT, CONFIG])
        if input.get("how") == "raise":
            raise RuntimeError(f"could not reach https://me:{URL_PASSWORD}@host with {secrets}")
        if input.get("how") == "error":
            return ToolResult(success=False, error={"message": secrets, "authorization": NAMED})
        nested = Envelope([{"deep": {"er": (secrets, Account(note=secrets))}}])
        return ToolResult(output={"text": secrets, "nested": nested, "bytes": secrets.encode()})


class Loader(ModuleLoader):
    """Mounts the leaking tool with the provider."""

    def __init__(self, tool: Leak) -> None:
        super().__init__()
        self.tool = tool

    async def load(self, module_id: str, *args: Any, **kwargs: Any) -> Any:
        mount = await super().load(module_id, *args, **kwargs)
        if module_id != "provider-mock":
            return mount

        async def with_tool(coordinator: Any) -> Any:
            await coordinator.mount("tools", self.tool)
            return await mount(coordinator)

        return with_tool


def script(texts: str) -> list[dict[str, Any]]:
    return [
        {
            "text": texts,
            "thinking": texts,
            "tool_calls": [{"name": "leak", "arguments": {"x": texts}}],
        },
        {"tool_calls": [{"name": "leak", "arguments": {"how": "raise", "password": NAMED}}]},
        {"tool_calls": [{"name": "leak", "arguments": {"how": "error", "list": [[texts]]}}]},
        {"tool_calls": [{"name": texts, "arguments": {texts: texts}}]},
        {"text": texts},
        {"error": {"type": "AuthenticationError", "message": f"bad key {texts}"}},
    ]


def plan(loop: str, hooks: list[dict[str, Any]], texts: str) -> dict[str, Any]:
    config = {"script": script(texts), "debug": True, "raw_debug": True}
    return {
        "session": {
            "orchestrator": {"module": loop},
            "context": {"module": "context-simple"},
            "metadata": {"note": texts},
            "raw": True,
        },
        "providers": [{"module": "provider-mock", "config": config}],
        "hooks": hooks,
        "app": {"vault": {"client_secret": CONFIG}, "dsn": f"db://me:{URL_PASSWORD}@host/x"},
    }


@pytest.mark.parametrize("redacts", [False, True], ids=["logging alone", "with hooks-redaction"])
@pytest.mark.parametrize("loop", ["loop-basic", "loop-streaming"])
async def test_no_planted_secret_reaches_a_file(
    loop: str, redacts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))
    monkeypatch.setenv("CANARY_API_KEY", ENVIRONMENT)
    planted = [*TOKENS.values(), ENVIRONMENT, CONFIG]
    everything = " ".join(planted)
    extra = {
        "additional_events": ["*"],
        "exclude_events": [],
        "max_value_chars": 4000,
        "max_bytes": 20_000,
        "keep": 99,
    }
    hooks = [{"module": "hooks-logging", "config": extra}]
    hooks += [{"module": "hooks-redaction"}] if redacts else []
    tool = Leak()

    session = AmplifierSession(plan(loop, hooks, everything), loader=Loader(tool))
    async with session:
        await session.execute(f"Here are my secrets: {everything} password={NAMED}")
        with pytest.raises(LLMError):
            await session.execute(f"and again {everything}")
        error = ValueError(f"from a hook: {everything}")
        await session.coordinator.hooks.emit(
            "my:error", {"error": error, "trace": [error, {error: 1}]}
        )
        messages = await session.coordinator.get("context").get_messages()

    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    content = b"\n".join(file.read_bytes() for file in files)
    for secret in (*planted, NAMED, URL_PASSWORD):
        for line in secret.splitlines():
            if not line.startswith("-----"):
                assert line.encode() not in content, f"{line[:12]}... was written"
    assert len(files) > 1, "the log should have been rotated"
    assert b"[REDACTED:SECRET]" in content
    for event in LOGGED:
        assert f'"event": "{event}"'.encode() in content
    # The model and the tools had the originals.
    assert tool.inputs[0] == {"x": everything}
    assert everything in messages[0]["content"]
    assert not [
        each for each in caplog.records if each.name.startswith("amplifier_modules.records")
    ]
