"""Both modules keep the kernel's contract for hooks, and the log keeps its documented schema."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.cli import main
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from helpers_records import logged

import amplifier_modules.records
from amplifier_modules.records.hooks_logging import LoggingSettings
from amplifier_modules.records.hooks_redaction import RedactionSettings
from amplifier_modules.records.record import FIELDS, LIFTED, SCHEMA

FOLDER = Path(amplifier_modules.records.__file__).parent
PAGE = Path(__file__).parents[3] / "docs/reference/log.md"
ROW = re.compile(r"^\| `(?P<name>[^`]+)` \| (?P<rest>.*) \|$", re.MULTILINE)


@pytest.fixture(params=["hooks_logging", "hooks_redaction"])
def module_path(request: pytest.FixtureRequest) -> Path:
    return FOLDER / f"{request.param}.py"


@pytest.fixture
def module_config(module_path: Path, tmp_path: Path) -> dict[str, Any]:
    is_logging = module_path.stem == "hooks_logging"
    return {"session_log_template": str(tmp_path / "log")} if is_logging else {}


class TestStructure(HookStructuralTests):
    pass


class TestBehavior(HookBehaviorTests):
    pass


def test_the_validator_finds_nothing_wrong(
    module_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(module_path)]) == 0, capsys.readouterr().out


def test_mounting_alone_writes_nothing(
    module_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMPLIFIER_HOME", str(tmp_path))

    main(["validate", str(module_path)])

    assert list(tmp_path.iterdir()) == []


def test_the_entry_points_lead_to_the_modules() -> None:
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["amplifier.modules"] == {
        "hooks-logging": "amplifier_modules.records.hooks_logging:mount",
        "hooks-redaction": "amplifier_modules.records.hooks_redaction:mount",
    }


def rows(text: str, heading: str) -> dict[str, str]:
    """The rows of the table under a heading, by their first cell."""
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    return {row["name"]: row["rest"] for row in ROW.finditer(section)}


@pytest.mark.parametrize("settings", [LoggingSettings, RedactionSettings])
def test_the_readme_lists_every_key_with_its_default(settings: Any) -> None:
    heading = {"LoggingSettings": "hooks-logging", "RedactionSettings": "hooks-redaction"}
    listed = rows((FOLDER / "README.md").read_text(), heading[settings.__name__])
    defaults = {name: field.default for name, field in settings.model_fields.items()}

    assert listed.keys() == defaults.keys()
    for name, default in defaults.items():
        shown = listed[name].split(" | ")[0].strip("`")
        plain = str(list(default) if isinstance(default, tuple) else default)
        assert shown == plain.replace("'", "").replace("True", "true").replace("False", "false")


def test_the_log_page_describes_the_schema() -> None:
    text = PAGE.read_text()

    assert f"`{SCHEMA['name']}`, version `{SCHEMA['ver']}`" in text
    assert rows(text, "A record") == {
        **FIELDS,
        **LIFTED,
        "data": "everything else that the event carries",
    }


async def test_the_example_on_the_log_page_is_what_is_written(tmp_path: Path) -> None:
    [example] = re.findall(r"^```json\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    async with logged(tmp_path) as log:
        await log.emit(
            "tool:post",
            tool_name="bash",
            tool_input={"command": "printenv API_KEY"},
            tool_call_id="call_7",
            result={"success": True, "output": "API_KEY=0f1e2d3c4b5a", "error": None},
        )
    moment = r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00"

    written = re.sub(moment, "<time>", log.path.read_text())
    assert written == re.sub(moment, "<time>", example)
