"""`amplifier-core validate` on components: loaded, mounted on a mock, and told what is wrong."""

from pathlib import Path

import pytest
from amplifier_core.cli import main
from helpers_wasm import guest_dir, text_dir, tool_text


@pytest.mark.parametrize("guest", ["tool", "provider", "hook", "context", "orchestrator"])
def test_a_sound_component_passes_as_what_it_exports(
    tmp_path: Path, guest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(guest_dir(tmp_path, guest))]) == 0

    assert f"Validating {guest} module" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("component", "told"),
    [
        (tool_text(spec="unreachable"), "get-spec failed"),
        ("(component)", "exports no known interface"),
        ("(module)", "is no WebAssembly component"),
    ],
)
def test_an_unsound_component_fails_and_says_why(
    tmp_path: Path, component: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(text_dir(tmp_path, component))]) == 1

    assert told in capsys.readouterr().out


def test_the_config_reaches_the_component(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = '{"wasm": {"memory_md": 1}}'

    assert main(["validate", str(guest_dir(tmp_path, "tool")), "--config", config]) == 1

    assert "Did you mean 'memory_mb'?" in capsys.readouterr().out


def test_an_approval_module_is_examined_as_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(guest_dir(tmp_path, "approval"))]) == 0

    assert "'approval' implements ApprovalProvider interface" in capsys.readouterr().out
