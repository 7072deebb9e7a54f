"""Which bundled modules there are, and how they do in a session on some kernel."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PROBE = Path(__file__).resolve().parent / "probe.py"
SECONDS = 240


def entry_points() -> dict[str, str]:
    """Module ids and where their `mount` is, as this project declares them."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
    declared: dict[str, str] = project["entry-points"]["amplifier.modules"]
    return declared


def problems_on(python: Path, folder: Path) -> dict[str, str]:
    """What went wrong, by module id; empty for those that work. `folder` is for what it writes."""
    metadata = folder / "site" / "amplifier-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: amplifier\nVersion: 0\n")
    lines = [f"{name} = {target}" for name, target in entry_points().items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[amplifier.modules]", *lines]))
    (folder / "work").mkdir()
    done = subprocess.run(
        [python, PROBE, *entry_points()],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(metadata.parent), str(REPO / "src")]),
            "HOME": str(folder),
        },
        cwd=folder / "work",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.stdout, done.stderr
    problems: dict[str, str] = json.loads(done.stdout)
    return problems
