"""Where provider-anthropic asks the vendor to keep what it has read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from amplifier_core.message_models import ToolSpec
from helpers_anthropic import AnthropicWire
from helpers_wire import Desk, WireServer, desk, serving, streams

TOOLS = [ToolSpec(name=name, parameters={"type": "object"}) for name in ("one", "two")]
SYSTEM = {"role": "system", "content": "Be brief."}


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with serving() as wire:
        yield wire


async def marks(at: Desk, server: WireServer, wire: AnthropicWire, *messages: Any) -> list[str]:
    """The texts of the conversation that carry a mark."""
    server.will(streams(*wire.text("Hi")))
    await at.ask(SYSTEM, *messages, tools=TOOLS)
    blocks = [block for each in server.body["messages"] for block in each["content"]]
    return [block["text"] for block in blocks if "cache_control" in block]


async def test_instructions_tools_and_two_messages_are_marked(
    wire: AnthropicWire, server: WireServer
) -> None:
    async with desk(wire, server) as at:
        marked = await marks(at, server, wire, "a", "b", "c")

    kept = {"type": "ephemeral"}
    assert marked == ["b", "c"]
    assert server.body["system"][-1]["cache_control"] == kept
    assert [each.get("cache_control") for each in server.body["tools"]] == [None, kept]


async def test_the_end_of_the_last_request_is_met_again(
    wire: AnthropicWire, server: WireServer
) -> None:
    async with desk(wire, server) as at:
        await marks(at, server, wire, "a", "b")

        assert await marks(at, server, wire, "a", "b", "c", "d", "e") == ["b", "e"]


async def test_a_tail_that_changes_is_not_marked(wire: AnthropicWire, server: WireServer) -> None:
    async with desk(wire, server) as at:
        await marks(at, server, wire, "a", "b", "it is noon")

        assert await marks(at, server, wire, "a", "b", "c", "it is one") == ["b", "c"]
        assert await marks(at, server, wire, "a", "b", "c", "d", "it is two") == ["c", "d"]


async def test_the_tail_may_be_taken_as_it_is(wire: AnthropicWire, server: WireServer) -> None:
    async with desk(wire, server, cache_infer_stability_from_history=False) as at:
        await marks(at, server, wire, "a", "b", "it is noon")

        assert await marks(at, server, wire, "a", "b", "c", "it is one") == ["c", "it is one"]


async def test_what_seldom_changes_may_be_kept_for_an_hour(
    wire: AnthropicWire, server: WireServer
) -> None:
    async with desk(wire, server, cache_stable_region_ttl_1h=True) as at:
        await marks(at, server, wire, "a")

    hour = {"type": "ephemeral", "ttl": "1h"}
    assert server.body["system"][-1]["cache_control"] == hour
    assert server.body["tools"][-1]["cache_control"] == hour
    assert server.body["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}


async def test_caching_can_be_switched_off(wire: AnthropicWire, server: WireServer) -> None:
    async with desk(wire, server, enable_prompt_caching=False) as at:
        assert await marks(at, server, wire, "a", "b") == []

    assert "cache_control" not in server.heard[0].body.decode()
