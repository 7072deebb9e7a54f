"""Modules whose import or mount goes wrong, and what a validator finds in each."""

from sample_modules import TOOL, TOOL_CLASS, changed, mounting

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
    ("mount not callable", "tool", "mount = 3", ["mount_exists"], "mount is of type int"),
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
    (
        "import error of its own",
        "tool",
        "raise ImportError('Install a newer libfoo.')",
        ["module_importable"],
        ": Install a newer libfoo.",
    ),
    (
        "interrupt on import",
        "tool",
        "raise KeyboardInterrupt",
        ["module_importable"],
        "KeyboardInterrupt (__init__.py, line",
    ),
    (
        "blocks on import",
        "tool",
        "import time\ntime.sleep(2)",
        ["module_importable"],
        "did not finish within 1 s",
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
        "Unknown mount point: toolz. Did you mean 'tools'?",
    ),
    (
        "mounts at a place like no other",
        "tool",
        mounting("await coordinator.mount('session', Tool())"),
        ["protocol_compliance"],
        "Mount at one of orchestrator, providers, tools, context",
    ),
    (
        "mounts without a name",
        "tool",
        mounting("await coordinator.mount('tools', object())"),
        ["protocol_compliance"],
        "Name required",
    ),
    (
        "raises after mounting",
        "tool",
        mounting("await coordinator.mount('tools', Tool())\n    raise OSError"),
        ["protocol_compliance"],
        "mount() raised OSError. Let it work",
    ),
    ("waits in mount", "tool", WAITING, ["protocol_compliance"], "did not finish within 0.2 s"),
    ("blocks in mount", "tool", BLOCKING, ["protocol_compliance"], "did not finish within 0.2 s"),
    (
        "ignores cancellation in mount",
        "tool",
        STUBBORN,
        ["protocol_compliance"],
        "did not finish within 0.2 s",
    ),
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
        "did not finish within 0.2 s",
    ),
]
