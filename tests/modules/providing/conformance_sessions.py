"""What every provider of a remote API does for its session: keys, histories, costs, models.

To be imported like `conformance_providers`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import traceback
from decimal import Decimal
from pathlib import Path

import pytest
from amplifier_core.llm_errors import AuthenticationError, ConfigurationError, LLMError
from amplifier_core.testing import MockCoordinator
from helpers_wire import KEY, WAIT, Wire, WireServer, answers, desk, free_url, serving, streams

# -- keys -------------------------------------------------------------------------------------


async def test_the_key_shows_nowhere(wire: Wire, server: WireServer) -> None:
    server.will(answers(401, wire.refusal(401, f"The key {KEY} is wrong")))
    async with desk(wire, server, raw=True) as at:
        with pytest.raises(AuthenticationError) as caught:
            await at.ask(f"Is my key {KEY} right?")

        shown = [repr(caught.value), repr(at.seen), repr(vars(at.provider)), repr(at.provider)]
        assert not [each for each in shown if KEY in each]
        assert KEY in repr(server.heard[0].headers)


async def test_a_traceback_does_not_show_the_key(wire: Wire, server: WireServer) -> None:
    server.will(answers(401, wire.refusal(401, f"The key {KEY} is wrong")))
    async with desk(wire, server) as at:
        with pytest.raises(LLMError) as caught:
            await at.ask("Hi")

        assert KEY not in "".join(traceback.format_exception(caught.value))


async def test_the_key_does_not_follow_a_redirect(wire: Wire, server: WireServer) -> None:
    async with serving() as elsewhere, desk(wire, server) as at:
        server.will(answers(307, b"", {"location": f"{elsewhere.url}/v1/messages"}))
        with pytest.raises(LLMError):
            await at.ask("Hi")

        assert not elsewhere.heard


async def test_raw_events_are_redacted(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.text("Hi")))
    past = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "tool": "login", "arguments": {"password": "hunter2"}}],
    }
    answer = {"role": "tool", "content": "ok", "tool_call_id": "c1"}
    async with desk(wire, server, raw=True) as at:
        await at.ask("Log in", past, answer)

        raw = json.dumps(at.of("llm:request")[0]["raw"])
        assert "login" in raw
        assert "hunter2" not in raw
        assert "raw" in at.of("llm:response")[0]


async def test_the_key_may_come_from_the_environment(
    wire: Wire, server: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(wire.key_variable, "from-the-environment")
    server.will(streams(*wire.text("Hi")))
    async with desk(wire, server, api_key=None) as at:
        await at.ask("Hi")

    assert "from-the-environment" in repr(server.heard[0].headers)


async def test_the_key_may_come_from_a_file(wire: Wire, server: WireServer, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from-a-file\n")
    server.will(streams(*wire.text("Hi")))
    async with desk(wire, server, api_key=None, api_key_file=str(file)) as at:
        await at.ask("Hi")

    assert "from-a-file" in repr(server.heard[0].headers)


async def test_without_a_key_that_it_needs_nothing_is_mounted(wire: Wire) -> None:
    coordinator = MockCoordinator()

    cleanup = await wire.mount(coordinator, {})

    needs_key = getattr(wire, "needs_key", True)
    assert (cleanup is None) is needs_key
    assert bool(coordinator.get("providers")) is not needs_key


async def test_a_missing_sdk_names_what_to_install(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, wire.sdk, None)

    with pytest.raises(ConfigurationError, match=rf"pip install 'amplifier\[{wire.extra}\]'"):
        await wire.mount(MockCoordinator(), {"api_key": KEY, **wire.required})


def test_importing_the_provider_leaves_the_sdk_for_later(wire: Wire) -> None:
    code = f"import sys, {wire.module}; sys.exit({wire.sdk!r} in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


async def test_a_misspelt_key_of_the_config_is_an_error(wire: Wire) -> None:
    with pytest.raises(ValueError, match="Did you mean 'max_retries'"):
        await wire.mount(MockCoordinator(), {"api_key": KEY, **wire.required, "max_retrys": 1})


# -- histories --------------------------------------------------------------------------------


async def test_a_call_without_a_result_gets_one(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.text("Hi")), streams(*wire.text("Hi")))
    past = {
        "role": "assistant",
        "content": "Looking",
        "tool_calls": [{"id": "c1", "tool": "look", "arguments": {}}],
    }
    async with desk(wire, server) as at:
        await at.ask("Look", past, "Well?")
        await at.ask("Look", past, "Well?")

        (told,) = at.of("provider:tool_sequence_repaired")
        assert told["repair_count"] == 1
        assert told["repairs"][0]["tool_call_id"] == "c1"
        assert "missing" in server.heard[0].body.decode()


async def test_half_characters_do_not_stop_a_request(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.text("Hi")))
    async with desk(wire, server) as at:
        await at.ask("broken: \ud83d")

    assert "broken: \\ufffd" in json.dumps(server.body)


# -- the rest ---------------------------------------------------------------------------------


async def test_costs_add_up_for_the_session(wire: Wire, server: WireServer) -> None:
    server.will(*[streams(*wire.text("Hi"))] * 2)
    async with desk(wire, server, pricing={wire.model: {"input": 2, "output": 10}}) as at:
        await at.ask("Hi")
        response = await at.ask("Hi")

        assert response.usage.cost_usd == Decimal("0.00007")
        costs = await at.coordinator.collect_contributions("session.cost")
        assert costs == [{"cost_usd": Decimal("0.00014")}]


async def test_the_cost_of_an_unknown_model_is_unknown(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.text("Hi")))
    async with desk(wire, server) as at:
        response = await at.ask("Hi", model="nobody-knows-it")

        assert response.usage.cost_usd is None
        assert at.of("llm:response")[0]["usage"]["cost_usd"] is None
        costs = await at.coordinator.collect_contributions("session.cost")
        assert costs == [{"cost_usd": None}]


async def test_models_are_listed_live_and_kept_for_a_while(wire: Wire, server: WireServer) -> None:
    if not wire.lists_models:
        pytest.skip("The vendor does not tell its models.")
    server.will(answers(200, wire.models("model-one", "model-two")))
    async with desk(wire, server) as at, asyncio.timeout(WAIT):
        first = await at.provider.list_models()
        second = await at.provider.list_models()

    assert [each.id for each in first] == ["model-one", "model-two"]
    assert first == second
    assert len(server.heard) == 1


async def test_models_are_known_without_a_network(wire: Wire, server: WireServer) -> None:
    async with desk(wire, server, base_url=free_url()) as at, asyncio.timeout(WAIT):
        assert wire.model in [each.id for each in await at.provider.list_models()]


async def test_a_wrong_key_shows_when_models_are_listed(wire: Wire, server: WireServer) -> None:
    if not wire.lists_models:
        pytest.skip("The vendor does not tell its models.")
    server.will(answers(401, wire.refusal(401, "wrong")))
    async with desk(wire, server) as at, asyncio.timeout(WAIT):
        with pytest.raises(AuthenticationError):
            await at.provider.list_models()


async def test_the_wizard_asks_for_the_key(wire: Wire, server: WireServer) -> None:
    async with desk(wire, server, priority=7) as at:
        info = at.provider.get_info()

        secrets = [each for each in info.config_fields if each.field_type == "secret"]
        assert [each.env_var for each in secrets] == [wire.key_variable]
        assert info.defaults["context_window"] > info.defaults["max_output_tokens"] > 0
        assert at.provider.priority == 7
        active = at.provider.get_model_info()
        assert (active.id, active.context_window) == (wire.model, info.defaults["context_window"])


async def test_a_closed_provider_can_be_closed_again(wire: Wire, server: WireServer) -> None:
    server.will(streams(*wire.text("Hi")))
    async with desk(wire, server) as at, asyncio.timeout(WAIT):
        await at.ask("Hi")
        await at.provider.close()
        await at.provider.close()
