"""Reads the tables of a manifest that only one transport knows; mistakes in them are errors."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from ..utils.spelling import did_you_mean
from . import MANIFEST, InvalidManifest, Manifest

TableT = TypeVar("TableT", bound="Table")


class Table(BaseModel, extra="forbid", frozen=True):
    """One table of a manifest: every key is known, and has its type."""

    @classmethod
    def read(cls: type[TableT], manifest: Manifest, name: str) -> TableT:
        """Table `[name]` of `manifest`; an absent one has all defaults.

        Raises:
            InvalidManifest: a key is unknown or has a wrong value.
        """
        given = manifest.settings.get(name, {})
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            where = f"{manifest.path / MANIFEST} has a wrong [{name}]"
            raise InvalidManifest(f"{where}: {problem(cls, error)}") from None


def problem(table: type[Table], error: ValidationError) -> str:
    """The first mistake, and how to mend it."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        known = list(table.model_fields)
        hint = did_you_mean(key, known, f"Use {', '.join(known)}.")
        return f"unknown key {key!r}. {hint}"
    return f"{key}: {first['msg']}. Correct it." if key else f"{first['msg']}. Correct it."


class CallSettings(Table):
    """`[grpc]`: where a module answers, and how long and how much it may."""

    endpoint: str | None = None
    timeout: float = Field(300.0, gt=0)
    """Seconds that one call may take."""
    connect_timeout: float = Field(5.0, gt=0)
    """Seconds until a server must have taken the connection."""
    max_message_mb: float = Field(16.0, gt=0)
    """The largest answer that is read."""
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    token_env: str | None = None
    """The variable that holds the secret which the server asks for."""
    kernel: bool = True
    """Whether the module may call back."""
    guard: bool = False
    """Whether an event is denied when this hook fails."""


class ProcessSettings(Table):
    """`[sidecar]`: how a module's process is run."""

    args: list[str] = []
    env: list[str] = []
    """Variables that it may see beside the harmless ones."""
    start_timeout: float = Field(10.0, gt=0)
    stop_timeout: float = Field(5.0, gt=0)
    restarts: int = Field(3, ge=0)
    """How often it is started again after it has died."""


def module_table(manifest: Manifest) -> dict[str, Any]:
    return manifest.settings.get("module") or {}
