"""What the how-to pages say about common mistakes is what the validator says.

Each case makes one mistake in the module that its page shows, and looks for the finding there.
"""

from pathlib import Path
from typing import Any

import pytest
from amplifier_core.validation.discover import VALIDATORS
from snippets import snippets_of

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"

Mistake = tuple[str, str, str]
"""The page, what it shows, and what somebody wrote instead."""

ASIDE = " ...\n\n    async def _aside"
"""Ends a method that takes the place of the one that is shown."""

RAISING_CLEANUP = """
async def mount(coordinator, config):
    def cleanup():
        raise RuntimeError("already closed")

    await coordinator.mount("tools", Shout(coordinator.hooks))
    return cleanup
"""

MISTAKES: list[Mistake] = [
    ("tool", "async def execute", "def execute"),
    ("tool", "execute(self, input: dict[str, Any])", "execute(self)"),
    ("tool", "    description =", "    help ="),
    ("tool", "    input_schema =", "    schema ="),
    ("tool", 'mount("tools", tool)', 'mount("tools", AddNote)'),
    ("tool", '    await coordinator.mount("tools", tool)\n', ""),
    ("tool", '    path = config.get("path"', '    print("ready")\n    path = config.get("path"'),
    ("provider", 'config.get("api_key")', "None"),
    ("provider", "def get_info", "async def get_info"),
    (
        "provider",
        "        return ProviderInfo(",
        "        raise ConnectionError('no network')\n        return ProviderInfo(",
    ),
    (
        "provider",
        "    async def complete",
        "    def complete(self, request, **kwargs):" + ASIDE,
    ),
    ("provider", "def parse_tool_calls", "def parse"),
    (
        "orchestrator",
        "    async def execute",
        "    async def execute(self, prompt):" + ASIDE,
    ),
    (
        "orchestrator",
        "    async def execute",
        "    def execute(self, prompt, context, providers, tools, hooks):" + ASIDE,
    ),
    (
        "orchestrator",
        "        context: Any,\n        providers",
        "        memory: Any,\n        providers",
    ),
    ("orchestrator", "await coordinator.mount(", "tuple, ("),
    ("context", "async def add_message", "def add_message"),
    ("context", "async def get_messages_for_request", "async def select"),
    (
        "context",
        "token_budget: int | None = None, provider: Any = None",
        "token_budget: int, provider: Any",
    ),
    ("context", "async def set_messages", "async def resume"),
    ("context", "    await coordinator.mount(", "    tuple, ("),
    ("test-a-module", "async def mount", "async def start"),
    (
        "test-a-module",
        "async def mount",
        "def mount(coordinator, config): ...\n\n\nasync def aside",
    ),
    ("test-a-module", "mount(coordinator, config: dict)", "mount(coordinator)"),
    ("test-a-module", '__ = "tool"', '__ = "tol"'),
    ("test-a-module", "async def mount", f"{RAISING_CLEANUP}\n\nasync def aside"),
    ("test-a-module", "async def mount", "def on_session_ready(): ...\n\n\nasync def mount"),
    ("approval", "async def request_approval", "def request_approval"),
    ("approval", "request_approval(self, request: ApprovalRequest)", "request_approval(self)"),
    ("hook", "async def check(self, event: str, data", "async def check(self, data"),
    ("hook", "async def check", "def check"),
    ("hook", "    stop = [", "    stop = [] and ["),
    ("hook", "    stop = [", '    await coordinator.mount("hooks", limit)\n    stop = ['),
]


def kind_of(page: str) -> str:
    return page if page in VALIDATORS else "tool"


def module_on(page: str) -> tuple[str, str]:
    """Name and source of the module that a page shows."""
    shown = [each for each in snippets_of((HOW_TO / f"{page}.md").read_text()) if each.file]
    (module,) = [each for each in shown if str(each.file).endswith("/__init__.py")]
    return str(Path(str(module.file)).parent), module.code


async def findings(page: str, name: str, source: str, folder: Path) -> list[str]:
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text(source)
    config: dict[str, Any] = {"api_key": "test"} if page == "provider" else {}
    result = await VALIDATORS[kind_of(page)]().validate(package, config=config)
    return [
        check.message for check in result.checks if not check.passed or check.severity == "warning"
    ]


@pytest.mark.parametrize(("page", "shown", "written"), MISTAKES)
async def test_the_page_quotes_what_the_validator_says(
    page: str, shown: str, written: str, tmp_path: Path
) -> None:
    name, source = module_on(page)
    assert source.count(shown) == 1

    said = await findings(page, name, source.replace(shown, written), tmp_path)

    text = (HOW_TO / f"{page}.md").read_text()
    assert said
    assert [message for message in said if message not in text] == []


@pytest.mark.parametrize("page", VALIDATORS)
async def test_the_module_as_shown_has_no_findings(page: str, tmp_path: Path) -> None:
    assert await findings(page, *module_on(page), tmp_path) == []
