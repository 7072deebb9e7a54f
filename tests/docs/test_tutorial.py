"""What the tutorial's project file registers is found once the package is installed."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from snippets import snippets_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "first-tool.md"


def files_on_the_page() -> dict[str, str]:
    return {each.file: each.code for each in snippets_of(PAGE.read_text()) if each.file}


def install(files: dict[str, str], folder: Path) -> None:
    """Lay out what an installer would: the package, and the metadata with its entry points."""
    project = tomllib.loads(files["pyproject.toml"])["project"]
    for name, text in files.items():
        if name.startswith("amplifier_module_"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{point} = {value}" for point, value in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def test_an_installed_module_needs_no_source(tmp_path: Path) -> None:
    files = files_on_the_page()
    site = tmp_path / "site"
    site.mkdir()
    install(files, site)
    program = files["try_it.py"].replace('"source": ".", ', "")
    assert program != files["try_it.py"]
    (tmp_path / "try_it.py").write_text(program)

    result = subprocess.run(
        [sys.executable, "-W", "error", "try_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert result.returncode == 0, result.stderr
    assert "mounted: ['reading_time']" in result.stdout
