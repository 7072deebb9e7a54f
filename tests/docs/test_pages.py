"""Every Python block of every page works as shown."""

import subprocess
import sys
from pathlib import Path

import pytest
import snippets

REPO = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "kernel/README.md", "docs/**/*.md"]


def pages_with_snippets() -> list[str]:
    pages = sorted(path for pattern in PAGES for path in REPO.glob(pattern))
    return [p.relative_to(REPO).as_posix() for p in pages if snippets.snippets_of(p.read_text())]


@pytest.mark.parametrize("page", pages_with_snippets())
def test_the_python_blocks_work_as_shown(page: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", snippets.__file__, REPO / page],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert result.returncode == 0, result.stderr
