"""Builds the example hook in Python as a component, once for each state of its sources.

    python scripts/python_component.py            build and compile it if need be
    python scripts/python_component.py --find     only look, and fail if it is not built

Either way the path of the component is printed.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).parents[1]
EXAMPLE = REPO / "examples" / "wasm-hook-python"
CACHE = REPO / ".cache"
TOOL = "componentize-py==0.25.1"


def component() -> Path:
    digest = hashlib.sha256(TOOL.encode())
    for source in (EXAMPLE / "hook.py", EXAMPLE / "build.sh", REPO / "spec/amplifier-modules.wit"):
        digest.update(source.read_bytes())
    return CACHE / "components" / f"{digest.hexdigest()[:16]}.wasm"


def build(target: Path) -> None:
    tools = CACHE / "componentize-py"
    if not (tools / "bin" / "componentize-py").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", tools], check=True)
        pip = [tools / "bin" / "python", "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "--disable-pip-version-check", TOOL], check=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    path = f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        draft = Path(folder, "module.wasm")
        subprocess.run(
            [EXAMPLE / "build.sh", draft],
            check=True,
            env={**os.environ, "PATH": path},
            stdout=subprocess.DEVNULL,
        )
        draft.replace(target)


def compile_for_tests(built: Path) -> None:
    """Half a minute that no test has to wait for."""
    from amplifier_core.transports.wasm.engine import compiled

    os.environ["AMPLIFIER_HOME"] = str(CACHE / "amplifier-home")
    compiled(built.read_bytes())


if __name__ == "__main__":
    found = component()
    if "--find" in sys.argv:
        print(found)
        sys.exit(not found.exists())
    if not found.exists():
        print("Building a component from Python ...", file=sys.stderr)
        build(found)
    compile_for_tests(found)
    print(found)
