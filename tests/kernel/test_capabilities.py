"""The well-known names for what a model can do."""

from amplifier_core import capabilities

WELL_KNOWN = {
    "TOOLS": "tools",
    "STREAMING": "streaming",
    "THINKING": "thinking",
    "VISION": "vision",
    "JSON_MODE": "json_mode",
    "FAST": "fast",
    "CODE_EXECUTION": "code_execution",
    "WEB_SEARCH": "web_search",
    "DEEP_RESEARCH": "deep_research",
    "LOCAL": "local",
    "AUDIO": "audio",
    "IMAGE_GENERATION": "image_generation",
    "COMPUTER_USE": "computer_use",
    "EMBEDDINGS": "embeddings",
    "LONG_CONTEXT": "long_context",
    "BATCH": "batch",
}


def test_each_capability_has_its_constant_and_there_is_no_other() -> None:
    constants = {name: value for name, value in vars(capabilities).items() if name.isupper()}

    assert constants.pop("ALL_WELL_KNOWN_CAPABILITIES") is capabilities.ALL_WELL_KNOWN_CAPABILITIES
    assert constants == WELL_KNOWN


def test_the_list_has_all_of_them_in_order() -> None:
    assert isinstance(capabilities.ALL_WELL_KNOWN_CAPABILITIES, list)
    assert list(WELL_KNOWN.values()) == capabilities.ALL_WELL_KNOWN_CAPABILITIES


def test_a_star_import_brings_the_constants_and_the_list() -> None:
    assert sorted(capabilities.__all__) == sorted([*WELL_KNOWN, "ALL_WELL_KNOWN_CAPABILITIES"])
