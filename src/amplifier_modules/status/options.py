"""The config of hooks-status-context."""

from __future__ import annotations

from pydantic import Field

from amplifier_modules.settings import Settings

MODULE_ID = "hooks-status-context"

DEPENDENCIES_AND_BUILDS = (
    "node_modules/", "bower_components/", ".venv/", "venv/", "site-packages/", "__pycache__/",
    "*.pyc", "*.egg-info/", ".tox/", ".nox/", ".mypy_cache/", ".ruff_cache/", ".pytest_cache/",
    ".hypothesis/", ".cache/", "dist/", "build/", "out/", "target/", ".next/", ".nuxt/", ".turbo/",
    ".parcel-cache/", ".gradle/", ".terraform/", "coverage/", "htmlcov/",
)  # fmt: skip
LOCKS_LOGS_AND_EDITORS = (
    "*.lock", "package-lock.json", "pnpm-lock.yaml", "npm-shrinkwrap.json", "go.sum", "*.log",
    "logs/", ".idea/", ".vscode/", ".vs/", "*.swp", "*.swo", "*~", "*.bak", "*.tmp", ".DS_Store",
    "Thumbs.db",
)  # fmt: skip


class StatusSettings(Settings):
    """Keys of hooks-status-context."""

    working_dir: str = "."
    """Taken from the session's working folder, if it is relative."""
    include_git: bool = True
    git_include_status: bool = True
    git_include_commits: int = Field(5, ge=0, le=100)
    git_include_branch: bool = True
    git_include_main_branch: bool = True
    git_timeout: float = Field(2.0, gt=0)
    """Seconds that all questions to git may take together."""
    git_status_include_untracked: bool = True
    git_status_max_untracked: int = Field(20, ge=0)
    git_status_max_tracked: int = Field(50, ge=0)
    git_status_max_lines: int = Field(100, ge=0)
    git_status_enable_path_filtering: bool = True
    git_status_tier1_patterns: tuple[str, ...] = DEPENDENCIES_AND_BUILDS
    git_status_tier1_patterns_extend: tuple[str, ...] = ()
    git_status_tier2_patterns: tuple[str, ...] = LOCKS_LOGS_AND_EDITORS
    git_status_tier2_patterns_extend: tuple[str, ...] = ()
    git_status_tier2_limit: int = Field(10, ge=0)
    git_status_show_filter_summary: bool = True
    include_datetime: bool = True
    datetime_include_timezone: bool = False
    include_session: bool = True
    priority: int = 0
