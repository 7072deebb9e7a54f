"""Tells from a name whether what it holds is a secret: `api_key` does, `token_count` does not."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Sensitivity = Literal["no", "text", "all"]

LONGEST_NAME = 80

_ORDINARY = re.compile(r"[a-z]{1,20}(?:_[a-z]{1,20}){0,5}")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# Names end with what they hold; these endings only say which one of several it is.
_WHICH = {
    "base", "current", "dev", "development", "local", "new", "old", "plain", "primary", "prod",
    "production", "raw", "secondary", "stage", "staging", "test", "text", "value",
}  # fmt: skip
_SECRET = {"accesskey", "connectionstring", "privatekey", "pwd", "secretkey"}
# Some are written together, as PGPASSWORD.
_SECRET_ENDS = ("apikey", "passphrase", "passwd", "password", "secret", "token")
_COLLECTION = {
    "apikeys", "auth", "authorization", "cookie", "cookies", "credential", "credentials",
    "passwords", "secrets",
}  # fmt: skip
_PAIRS = {
    "access key", "account key", "api key", "auth key", "connection string", "encryption key",
    "master key", "private key", "secret key", "shared key", "signing key",
}  # fmt: skip
_PAIRS_OF_MANY = {"access keys", "api keys", "private keys", "secret keys"}


def words_of(name: str) -> list[str]:
    """The words of a name in any case style, in lower case."""
    return [word.lower() for word in _WORD.findall(name[:LONGEST_NAME])]


@lru_cache(maxsize=4096)
def sensitivity(name: str) -> Sensitivity:
    """How much of the value of `name` is secret: nothing, its text, or all that is in it.

    "all" is for names of collections, such as `credentials`. A dict below a name like
    `password` is something else, as a schema that describes a password.
    """
    if len(name) > LONGEST_NAME:
        return "no"
    words = words_of(name)
    while len(words) > 1 and (words[-1] in _WHICH or words[-1].isdigit()):
        words.pop()
    if not words:
        return "no"
    last, pair = words[-1], " ".join(words[-2:])
    if last in _COLLECTION or pair in _PAIRS_OF_MANY:
        return "all"
    is_secret = last in _SECRET or last.endswith(_SECRET_ENDS) or pair in _PAIRS
    return "text" if is_secret else "no"


@lru_cache(maxsize=4096)
def is_ordinary(name: str) -> bool:
    """Whether a name is one that people give to fields, and so no secret itself."""
    return _ORDINARY.fullmatch(name) is not None


def holds_secret(name: str, value: object) -> bool:
    """Whether this text or number, as the value of `name`, is to be hidden."""
    if value is None or isinstance(value, bool) or value == "" or sensitivity(name) == "no":
        return False
    if name.lower().endswith("token"):
        # Streams call their pieces of text tokens too, and statistics their counts.
        return isinstance(value, str) and len(value) >= 8 and not _has_blank(value)
    return True


def _has_blank(text: str) -> bool:
    return any(character.isspace() for character in text)
