"""Keeps secrets of the environment out of what the command prints about errors."""

from __future__ import annotations

import os
import re

MASK = "[REDACTED]"
SHORTEST = 8
_NAMES_OF_SECRETS = re.compile(
    r"(?:^|_)(?:APIKEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTHORIZATION|COOKIE)$"
)
_BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


def is_name_of_secret(name: str) -> bool:
    """Whether what goes by this name is nobody else's business."""
    return _NAMES_OF_SECRETS.search(_BETWEEN_WORDS.sub("_", name).upper()) is not None


def masked(text: str) -> str:
    """`text` without the values of environment variables that are named like secrets."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and value in text and is_name_of_secret(name):
            text = text.replace(value, MASK)
    return text
