"""A home and a project in a temporary folder, for tests in this process."""

import subprocess
from pathlib import Path
from typing import Any

from amplifier.trust.review import review
from amplifier.trust.store import trust

TOOL = """\
from amplifier_core import ToolResult

__amplifier_module_type__ = "tool"


class Greet:
    name = "{name}"
    description = "Say hello."
    input_schema = {{"type": "object", "properties": {{}}}}

    async def execute(self, input):
        return ToolResult(output="{answer}")


async def mount(coordinator, config=None):
    await coordinator.mount("tools", Greet())
"""


class Project:
    """Where settings, bundles and modules are written to be looked at."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home

    def write(self, name: str, text: str) -> Path:
        return self._write(self.root / name, text)

    def write_home(self, name: str, text: str) -> Path:
        return self._write(self.home / name, text)

    def trust(self, bundle: str | None = None) -> None:
        trust(review(bundle).untrusted)

    def tool(self, folder: str, answer: str = "Hello.", name: str = "greet") -> Path:
        package = f"{folder}/amplifier_module_tool_greet/__init__.py"
        return self.write(package, TOOL.format(name=name, answer=answer)).parent.parent

    @staticmethod
    def _write(path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Repository:
    """A git repository on this disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self._git("init", "-q", "-b", "main")

    @property
    def uri(self) -> str:
        return f"git+file://{self.folder}@main"

    def commit(self, files: dict[str, str]) -> str:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._git("add", "-A")
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        self._git(*who, "commit", "-q", "-m", "change", "--no-gpg-sign")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *arguments: str) -> str:
        done: Any = subprocess.run(
            ["git", *arguments], cwd=self.folder, check=True, capture_output=True, text=True
        )
        return str(done.stdout)


def greeting(version: str, answer: str, name: str = "greet") -> dict[str, str]:
    """The files of a tool that answers in this way."""
    project = f'[project]\nname = "amplifier-module-tool-greet"\nversion = "{version}"\n'
    code = TOOL.format(name=name, answer=answer)
    return {"pyproject.toml": project, "amplifier_module_tool_greet/__init__.py": code}
