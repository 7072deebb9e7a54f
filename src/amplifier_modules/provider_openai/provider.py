"""`provider-openai`: OpenAI's models, through the Responses API."""

from __future__ import annotations

import logging
from typing import Any

from amplifier_core.models import ConfigField

from amplifier_modules.provider_openai.models import PRICES, is_for_chat, window
from amplifier_modules.provider_openai.options import OpenAISettings
from amplifier_modules.provider_openai.responses import ResponsesProvider
from amplifier_modules.providing.keys import find_key
from amplifier_modules.providing.remote import mount_remote

__amplifier_module_type__ = "provider"

logger = logging.getLogger(__name__)

MODULE_ID = "provider-openai"
KEY_VARIABLES = ("OPENAI_API_KEY",)
_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class OpenAIProvider(ResponsesProvider[OpenAISettings]):
    """One session's way to OpenAI."""

    name = "openai"
    title = "OpenAI"
    credential_variables = KEY_VARIABLES
    prices = PRICES
    url_variables = ("OPENAI_BASE_URL",)
    is_openai = True

    def config_fields(self) -> list[ConfigField]:
        return _config_fields()

    def context_window(self, model: str) -> int:
        return window(self.facts(model).window, is_long=self.settings.enable_long_context)

    def lists(self, model: str) -> bool:
        return not self.settings.filtered or is_for_chat(model)


def effort_field(prompt: str = "How hard the model thinks; empty for its own default") -> Any:
    return ConfigField(
        id="reasoning",
        display_name="Reasoning effort",
        prompt=prompt,
        field_type="choice",
        choices=_EFFORTS,
        required=False,
        requires_model=True,
    )


def _config_fields() -> list[ConfigField]:
    return [
        ConfigField(
            id="api_key",
            display_name="API key",
            prompt="Your OpenAI API key",
            field_type="secret",
            env_var=KEY_VARIABLES[0],
        ),
        ConfigField(
            id="base_url",
            display_name="Base URL",
            prompt="Another address of the API; empty for OpenAI's own",
            env_var="OPENAI_BASE_URL",
            required=False,
        ),
        effort_field(),
    ]


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
    settings = OpenAISettings.read(config, MODULE_ID)
    key = find_key(settings, KEY_VARIABLES)
    if key is None:
        logger.warning("No OpenAI: there is no key. Set %s, or give `api_key`.", KEY_VARIABLES[0])
        return None
    return await mount_remote(coordinator, OpenAIProvider(settings, key, coordinator))
