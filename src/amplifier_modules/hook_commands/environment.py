"""What commands see of the environment: everything but what looks like a secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

_SECRET_WORD = (
    r"api_?keys?|keys?|tokens?|secrets?|passw(?:or)?ds?|passphrases?|pwd|pass|pat|"
    r"credentials?|creds?|auth|authorization|private|cookies?|sessions?|dsn|jwt|bearer"
)
_SECRET_NAME = re.compile(rf"(?:^|[_\-.])(?:{_SECRET_WORD})(?:$|[_\-.\d])", re.IGNORECASE)
_SECRET_ENDING = re.compile(
    r"(?:key|token|secret|pass(?:w(?:or)?d|phrase)?|pwd|credential)s?\d*$", re.IGNORECASE
)
# In a web address, even what stands in the place of the user's name is a token as a rule.
_LOGIN = r"(?:(?<=https://)|(?<=http://)|[^/\s:@]*:)[^/\s@]+"
_LOGIN_IN_URL = re.compile(rf"://{_LOGIN}@")
_HARMLESS = frozenset({"PWD", "OLDPWD"})

_MASK = "***"
_IN_COMMANDS = (
    (
        re.compile(rf"(?i)([\w\-]*(?:{_SECRET_WORD})[\w\-]*\s*[=:]\s*)(?:bearer\s+)?[^\s'\"]+"),
        r"\1",
    ),
    (re.compile(r"(?i)(--?[\w\-]*(?:key|token|secret|password|auth)\s+)[^\s'\"]+"), r"\1"),
    (re.compile(r"(?i)(bearer\s+)[^\s'\"]+"), r"\1"),
    (re.compile(rf"(://){_LOGIN}(?=@)"), r"\1"),
)


def scrubbed(environment: Mapping[str, str], allowed: Iterable[str]) -> dict[str, str]:
    """The variables that are no secrets, and those that `allowed` names or matches."""
    patterns = tuple(allowed)
    return {
        name: value
        for name, value in environment.items()
        if not _is_secret(name, value) or any(fnmatchcase(name, each) for each in patterns)
    }


def _is_secret(name: str, value: str) -> bool:
    if name in _HARMLESS:
        return False
    named = _SECRET_NAME.search(name) or _SECRET_ENDING.search(name)
    return bool(named or _LOGIN_IN_URL.search(value))


def masked(command: str) -> str:
    """A command for the log, without the secrets that it seems to hold."""
    for pattern, kept in _IN_COMMANDS:
        command = pattern.sub(kept + _MASK, command)
    return command
