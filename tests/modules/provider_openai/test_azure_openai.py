"""Azure: addresses, deployments, and the ways to sign in."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import azure.identity  # noqa: F401  its import takes longer than a call may
import pytest
from amplifier_core.llm_errors import ConfigurationError
from amplifier_core.testing import MockCoordinator
from helpers_openai import AzureWire
from helpers_wire import KEY, WireServer, answers, desk, serving, streams


@pytest.fixture
async def server() -> AsyncIterator[WireServer]:
    async with serving() as wire:
        yield wire


async def sent(server: WireServer, *, model: str | None = None, **config: Any) -> Any:
    wire = AzureWire()
    server.will(streams(*wire.text("Hi")))
    async with desk(wire, server, **config) as at:
        at.response = await at.ask("Hi", model=model)
        return at


@pytest.mark.parametrize(
    ("version", "path"),
    [
        (None, "/openai/v1/responses?api-version=v1"),
        ("preview", "/openai/v1/responses?api-version=preview"),
        ("2025-04-01-preview", "/openai/responses?api-version=2025-04-01-preview"),
    ],
)
async def test_the_version_decides_the_address(
    server: WireServer, version: str | None, path: str
) -> None:
    await sent(server, api_version=version)

    assert server.heard[0].path == path


async def test_an_address_may_be_complete(server: WireServer) -> None:
    await sent(server, base_url=None, azure_endpoint=f"{server.url}/openai/v1/")

    assert server.heard[0].path == "/openai/v1/responses?api-version=v1"


@pytest.mark.parametrize(
    ("config", "model", "deployment"),
    [
        ({}, None, "gpt-5.4"),
        ({"deployment_mapping": {"gpt-5.4": "prod"}}, None, "prod"),
        ({"deployment_mapping": {"gpt-5.4": "prod"}, "default_deployment": "any"}, "o3", "any"),
        ({"deployment_mapping": {"gpt-5.4": "prod"}}, "o3", "o3"),
    ],
)
async def test_a_model_has_a_deployment(
    server: WireServer, config: Any, model: str | None, deployment: str
) -> None:
    at = await sent(server, model=model, **config)

    assert server.body["model"] == deployment
    assert at.of("llm:response")[0]["model"] == (model or "gpt-5.4")


async def test_reserved_capacity_has_no_cost(server: WireServer) -> None:
    assert (await sent(server)).response.usage.cost_usd > 0
    assert (await sent(server, deployment_type="ptu")).response.usage.cost_usd is None


async def test_models_are_those_of_the_config(server: WireServer) -> None:
    async with desk(AzureWire(), server, deployment_mapping={"o3": "x"}) as at:
        assert [each.id for each in await at.provider.list_models()] == ["gpt-5.4", "o3"]
    assert not server.heard


# -- signing in ---------------------------------------------------------------------------------


async def test_a_key_wins_over_a_token(server: WireServer) -> None:
    await sent(server, azure_ad_token="a-token", use_default_credential=True)

    assert server.heard[0].headers["api-key"] == KEY
    assert "authorization" not in server.heard[0].headers


async def test_a_token_wins_over_an_identity(server: WireServer) -> None:
    await sent(server, api_key=None, azure_ad_token="a-token", use_managed_identity=True)

    assert server.heard[0].headers["authorization"] == "Bearer a-token"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["managed_identity", "default_credential"])
async def test_an_identity_fetches_a_token_and_keeps_it(
    server: WireServer, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    granted = {
        "access_token": "granted-token",
        "expires_on": str(int(time.time()) + 3600),
        "resource": "https://cognitiveservices.azure.com",
        "token_type": "Bearer",
    }
    wire = AzureWire()
    async with serving() as identity:
        identity.will(answers(200, granted))
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{identity.url}/token")
        monkeypatch.setenv("IDENTITY_HEADER", "secret")
        monkeypatch.setenv(f"AZURE_USE_{kind.upper()}", "true")
        server.will(*[streams(*wire.text("Hi"))] * 2)
        async with desk(wire, server, api_key=None) as at:
            await at.ask("Hi")
            await at.ask("Hi")

            assert "granted-token" not in repr(vars(at.provider))
        assert len(identity.heard) == 1
    assert {each.headers["authorization"] for each in server.heard} == {"Bearer granted-token"}


async def test_without_the_package_for_identities_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    config = {"base_url": "http://127.0.0.1:9", "use_managed_identity": "true"}

    with pytest.raises(ConfigurationError, match=r"pip install 'amplifier\[azure\]'"):
        await AzureWire().mount(MockCoordinator(), config)


async def test_without_a_credential_nothing_is_mounted() -> None:
    coordinator = MockCoordinator()

    assert await AzureWire().mount(coordinator, {"base_url": "http://127.0.0.1:9"}) is None
