"""What a module or bundle seems to be, read from its files without running any of them."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

from .trees import LEFT_OUT

MOST_FILES = 500
LARGEST_FILE = 1_000_000
_USES = {
    "network": {"socket", "ssl", "http", "urllib", "httpx", "httpx2", "requests", "aiohttp",
                "websockets", "grpc", "smtplib", "ftplib"},
    "processes": {"subprocess", "multiprocessing", "pty", "ctypes", "signal"},
    "files": {"pathlib", "shutil", "tempfile", "glob", "sqlite3"},
    "environment": {"os"},
}  # fmt: skip


def describe(folder: Path) -> dict[str, Any]:
    """Version, transport, requirements, tools and what its code makes use of."""
    project = _section(folder / "pyproject.toml", "project")
    manifest = _section(folder / "amplifier.toml", "module")
    version, requires = _metadata(folder)
    found: dict[str, Any] = {"version": str(project.get("version") or version or "unknown")}
    if manifest.get("transport"):
        found["transport"] = str(manifest["transport"])
    named = project.get("dependencies")
    requires = list(map(str, named)) if isinstance(named, list) else requires
    if requires:
        found["requires"] = sorted(requires)
    tools, uses = set[str](), set[str]()
    for path in _python_files(folder):
        tree = _parsed(path)
        if tree is not None:
            tools |= _tools(tree)
            uses |= _uses(tree)
    return {**found, "tools": sorted(tools), "uses": sorted(uses)}


def _metadata(folder: Path) -> tuple[str, list[str]]:
    """Version and requirements of an unpacked wheel."""
    from email.parser import HeaderParser

    file = next(folder.glob("*.dist-info/METADATA"), None)
    if file is None or file.stat().st_size > LARGEST_FILE:
        return "", []
    headers = HeaderParser().parsestr(file.read_text(encoding="utf-8", errors="replace"))
    needed = headers.get_all("Requires-Dist") or []
    return str(headers.get("Version") or ""), [each for each in needed if "extra ==" not in each]


def _python_files(folder: Path) -> list[Path]:
    found = [
        path
        for path in sorted(folder.rglob("*.py"))
        if not {"tests", *LEFT_OUT} & set(path.relative_to(folder).parts)
    ]
    return found[:MOST_FILES]


def _parsed(path: Path) -> ast.Module | None:
    try:
        if path.stat().st_size > LARGEST_FILE:
            return None
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _tools(tree: ast.Module) -> set[str]:
    """Names of classes that look like tools: with a name, a description and execute()."""
    found = set()
    for each in ast.walk(tree):
        if not isinstance(each, ast.ClassDef):
            continue
        methods = {part.name for part in each.body if isinstance(part, ast.AsyncFunctionDef)}
        values = {
            target.id: part.value.value
            for part in each.body
            if isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant)
            for target in part.targets
            if isinstance(target, ast.Name)
        }
        if "execute" in methods and isinstance(values.get("name"), str):
            found.add(str(values["name"]))
    return found


def _uses(tree: ast.Module) -> set[str]:
    imported = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in each.names}
        elif isinstance(each, ast.ImportFrom) and each.module and not each.level:
            imported.add(each.module.partition(".")[0])
        elif isinstance(each, ast.Attribute) and each.attr.startswith("create_subprocess"):
            imported.add("subprocess")
    return {use for use, names in _USES.items() if names & imported}


def _section(file: Path, name: str) -> dict[str, Any]:
    """A table of a TOML file; empty if there is nothing like it."""
    try:
        if file.stat().st_size > LARGEST_FILE:
            return {}
        found = tomllib.loads(file.read_text(encoding="utf-8")).get(name)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What changes from one description to another, a line each."""
    lines = [
        f"{key}: {old.get(key) or 'none'} -> {new.get(key) or 'none'}"
        for key in ("version", "commit", "transport")
        if (old.get(key) or "") != (new.get(key) or "")
    ]
    for key in ("tools", "uses", "requires"):
        before, after = set(old.get(key, [])), set(new.get(key, []))
        lines += [f"{key}: + {each}" for each in sorted(after - before)]
        lines += [f"{key}: - {each}" for each in sorted(before - after)]
    return lines
