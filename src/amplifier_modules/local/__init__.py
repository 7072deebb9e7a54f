"""`provider-local`: a GGUF model that runs inside this process, without a network or an account."""

from .provider import mount as mount
from .provider import on_session_ready as on_session_ready

__amplifier_module_type__ = "provider"
