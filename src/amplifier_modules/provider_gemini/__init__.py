"""`provider-gemini`: Gemini, through the GenAI API and its official SDK."""

from .provider import mount as mount

__amplifier_module_type__ = "provider"
