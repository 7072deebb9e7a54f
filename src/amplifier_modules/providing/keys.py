"""Where the key of a vendor comes from. It stays in a wrapper that never shows it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import SecretStr

from amplifier_modules.providing.options import RemoteSettings

HIDDEN = "[REDACTED]"
_SHORTEST_SECRET = 8
_CAN_BE_A_KEY = re.compile(r"[!#-\[\]-~]*")
"""ASCII without white space, and without what JSON would write differently."""


def find_key(settings: RemoteSettings, variables: Iterable[str]) -> SecretStr | None:
    """The key in the config, else in the environment, else in `api_key_file`.

    Raises:
        ValueError: the file cannot be read or is empty, or what was found cannot be a key.
    """
    in_config = settings.api_key.get_secret_value().strip() if settings.api_key else ""
    in_environment = next((os.environ[v].strip() for v in variables if os.environ.get(v)), "")
    found = in_config or in_environment
    if not found and settings.api_key_file is not None:
        found = _read(settings.api_key_file.expanduser())
    if not _CAN_BE_A_KEY.fullmatch(found):
        # HTTP clients would refuse it too, but with the key in the text of the error.
        raise ValueError(
            "The key has characters that no key has, such as spaces or line breaks. "
            "Check `api_key`, `api_key_file` and the environment."
        )
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
    # What is given to servers that want any key, such as "x", is also in other words.
    return text.replace(value, HIDDEN) if len(value) >= _SHORTEST_SECRET else text
