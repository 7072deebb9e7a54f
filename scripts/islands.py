"""Runs the tests of each bundled module with nothing but the kernel and its own wheel installed.

    python scripts/islands.py --python PYTHON [ISLAND...]

PYTHON is an interpreter that has the kernel and pytest, and neither the app nor other modules.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from zipfile import ZipFile

REPO = Path(__file__).resolve().parents[1]
ISLANDS = REPO / "src" / "amplifier_modules"
UNPACKED = REPO / ".cache" / "islands"
NO_TESTS = 5


def names() -> list[str]:
    return sorted(each.parent.name for each in ISLANDS.glob("*/pyproject.toml"))


def unpacked_wheel(name: str) -> Path:
    """The island as its users install it, in a folder of its own."""
    folder = UNPACKED / name
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "wheel")],
        cwd=ISLANDS / name,
        capture_output=True,
        check=True,
    )
    (wheel,) = (folder / "wheel").glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def tested(name: str, python: str) -> bool:
    """Run one island's tests and say how it went."""
    start = time.monotonic()
    done = subprocess.run(
        [
            python,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-m",
            "island",
            "--tb=short",
            "--maxfail=5",
            f"tests/modules/{name}",
        ],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": str(unpacked_wheel(name))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode:
        print(done.stdout, flush=True)
    reason = "there are no tests" if done.returncode == NO_TESTS else lines[-1]
    print(f"{name}, alone: {reason} ({time.monotonic() - start:.0f} s)", flush=True)
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("islands", nargs="*", metavar="ISLAND")
    given = parser.parse_args()
    with ThreadPoolExecutor(given.workers) as pool:
        fine = list(pool.map(lambda name: tested(name, given.python), given.islands or names()))
    sys.exit(not all(fine))


if __name__ == "__main__":
    main()
