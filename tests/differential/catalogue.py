"""Which scripts there are: every public function of every file in `scripts`.

Names are read from the sources, so that listing them imports no kernel.
"""

import ast
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent / "scripts"


def script_names() -> list[str]:
    """Every script as `file.function`, in the order they are written."""
    return [
        f"{path.stem}.{node.name}"
        for path in sorted(SCRIPTS.glob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
    ]
