"""Builds the examples in other languages, once for each state of their sources.

    python scripts/examples.py [NAME ...]      build what is not built yet
    python scripts/examples.py --find NAME     print the module directory that was built

What is built is kept in `.cache/examples`. An example is built by its own `build.sh`, which
names the commands that it needs; where one of them is missing, or the packages cannot be
fetched (`build.sh` then ends with 75), the example is skipped, and tests that need it too.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
CACHE = REPO / ".cache"
BUILT = CACHE / "examples"
HOMES = [REPO / "examples", REPO / "tests" / "conformance"]
CONTRACTS = [REPO / "spec" / "amplifier_module.proto", REPO / "spec" / "amplifier-modules.wit"]
FROM_PIP = {"componentize-py": "componentize-py==0.25.1"}
NOT_TO_BE_HAD = 75
LONGEST_BUILD = 900


class Skipped(Exception):
    """An example cannot be built here, for want of something that is not part of it."""


class NotBuilt(Exception):
    """An example has not been built, or the build failed."""


def sources() -> dict[str, Path]:
    """The folders of all examples that are built, by name."""
    folders = sorted(script.parent for home in HOMES for script in home.glob("*/build.sh"))
    return {each.name: each for each in folders}


def find(name: str) -> Path:
    """The module directory that was built from example `name`.

    Raises:
        Skipped: it cannot be built on this machine.
        NotBuilt: it was not, or could not be although everything is there.
    """
    target = _target(sources()[name])
    if target.exists():
        return target
    if (note := _note(target, "skipped")).exists():
        raise Skipped(note.read_text())
    if (note := _note(target, "failed")).exists():
        raise NotBuilt(f"Example {name!r} could not be built:\n{note.read_text()}")
    raise Skipped(f"Example {name!r} is not built. Run `make examples`.")


def _target(folder: Path) -> Path:
    """Where it goes: another place for each state of what it is made of."""
    digest = hashlib.sha256()
    for file in [*CONTRACTS, *_files(folder), *_shared_files(folder)]:
        digest.update(f"{file.relative_to(REPO).as_posix()}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    digest.update(repr(FROM_PIP).encode())
    return BUILT / f"{folder.name}-{digest.hexdigest()[:16]}"


def _shared_files(folder: Path) -> list[Path]:
    """Those of the crates beside it that it is built with."""
    manifest = folder / "Cargo.toml"
    named = re.findall(r'path = "(\.\./[^"]+)"', manifest.read_text()) if manifest.exists() else []
    return [file for each in named for file in _files((folder / each).resolve())]


def _files(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if not _is_ignored(path, folder)]


def _is_ignored(path: Path, folder: Path) -> bool:
    """Whether building left it there: its `.gitignore` has one name per line."""
    ignore = folder / ".gitignore"
    patterns = ignore.read_text().split() if ignore.exists() else []
    patterns = [each.strip("/") for each in [*patterns, "__pycache__"]]
    parts = path.relative_to(folder).parts
    return any(fnmatch(part, pattern) for part in parts for pattern in patterns)


def _note(target: Path, why: str) -> Path:
    return target.with_name(f"{target.name}.{why}")


# -- building -------------------------------------------------------------------------


def build(name: str, folder: Path) -> bool:
    """Build it if need be; whether it failed although everything is there."""
    target = _target(folder)
    if target.exists():
        return False
    print(f"Building example {name} ...", file=sys.stderr)
    for old in BUILT.glob(f"{name}-*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    try:
        _run(folder, target)
    except Skipped as reason:
        print(f"Example {name} is skipped: {reason}", file=sys.stderr)
        _note(target, "skipped").write_text(str(reason))
    except NotBuilt as reason:
        print(f"Example {name} could not be built:\n{reason}", file=sys.stderr)
        _note(target, "failed").write_text(str(reason))
        return True
    return False


def _run(folder: Path, target: Path) -> None:
    environment = _environment(folder)
    with tempfile.TemporaryDirectory(dir=BUILT) as place:
        draft = Path(place, "module")
        draft.mkdir()
        if (manifest := folder / "amplifier.toml").exists():
            shutil.copy(manifest, draft)
        _check(folder, [str(folder / "build.sh"), str(draft)], environment)
        for component in draft.rglob("*.wasm"):
            _compile(component)
        draft.rename(target)


def _check(folder: Path, command: list[str], environment: dict[str, str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, env=environment, timeout=LONGEST_BUILD, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotBuilt(f"It took more than {LONGEST_BUILD} s.") from None
    said = (done.stdout + done.stderr).decode(errors="replace").strip()[-3000:]
    if done.returncode == NOT_TO_BE_HAD:
        last = said.splitlines()[-1] if said else "it does not say why"
        raise Skipped(f"its packages are not to be had here ({last})")
    if done.returncode:
        raise NotBuilt(f"{said}\nbuild.sh ended with {done.returncode}.")


def _environment(folder: Path) -> dict[str, str]:
    """The caller's, with one target folder for all crates, and with tools from pip.

    Raises:
        Skipped: a command that the build needs is missing.
    """
    named = re.search(r"^# Needs: (.+)$", (folder / "build.sh").read_text(), re.MULTILINE)
    needed = named[1].split() if named else []
    path = os.environ.get("PATH", os.defpath)
    for each in set(needed) & set(FROM_PIP):
        path = f"{_tool(each)}{os.pathsep}{path}"
    missing = [each for each in needed if not shutil.which(each, path=path)]
    if missing:
        raise Skipped(f"it needs {' and '.join(missing)}, which is not installed")
    return {**os.environ, "PATH": path, "CARGO_TARGET_DIR": str(CACHE / "cargo")}


def _tool(name: str) -> Path:
    """The folder of a command that pip installs."""
    home = CACHE / name
    if not (home / "bin" / name).exists():
        venv.create(home, clear=True, with_pip=True)
        pip = [home / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        done = subprocess.run([*pip, FROM_PIP[name]], check=False, capture_output=True)
        if done.returncode:
            raise Skipped(f"{FROM_PIP[name]} could not be installed by pip")
    return home / "bin"


def _compile(component: Path) -> None:
    """What takes up to half a minute, and that no test has to wait for."""
    from amplifier_core.transports.wasm.engine import compiled

    os.environ["AMPLIFIER_HOME"] = str(CACHE / "amplifier-home")
    compiled(component.read_bytes())


@contextmanager
def _alone() -> Iterator[None]:
    """One build at a time: another one waits, and then finds everything made."""
    BUILT.mkdir(parents=True, exist_ok=True)
    with (BUILT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(arguments: list[str]) -> int:
    known = sources()
    wanted = [each for each in arguments if each != "--find"] or list(known)
    if unknown := [each for each in wanted if each not in known]:
        print(f"There is no example {unknown[0]!r}. Use {', '.join(known)}.", file=sys.stderr)
        return 2
    if "--find" in arguments:
        try:
            print(*map(find, wanted), sep="\n")
        except (Skipped, NotBuilt) as reason:
            print(reason, file=sys.stderr)
            return 1
        return 0
    with _alone():
        failed = [each for each in wanted if build(each, known[each])]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
