"""Real modules for tests of the loader: directories, installed distributions, resolvers."""

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from amplifier_core import ModuleCoordinator
from amplifier_core.loader import ModuleLoader
from amplifier_core.transports import entry_points

MARKER = "__amplifier_module_type__"


@pytest.fixture(autouse=True)
def clean_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing that a test imports, installs or lists is seen by another test."""
    monkeypatch.delenv("AMPLIFIER_MODULES", raising=False)
    monkeypatch.setattr(entry_points, "installed", entry_points.InstalledModules())
    paths, modules = list(sys.path), dict(sys.modules)
    yield
    sys.path[:] = paths
    for name, module in list(sys.modules.items()):
        if name not in modules and str(tmp_path) in str(getattr(module, "__file__", None)):
            del sys.modules[name]


def not_installed(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `package` as good as absent, also for transports that have imported it."""
    for name in [each for each in sys.modules if each.startswith("amplifier_core.transports.")]:
        if name.split(".")[2] in ("grpc", "sidecar", "wasm"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "amplifier_core._grpc_gen", raising=False)
    monkeypatch.setitem(sys.modules, package, None)


def tool_code(origin: str = "here", extra: str = "") -> str:
    """A module that mounts a tool `probe`, which knows its config and where it came from."""
    return f"""\
{MARKER} = "tool"


class Probe:
    name = "probe"
    description = "Tells where it came from."
    origin = {origin!r}

    def __init__(self, config):
        self.config = config

    async def execute(self, input):
        return self.origin


async def mount(coordinator, config):
    await coordinator.mount("tools", Probe(config))
{dedent(extra)}
"""


def package(folder: Path, code: str, **parts: str) -> Path:
    """Write a Python package; `parts` are its further files by name."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "__init__.py").write_text(dedent(code))
    for name, text in parts.items():
        (folder / f"{name}.py").write_text(dedent(text))
    return folder


def module_dir(root: Path, module_id: str, code: str | None = None, **parts: str) -> Path:
    """Write a module's repository below `root`, as `amplifier-module-<id>`."""
    path = root / f"amplifier-module-{module_id}"
    name = f"amplifier_module_{module_id.replace('-', '_')}"
    package(path / name, tool_code(str(root.name)) if code is None else code, **parts)
    return path


def on_path(folder: Path) -> Path:
    """Make what is in `folder` importable, until the end of the test."""
    folder.mkdir(parents=True, exist_ok=True)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return folder


def distribution(site: Path, name: str, points: dict[str, str], version: str = "3.2.1") -> None:
    """Install a distribution with these entry points into `site`."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = "\n".join(f"{point} = {value}" for point, value in points.items())
    (info / "entry_points.txt").write_text(f"[amplifier.modules]\n{lines}\n")


def install(site: Path, module_id: str, code: str | None = None, dist: str = "") -> None:
    """Install a module into `site` as third parties do: a package with an entry point."""
    on_path(site)
    dist = dist or f"acme-{module_id}"
    name = dist.replace("-", "_")
    package(site / name, tool_code(dist) if code is None else code)
    distribution(site, dist, {module_id: f"{name}:mount"})


class Source:
    """A module source that gives back what it was made of."""

    def __init__(self, place: Any) -> None:
        self.place = place

    def resolve(self) -> Any:
        return self.place


class Resolver:
    """A sync resolver with a dict of places; it keeps what it was asked."""

    def __init__(self, places: dict[str, Any]) -> None:
        self.places = places
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def resolve(self, module_id: str, **hints: Any) -> Source:
        self.asked.append((module_id, hints))
        found = self.places[module_id]
        if isinstance(found, Exception):
            raise found
        return Source(found)


def coordinator_with(resolver: Any) -> ModuleCoordinator:
    coordinator = ModuleCoordinator()
    coordinator.mount_points["module-source-resolver"] = resolver
    return coordinator


async def probe_of(mount: Any) -> Any:
    """The tool that a mount function mounts."""
    coordinator = ModuleCoordinator()
    await mount(coordinator)
    return coordinator.get("tools", "probe")


async def origin_of(loader: ModuleLoader, module_id: str, **options: Any) -> str:
    """Where the loader takes a module from."""
    probe = await probe_of(await loader.load(module_id, **options))
    return str(probe.origin)
