"""Well-known names for what a model can do, as listed in `ModelInfo.capabilities`.

Any other string is allowed there as well. Not to be confused with a coordinator's
capabilities, which are objects that modules offer each other.
"""

TOOLS = "tools"
STREAMING = "streaming"
THINKING = "thinking"
VISION = "vision"
JSON_MODE = "json_mode"
FAST = "fast"
CODE_EXECUTION = "code_execution"
WEB_SEARCH = "web_search"
DEEP_RESEARCH = "deep_research"
LOCAL = "local"
AUDIO = "audio"
IMAGE_GENERATION = "image_generation"
COMPUTER_USE = "computer_use"
EMBEDDINGS = "embeddings"
LONG_CONTEXT = "long_context"
BATCH = "batch"

_names = [name for name in globals() if name.isupper()]

ALL_WELL_KNOWN_CAPABILITIES: list[str] = [globals()[name] for name in _names]

__all__ = [*_names, "ALL_WELL_KNOWN_CAPABILITIES"]
