"""tool-search: `grep` and `glob`."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any, ClassVar

from amplifier_core.models import ToolResult
from pydantic import Field

from amplifier_modules.files.globbing import GlobRequest
from amplifier_modules.files.grepping import GrepRequest
from amplifier_modules.files.policy import Policy
from amplifier_modules.files.process import search
from amplifier_modules.files.refusals import Refused
from amplifier_modules.files.workspace import Arguments, Workspace, failed, read_arguments
from amplifier_modules.settings import Settings

__amplifier_module_type__ = "tool"

EXCLUSIONS = (
    "build coverage dist .git .gradle .idea .mypy_cache .next node_modules .nuxt .nyc_output "
    "__pycache__ .pytest_cache target .tox vendor .venv venv .vscode"
)
_KEYS = ("allowed_paths", "denied_read_paths")
_MODES = ("files_with_matches", "content", "count")


class _Shared(Settings):
    """Keys of the module, and of each of its tools."""

    working_dir: str | None = None
    max_results: int | None = Field(None, ge=1)
    allowed_paths: list[str] | None = None
    denied_read_paths: tuple[str, ...] | None = None


class _ToolSettings(_Shared):
    timeout: float = Field(60, gt=0)
    exclusions: tuple[str, ...] = tuple(EXCLUSIONS.split())


class DefaultLimits(Settings):
    """How many results are returned by default."""

    files_with_matches: int = Field(200, ge=0)
    content: int = Field(500, ge=0)
    count: int = Field(200, ge=0)


class GrepSettings(_ToolSettings):
    """Keys of grep."""

    max_file_size: int = Field(10 * 1024 * 1024, ge=1)
    default_limits: DefaultLimits = DefaultLimits()


class GlobSettings(_ToolSettings):
    """Keys of glob."""


class SearchSettings(_Shared):
    """Keys of tool-search. What a tool's own part says wins."""

    grep: GrepSettings = GrepSettings()
    glob: GlobSettings = GlobSettings()


class _SearchTool(ABC):
    """What grep and glob have in common."""

    def __init__(self, coordinator: Any, common: SearchSettings, own: _ToolSettings) -> None:
        def key(name: str) -> Any:
            value = getattr(own, name)
            return getattr(common, name) if value is None else value

        self._workspace = Workspace(coordinator, key("working_dir"))
        self._most: int | None = key("max_results")
        self._exclusions = list(own.exclusions)
        self._timeout = own.timeout
        allowed, denied = key("allowed_paths"), key("denied_read_paths") or ()
        self._policy_at = lru_cache(maxsize=4)(
            lambda base: Policy.of("Reading", allowed, denied, base, _KEYS)
        )
        self._policy_at(self._workspace.base)

    @property
    def folder(self) -> str:
        """Where relative paths start; approval rules on paths are judged from there."""
        return self._workspace.base

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        try:
            request = read_arguments(input, self._request)
            policy = self._policy_at(self._workspace.base)
            found = await search(request, policy, self._timeout)
        except Refused as refusal:
            return failed(refusal)
        return ToolResult(success=True, output=found)

    @abstractmethod
    def _request(self, given: Arguments) -> GrepRequest | GlobRequest:
        """What the call asks for."""

    def _common(self, given: Arguments) -> dict[str, Any]:
        return {
            "pattern": given.text("pattern"),
            "path": self._workspace.absolute(given.text("path", ".")),
            "exclusions": [] if given.flag("include_ignored") else self._exclusions,
        }


class GrepTool(_SearchTool):
    name = "grep"
    description = (
        "Searches files for a regular expression (Python's dialect), line by line. Build, "
        "cache and version control folders are left out unless `include_ignored` is true."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "Regular expression"},
            "path": {"type": "string", "description": "File or folder; default '.'"},
            "output_mode": {"type": "string", "enum": list(_MODES), "default": _MODES[0]},
            "-i": {"type": "boolean", "description": "Ignore case", "default": False},
            "-n": {"type": "boolean", "description": "Number the lines", "default": True},
            "-A": {"type": "integer", "minimum": 0, "description": "Lines after a match"},
            "-B": {"type": "integer", "minimum": 0, "description": "Lines before a match"},
            "-C": {"type": "integer", "minimum": 0, "description": "Lines around a match"},
            "glob": {"type": "string", "description": "Only files like '*.py' or '!*.md'"},
            "type": {"type": "string", "description": "Only files of a type, like 'py'"},
            "multiline": {
                "type": "boolean",
                "description": "Let a match span lines, and the dot match line breaks",
                "default": False,
            },
            "head_limit": {
                "type": "integer",
                "minimum": 0,
                "description": "How many results; 0 for all",
            },
            "offset": {"type": "integer", "minimum": 0, "description": "Results to skip"},
            "include_ignored": {"type": "boolean", "default": False},
        },
        "required": ["pattern"],
    }
    annotations: ClassVar[dict[str, Any]] = {"effect": "pure", "reads": ["path"]}

    def __init__(self, coordinator: Any, common: SearchSettings) -> None:
        super().__init__(coordinator, common, common.grep)
        self._max_file_size = common.grep.max_file_size
        self._limits = common.grep.default_limits

    def _request(self, given: Arguments) -> GrepRequest:
        mode: Any = given.choice("output_mode", _MODES)
        around = given.number("-C", None, 0)
        before, after = given.number("-B", 0, 0), given.number("-A", 0, 0)
        limit = given.number("head_limit", getattr(self._limits, mode), 0) or 0
        return GrepRequest(
            **self._common(given),
            output_mode=mode,
            ignore_case=given.flag("-i"),
            numbered=given.flag("-n", True),
            before=(before if around is None else around) or 0,
            after=(after if around is None else around) or 0,
            glob=given.text("glob", "", may_be_empty=True) or None,
            type=given.text("type", "", may_be_empty=True) or None,
            multiline=given.flag("multiline"),
            limit=min(limit or self._most, self._most) if self._most else limit,
            offset=given.number("offset", 0, 0) or 0,
            max_file_size=self._max_file_size,
            ripgrep=_ripgrep(),
        )


def _ripgrep() -> str | None:
    """Where the program is; not where a relative entry of PATH leads, which may be the project."""
    found = shutil.which("rg")
    return found if found and os.path.isabs(found) else None


class GlobTool(_SearchTool):
    name = "glob"
    description = (
        "Finds files by pattern, newest first: '**/*.py' for all below, '*.py' for the top. "
        "Build, cache and version control folders are left out unless `include_ignored` is true."
    )
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "Like 'src/**/*.{ts,tsx}'"},
            "path": {"type": "string", "description": "Folder to search; default '.'"},
            "type": {"type": "string", "enum": ["file", "dir", "any"], "default": "file"},
            "exclude": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Patterns to leave out",
            },
            "include_ignored": {"type": "boolean", "default": False},
        },
        "required": ["pattern"],
    }
    annotations: ClassVar[dict[str, Any]] = {"effect": "pure", "reads": ["path"]}

    def __init__(self, coordinator: Any, common: SearchSettings) -> None:
        super().__init__(coordinator, common, common.glob)

    def _request(self, given: Arguments) -> GlobRequest:
        kind: Any = given.choice("type", ("file", "dir", "any"))
        return GlobRequest(
            **self._common(given),
            type=kind,
            exclude=given.texts("exclude"),
            limit=self._most or 500,
        )


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    settings = SearchSettings.read(config, "tool-search")
    for tool in (GrepTool(coordinator, settings), GlobTool(coordinator, settings)):
        await coordinator.mount("tools", tool, name=tool.name)
