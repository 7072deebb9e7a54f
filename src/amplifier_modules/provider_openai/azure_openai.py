"""`provider-azure-openai`: OpenAI's models on Azure, through the Responses API."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import os
from collections.abc import Callable
from typing import Any

from amplifier_core.llm_errors import ConfigurationError
from amplifier_core.models import ConfigField, ModelInfo
from pydantic import SecretStr

from amplifier_modules.provider_openai.family import first_set
from amplifier_modules.provider_openai.models import PRICES, window
from amplifier_modules.provider_openai.options import AzureSettings
from amplifier_modules.provider_openai.provider import effort_field
from amplifier_modules.provider_openai.responses import ResponsesProvider
from amplifier_modules.providing.keys import find_key
from amplifier_modules.providing.prices import Price
from amplifier_modules.providing.remote import mount_remote

__amplifier_module_type__ = "provider"

logger = logging.getLogger(__name__)

MODULE_ID = "provider-azure-openai"
KEY_VARIABLES = ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_KEY")
ENDPOINT_VARIABLES = ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_BASE_URL")
TOKEN_VARIABLE = "AZURE_OPENAI_AD_TOKEN"
VERSION_VARIABLE = "AZURE_OPENAI_API_VERSION"
_SCOPE = "https://cognitiveservices.azure.com/.default"
_UNDATED_VERSIONS = ("v1", "preview", "latest")

Credential = Callable[[], Any]


class AzureProvider(ResponsesProvider[AzureSettings]):
    """One session's way to a resource on Azure."""

    name = "azure-openai"
    title = "Azure OpenAI"
    credential_variables = (ENDPOINT_VARIABLES[0], KEY_VARIABLES[0])
    prices = PRICES
    is_openai = True

    def __init__(
        self,
        settings: AzureSettings,
        key: SecretStr | None,
        coordinator: Any,
        *,
        endpoint: str,
        token: SecretStr | None = None,
        credential: Credential | None = None,
    ) -> None:
        # Whichever secret is used, it is the one to keep out of texts.
        super().__init__(settings, key or token, coordinator)
        self._endpoint = endpoint
        self._has_key = key is not None
        self._make_credential = credential
        self._credential: Any = None

    def config_fields(self) -> list[ConfigField]:
        return _config_fields()

    def context_window(self, model: str) -> int:
        return window(self.facts(model).window, is_long=self.settings.enable_long_context)

    async def list_models(self) -> list[ModelInfo]:
        """Azure tells what it sells, and not what is deployed: what the config names."""
        named = {*self.settings.deployment_mapping, self.settings.default_model}
        return [self._info(name) for name in sorted(named)]

    def sent_model(self, model: str) -> str:
        settings = self.settings
        return settings.deployment_mapping.get(model) or settings.default_deployment or model

    def price(self, model: str) -> Price | None:
        """What is paid for by the hour has no price for a call."""
        is_reserved = self.settings.deployment_type.upper() == "PTU"
        return None if is_reserved else super().price(model)

    def new_client(self, sdk: Any) -> Any:
        version = self.settings.api_version or first_set((VERSION_VARIABLE,)) or "v1"
        base = self._endpoint.rstrip("/")
        if "/openai" not in base:
            base += "/openai/v1" if version in _UNDATED_VERSIONS else "/openai"
        return sdk.AsyncAzureOpenAI(
            base_url=base,
            api_version=version,
            **self._credentials(),
            **self.client_options(sdk),
        )

    def _credentials(self) -> dict[str, Any]:
        if self._make_credential is not None:
            return {"azure_ad_token_provider": self._token}
        secret = self.key.get_secret_value() if self.key else ""
        return {"api_key": secret} if self._has_key else {"azure_ad_token": secret}

    async def _token(self) -> str:
        # The credential keeps its tokens, and gets a new one when it is time.
        return await asyncio.to_thread(self._new_token)

    def _new_token(self) -> str:
        if self._credential is None and self._make_credential is not None:
            self._credential = self._make_credential()
        token: str = self._credential.get_token(_SCOPE).token
        self.key = SecretStr(token)
        return token


def _identity(settings: AzureSettings) -> Credential | None:
    """How to get a credential without a secret of ours, if the config wants that."""
    managed = _is_on(settings.use_managed_identity, "AZURE_USE_MANAGED_IDENTITY")
    default = _is_on(settings.use_default_credential, "AZURE_USE_DEFAULT_CREDENTIAL")
    if not managed and not default:
        return None
    if importlib.util.find_spec("azure") is None or not importlib.util.find_spec("azure.identity"):
        raise ConfigurationError(
            "The package 'azure-identity' is not installed. Run `pip install 'amplifier[azure]'`.",
            provider=AzureProvider.name,
        )

    def make() -> Any:
        identity = importlib.import_module("azure.identity")
        if not managed:
            return identity.DefaultAzureCredential()
        client_id = settings.managed_identity_client_id or first_set(
            ("AZURE_MANAGED_IDENTITY_CLIENT_ID",)
        )
        return identity.ManagedIdentityCredential(client_id=client_id)

    return make


def _is_on(given: bool | None, variable: str) -> bool:
    if given is not None:
        return given
    return os.environ.get(variable, "").strip().lower() in ("1", "true", "yes", "on")


def _config_fields() -> list[ConfigField]:
    return [
        ConfigField(
            id="azure_endpoint",
            display_name="Endpoint",
            prompt="Your resource, for example https://my-resource.openai.azure.com",
            env_var=ENDPOINT_VARIABLES[0],
        ),
        ConfigField(
            id="api_key",
            display_name="API key",
            prompt="The key of the resource; empty for a managed identity",
            field_type="secret",
            env_var=KEY_VARIABLES[0],
            required=False,
        ),
        ConfigField(
            id="use_default_credential",
            display_name="Sign in with Azure",
            prompt="Use the identity that `az login` or the machine has",
            field_type="boolean",
            required=False,
            default="false",
        ),
        effort_field(),
    ]


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    settings = AzureSettings.read(config, MODULE_ID)
    endpoint = settings.azure_endpoint or settings.base_url or first_set(ENDPOINT_VARIABLES)
    if not endpoint:
        logger.warning(
            "No Azure OpenAI: nobody says where it is. Set %s, or give `azure_endpoint`.",
            ENDPOINT_VARIABLES[0],
        )
        return None
    key = find_key(settings, KEY_VARIABLES)
    given = first_set((TOKEN_VARIABLE,))
    token = settings.azure_ad_token or (SecretStr(given) if given else None)
    credential = None if key or token else _identity(settings)
    if not (key or token or credential):
        logger.warning(
            "No Azure OpenAI: there is no credential. Set %s, or `use_default_credential: true`.",
            KEY_VARIABLES[0],
        )
        return None
    provider = AzureProvider(
        settings, key, coordinator, endpoint=endpoint, token=token, credential=credential
    )
    return await mount_remote(coordinator, provider)
