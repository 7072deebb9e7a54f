"""Modules that `amplifier module new` writes, built and tested once for each content.

`python helpers_beginnings.py` builds and tests them all, so that the tests find them built.
"""

import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from amplifier.cli.building import needed_tools
from amplifier.cli.module import KINDS
from amplifier.cli.templates import LANGUAGES, write_module

EVERY = [
    (kind, transport, language)
    for transport, languages in LANGUAGES.items()
    for language in languages
    for kind in KINDS
    if transport != "python"
]
# Python itself is in its components: each takes half a minute to build.
BUILT = [each for each in EVERY if each[1:] != ("wasm", "python") or each[0] == "tool"]
CACHE = Path(__file__).resolve().parents[2] / ".cache"
OWN_TESTS = {
    "go": ["go", "test", "."],
    "typescript": ["npm", "test", "--silent"],
    "rust": ["cargo", "test", "--quiet", "--release"],
    "python": [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
}
LONGEST = 900


def beginning(parent: Path, kind: str, transport: str, language: str) -> Path:
    """A module that was just written; if it is to be built, it is, and its tests have passed."""
    folder = write_module(parent, kind, "demo", transport, language)
    for tool in needed_tools(folder):
        if shutil.which(tool, path=_environment()["PATH"]) is None:
            pytest.skip(f"{tool} is not installed")
    _move_to_free_port(folder)
    if not (folder / "build.sh").exists():
        return folder
    kept = _kept(folder, kind, transport == "wasm", language)
    for product in ("serve", "module.wasm"):
        if (kept / product).exists() and not (folder / product).exists():
            shutil.copy(kept / product, folder)
    return folder


def _move_to_free_port(folder: Path) -> None:
    """Tests run side by side, and each has a server of its own."""
    manifest, text = folder / "amplifier.toml", (folder / "amplifier.toml").read_text()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lines = [
        f'endpoint = "localhost:{port}"' if each.startswith("endpoint") else each
        for each in text.splitlines()
    ]
    manifest.write_text("\n".join(lines) + "\n")


def _kept(folder: Path, kind: str, is_component: bool, language: str) -> Path:
    """Where the same sources have been built and tested; does both if nobody has."""
    digest = hashlib.sha256()
    # How a program is reached makes no difference to how it is built.
    made_for = f"{folder.name}-{'component' if is_component else 'program'}-{language}"
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in files:
        if path.name not in ("amplifier.toml", "README.md"):
            digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    home = CACHE / "beginnings"
    home.mkdir(parents=True, exist_ok=True)
    kept = home / f"{made_for}-{digest.hexdigest()[:16]}"
    # One at a time: crates share a folder in which all programs have the same name.
    with (home / f"{language}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            print(f"Building {made_for} ...", flush=True)
            for old in home.glob(f"{made_for}-*/"):
                shutil.rmtree(old)
            with tempfile.TemporaryDirectory(dir=home) as draft:
                made = Path(draft, folder.name)
                shutil.copytree(folder, made)
                # The tests of one kind show that they can be run, and in Rust they take long.
                is_tested = language != "rust" or kind == "tool"
                _run(made, ["./build.sh"])
                if is_tested:
                    _run(made, OWN_TESTS[language])
                shutil.rmtree(made / "node_modules", ignore_errors=True)
                made.rename(kept)
    return kept


def _run(folder: Path, command: list[str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=_environment(), timeout=LONGEST, check=False,
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode == 75:
        pytest.skip(f"packages are not to be had here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def _environment() -> dict[str, str]:
    """Crates share what they are built from; componentize-py is where `make examples` put it."""
    path = f"{CACHE / 'componentize-py' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "CARGO_TARGET_DIR": str(CACHE / "cargo")}


def main() -> None:
    for kind, transport, language in BUILT:
        with tempfile.TemporaryDirectory() as parent, suppress(pytest.skip.Exception):
            beginning(Path(parent), kind, transport, language)


if __name__ == "__main__":
    main()
