"""`provider-ollama`: models that an Ollama server runs, through its official client."""

from .provider import mount as mount

__amplifier_module_type__ = "provider"
