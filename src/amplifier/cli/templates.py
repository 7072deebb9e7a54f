"""Writes the beginning of a module: code, tests, a README, all of which work at once."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from amplifier.cli.common import Failure

TEMPLATES = Path(__file__).parent / "module_templates"
PREFIXES = {"orchestrator": "loop", "hook": "hooks"}
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_PROJECT = Template("""\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "amplifier-module-$id"
version = "0.1.0"
description = "A $kind for Amplifier."
requires-python = ">=3.11"

[project.entry-points."amplifier.modules"]
$id = "$package:mount"

[tool.pytest.ini_options]
asyncio_mode = "auto"
asyncio_default_fixture_loop_scope = "function"
pythonpath = ["."]
""")
_README = Template("""\
# $id

A $kind for Amplifier.

    amplifier module validate .
    python -m pytest
    amplifier module add $id --source .
""")


def write_module(parent: Path, kind: str, name: str, transport: str, language: str | None) -> Path:
    """A new folder below `parent` with a module in it."""
    if transport != "python" or language not in (None, "python"):
        raise Failure(
            f"There is no beginning for {transport!r} in {language or 'any language'!r} yet. "
            f"Start from a module in `examples/`, or leave --transport out."
        )
    if _NAME.fullmatch(name) is None or len(name) > 60:
        raise Failure(f"{name!r} is no name for a module. Use small letters, digits and dashes.")
    prefix = PREFIXES.get(kind, kind)
    short = name.removeprefix(f"{prefix}-")
    id = f"{prefix}-{short}"
    names = {
        "id": id,
        "kind": kind,
        "short": short.replace("-", "_"),
        "package": f"amplifier_module_{id.replace('-', '_')}",
        "class": "".join(each.capitalize() for each in short.split("-")),
    }
    if not names["class"][0].isalpha():
        names["class"] = f"My{names['class']}"
    folder = parent / f"amplifier-module-{id}"
    try:
        folder.mkdir()
    except FileExistsError as error:
        raise Failure(f"There is already a {folder.name!r} here. Choose another name.") from error
    _write(folder, kind, names)
    return folder


def _write(folder: Path, kind: str, names: dict[str, str]) -> None:
    package = folder / names["package"]
    package.mkdir()
    (folder / "tests").mkdir()
    code = Template((TEMPLATES / f"{kind}.py.txt").read_text(encoding="utf-8"))
    test = Template((TEMPLATES / f"{kind}.test.txt").read_text(encoding="utf-8"))
    test_name = f"test_{names['id'].replace('-', '_')}.py"
    (folder / "pyproject.toml").write_text(_PROJECT.substitute(names), encoding="utf-8")
    (folder / "README.md").write_text(_README.substitute(names), encoding="utf-8")
    (package / "__init__.py").write_text(code.substitute(names), encoding="utf-8")
    (folder / "tests" / test_name).write_text(test.substitute(names), encoding="utf-8")
