"""Where the key of a vendor comes from. It stays in a wrapper that never shows it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import SecretStr

from amplifier_modules.providing.options import RemoteSettings

HIDDEN = "[REDACTED]"


def find_key(settings: RemoteSettings, variables: Iterable[str]) -> SecretStr | None:
    """The key in the config, else in the environment, else in `api_key_file`.

    Raises:
        ValueError: the file cannot be read or is empty.
    """
    in_config = settings.api_key.get_secret_value().strip() if settings.api_key else ""
    in_environment = next((os.environ[v].strip() for v in variables if os.environ.get(v)), "")
    found = in_config or in_environment
    if not found and settings.api_key_file is not None:
        found = _read(settings.api_key_file.expanduser())
    return SecretStr(found) if found else None


def _read(file: Path) -> str:
    try:
        key = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        text = f"The key file {str(file)!r} cannot be read. Check `api_key_file`."
        raise ValueError(text) from error
    if not key:
        raise ValueError(f"The key file {str(file)!r} is empty. Write the key into it.")
    return key


def without_key(text: str, key: SecretStr | None) -> str:
    """`text`, even if a vendor was careless enough to repeat the key in it."""
    value = key.get_secret_value() if key else ""
    return text.replace(value, HIDDEN) if value else text
