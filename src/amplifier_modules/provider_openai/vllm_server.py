"""`provider-vllm`: a vLLM server, through the Responses API."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from amplifier_core.models import ConfigField, ModelInfo

from amplifier_modules.provider_openai.family import first_set
from amplifier_modules.provider_openai.models import NO_PRICES, Facts
from amplifier_modules.provider_openai.options import VllmSettings
from amplifier_modules.provider_openai.provider import effort_field
from amplifier_modules.provider_openai.responses import ResponsesProvider
from amplifier_modules.providing.keys import find_key
from amplifier_modules.providing.remote import mount_remote

__amplifier_module_type__ = "provider"

logger = logging.getLogger(__name__)

MODULE_ID = "provider-vllm"
KEY_VARIABLES = ("VLLM_API_KEY",)
URL_VARIABLES = ("VLLM_BASE_URL",)


class VllmProvider(ResponsesProvider[VllmSettings]):
    """One session's way to a vLLM server."""

    name = "vllm"
    title = "vLLM"
    prices = NO_PRICES
    url_variables = URL_VARIABLES
    developer = "user"
    has_thoughts = True

    def config_fields(self) -> list[ConfigField]:
        return _config_fields()

    def facts(self, model: str) -> Facts:
        return replace(Facts(), window=self.settings.context_window, samples=True)

    def described(self, model: Any) -> ModelInfo:
        info = super().described(model)
        longest = getattr(model, "max_model_len", None)
        return info.model_copy(update={"context_window": longest}) if longest else info


def _config_fields() -> list[ConfigField]:
    return [
        ConfigField(
            id="base_url",
            display_name="Base URL",
            prompt="Where the server listens, for example http://localhost:8000/v1",
            env_var=URL_VARIABLES[0],
        ),
        ConfigField(
            id="api_key",
            display_name="API key",
            prompt="The key of the server, if it wants one",
            field_type="secret",
            env_var=KEY_VARIABLES[0],
            required=False,
        ),
        effort_field(),
    ]


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    settings = VllmSettings.read(config, MODULE_ID)
    if not settings.base_url and not first_set(URL_VARIABLES):
        logger.warning("No vLLM: nobody says where it is. Give `base_url`.")
        return None
    key = find_key(settings, KEY_VARIABLES)
    return await mount_remote(coordinator, VllmProvider(settings, key, coordinator))
