"""Collects the secrets that a session has been given, so that they are known by their value."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

from amplifier_modules.records.naming import sensitivity, words_of

CHANNEL = "secrets.values"
SHORTEST = 8
LONGEST_PLAIN_WORD = 15
SHORTEST_NUMBER = 12
DEEPEST = 30

_URL_PASSWORD = re.compile(r"://[^\s/:@]{0,128}:([^\s/@]{1,256})@")
_SCHEME = re.compile(r"(?i:bearer|basic|token)\s+(?=\S)")


class KnownSecrets:
    """The values to hide wherever they turn up, in each spelling they may turn up in."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self.needles: tuple[str, ...] = ()
        self.learn(values)

    def learn(self, values: Iterable[str]) -> None:
        """Add values. What is too short or too plain to be told from ordinary text is left out."""
        worth = {each for value in values for each in _pieces(value) if _is_distinct(each)}
        spelt = {spelling for value in worth for spelling in _spellings(value)}
        self.needles = tuple(sorted({*self.needles, *spelt}, key=len, reverse=True))

    @property
    def longest(self) -> int:
        return len(self.needles[0]) if self.needles else 0


def given_to(config: Any, environment: Mapping[str, str] | None = None) -> list[str]:
    """The secrets in the environment and in a mount plan, told by the names they go by."""
    variables = os.environ if environment is None else environment
    return [*_from_environment(variables), *_from_config(config)]


def _from_environment(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        yield from _url_passwords(value)
        if _names_secret(name, value) and not _is_path(value):
            yield value


def _names_secret(name: str, value: str) -> bool:
    if sensitivity(name) != "no":
        return True
    return words_of(name)[-1:] == ["key"] and _looks_random(value)


def _from_config(value: Any, name: str = "", depth: int = 0, all_below: bool = False) -> list[str]:
    """The secrets at and below a value of the plan."""
    if depth > DEEPEST:
        return []
    if isinstance(value, str):
        wanted = all_below or _names_secret(name, value)
        is_reference = value.startswith(("${", "$(")) or _is_path(value)
        return [*_url_passwords(value), *([value] if wanted and not is_reference else [])]
    found: list[str] = []
    if isinstance(value, Mapping):
        for key, each in value.items():
            below = all_below or sensitivity(str(key)) == "all"
            found += _from_config(each, str(key), depth + 1, below)
    elif isinstance(value, list | tuple):
        for each in value:
            found += _from_config(each, name, depth + 1, all_below)
    return found


def _url_passwords(text: str) -> Iterator[str]:
    if "://" in text:
        for found in _URL_PASSWORD.finditer(text):
            yield found[1]
            yield unquote(found[1])


def _is_path(value: str) -> bool:
    return value.startswith(("/", "~", "./")) and os.path.exists(os.path.expanduser(value))


def _looks_random(value: str) -> bool:
    has_digit = any(each.isdigit() for each in value)
    has_letter = any(each.isalpha() for each in value)
    return len(value) >= 16 and has_digit and has_letter and " " not in value


def _pieces(value: str) -> Iterator[str]:
    """The value without its scheme; of several lines, as a key has, also each line."""
    value = value.strip()
    yield _SCHEME.sub("", value, count=1) if _SCHEME.match(value) else value
    lines = value.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if not line.startswith("-----"))


def _is_distinct(value: str) -> bool:
    """Whether hiding this text everywhere hides nothing else."""
    if len(value) < SHORTEST:
        return False
    if value.isdecimal():
        return len(value) >= SHORTEST_NUMBER
    return not (value.isalpha() and value.islower() and len(value) <= LONGEST_PLAIN_WORD)


def _spellings(value: str) -> set[str]:
    """The value as it is, and as it stands in JSON, in a repr, in a URL and in base64."""
    raw = value.encode("utf-8", "replace")
    # What follows the value changes the code of its last bytes.
    in_base64 = base64.b64encode(raw[: len(raw) // 3 * 3]).decode()
    escaped = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
    return {value, *escaped, repr(value)[1:-1], quote(raw, safe=""), in_base64}


async def collect_contributed(coordinator: Any) -> list[str]:
    """What is known by the end of mounting: modules may have set variables, or tell values.

    A module that keeps secrets elsewhere contributes them on the channel `secrets.values`.
    """
    found = given_to(getattr(coordinator, "config", None))
    for given in await coordinator.collect_contributions(CHANNEL):
        values = [given] if isinstance(given, str) else given
        if isinstance(values, list | tuple | set | frozenset):
            found += [each for each in values if isinstance(each, str)]
    return found
