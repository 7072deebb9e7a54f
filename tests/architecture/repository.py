"""Facts about this repository's files, for the tests that keep the house small and tidy."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
KERNEL = REPO / "kernel" / "amplifier_core"
NOT_KERNEL_PROPER = {
    "testing.py",
    "pytest_plugin.py",
    "cli.py",
    "_engine.py",
}
GENERATED = "_grpc_gen"
MADE_BY_TOOLS = {"__pycache__", "build", "dist"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def kernel_proper() -> list[Path]:
    """The files that a person reads to know the kernel; the workbench around it is left out."""
    return sorted(path for path in KERNEL.glob("*.py") if path.name not in NOT_KERNEL_PROPER)


def repository_files() -> list[Path]:
    """Every file of the repository that git tracks or would track; without git, every file."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        paths = [REPO / name for name in listing.stdout.split("\0") if name]
    else:
        paths = [path for path in REPO.rglob("*") if not _is_made_by_tools(path)]
    return sorted(path for path in paths if path.is_file())


def _is_made_by_tools(path: Path) -> bool:
    """Environments and caches, which live in hidden folders; `.ci` is ours."""
    *folders, _ = path.relative_to(REPO).parts
    return any(f in MADE_BY_TOOLS or (f.startswith(".") and f != ".ci") for f in folders)


def python_files() -> list[Path]:
    """Every Python file written by hand."""
    return [p for p in repository_files() if p.suffix == ".py" and GENERATED not in p.parts]


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, Function):
            yield node


def length(node: Function) -> int:
    """Lines from `def` to the end of the body."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def code_lines(source: str) -> int:
    """Lines of code: blank lines, comments and docstrings are not counted."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node):
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or 0) + 1))
    return sum(
        1
        for number, line in enumerate(source.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#") and number not in docstrings
    )
