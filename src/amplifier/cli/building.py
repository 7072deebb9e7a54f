"""Makes a module that is not in Python ready to be looked at: built, and served."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from amplifier.cli.common import Failure

SCRIPT = "build.sh"
PROGRAM = "serve"
SECONDS_TO_BUILD = 1800
SECONDS_TO_SERVE = 30
SECONDS_TO_END = 5
_NOT_TO_BE_HAD = 75


@contextmanager
def made_ready(folder: Path) -> Iterator[None]:
    """Build the module in `folder` if it has to be, and serve it if nobody does."""
    manifest = _manifest(folder)
    if manifest is None:
        yield
        return
    _build_if_needed(folder, manifest)
    if manifest.transport == "wasm":
        _compile(_product(folder, manifest))
    with _served(folder, manifest):
        yield


def _manifest(folder: Path) -> Any:
    """What the module says about itself; None where looking at it will say what is wrong."""
    from amplifier_core.transports import InvalidManifest, read_manifest

    if not folder.is_dir():
        return None
    with suppress(InvalidManifest):
        return read_manifest(folder)
    return None


# -- building -------------------------------------------------------------------------


def needed_tools(folder: Path) -> list[str]:
    """The commands that building the module takes, by the word of its script."""
    script = folder / SCRIPT
    text = script.read_text(encoding="utf-8", errors="replace") if script.is_file() else ""
    named = re.search(r"^# Needs: (.+)$", text, re.MULTILINE)
    return named[1].split() if named else []


def _build_if_needed(folder: Path, manifest: Any) -> None:
    script, product = folder / SCRIPT, _product(folder, manifest)
    if not script.is_file() or product is None or _is_fresh(product, folder):
        return
    for tool in needed_tools(folder):
        if shutil.which(tool) is None:
            raise Failure(f"{folder.name!r} is not built, and that takes {tool!r}. Install it.")
    click.echo(f"Building it by {SCRIPT} ...", err=True)
    try:
        done = subprocess.run(
            [str(script.resolve())], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=SECONDS_TO_BUILD, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{SCRIPT} of {folder.name!r} could not be run: {error}.") from error
    if done.returncode:
        what = "lacks what it needs" if done.returncode == _NOT_TO_BE_HAD else "failed"
        click.echo((done.stdout + done.stderr).strip()[-3000:], err=True)
        raise Failure(f"{SCRIPT} of {folder.name!r} {what}. Mend what it says above.")


def _compile(component: Path | None) -> None:
    """Do what is kept, and takes longer than looking at a module may: half a minute for Python."""
    try:
        from amplifier_core.transports.wasm.engine import compiled

        if component is not None and component.is_file():
            compiled(component.read_bytes())
    except Exception:
        # Looking at it comes next, and says what is wrong.
        return


def _product(folder: Path, manifest: Any) -> Path | None:
    """What building makes, as the manifest names it."""
    module: dict[str, Any] = manifest.settings.get("module") or {}
    names = {
        "grpc": PROGRAM,
        "rust": module.get("crate") or module.get("crate_name"),
        "wasm": module.get("artifact", "module.wasm"),
    }
    name = names.get(manifest.transport)
    if not isinstance(name, str) or not name:
        return None
    # Where cargo puts programs, and sessions look as well.
    by_cargo = folder / "target" / "release" / name
    is_there = manifest.transport == "rust" and by_cargo.is_file()
    return by_cargo if is_there and not (folder / name).exists() else folder / name


def _is_fresh(product: Path, folder: Path) -> bool:
    """Whether it was made after the last change of a source."""
    from amplifier.sources.trees import LEFT_OUT

    if not product.is_file():
        return False
    made = product.stat().st_mtime_ns
    for root, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each not in {*LEFT_OUT, "target"}]
        for path in (Path(root, name) for name in names):
            if path != product and path.lstat().st_mtime_ns > made:
                return False
    return True


# -- serving --------------------------------------------------------------------------


@contextmanager
def _served(folder: Path, manifest: Any) -> Iterator[None]:
    """Have the module's own server answer where the manifest says, if nobody else does."""
    port = _free_local_port(manifest)
    program = folder / PROGRAM
    if port is None or not program.is_file():
        yield
        return
    # It ends with this process, whatever becomes of it.
    launcher = [sys.executable, "-I", "-S", _launcher(), str(os.getpid())]
    server = subprocess.Popen(
        [*launcher, str(program.resolve()), "--port", str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "AMPLIFIER_PYTHON": sys.executable},
    )
    try:
        _wait_for(port, server, folder)
        yield
    finally:
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(SECONDS_TO_END)
        server.kill()
        server.communicate()


def _launcher() -> str:
    from amplifier_core.transports import launcher

    return launcher.__file__


def _free_local_port(manifest: Any) -> int | None:
    """The port of this machine that the manifest names, if nobody listens there."""
    endpoint = str((manifest.settings.get("grpc") or {}).get("endpoint") or "localhost:50051")
    host, _, port = endpoint.removeprefix("http://").rpartition(":")
    is_local = host in ("localhost", "127.0.0.1") and port.isdecimal()
    if manifest.transport != "grpc" or not is_local or _listens(int(port)):
        return None
    return int(port)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait_for(port: int, server: subprocess.Popen[bytes], folder: Path) -> None:
    """Until it says that it serves; a server that says nothing is not waited for for ever."""
    from threading import Timer

    assert server.stdout is not None
    guard = Timer(SECONDS_TO_SERVE, server.kill)
    guard.start()
    try:
        said = next(
            (line for line in server.stdout if line.startswith((b"READY:", b"ERROR:"))), b""
        )
    finally:
        guard.cancel()
    if not said.startswith(b"READY:"):
        why = said.decode(errors="replace").strip().removeprefix("ERROR:") or "it said nothing"
        raise Failure(
            f"The server of {folder.name!r} did not come up: {why}. "
            f"Run `./{PROGRAM} --port {port}` in it to see why."
        )
