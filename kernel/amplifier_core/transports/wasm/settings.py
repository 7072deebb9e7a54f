"""What a component may use up and touch: `[wasm]` in its manifest, the key `wasm` of its config.

The manifest is the author's word, so it can ask for time and memory only. What of this
machine a component gets to see is for the mount plan to say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationError

from ...loader import ModuleValidationError
from .. import Manifest
from ..settings import Table, problem

MIB = 1 << 20


def _existing_folder(name: str) -> str:
    folder = Path(name).expanduser().resolve()
    if not folder.is_dir():
        raise ValueError(f"{name!r} is no folder")
    return str(folder)


Folder = Annotated[str, AfterValidator(_existing_folder)]
Name = Annotated[str, Field(min_length=1)]


class Limits(Table, allow_inf_nan=False, strict=True):
    """`[wasm]`: what one call may use up."""

    #: Seconds that one call may compute.
    timeout: float = Field(30.0, gt=0)
    memory_mb: int = Field(64, gt=0, le=4096)
    #: Whether an event is denied when this hook fails.
    guard: bool = False


class Settings(Limits):
    """The rules that one module's component runs by."""

    #: Names of environment variables that the component may read.
    env: list[Name] = Field(default_factory=list)
    #: Folders that it may read; it finds them under the same absolute path.
    read_dirs: list[Folder] = Field(default_factory=list)
    #: Folders that it may read and change.
    write_dirs: list[Folder] = Field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """The granted variables that are set."""
        return {name: os.environ[name] for name in self.env if name in os.environ}


def read_settings(
    module_id: str, manifest: Manifest, config: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """The settings of a module, and the config that is left for the component itself.

    Raises:
        ModuleValidationError: there is an unknown key, or a wrong value.
    """
    asked = Limits.read(manifest, "wasm")
    rest = dict(config)
    granted = rest.pop("wasm", {})
    try:
        given = granted if isinstance(granted, Mapping) else {"wasm": granted}
        return Settings(**{**asked.model_dump(exclude_unset=True), **given}), rest
    except ValidationError as error:
        raise ModuleValidationError(
            f"The config of module {module_id!r} has a wrong `wasm`: {problem(Settings, error)}"
        ) from None
