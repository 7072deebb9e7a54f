"""What touches files and processes works for an ordinary user as it does for root."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NOBODY = 65534
SECONDS = 120
CORE = [
    "files/test_files_changing.py",
    "shell/test_bash_run.py",
    "records/test_records_logfile.py",
]

pytestmark = [
    pytest.mark.together,
    pytest.mark.slow,
    pytest.mark.skipif(
        not hasattr(os, "geteuid") or os.geteuid() != 0,
        reason="only root can become somebody else; all tests run as an ordinary user already",
    ),
]


def _is_open(path: Path) -> bool:
    """Whether everybody can get to `path` and read it."""
    real = path.resolve()
    return all(each.stat().st_mode & 0o005 == 0o005 for each in (real, *real.parents))


def _interpreter() -> str:
    """A Python of this version that everybody can run."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for each in (sys.executable, shutil.which(version, path=os.defpath)):
        if each is not None and _is_open(Path(each)):
            return each
    pytest.skip(f"no {version} that an ordinary user can run: {sys.executable!r} is private")


@pytest.fixture
def home() -> Iterator[Path]:
    # Not below tmp_path, which belongs to root alone.
    folder = Path(tempfile.mkdtemp(prefix="ordinary-"))
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_the_core_of_the_tests_passes_for_an_ordinary_user(home: Path) -> None:
    if not _is_open(HERE):
        pytest.skip(f"an ordinary user cannot read {str(HERE)!r}")
    python = _interpreter()
    libraries = [each for each in sys.path if not each.startswith(sys.base_prefix)]
    environment = {
        "PATH": os.defpath,
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(libraries),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(home / "hypothesis"),
    }

    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *CORE],
        cwd=HERE,
        env=environment,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
