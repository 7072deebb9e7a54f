"""The `amplifier-core` command."""

import io
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from amplifier_core import cli
from amplifier_core.validation import ToolValidator, ValidationCheck, ValidationResult

COMMAND = Path(sys.executable).with_name("amplifier-core")
GOOD = """
import os

class Tool:
    name = "clock"
    description = "Tells the time."
    input_schema = {}

    async def execute(self, input): ...


async def mount(coordinator, config):
    print("chatter")
    os.system("echo from a child")
    await coordinator.mount("tools", Tool(), name=config.get("name"))
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return write(tmp_path / "amplifier-module-tool-clock" / "amplifier_module_tool_clock", GOOD)


def write(package: Path, source: str) -> Path:
    """Write a package and return the folder it is in."""
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source)
    return package.parent


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(COMMAND), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_valid_repository_ends_with_code_0(repository: Path) -> None:
    done = run("validate", repository)

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == f"Validating tool module: {repository}"
    assert lines[2] == "PASSED: 8/9 checks passed (0 errors, 1 warnings)"
    assert lines[4] == "  ✓ [info]    module_importable: amplifier_module_tool_clock was imported."
    assert "  ✗ [warning] stdout_clean: " in done.stdout


def test_json_is_not_garbled_by_what_a_module_prints(repository: Path) -> None:
    done = run("validate", repository, "--json")

    report = json.loads(done.stdout)
    assert sorted(report) == ["checks", "module_path", "module_type", "passed"]
    assert (report["module_type"], report["passed"]) == ("tool", True)
    assert report["checks"][0] == {
        "name": "module_importable",
        "passed": True,
        "message": "amplifier_module_tool_clock was imported.",
        "severity": "info",
    }
    assert sorted(done.stderr.splitlines()) == ["chatter", "from a child"]


def test_a_broken_module_ends_with_code_1(tmp_path: Path) -> None:
    done = run("validate", write(tmp_path / "amplifier_module_tool_x", "mount = 1"), "-q")

    assert done.returncode == 1
    assert done.stdout == "FAILED: 1/2 checks passed (1 errors, 0 warnings)\n"


@pytest.mark.parametrize("form", [["tool"], ["--type", "tool"], ["-t", "tool"], []])
def test_every_form_of_the_command_examines_the_same(
    repository: Path, form: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["validate", *form, str(repository), "-q"]) == 0
    assert capfd.readouterr().out == "PASSED: 8/9 checks passed (0 errors, 1 warnings)\n"


def test_the_older_options_are_still_accepted(repository: Path) -> None:
    package = repository / "amplifier_module_tool_clock"

    assert cli.main(["validate", "tool", str(package), "-e", "x", "--quiet"]) == 0


def test_a_config_can_be_given(repository: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = cli.main(["validate", str(repository), "--config", '{"name": "given"}'])

    assert code == 0
    assert "'given' implements Tool interface." in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["validate"], "required: PATH"),
        (["validate", "{tmp}/nowhere"], "nowhere' does not exist"),
        (["validate", "tol", "{tmp}"], "'tol' is no module type"),
        (["validate", "{tmp}", "--type", "tol"], "invalid choice: 'tol'"),
        (["validate", "tool", "{tmp}", "--type", "hook"], "types 'tool' and 'hook'"),
        (["validate", "tool", "{tmp}", "{tmp}"], "Got 3 arguments"),
        (["validate", "{tmp}/anything"], "Nothing tells the type of 'anything'"),
        (["validate", "{tmp}", "--config", "{{"], "--config is not JSON"),
        (["validate", "{tmp}", "--config", "3"], "--config is no JSON object"),
        (["explode"], "invalid choice: 'explode'"),
        ([], "usage: amplifier-core"),
    ],
)
def test_a_command_that_cannot_be_carried_out_ends_with_code_2(
    tmp_path: Path, arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "anything", "async def mount(coordinator, config): ...")

    code = cli.main([each.format(tmp=tmp_path) for each in arguments])

    assert code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert part in err


def test_the_version_is_the_real_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"amplifier-core, version {version('amplifier-core')}\n"


def test_the_types_are_listed_with_a_word_about_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list-types"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["Available module types:", ""]
    assert [line.split()[0] for line in lines[2:]] == list(cli.VALIDATORS)
    assert cli.VALIDATORS["tool"] is ToolValidator
    assert cli.cli is cli.main


def test_a_module_that_exits_does_not_end_the_command(tmp_path: Path) -> None:
    done = run("validate", "tool", write(tmp_path / "amplifier_module_x", "raise SystemExit(0)"))

    assert done.returncode == 1
    assert "it calls sys.exit() (__init__.py, line 1)" in done.stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    check = ValidationCheck("mount_exists", False, "There is no mount().", "error")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", Terminal())

    cli.print_result(ValidationResult("tool", "here", [check]))
    painted = sys.stdout.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    cli.print_result(ValidationResult("tool", "here", []), quiet=True)

    assert "\x1b[31mFAILED" in painted
    assert "\x1b[31m[error]  \x1b[0m mount_exists" in painted
    assert sys.stdout.getvalue().endswith("\nPASSED: 0/0 checks passed (0 errors, 0 warnings)\n")


def test_a_stream_without_encoding_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())

    assert cli.main(["list-types"]) == 0
    assert "provider" in sys.stdout.getvalue()


def test_a_narrow_console_still_gets_the_report(repository: Path) -> None:
    done = subprocess.run(
        [str(COMMAND), "validate", str(repository)],
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )

    assert done.returncode == 0
    assert b"  ? [info]    mount_exists" in done.stdout
