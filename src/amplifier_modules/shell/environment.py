"""The environment of a command: the user's own, without what looks like a secret."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

_SHORTEST_SECRET = 8
"""Shorter values appear in innocent variables by chance."""

_SECRET_ENDINGS = re.compile(
    r".*(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|BEARER)S?"
)
_SECRET_PARTS = {"PASS", "PAT", "PWD", "DSN", "JWT", "AUTH", "SAS"}
_HARMLESS = {"PWD", "OLDPWD", "SSH_AUTH_SOCK"}

_SECRET_VALUE = re.compile(
    r"""
      \bsk-[\w-]{16,}                              # OpenAI, Anthropic and those like them
    | \bgh[opsur]_\w{20,} | \bgithub_pat_\w{20,} | \bglpat-[\w-]{16,}
    | \bxox[abeoprs]-[\w-]{10,}
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b
    | \bAIza[\w-]{30,}
    | \beyJ[\w-]{10,}\.[\w-]{10,}\.
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY
    | ://[^/\s:@]*:[^/\s@]+@                       # a password inside an address
    """,
    re.VERBOSE,
)


def scrubbed(
    environ: Mapping[str, str], passthrough: Sequence[str] = (), known: Iterable[str] = ()
) -> dict[str, str]:
    """`environ` without secrets, but with whatever `passthrough` names (`*` matches any text).

    A variable goes if its name sounds like a secret, its value has the form of one, or its
    value contains a known secret or the value of a variable that goes by its name.
    """
    named = {n: v for n, v in environ.items() if is_secret_name(n)}
    secrets = [v for v in (*known, *named.values()) if len(v) >= _SHORTEST_SECRET]
    return {
        name: value
        for name, value in environ.items()
        if any(fnmatchcase(name, pattern) for pattern in passthrough)
        or (name in _HARMLESS or not (name in named or _tells(value, secrets)))
    }


def is_secret_name(name: str) -> bool:
    if name.upper() in _HARMLESS:
        return False
    parts = re.split(r"[^A-Z0-9]+", name.upper())
    return any(part in _SECRET_PARTS or _SECRET_ENDINGS.fullmatch(part) for part in parts)


def secrets_in(config: Any) -> Iterator[str]:
    """The texts in a nested config that stand under a name which sounds like a secret."""
    if isinstance(config, Mapping):
        for key, value in config.items():
            if isinstance(value, str) and is_secret_name(str(key)):
                yield value
            else:
                yield from secrets_in(value)
    elif isinstance(config, list | tuple):
        for value in config:
            yield from secrets_in(value)


def _tells(value: str, secrets: Iterable[str]) -> bool:
    return bool(_SECRET_VALUE.search(value)) or any(secret in value for secret in secrets)


def find_bash(environ: Mapping[str, str], platform: str) -> str:
    """The path of bash.

    Raises:
        RuntimeError: there is none, or no system on which it can be supervised.
    """
    if platform == "win32":
        raise RuntimeError(
            "tool-bash needs bash and the process groups of a POSIX system, which Windows does "
            "not have. Run Amplifier inside WSL."
        )
    found = shutil.which("bash", path=environ.get("PATH", os.defpath))
    if found is None:
        raise RuntimeError("tool-bash needs bash, which is not on the PATH. Install bash.")
    return found
