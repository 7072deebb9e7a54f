"""What is recognised as a secret or as personal data, and what is not."""

import base64
import hashlib
import json
import string
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import pytest
from helpers_records import IN_CONTEXT, PII, SECRET, TOKENS, redactor
from hypothesis import given, settings
from hypothesis import strategies as st

quick = settings(max_examples=60, deadline=None, derandomize=True)
ALL = redactor()


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize(
    "around", ["{}", "use {} now", "<{}>", "k={}\n", "\u0130\u00fc{},x", "a/{}", "-{}"]
)
def test_a_token_of_a_known_issuer_is_masked_and_nothing_around_it(token: str, around: str) -> None:
    assert ALL.redact_text(around.format(token)) == around.format(SECRET)


@pytest.mark.parametrize(("around", "secret"), IN_CONTEXT.values(), ids=IN_CONTEXT)
def test_a_secret_is_told_by_what_stands_around_it(around: str, secret: str) -> None:
    assert ALL.redact_text(around.format(secret)) == around.format(SECRET)


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_token_is_found_in_a_long_text(token: str) -> None:
    text = "The quick brown fox. " * 500

    assert ALL.redact_text(text + token + " " + text) == text + SECRET + " " + text


def test_a_long_list_of_tokens_is_not_taken_for_a_picture() -> None:
    tokens = "\n".join([TOKENS["AWS"]] * 500)

    assert ALL.redact_text(tokens) == "\n".join([SECRET] * 500)


def test_a_known_secret_is_found_even_in_a_picture() -> None:
    picture = "abcd" * 2000

    assert redactor(known=("Sonne77Mond",)).redact({"a": f"{picture}Sonne77Mond"})[1] == ["secrets"]


def test_a_private_key_without_an_end_is_masked_to_the_end_of_the_text() -> None:
    cut = TOKENS["private key"][:60]

    assert ALL.redact_text(f"key: {cut}") == f"key: {SECRET}"


def test_what_is_masked_at_the_end_of_a_cut_text_is_not_cut_in_half() -> None:
    token = TOKENS["GitHub"]
    text = f"{'x' * 90} {token} tail"

    assert ALL.redact_text(text, keep=95) == f"{'x' * 90} {SECRET}"
    assert ALL.redact_text(f"{token} {token} {'y' * 50}", keep=60) == f"{SECRET} {SECRET}"


@pytest.mark.parametrize(
    "text",
    [
        "mail bob.smith+x@mail.example.co.uk today",
        "bob@example.com",
        "call +49 171 1234567 or",
        "+14155552671",
        "(415) 555-2671",
        "415-555-2671",
        "415.555.2671.",
    ],
)
def test_personal_data_is_masked(text: str) -> None:
    assert PII in ALL.redact_text(text)
    assert redactor("secrets").redact_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-18T13:15:55.123456+00:00",
        "1763471755", "1763471755123", "+1763471755123", "+1763471755", "20261118131555",
        "192.168.100.2000", "10.0.0.1:8080", "v1.234.5678", "id 123-456-78901", "3.1415.9265",
        "git@github.com:org/repo.git", "icon@2x.png", "actions/checkout@v4", "@app.route",
        "max_tokens=128000", "total_tokens: 200000000", "token_count = 12345678",
        "token = get_token2()", "password: string", "password: str = Field(min_length=12)",
        "secret = os.environ['SECRET_KEY1']", "api_key=${API_KEY_2}", "the key: value1234",
        "token: https://example.com/token1", "see secret: /etc/secrets/file1",
        "basic understanding12345 of", "bearer authentication", "Bearer of bad news is",
        "sk-estimator-doc-link fitted-1", "sk-toggleable__content-fitted", "task-1234567890123456",
        "https://example.com:8080/@scope/pkg", "https://user@example.com/", "xoxo and hugs",
        "-----BEGIN CERTIFICATE-----\nMIIB1234567890abcdef\n-----END CERTIFICATE-----",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7VJTUt9Us8cKj me", "eyJ is base64 of {\"",
        "amplifier_modules.records.hooks_logging", "feature/ghp_docs", "AKIA is a prefix",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "toolu_01A09q90qw90lq917835lq9", "call_abc123DEF456", "msg_013Zva2CMHLNnXjNJJKqJ2EF",
    ],
)  # fmt: skip
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert ALL.redact_text(text) == text


uuids = st.uuids().map(str)
hashes = st.binary(min_size=1).flatmap(
    lambda data: st.sampled_from(
        [
            hashlib.md5(data).hexdigest(),
            hashlib.sha1(data).hexdigest(),
            hashlib.sha256(data).hexdigest(),
        ]
    )
)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1))
timestamps = st.one_of(
    moments.map(lambda each: each.isoformat()),
    moments.map(lambda each: each.replace(tzinfo=UTC).isoformat()),
    moments.map(lambda each: str(each.timestamp())),
    moments.map(lambda each: str(int(each.timestamp() * 1000))),
)
blobs = st.binary(min_size=30, max_size=6000).map(lambda data: base64.b64encode(data).decode())
pictures = blobs.map(lambda data: f"data:image/png;base64,{data}")
numbers = st.one_of(st.integers(), st.floats(allow_nan=False)).map(str)
ids = st.text(string.ascii_lowercase + string.digits, min_size=8, max_size=32).map("call_{}".format)
prose = st.lists(st.sampled_from(["the", "fox,", "key", "password", "is", "token", "e.g."])).map(
    " ".join
)


@quick
@given(
    st.lists(st.one_of(uuids, hashes, timestamps, blobs, pictures, numbers, ids, prose), max_size=6)
)
def test_ids_hashes_times_numbers_and_pictures_are_left_alone(values: list[str]) -> None:
    data: dict[str, Any] = {"values": values, "line": " ".join(values), "text": json.dumps(values)}

    assert ALL.redact(data) == (data, [])


@quick
@given(st.text(), st.sampled_from(sorted(TOKENS)), st.text())
def test_a_token_between_blanks_is_masked_whatever_is_around(
    before: str, name: str, after: str
) -> None:
    masked = ALL.redact_text(f"{before} {TOKENS[name]} {after}")

    assert TOKENS[name] not in masked
    assert SECRET in masked


@quick
@given(
    st.lists(st.one_of(st.text(max_size=8), st.sampled_from(sorted(TOKENS.values())))).map("".join)
)
def test_what_is_masked_stays_as_it_is_when_it_is_masked_again(text: str) -> None:
    once = ALL.redact_text(text)

    assert ALL.redact_text(once) == once


HOSTILE = [
    "a", "eyJ", "eyJ-", "eyJaaaaaaaaa.", "-eyJaaaaaaaaa", "sk-", "sk-1-", "ghp_",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-", "-", "://", "://a:", "password=", "password=1", "token: ", "key=1a",
    "a@", "@a.", "a.a@", "+1", "+4 ", "123-", "415-555-", "555-2671", "sig=", ";password=",
    "bearer 1", "basic A", "SG.", "xoxb-", "\u0130", "1.", "password=1(", "(", "AKIA", "_", "a_1-",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_in_proportion_to_the_text(piece: str) -> None:
    """A pattern that backtracks would need minutes for these, not a second."""
    text = piece * (200_000 // len(piece))
    began = perf_counter()

    for tail in ("", "!", "(", "@", " 1"):
        ALL.redact_text(text + tail)

    assert perf_counter() - began < 5
