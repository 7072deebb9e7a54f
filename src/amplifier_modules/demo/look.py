"""`tool-look`: the names in the working folder, so that a first turn has something to call."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from amplifier_core.models import ToolResult
from pydantic import Field

from amplifier_modules.settings import Settings

__amplifier_module_type__ = "tool"


class LookSettings(Settings):
    """Keys of tool-look."""

    working_dir: str | None = None
    """The folder to look at; otherwise the session's working folder."""
    most_names: int = Field(40, ge=1)


class LookTool:
    """Lists what is in the project's top folder."""

    name = "look"
    description = "Lists the names of the files and folders in the project."
    input_schema: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {"show": {"type": "string", "enum": ["files", "folders"]}},
        "required": ["show"],
        "additionalProperties": False,
    }
    annotations: ClassVar[dict[str, Any]] = {"effect": "pure"}

    def __init__(self, folder: Path, most_names: int) -> None:
        self._folder = folder
        self._most_names = most_names

    async def execute(self, input: dict[str, Any]) -> ToolResult:
        wants_folders = input.get("show", "files") == "folders"
        try:
            found = sorted(
                each.name
                for each in self._folder.iterdir()
                if each.is_dir() == wants_folders and not each.name.startswith(".")
            )
        except OSError as error:
            return ToolResult(success=False, error={"message": f"Cannot look here: {error}"})
        more = len(found) - self._most_names
        names = found[: self._most_names] + ([f"... and {more} more"] if more > 0 else [])
        return ToolResult(success=True, output=", ".join(names) or "nothing")


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    settings = LookSettings.read(config, "tool-look")
    folder = settings.working_dir or coordinator.get_capability("session.working_dir")
    tool = LookTool(Path(folder or Path.cwd()), settings.most_names)
    await coordinator.mount("tools", tool, name=tool.name)
