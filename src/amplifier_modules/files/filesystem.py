"""tool-filesystem: `read_file`, `write_file` and `edit_file`."""

from __future__ import annotations

from typing import Any

from amplifier_modules.files.changing import EditTool, WriteTool
from amplifier_modules.files.reading import ReadTool
from amplifier_modules.files.shared import FilesystemSettings, FileTools

__amplifier_module_type__ = "tool"


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    shared = FileTools(coordinator, FilesystemSettings.read(config, "tool-filesystem"))
    for tool in (ReadTool(shared), WriteTool(shared), EditTool(shared)):
        await coordinator.mount("tools", tool, name=tool.name)
