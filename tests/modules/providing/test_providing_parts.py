"""The parts of the library that providers share: gates, prices, failures, keys."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from pathlib import Path

import pytest
from amplifier_core.llm_errors import LLMError, NetworkError, StreamError
from amplifier_core.message_models import Degradation
from pydantic import SecretStr

from amplifier_modules.providing.failures import Blame, Report, retry_after
from amplifier_modules.providing.keys import find_key, without_key
from amplifier_modules.providing.limits import Gate, gate_of
from amplifier_modules.providing.options import RemoteSettings
from amplifier_modules.providing.pieces import Plan
from amplifier_modules.providing.prices import Price, PriceList, Tally, Tokens

# The library is part of every provider's wheel and has none of its own.
pytestmark = pytest.mark.together

WAIT = 5.0


# -- gates -------------------------------------------------------------------------------------


async def test_a_gate_lets_in_by_order_of_arrival() -> None:
    gate, order = Gate(), []

    async def pass_through(name: str) -> None:
        await gate.wait(1)
        order.append(name)
        gate.leave()

    assert gate.try_enter(1)
    waiting = [asyncio.ensure_future(pass_through(name)) for name in "abc"]
    await asyncio.sleep(0)
    assert not gate.try_enter(1)
    gate.leave()
    async with asyncio.timeout(WAIT):
        await asyncio.gather(*waiting)

    assert order == ["a", "b", "c"]
    assert (gate.active, gate.waiting) == (0, 0)


@pytest.mark.parametrize("is_granted", [True, False])
async def test_a_wait_that_is_cancelled_leaves_no_trace(is_granted: bool) -> None:
    gate = Gate()
    assert gate.try_enter(1)
    waiting = asyncio.ensure_future(gate.wait(1))
    await asyncio.sleep(0)
    if is_granted:
        gate.leave()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    if not is_granted:
        gate.leave()

    assert (gate.active, gate.waiting) == (0, 0)


async def test_a_gate_is_one_for_all_event_loops() -> None:
    gate = Gate()
    assert gate.try_enter(1)
    entered = threading.Event()

    async def enter() -> None:
        await gate.wait(1)
        entered.set()
        gate.leave()

    thread = threading.Thread(target=lambda: asyncio.run(asyncio.wait_for(enter(), WAIT)))
    thread.start()
    assert not entered.is_set()
    gate.leave()
    await asyncio.to_thread(thread.join, WAIT)

    assert entered.is_set()
    assert gate.active == 0


def test_a_gate_belongs_to_a_vendor() -> None:
    assert gate_of(("a", None)) is gate_of(("a", None))
    assert gate_of(("a", None)) is not gate_of(("a", "http://elsewhere"))


def test_no_limit_lets_everyone_in() -> None:
    gate = Gate()

    assert all(gate.try_enter(0) for _ in range(100))


# -- prices ------------------------------------------------------------------------------------

PRICE = Price(input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.3"))
LIST = PriceList(as_of=date(2026, 1, 1), prices={"big": PRICE})


@pytest.mark.parametrize("model", ["big", "big-20260101", "big-2026-01-01", "big@20260101"])
def test_a_date_in_a_models_name_does_not_change_its_price(model: str) -> None:
    assert LIST.find(model, {}) == PRICE


def test_a_price_in_the_config_wins() -> None:
    own = Price(input=Decimal(1), output=Decimal(1))

    assert LIST.find("big-20260101", {"big": own}) == own
    assert LIST.find("bigger", {}) is None


def test_tokens_of_unknown_price_make_the_cost_unknown() -> None:
    assert Tokens(input=10, cache_read=10).cost(PRICE) == Decimal("0.000033")
    assert Tokens(input=10, cache_write=10).cost(PRICE) is None
    assert Tokens(input=10).cost(None) is None
    assert Tokens().cost(PRICE) == 0


def test_long_prompts_have_prices_of_their_own() -> None:
    long = PRICE.model_copy(update={"long_from": 100, "long": Price(input=Decimal(6), output=0)})

    assert Tokens(input=100).cost(long) == Decimal("0.0003")
    assert Tokens(input=60, cache_read=41).cost(long) is None
    assert Tokens(input=101).cost(long) == Decimal("0.000606")


def test_a_tally_is_unknown_from_the_first_unknown_cost_on() -> None:
    tally = Tally()
    assert tally.contribution() == {"cost_usd": Decimal(0)}
    tally.add(Decimal("0.5"))
    assert tally.contribution() == {"cost_usd": Decimal("0.5")}
    tally.add(None)
    tally.add(Decimal("0.5"))

    assert tally.contribution() == {"cost_usd": None}


# -- failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"X-MS-Retry-After-Ms": "250"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_vendors_say_in_many_ways_how_long_to_wait(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


@pytest.mark.parametrize("status", [408, 429, 500, 503, 529])
def test_nobody_waits_longer_than_allowed(status: int) -> None:
    error = Blame("here", longest_wait=60.0).for_report(
        Report(status, "later", {"retry-after": "86400"})
    )

    assert not error.retryable
    assert "max_retry_delay" in str(error)


def test_a_moment_to_wait_for_is_turned_into_seconds() -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)

    assert 90 < (retry_after({"retry-after": moment}) or 0) <= 100


def test_what_nobody_knows_may_be_gone_the_next_time() -> None:
    unknown = Blame("here").for_report(Report(0, ""))

    assert type(unknown) is LLMError
    assert unknown.retryable
    assert str(unknown)


def test_errors_of_http_clients_are_known_by_name() -> None:
    class TransportError(Exception):
        pass

    class ConnectError(TransportError):
        pass

    class ReadTimeout(TransportError):
        pass

    blame = Blame("here", "m")
    assert type(blame.for_exception(ConnectError("refused"))) is NetworkError
    assert type(blame.for_exception(TransportError("gone"))) is StreamError
    assert "refused" in str(blame.for_exception(ConnectError("refused")))


def test_an_error_that_the_caller_is_handling_is_not_to_blame() -> None:
    class ReadTimeout(TimeoutError):
        pass

    def handle_one_and_meet_another() -> None:
        try:
            raise LLMError("slow") from ReadTimeout()
        except LLMError:
            raise ValueError("unreadable")  # noqa: B904

    with pytest.raises(ValueError, match="unreadable") as caught:
        handle_one_and_meet_another()

    assert type(Blame("here").for_exception(caught.value)) is StreamError


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError, AttributeError, RecursionError])
def test_an_answer_of_an_unexpected_shape_cannot_be_read(kind: type[Exception]) -> None:
    assert type(Blame("here").for_exception(kind("odd"))) is StreamError


def test_a_vendor_may_be_clearer_than_its_status() -> None:
    report = Report(400, "odd", kind=NetworkError)

    assert type(Blame("here").for_report(report)) is NetworkError


# -- keys --------------------------------------------------------------------------------------


def settings(**values: object) -> RemoteSettings:
    return RemoteSettings.read({"default_model": "m", **values}, "provider-here")


def test_config_wins_over_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text(" in-file\n")
    monkeypatch.setenv("ONE_KEY", "")
    monkeypatch.setenv("OTHER_KEY", "in-environment")

    def found(*variables: str, **config: object) -> str | None:
        key = find_key(settings(api_key_file=str(file), **config), variables)
        return key.get_secret_value() if key else None

    assert found("ONE_KEY", "OTHER_KEY", api_key="in-config") == "in-config"
    assert found("ONE_KEY", "OTHER_KEY", api_key="") == "in-environment"
    assert found("ONE_KEY") == "in-file"


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_a_key_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "my-key"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(ValueError, match="my-key"):
        find_key(settings(api_key_file=str(file)), [])


def test_a_key_is_cut_out_of_texts() -> None:
    hidden = "the key [REDACTED] is wrong"
    assert without_key("the key abc-1234 is wrong", SecretStr("abc-1234")) == hidden
    assert without_key("the key", None) == "the key"
    assert without_key("the key", SecretStr("e")) == "the key"


@pytest.mark.parametrize("key", ["two\nlines-of-it", "with space", "schlüssel", 'qu"ote', "a\\b"])
def test_what_cannot_be_a_key_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(ValueError, match="no key has") as caught:
        find_key(settings(api_key=key), [])

    assert key not in str(caught.value)


def test_several_notes_become_one() -> None:
    notes = tuple(Degradation(requested=x, actual="-", reason="r") for x in "ab")
    plan = Plan("m", {}, is_streamed=True, degradations=notes)

    assert plan.degradation() == Degradation(requested="a; b", actual="-; -", reason="r; r")
    assert Plan("m", {}, is_streamed=True).degradation() is None
