"""What every store of sessions promises, whatever it keeps them in."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from helpers_stores import KINDS, let_holder_die, records

from amplifier.sessions.store import Fenced, Held, NoSession


@pytest.fixture(params=sorted(KINDS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return KINDS[request.param](tmp_path)


async def test_what_was_appended_is_read_back_in_order(store: Any) -> None:
    assert await store.append("s", records(0, 2, "a", text="ä\n\u2028"), 0, "a") == 2
    assert await store.append("s", records(2, 1, "b"), 2, "b") == 3

    found = await store.read("s")

    assert [each.seq for each in found] == [0, 1, 2]
    assert found[1].data == {"n": 1, "text": "ä\n\u2028"}
    assert [each.key for each in found] == [None, "a", "b"]
    assert [each.seq for each in await store.read("s", 2)] == [2]


async def test_an_append_elsewhere_than_at_the_end_is_fenced_and_writes_nothing(store: Any) -> None:
    await store.append("s", records(0, 2, "a"), 0, "a")

    for expected in (0, 1, 3):
        with pytest.raises(Fenced):
            await store.append("s", records(expected, 1, "b"), expected, "b")

    assert (await store.tail("s")).next_seq == 2


async def test_the_same_append_again_does_nothing_and_succeeds(store: Any) -> None:
    batch = records(0, 2, "a")
    await store.append("s", batch, 0, "a")

    assert await store.append("s", batch, 0, "a") == 2
    await store.append("s", records(2, 1, "b"), 2, "b")
    assert await store.append("s", batch, 0, "a") == 3

    assert len(await store.read("s")) == 3


async def test_of_two_writers_at_one_place_one_gets_through(store: Any) -> None:
    appends = [store.append("s", records(0, 1, key), 0, key) for key in ("a", "b")]

    ended = await asyncio.gather(*appends, return_exceptions=True)

    assert sorted(type(each).__name__ for each in ended) == ["Fenced", "int"]
    assert len(await store.read("s")) == 1


async def test_an_unknown_session_ends_at_zero_and_cannot_be_read(store: Any) -> None:
    assert (await store.tail("s")).next_seq == 0
    with pytest.raises(NoSession):
        await store.read("s")


async def test_sessions_are_listed_with_the_latest_first(store: Any) -> None:
    assert list(await store.list()) == []
    await store.append("old", records(0), 0, "k")
    await store.append("new", records(0), 0, "k")
    await store.append("new", records(1, 1, "l"), 1, "l")

    listed = await store.list()

    assert {each.session_id for each in listed} == {"old", "new"}
    assert listed[0].changed >= listed[1].changed
    assert all(each.size > 0 for each in listed)


async def test_a_claimed_session_cannot_be_claimed_again_and_the_holder_is_named(
    store: Any,
) -> None:
    await store.claim("s", {"pid": 4711})

    with pytest.raises(Held, match="4711"):
        await store.claim("s", {"pid": 4712})


async def test_a_released_claim_can_be_taken(store: Any) -> None:
    first = await store.claim("s", {"pid": 1})
    await store.release(first)

    second = await store.claim("s", {"pid": 2})
    await store.renew(second)
    await store.release(first)

    with pytest.raises(Fenced):
        await store.renew(first)
    await store.renew(second)


async def test_the_claim_of_one_who_is_gone_can_be_taken(store: Any) -> None:
    let_holder_die(store, await store.claim("s", {"pid": 1}))

    await store.claim("s", {"pid": 2})


async def test_a_writer_who_lost_its_claim_is_stopped_by_the_first_record_of_the_next(
    store: Any,
) -> None:
    await store.append("s", records(0, 1, "a"), 0, "a")
    let_holder_die(store, await store.claim("s", {"pid": 1}))
    await store.claim("s", {"pid": 2})
    await store.append("s", records(1, 1, "claim"), 1, "claim")

    with pytest.raises(Fenced):
        await store.append("s", records(1, 1, "late"), 1, "late")


async def test_a_deleted_session_is_gone_for_good(store: Any) -> None:
    await store.append("s", records(0), 0, "k")
    await store.delete("s")

    assert list(await store.list()) == []
    with pytest.raises(NoSession):
        await store.read("s")
    with pytest.raises(Fenced):
        await store.append("s", records(0), 0, "k")
    with pytest.raises(NoSession):
        await store.claim("s", {})


async def test_a_session_in_use_cannot_be_deleted(store: Any) -> None:
    await store.append("s", records(0), 0, "k")
    await store.claim("s", {"pid": 1})

    with pytest.raises(Held):
        await store.delete("s")

    assert len(await store.read("s")) == 1


async def test_a_session_that_is_not_there_cannot_be_deleted(store: Any) -> None:
    with pytest.raises(NoSession):
        await store.delete("s")


async def test_large_values_are_kept_by_their_digest(store: Any) -> None:
    from hashlib import sha256

    content = b"x" * 100_000
    digest = sha256(content).hexdigest()

    await store.put("s", {digest: content})
    await store.put("s", {digest: content})

    assert await store.blob("s", digest) == content
    with pytest.raises(NoSession):
        await store.blob("s", "0" * 64)


async def test_a_store_tells_how_durable_it_is(store: Any) -> None:
    assert store.durability in ("full", "relaxed")
