"""Every way to get a module's import or mount wrong has its own finding, and only that one."""

from pathlib import Path

import pytest
from amplifier_core.validation.discover import VALIDATORS
from sample_modules import TOOL, TOOL_CLASS, changed, mounting, write_module

WAITING = "import asyncio\nasync def mount(coordinator, config):\n    await asyncio.Event().wait()"
BLOCKING = "import time\nasync def mount(coordinator, config):\n    time.sleep(2)"
STUBBORN = """
import asyncio
async def mount(coordinator, config):
    for _ in range(3):
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            pass
"""


# Name of the case, type, source, names of the checks that fail, part of the first message.
BROKEN = [
    ("no mount", "tool", TOOL_CLASS, ["mount_exists"], "no mount()"),
    ("mount not callable", "tool", "mount = 3", ["mount_exists"], "mount is a int"),
    (
        "sync mount",
        "tool",
        changed(mounting("pass"), "async def mount", "def mount"),
        ["mount_signature"],
        "not async",
    ),
    (
        "mount without config",
        "tool",
        "async def mount(coordinator): ...",
        ["mount_signature"],
        "2 parameters",
    ),
    (
        "mount with three parameters",
        "tool",
        "async def mount(coordinator, config, more): ...",
        ["mount_signature"],
        "2 parameters",
    ),
    (
        "mount by keyword only",
        "tool",
        "async def mount(*, coordinator, config): ...",
        ["mount_signature"],
        "2 parameters",
    ),
    (
        "marker of another type",
        "tool",
        f"__amplifier_module_type__ = 'provider'\n{TOOL}",
        ["module_type"],
        "examined as 'tool'",
    ),
    (
        "unknown marker",
        "tool",
        f"__amplifier_module_type__ = 'tol'\n{TOOL}",
        ["module_type"],
        "Did you mean 'tool'?",
    ),
    (
        "marker that is no text",
        "tool",
        f"__amplifier_module_type__ = ['tool']\n{TOOL}",
        ["module_type"],
        "no module type",
    ),
    (
        "raises on import",
        "tool",
        "raise RuntimeError('no luck')",
        ["module_importable"],
        "RuntimeError: no luck (__init__.py, line",
    ),
    ("syntax error", "tool", "def mount(:\n", ["module_importable"], "invalid syntax"),
    (
        "missing dependency",
        "tool",
        "import surely_not_installed.part",
        ["module_importable"],
        "pip install surely_not_installed",
    ),
    (
        "missing name",
        "tool",
        "from json import surely_not_there",
        ["module_importable"],
        "cannot import name 'surely_not_there'",
    ),
    ("exit on import", "tool", "import sys\nsys.exit(3)", ["module_importable"], "sys.exit()"),
    (
        "exit in mount",
        "tool",
        mounting("raise SystemExit(0)"),
        ["protocol_compliance"],
        "mount() called sys.exit()",
    ),
    (
        "raises in mount",
        "tool",
        mounting("config['api_key']"),
        ["protocol_compliance"],
        "KeyError: 'api_key'",
    ),
    (
        "cancels itself in mount",
        "tool",
        f"import asyncio\n{mounting('raise asyncio.CancelledError')}",
        ["protocol_compliance"],
        "raised CancelledError",
    ),
    ("mounts nothing", "tool", mounting("pass"), ["protocol_compliance"], "No tool was mounted"),
    ("mounts elsewhere", "provider", TOOL, ["protocol_compliance"], "Mounted elsewhere: 'clock'"),
    (
        "mounts the class",
        "tool",
        mounting("await coordinator.mount('tools', Tool)"),
        ["protocol_compliance"],
        "Mount `Tool(...)`",
    ),
    (
        "mounts at an unknown place",
        "tool",
        mounting("await coordinator.mount('toolz', Tool())"),
        ["protocol_compliance"],
        "Unknown mount point: toolz",
    ),
    ("waits in mount", "tool", WAITING, ["protocol_compliance"], "within 0.3 s"),
    ("blocks in mount", "tool", BLOCKING, ["protocol_compliance"], "within 0.3 s"),
    ("ignores cancellation in mount", "tool", STUBBORN, ["protocol_compliance"], "within 0.3 s"),
    ("writes to stdout", "tool", f"print('hello')\n{TOOL}", ["stdout_clean"], "hello"),
    (
        "writes bytes to stdout",
        "tool",
        f"import sys\nsys.stdout.buffer.write(b'raw')\n{TOOL}",
        ["stdout_clean"],
        "raw",
    ),
    (
        "sync on_session_ready",
        "tool",
        f"{TOOL}\ndef on_session_ready(coordinator): ...",
        ["on_session_ready_async"],
        "not async",
    ),
    (
        "on_session_ready without coordinator",
        "tool",
        f"{TOOL}\nasync def on_session_ready(): ...",
        ["on_session_ready_async"],
        "coordinator",
    ),
    (
        "cleanup that raises",
        "tool",
        mounting("await coordinator.mount('tools', Tool())\n    return lambda: 1 / 0"),
        ["cleanup"],
        "ZeroDivisionError",
    ),
    (
        "registered cleanup that raises",
        "tool",
        mounting(
            "await coordinator.mount('tools', Tool())\n"
            "    coordinator.register_cleanup(__import__('sys').exit)"
        ),
        ["cleanup"],
        "raised SystemExit",
    ),
    (
        "close that wants arguments",
        "tool",
        changed(TOOL, "async def execute", "def close(self, why): ...\n\n    async def execute")
        .replace("await coordinator", "tool = Tool(); await coordinator")
        .replace("'tools', Tool()", "'tools', tool")
        + "    return coordinator.get('tools')['clock']\n",
        ["cleanup"],
        "TypeError",
    ),
    (
        "cleanup that blocks",
        "tool",
        mounting(
            "await coordinator.mount('tools', Tool())\n"
            "    coordinator.register_cleanup(list)\n"
            "    return lambda: __import__('time').sleep(2)"
        ),
        ["cleanup"],
        "did not finish within 0.3 s",
    ),
]


@pytest.mark.parametrize(
    ("module_type", "source", "failing", "part"),
    [case[1:] for case in BROKEN],
    ids=[case[0] for case in BROKEN],
)
async def test_each_mistake_has_its_own_finding(
    tmp_path: Path, module_type: str, source: str, failing: list[str], part: str
) -> None:
    package = write_module(tmp_path, "amplifier_module_broken", source)

    result = await VALIDATORS[module_type](mount_timeout=0.3).validate(package)

    failed = [check for check in result.checks if not check.passed]
    assert [check.name for check in failed] == failing
    assert part in failed[0].message


# What is at the path, the path to examine, part of the message.
NO_MODULES = [
    ("folder without __init__", "plain/readme.txt", "plain", "__init__.py"),
    ("missing path", "plain/readme.txt", "nowhere", "does not exist"),
    ("file of another kind", "notes.txt", "notes.txt", "not a Python file"),
    ("standard library name", "colorsys/__init__.py", "colorsys", "already imported"),
    ("bad manifest", "mod/amplifier.toml", "mod", "no [module] table"),
]


@pytest.mark.parametrize(
    ("file", "place", "part"), [case[1:] for case in NO_MODULES], ids=[c[0] for c in NO_MODULES]
)
async def test_a_path_without_a_module_is_one_finding(
    tmp_path: Path, file: str, place: str, part: str
) -> None:
    import colorsys  # noqa: F401

    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("")

    result = await VALIDATORS["tool"]().validate(tmp_path / place)

    assert [check.name for check in result.errors] == ["module_importable"]
    assert result.errors[0].message.startswith("Could not import")
    assert part in result.errors[0].message


async def test_a_module_of_another_transport_is_one_finding(tmp_path: Path) -> None:
    (tmp_path / "amplifier.toml").write_text('[module]\ntransport = "grpc"\n')

    result = await VALIDATORS["tool"]().validate(tmp_path)

    assert [check.name for check in result.errors] == ["module_importable"]
    assert "transport 'grpc'" in result.errors[0].message


async def test_an_unknown_dotted_name_is_one_finding() -> None:
    result = await VALIDATORS["tool"]().validate("surely_no.such_module")

    assert [check.name for check in result.errors] == ["module_importable"]
    assert "import" in result.errors[0].message
