"""The config of hooks-streaming-ui."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from amplifier_modules.settings import Settings

MODULE_ID = "hooks-streaming-ui"


class Keys(Settings):
    """What can be set, in either of two places."""

    show_thinking_stream: bool = True
    show_tool_lines: int = Field(5, ge=0)
    show_token_usage: bool = True
    show_text_stream: bool = True


class UiSettings(Keys):
    """Keys of hooks-streaming-ui: flat, or under `ui`."""

    ui: Keys = Keys()


def read_options(config: Mapping[str, Any] | None) -> Keys:
    """What `config` asks for, wherever it says so.

    Raises:
        ValueError: a key is unknown, unusable, or given twice with different values.
    """
    settings = UiSettings.read(config, MODULE_ID)
    nested = settings.ui.model_dump(exclude_unset=True)
    flat = settings.model_dump(exclude_unset=True, exclude={"ui"})
    for key in sorted(flat.keys() & nested.keys()):
        if flat[key] != nested[key]:
            raise ValueError(
                f"Config of {MODULE_ID!r}: {key!r} and {'ui.' + key!r} differ. Keep one of them."
            )
    return Keys(**(nested | flat))
