"""Recognises secrets and personal data in text by their form.

Every detector has anchors: short lower-case texts of which one is part of all it finds. They
are looked for with plain substring search, and a pattern is tried only where one stands. The
patterns cannot run away: a repetition is bounded, or possessive and followed by nothing that
could fail after a long run.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import cache
from typing import Literal, NamedTuple

Rule = Literal["secrets", "pii-basic"]
Span = tuple[int, int]
Find = Callable[[str, int], Span | None]


class Detector(NamedTuple):
    """Finds one kind of thing."""

    name: str
    rule: Rule
    anchors: tuple[str, ...]
    find: Find
    """The place of the secret, given the text and the place of an anchor in it."""
    in_long_run: bool = False
    """Whether an anchor of it is part of `SHORTEST_RUN` letters, digits, `_`, `-`, `.` in a row."""
    guards: str = ""
    """If it need not be in a run: characters of which one has to be in the text as well."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Late: most of the many patterns are never needed.
    return re.compile(pattern)


def _by(pattern: str) -> Find:
    """Finds what the last group of `pattern`, or all of it, matches at an anchor."""

    def find(text: str, at: int) -> Span | None:
        found = _compiled(pattern).match(text, at)
        return found.span(found.re.groups) if found is not None else None

    return find


# -- tokens that begin with a mark of their issuer --------------------------------------

SHORTEST_RUN = 14
_HAS_DIGIT = r"(?=[A-Za-z_\-]{0,64}\d)"
_START = r"(?<![A-Za-z0-9])"


def _token(name: str, anchors: str, pattern: str) -> Detector:
    find = _by(_START + pattern)
    return Detector(name, "secrets", tuple(anchors.split()), find, in_long_run=True)


def _prefixed(name: str, prefix: str, shortest: int) -> Detector:
    tail = rf"{_HAS_DIGIT}[A-Za-z0-9_\-]{{{shortest},}}+"
    return _token(name, prefix.lower(), re.escape(prefix) + tail)


_PREFIXES = {
    "glpat-": 16, "gldt-": 16, "glrt-": 16, "glcbt-": 16, "glptt-": 16, "glsoat-": 16,
    "GOCSPX-": 20, "npm_": 30, "pypi-": 40, "hf_": 20, "gsk_": 20, "xai-": 20, "pplx-": 20,
    "r8_": 20, "dop_v1_": 32, "doo_v1_": 32, "dor_v1_": 32, "dapi": 32, "shpat_": 24,
    "shpss_": 24, "lin_api_": 20, "ntn_": 30, "sq0csp-": 20, "whsec_": 16, "AGE-SECRET-KEY-1": 40,
    "hvs.": 20, "dckr_pat_": 20, "sbp_": 32, "tfp_": 32, "ATATT3": 40,
}  # fmt: skip

_TOKENS = [
    _token(
        "AWS access key", "akia asia abia acca", r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}(?![A-Za-z0-9])"
    ),
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9_]{20,}+"),
    _token("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{20,}+"),
    _token("Slack token", "xox", r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9\-]{10,}+"),
    _token("Slack token", "xapp-", r"xapp-\d-[A-Za-z0-9\-]{10,}+"),
    _token("Google API key", "aiza", r"AIza[A-Za-z0-9_\-]{30,}+"),
    _token("Google access token", "ya29.", r"ya29\.[A-Za-z0-9_\-.]{20,}+"),
    _token("SendGrid key", "sg.", r"SG\.[A-Za-z0-9_\-]{16,64}+\.[A-Za-z0-9_\-]{16,}+"),
    _token(
        "model vendor key",
        "sk-",
        # The many CSS classes and packages that are named so have a digit or two at most.
        r"sk-(?:(?=ant-|proj-|svcacct-|or-v1-)|(?=(?:[A-Za-z_\-]{0,48}\d){3}))"
        r"[A-Za-z0-9_\-]{16,}+",
    ),
    _token(
        "Stripe key",
        "sk_live_ rk_live_ sk_test_ rk_test_",
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}+",
    ),
    *(_prefixed("vendor token", prefix, shortest) for prefix, shortest in _PREFIXES.items()),
    Detector(
        "JSON web token",
        "secrets",
        ("eyj",),
        _by(
            # Shorter where one run may hold many beginnings, each of which takes its time.
            r"(?:(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{8,4000}+|(?<=[_\-])eyJ[A-Za-z0-9_\-]{8,300}+)"
            r"\.[A-Za-z0-9_\-]{4,}+"
            r"(?:\.[A-Za-z0-9_\-]*+){1,3}"
        ),
        in_long_run=True,
    ),
]  # fmt: skip

# -- secrets that their surroundings give away --------------------------------------------

_BEARER = r"(?i:bearer)\s{1,4}(?=[A-Za-z._~+/\-]{0,64}\d)([A-Za-z0-9._~+/\-]{16,}+=*)"
_VALUE = r"[^\s\"'`,;&<>(){}\[\]\\|$]"
_GIVEN_AS = (
    r"\\{0,2}[\"']?\s{0,4}(?::=|=>|[:=])\s{0,4}(?:(?:[Bb]earer|[Bb]asic|[Tt]oken)\s{1,4})?"
    r"\\{0,2}[\"']?(?!https?:|[.~]{0,2}/)"
)
_WITH_DIGIT = rf"(?={_VALUE}{{0,80}}\d)"
_WITH_LETTER = rf"(?={_VALUE}{{0,80}}[A-Za-z])"
# What a bracket follows is code, not a value.
_NO_CODE = rf"(?!{_VALUE}{{0,100}}[(\[{{])"
_TAKEN = rf"({_VALUE}{{8,}}+)"
_SECRET_WORD = (
    r"(?i:passw(?:or)?d|passphrase|pwd|secret|credentials?|authorization)"
    rf"{_GIVEN_AS}{_NO_CODE}{_WITH_DIGIT}{_TAKEN}"
)
_KEY_WORD = (
    r"(?i:token|(?:(?<=api)|(?<=api[_\-])|(?<=access)|(?<=access[_\-])|(?<=secret)"
    r"|(?<=secret[_\-])|(?<=private[_\-])|(?<=account)|(?<=account[_\-])|(?<=auth[_\-]))key)"
    rf"{_GIVEN_AS}{_NO_CODE}{_WITH_DIGIT}{_WITH_LETTER}{_TAKEN}"
)


def _basic(text: str, at: int) -> Span | None:
    """Credentials of basic authentication: base64 of a name, a colon and a password."""
    found = _BASIC.match(text, at)
    if found is None:
        return None
    try:
        decoded = base64.b64decode(found[1] + "=" * (-len(found[1]) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return found.span(1) if b":" in decoded and decoded.isascii() else None


_BASIC = re.compile(r"(?i:basic)\s{1,4}([A-Za-z0-9+/]{8,2000}+={0,2})")


_KEY_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----")
_KEY_END = re.compile(r"-----END[A-Z0-9 ]{0,60}-----")


def _private_key(text: str, at: int) -> Span | None:
    """To the end of the text where the end of the block is missing: better too much than a key."""
    begin = _KEY_BEGIN.match(text, at)
    if begin is None:
        return None
    dashes = text.find("-----", begin.end())
    if dashes < 0:
        return at, len(text)
    end = _KEY_END.match(text, dashes)
    return at, end.end() if end is not None else dashes


def _near(name: str, anchors: str, find: str | Find, guards: str) -> Detector:
    made = _by(find) if isinstance(find, str) else find
    return Detector(name, "secrets", tuple(anchors.split("|")), made, guards=guards)


_CONTEXTS = [
    _near("private key", "-----begin", _private_key, "-"),
    _near(
        "Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/[a-z]{1,20}/([A-Za-z0-9/_\-]{20,}+)",
        "/",
    ),
    _near("bearer token", "bearer ", _BEARER, " "),
    _near("basic credentials", "basic ", _basic, " "),
    _near("password in a URL", "://", r"://[^\s/:@\"'<>\\?#]{0,128}:([^\s/@\"'<>\\]{1,256})@", "@"),
    _near("token in a URL", "://", rf"://{_HAS_DIGIT}([A-Za-z0-9_\-.~%]{{20,256}})@", "@"),
    _near("signed URL", "sig=|signature=", r"(?i:sig(?:nature)?)=([A-Za-z0-9%+/=_\-]{20,}+)", "="),
    _near(
        "connection string",
        ";password|;pwd|; password|;accountkey|;sharedaccesskey",
        r"; ?(?i:password|pwd|accountkey|sharedaccesskey) ?= ?([^;\s\"'\\]++)",
        ";",
    ),
    _near("named secret", "pass|pwd|secret|credential|authorization", _SECRET_WORD, ":="),
    _near("named key", "token|key", _KEY_WORD, ":="),
]  # fmt: skip

# -- personal data --------------------------------------------------------------------------

_LOCAL_PART = re.compile(r"(?<![A-Za-z0-9._%+\-])[A-Za-z0-9][A-Za-z0-9._%+\-]{0,63}\Z")
_URL_USER = re.compile(r"://[^\s/]{0,200}\Z")
_DOMAIN = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9\-]{0,62}\.){1,8}"
    # Not the names of files such as icon@2x.png.
    r"(?!(?:png|jpe?g|gif|svg|webp|pyc?|[cm]?js|tsx?|css|html?|json|md|txt)\b)"
    r"[A-Za-z]{2,24}(?![A-Za-z0-9\-]|\.[A-Za-z0-9]|:[A-Za-z0-9~/])"
)


def _email(text: str, at: int) -> Span | None:
    domain = _DOMAIN.match(text, at + 1)
    if domain is None:
        return None
    begin = max(0, at - 65)
    local = _LOCAL_PART.search(text[begin:at])
    if local is None or _URL_USER.search(text[max(0, at - 200) : at]):
        return None
    return begin + local.start(), domain.end()


_PIECE = r"[ .\-]?"
_ABROAD = (
    # Numbers that begin with 1 have exactly ten more digits, so no timestamp is among them.
    rf"(?<![\w.+/=\-])\+(?:1{_PIECE}\(?[2-9]\d\d\)?{_PIECE}\d{{3}}{_PIECE}\d{{4}}"
    rf"|[2-9]\d?(?:{_PIECE}\(?\d{{1,4}}\)?){{2,6}})(?![\w\-/:]|\.\d)"
)
_LOCAL = re.compile(r"\d{3}[-. ]\d{4}(?!\w|-\w|\.\d|[/:]\d)")
_AREA = re.compile(r"(?<![\w.+/:=\-])(?:\(\d{3}\) ?|\d{3}([-. ]))\Z")
_DIGITS_ABROAD = range(8, 16)
_find_abroad = _by(_ABROAD)


def _phone_abroad(text: str, at: int) -> Span | None:
    span = _find_abroad(text, at)
    if span is None:
        return None
    digits = sum(each.isdigit() for each in text[span[0] : span[1]])
    return span if digits in _DIGITS_ABROAD else None


def _local_phone(text: str, at: int) -> Span | None:
    """A North American number without a country code, given the place of its last seven."""
    tail = _LOCAL.match(text, at)
    if tail is None:
        return None
    begin = max(0, at - 7)
    area = _AREA.search(text[begin:at])
    is_even = area is not None and area[1] in (None, text[at + 3])
    return (begin + area.start(), tail.end()) if area is not None and is_even else None


_PERSONAL = [
    Detector("e-mail address", "pii-basic", ("@",), _email, guards="@"),
    Detector("phone number", "pii-basic", ("+",), _phone_abroad, guards="+"),
    # Where a text has this many digits around a separator, see `scanner`.
    Detector("local phone number", "pii-basic", (), _local_phone),
]

DETECTORS: tuple[Detector, ...] = (*_TOKENS, *_CONTEXTS, *_PERSONAL)
