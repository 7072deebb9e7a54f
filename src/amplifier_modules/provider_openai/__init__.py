"""The OpenAI family: Responses and Chat Completions, through OpenAI's official SDK."""

from .provider import mount as mount

__amplifier_module_type__ = "provider"
