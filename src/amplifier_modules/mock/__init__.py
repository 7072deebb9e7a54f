"""`provider-mock`: a model that says what it was told to say, for tests, demos and benchmarks."""

from .provider import mount as mount

__amplifier_module_type__ = "provider"
