"""hooks-approval keeps the contract of a hook and writes down what was decided."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from amplifier_core.cli import main
from amplifier_core.validation.behavioral import HookBehaviorTests
from amplifier_core.validation.structural import HookStructuralTests
from helpers_approval import Guarded, Person

from amplifier_modules.shell import approval


@pytest.fixture
def module_path() -> Path:
    return Path(approval.__file__)


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    project = tmp_path / "project"
    project.mkdir()
    return Guarded(project)


class TestStructure(HookStructuralTests):
    pass


class TestBehavior(HookBehaviorTests):
    pass


def test_the_validator_finds_nothing_wrong(
    module_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(module_path)]) == 0, capsys.readouterr().out


async def test_it_comes_early_and_has_the_last_word(guarded: Guarded) -> None:
    guarded.coordinator.hooks.register("tool:pre", lambda event, data: None, name="other")
    await guarded.mount()

    order = guarded.coordinator.hooks.list_handlers("tool:pre")["tool:pre"]

    assert order == ["hooks-approval", "other", "hooks-approval-last"]


async def test_after_cleanup_nothing_is_guarded(guarded: Guarded) -> None:
    await guarded.mount()

    guarded.cleanup()
    guarded.cleanup()

    assert (await guarded.bash("rm x")).action == "continue"


async def test_a_provider_without_the_method_is_refused(guarded: Guarded) -> None:
    await guarded.mount()

    with pytest.raises(TypeError, match="request_approval"):
        guarded.coordinator.get_capability("approval.register_provider")(object())


# -- audit ------------------------------------------------------------------------------


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def test_each_decision_is_one_line_of_the_audit(guarded: Guarded, tmp_path: Path) -> None:
    file = tmp_path / "deep" / "audit.jsonl"
    await guarded.mount(Person(False, reason="no", remember=True), audit={"path": str(file)})

    await guarded.bash("ls")
    await guarded.bash("make")
    await guarded.call("read_file", file_path="a")

    ls, make = written(file)
    assert ls["response"] == {
        "approved": True,
        "reason": "built-in: ls in the project allows it.",
        "remember": False,
    }
    assert make["request"] == {
        "tool_name": "bash",
        "action": "run 'make'",
        "details": {"command": "make"},
        "risk_level": "high",
        "timeout": None,
    }
    assert make["response"] == {"approved": False, "reason": "no", "remember": True}
    assert make["rule"] == "built-in: no rule"
    assert make["timestamp"][:2] == "20"


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX")
async def test_the_audit_is_for_its_owner_only(guarded: Guarded, tmp_path: Path) -> None:
    file = tmp_path / "audit" / "audit.jsonl"
    file.parent.mkdir()
    file.touch(mode=0o644)
    await guarded.mount(audit={"path": str(file)})

    await guarded.bash("ls")

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "given",
    [
        {"command": "curl -H 'Authorization: Bearer S3CRET' x"},
        {"command": "API_KEY=S3CRET make"},
        {"command": "mysql --password=S3CRET"},
        {"command": "login sk-S3CRETS3CRETS3CRET"},
        {"command": "make", "password": "S3CRET"},
        {"command": "make", "env": [{"token": "S3CRET"}]},
    ],
)
async def test_secrets_do_not_reach_the_audit(
    guarded: Guarded, tmp_path: Path, given: dict[str, Any]
) -> None:
    file = tmp_path / "audit.jsonl"
    await guarded.mount(Person(), audit={"path": str(file)})

    await guarded.call("bash", **given)

    assert "S3CRET" not in file.read_text(encoding="utf-8")


async def test_a_decision_that_cannot_be_written_down_is_a_denial(
    guarded: Guarded, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    await guarded.mount(Person(), audit={"path": str(tmp_path / "file" / "audit.jsonl")})

    result = await guarded.bash("ls")

    assert result.action == "deny"
    assert "audit.enabled" in (result.reason or "")


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="needs O_NOFOLLOW")
async def test_the_audit_follows_no_link(guarded: Guarded, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.touch()
    (tmp_path / "audit.jsonl").symlink_to(target)
    await guarded.mount(audit={"path": str(tmp_path / "audit.jsonl")})

    assert (await guarded.bash("ls")).action == "deny"
    assert target.read_text() == ""


async def test_the_audit_can_be_switched_off(guarded: Guarded, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    await guarded.mount(audit={"enabled": False, "path": str(file)})

    assert (await guarded.bash("ls")).action == "continue"
    assert not file.exists()


def test_the_audit_lies_in_the_home_folder_by_default() -> None:
    from amplifier_modules.shell.policy import ApprovalSettings

    assert ApprovalSettings().audit.path == "~/.amplifier/audit/approvals.jsonl"
