"""What every store of sessions promises, whatever it keeps them in, as tests for yours.

class TestMyStore(StoreTests):
    @pytest.fixture
    def store(self) -> MyStore:
        return MyStore(...)

    async def let_holder_die(self, store: MyStore, claim: Claim) -> None:
        ...
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import pytest
from amplifier_core.validation.harness import async_tests

from amplifier.sessions.record import Record, new_record
from amplifier.sessions.store import Claim, Fenced, Held, NoSession, Store, StoreError


def records(start: int, count: int = 1, key: str = "k", **data: Any) -> list[Record]:
    """`count` records from number `start` on, the last of which carries the key."""
    last = start + count - 1
    return [
        new_record(seq, "note", {"n": seq, **data}, key=key if seq == last else None)
        for seq in range(start, last + 1)
    ]


@async_tests
class StoreTests:
    """Subclass as `Test...`, with a fixture `store` that is empty at first."""

    async def let_holder_die(self, store: Any, claim: Claim) -> None:
        """Leave behind what remains of a claim when the process that holds it is gone.

        A store whose claims end after some time may wait here until they do.
        """
        raise NotImplementedError("Say how a holder dies.")

    async def test_what_was_appended_is_read_back_in_order(self, store: Store) -> None:
        assert await store.append("s", records(0, 2, "a", text="ä\n\u2028"), 0, "a") == 2
        assert await store.append("s", records(2, 1, "b"), 2, "b") == 3

        found = await store.read("s")

        assert [each.seq for each in found] == [0, 1, 2]
        assert found[1].data == {"n": 1, "text": "ä\n\u2028"}
        assert [each.key for each in found] == [None, "a", "b"]
        assert [each.seq for each in await store.read("s", 2)] == [2]

    async def test_an_append_elsewhere_than_at_the_end_is_fenced_and_writes_nothing(
        self, store: Store
    ) -> None:
        await store.append("s", records(0, 2, "a"), 0, "a")

        for expected in (0, 1, 3):
            with pytest.raises(Fenced):
                await store.append("s", records(expected, 1, "b"), expected, "b")

        assert (await store.tail("s")).next_seq == 2

    async def test_the_same_append_again_does_nothing_and_succeeds(self, store: Store) -> None:
        batch = records(0, 2, "a")
        await store.append("s", batch, 0, "a")

        assert await store.append("s", batch, 0, "a") == 2
        await store.append("s", records(2, 1, "b"), 2, "b")
        assert await store.append("s", batch, 0, "a") == 3

        assert len(await store.read("s")) == 3

    async def test_of_two_writers_at_one_place_one_gets_through(self, store: Store) -> None:
        appends = [store.append("s", records(0, 1, key), 0, key) for key in ("a", "b")]

        ended = await asyncio.gather(*appends, return_exceptions=True)

        assert sorted(type(each).__name__ for each in ended) == ["Fenced", "int"]
        assert len(await store.read("s")) == 1

    async def test_an_unknown_session_ends_at_zero_and_cannot_be_read(self, store: Store) -> None:
        assert (await store.tail("s")).next_seq == 0
        with pytest.raises(NoSession):
            await store.read("s")

    async def test_sessions_are_listed_with_the_latest_first(self, store: Store) -> None:
        assert list(await store.list()) == []
        await store.append("old", records(0), 0, "k")
        await store.append("new", records(0), 0, "k")
        await store.append("new", records(1, 1, "l"), 1, "l")

        listed = await store.list()

        assert {each.session_id for each in listed} == {"old", "new"}
        assert listed[0].changed >= listed[1].changed
        assert all(each.size > 0 for each in listed)

    async def test_a_claimed_session_cannot_be_claimed_again_and_the_holder_is_named(
        self, store: Store
    ) -> None:
        await store.claim("s", {"pid": 4711})

        with pytest.raises(Held, match="4711"):
            await store.claim("s", {"pid": 4712})

    async def test_a_released_claim_can_be_taken(self, store: Store) -> None:
        first = await store.claim("s", {"pid": 1})
        await store.release(first)

        second = await store.claim("s", {"pid": 2})
        await store.renew(second)
        await store.release(first)

        with pytest.raises(Fenced):
            await store.renew(first)
        await store.renew(second)

    async def test_the_claim_of_one_who_is_gone_can_be_taken(self, store: Store) -> None:
        await self.let_holder_die(store, await store.claim("s", {"pid": 1}))

        await store.claim("s", {"pid": 2})

    async def test_a_writer_who_lost_its_claim_is_stopped_by_the_first_record_of_the_next(
        self, store: Store
    ) -> None:
        await store.append("s", records(0, 1, "a"), 0, "a")
        await self.let_holder_die(store, await store.claim("s", {"pid": 1}))
        await store.claim("s", {"pid": 2})
        await store.append("s", records(1, 1, "claim"), 1, "claim")

        with pytest.raises(Fenced):
            await store.append("s", records(1, 1, "late"), 1, "late")

    async def test_a_deleted_session_is_gone_for_good(self, store: Store) -> None:
        await store.append("s", records(0), 0, "k")
        await store.delete("s")

        assert list(await store.list()) == []
        with pytest.raises(NoSession):
            await store.read("s")
        with pytest.raises(Fenced):
            await store.append("s", records(0), 0, "k")
        with pytest.raises(NoSession):
            await store.claim("s", {})

    async def test_a_session_in_use_cannot_be_deleted(self, store: Store) -> None:
        await store.append("s", records(0), 0, "k")
        await store.claim("s", {"pid": 1})

        with pytest.raises(Held):
            await store.delete("s")

        assert len(await store.read("s")) == 1

    async def test_a_session_that_is_not_there_cannot_be_deleted(self, store: Store) -> None:
        with pytest.raises(NoSession):
            await store.delete("s")

    async def test_large_values_are_kept_by_their_digest(self, store: Store) -> None:
        content = b"x" * 100_000
        digest = sha256(content).hexdigest()

        await store.put("s", {digest: content})
        await store.put("s", {digest: content})

        assert await store.blob("s", digest) == content
        with pytest.raises(NoSession):
            await store.blob("s", "0" * 64)

    async def test_a_store_tells_how_durable_it_is(self, store: Store) -> None:
        assert store.durability in ("full", "relaxed")

    async def test_many_writers_leave_one_log_without_a_gap(self, store: Store) -> None:
        async def write(name: str) -> None:
            done = 0
            while done < 5:
                end, key = (await store.tail("s")).next_seq, f"{name}.{done}"
                try:
                    done += await store.append("s", records(end, 1, key), end, key) > end
                except Fenced:
                    await asyncio.sleep(0)

        await asyncio.gather(*(write(name) for name in "abcd"))

        found = await store.read("s")
        assert [each.seq for each in found] == list(range(20))
        assert len({each.key for each in found}) == 20

    async def test_an_append_without_waiting_is_one_like_any_other(self, store: Store) -> None:
        append = store.append_now
        if append is None:
            return
        assert append("s", records(0, 2, "a"), 0, "a") == 2
        assert append("s", records(0, 2, "a"), 0, "a") == 2
        with pytest.raises(Fenced):
            append("s", records(0, 1, "b"), 0, "b")
        assert [each.key for each in await store.read("s")] == [None, "a"]

    async def test_sessions_do_not_touch_each_other(self, store: Store) -> None:
        await store.append("one", records(0, 2, "a"), 0, "a")
        await store.append("two", records(0, 1, "b"), 0, "b")
        await store.put("one", {sha256(b"x").hexdigest(): b"x"})

        await store.delete("one")

        assert [each.session_id for each in await store.list()] == ["two"]
        assert [each.key for each in await store.read("two")] == ["b"]
        with pytest.raises(NoSession):
            await store.blob("one", sha256(b"x").hexdigest())

    async def test_an_id_that_is_no_name_is_refused(self, store: Store) -> None:
        for session_id in ("", ".", "..", "a/b", "a\0b"):
            with pytest.raises(StoreError):
                await store.append(session_id, records(0), 0, "k")

    async def test_any_text_comes_back_as_it_was(self, store: Store) -> None:
        data = {"text": "ä\n\u2028\x00\ud800", "numbers": [0, -1, 1.5, 2**60], "none": None}

        await store.append("s", [new_record(0, "note", data, key="k")], 0, "k")

        assert (await store.read("s"))[0].data == data
