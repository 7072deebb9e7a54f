"""What a component may use up and touch: the `wasm` key of its config, `[wasm]` in its manifest.

The manifest is the author's word, so it can ask for time and memory only. What of this
machine a component gets to see is for the mount plan to say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...utils.spelling import did_you_mean
from .. import InvalidManifest, Manifest

MIB = 1 << 20
_LARGEST_MEMORY_MB = 4096
_LIMITS = ("timeout", "memory_mb", "guard")
_GRANTS = ("env", "read", "write")


@dataclass(frozen=True)
class Settings:
    """The rules that one module's component runs by."""

    #: Seconds that one call may compute.
    timeout: float = 30.0
    memory_mb: int = 64
    #: For a hook: its failure denies the event.
    guard: bool = False
    #: Names of environment variables that the component may read.
    env: tuple[str, ...] = ()
    #: Folders that it may read; it finds them under the same absolute path.
    read: tuple[str, ...] = ()
    #: Folders that it may read and change.
    write: tuple[str, ...] = ()


def read_settings(
    module_id: str, manifest: Manifest, config: Mapping[str, Any]
) -> tuple[Settings, dict[str, Any]]:
    """The settings of a module, and the config that is left for the component itself.

    Raises:
        InvalidManifest: there is an unknown key, or a value of the wrong kind.
    """
    asked = manifest.settings.get("wasm", {})
    settings = _merged(Settings(), asked, _LIMITS, f"[wasm] of module {module_id!r}")
    rest = dict(config)
    given = rest.pop("wasm", {})
    where = f"The config key 'wasm' of module {module_id!r}"
    return _merged(settings, given, (*_LIMITS, *_GRANTS), where), rest


def _merged(settings: Settings, given: Any, known: tuple[str, ...], where: str) -> Settings:
    if not isinstance(given, Mapping):
        raise InvalidManifest(f"{where} is no table. Write keys like `timeout` below it.")
    for key, value in given.items():
        if key not in known:
            raise InvalidManifest(f"{where} has the unknown key {key!r}. {_advice(key, known)}")
        is_right, expected = _RULES[key]
        if not is_right(value):
            raise InvalidManifest(f"{where} has {key} = {value!r}. Give {expected}.")
    values = {key: tuple(it) if key in _GRANTS else it for key, it in given.items()}
    return replace(settings, **values)


def _advice(key: str, known: tuple[str, ...]) -> str:
    if key in _GRANTS:
        return "Only the mount plan can grant it: set it there, in config.wasm."
    return did_you_mean(str(key), known, f"Use one of {', '.join(known)}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(it, str) and it for it in value)


def _are_folders(value: Any) -> bool:
    return _are_names(value) and all(folder(each).is_dir() for each in value)


_Rule = tuple[Callable[[Any], bool], str]
_RULES: dict[str, _Rule] = {
    "timeout": (lambda it: _is_number(it) and 0 < it < float("inf"), "seconds above 0"),
    "memory_mb": (
        lambda it: isinstance(it, int) and _is_number(it) and 0 < it <= _LARGEST_MEMORY_MB,
        f"a whole number from 1 to {_LARGEST_MEMORY_MB}",
    ),
    "guard": (lambda it: isinstance(it, bool), "true or false"),
    "env": (_are_names, "a list of names of environment variables"),
    "read": (_are_folders, "a list of folders that exist"),
    "write": (_are_folders, "a list of folders that exist"),
}


def folder(name: str) -> Path:
    return Path(name).expanduser().resolve()


def environment(settings: Settings) -> dict[str, str]:
    """The granted variables that are set."""
    return {name: os.environ[name] for name in settings.env if name in os.environ}
