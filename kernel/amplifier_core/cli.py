"""The `amplifier-core` command: examines modules before they are released.

Exit codes: 0 valid, 1 not valid, 2 the command itself was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .validation.base import Severity, ValidationResult
from .validation.discover import VALIDATORS, UnknownType, validate_path

__all__ = ["VALIDATORS", "cli", "list_types", "main", "print_result", "validate"]

_DESCRIPTIONS = {
    "provider": "gives access to models",
    "tool": "something the model can call",
    "hook": "listens to events, and may stop or change them",
    "orchestrator": "runs the agent loop",
    "context": "keeps the conversation",
    "approval": "decides what tools may do",
}
_COLOURS: dict[Severity, int] = {"error": 31, "warning": 33, "info": 34}
_GREEN, _RED = 32, 31


class UsageError(Exception):
    """The command line asks for something that cannot be done."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A module may say anything; a narrow console must not end the report.
        sys.stdout.reconfigure(errors="replace")
    parser = _parser()
    try:
        options = parser.parse_args(argv)
    except SystemExit as exit_request:
        return int(exit_request.code or 0)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    if options.command == "list-types":
        return list_types()
    try:
        module_type, path = _type_and_path(options)
        config = _read_config(options.config)
        return validate(path, module_type, config, as_json=options.json, quiet=options.quiet)
    except (UsageError, UnknownType) as error:
        print(f"amplifier-core: {error}", file=sys.stderr)
        return 2


cli = main


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("amplifier-core", description="Module validation tools.")
    text = f"amplifier-core, version {version('amplifier-core')}"
    parser.add_argument("--version", action="version", version=text)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("list-types", help="list the types of modules that can be examined")
    examine = commands.add_parser(
        "validate",
        help="examine the module in a repository, a package folder or a file",
        usage="amplifier-core validate [TYPE] PATH [options]",
    )
    examine.add_argument("what", nargs="+", metavar="PATH", help="where the module is")
    examine.add_argument("-t", "--type", choices=VALIDATORS, help="its type, if it does not tell")
    examine.add_argument("-c", "--config", metavar="JSON", help="the config that mount() gets")
    examine.add_argument("--json", action="store_true", help="print the result as JSON")
    examine.add_argument("-q", "--quiet", action="store_true", help="print only the summary")
    # Part of the older command line, where it had no effect either.
    examine.add_argument("-e", "--entry-point", help=argparse.SUPPRESS)
    return parser


def _type_and_path(options: argparse.Namespace) -> tuple[str | None, Path]:
    *types, place = options.what
    if len(types) > 1:
        raise UsageError(f"Got {len(options.what)} arguments. Give one path at a time.")
    for module_type in types:
        if options.type not in (None, module_type):
            raise UsageError(f"Got the types {module_type!r} and {options.type!r}. Give one.")
    if not Path(place).exists():
        raise UsageError(f"{place!r} does not exist. Give the folder of a module.")
    return options.type or next(iter(types), None), Path(place)


def _read_config(text: str | None) -> dict[str, Any]:
    try:
        config = json.loads(text or "{}")
    except ValueError as error:
        raise UsageError(f"--config is not JSON: {error}.") from error
    if not isinstance(config, dict):
        raise UsageError('--config is no JSON object. Write it as \'{"key": "value"}\'.')
    return config


def validate(
    path: Path,
    module_type: str | None = None,
    config: dict[str, Any] | None = None,
    *,
    as_json: bool = False,
    quiet: bool = False,
) -> int:
    """Examine the module at `path`, print what was found, and return the exit code."""
    with _stdout_kept_clean():
        result = asyncio.run(validate_path(path, module_type, config))
    if as_json:
        report = asdict(result)
        print(json.dumps({**report, "passed": result.passed}, indent=2))
    else:
        print_result(result, quiet)
    return 0 if result.passed else 1


@contextmanager
def _stdout_kept_clean() -> Iterator[None]:
    """Point file descriptor 1 at stderr: a module's subprocesses write there unasked."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def print_result(result: ValidationResult, quiet: bool = False) -> None:
    """Print a result for people: the summary, and unless `quiet` every check."""
    summary = _paint(result.summary(), _GREEN if result.passed else _RED)
    if quiet:
        print(summary)
        return
    print(f"Validating {result.module_type} module: {result.module_path}\n\n{summary}\n")
    for check in result.checks:
        sign = "✓" if check.passed else "✗"
        severity = _paint(f"[{check.severity}]".ljust(9), _COLOURS[check.severity])
        print(f"  {sign} {severity} {check.name}: {check.message}")


def _paint(text: str, colour: int) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{colour}m{text}\x1b[0m"


def list_types() -> int:
    """Print the types of modules that can be examined."""
    print("Available module types:\n")
    for module_type in VALIDATORS:
        print(f"  {module_type:<14}{_DESCRIPTIONS[module_type]}")
    return 0
