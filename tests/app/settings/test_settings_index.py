"""Modules and bundles from an index of packages: wheels, unpacked and locked by their content."""

import zipfile
from pathlib import Path

import pytest
from helpers_app import App, Ended
from helpers_project import TOOL

from amplifier.sources.lock import read_lock

pytestmark = pytest.mark.slow


def wheel(folder: Path, version: str, answer: str, **more: str) -> None:
    """A tool as it lies in an index."""
    folder.mkdir(exist_ok=True)
    name = f"amplifier_module_tool_greet-{version}"
    info = f"Metadata-Version: 2.1\nName: amplifier-module-tool-greet\nVersion: {version}\n"
    files = {
        "amplifier_module_tool_greet/__init__.py": TOOL.format(name="greet", answer=answer),
        "amplifier_module_tool_greet/theirs/bundle.md": "---\nbundle: {name: theirs}\n---\nHi.\n",
        f"{name}.dist-info/METADATA": f"{info}Requires-Dist: not-to-be-had\n",
        f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}.dist-info/RECORD": "",
        **more,
    }
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as opened:
        for path, text in files.items():
            opened.writestr(path, text)


@pytest.fixture
def index(app: App, tmp_path: Path) -> Path:
    """A folder of wheels that pip takes for the only index there is."""
    folder = tmp_path / "index"
    app.env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PYTHONWARNINGS": "default"}
    return folder


def greet(app: App) -> Ended:
    return app.run("tool", "invoke", "greet")


def test_a_package_is_fetched_locked_updated_and_rolled_back(app: App, index: Path) -> None:
    wheel(index, "1.0", "One.")
    added = app.run("module", "add", "tool-greet", "-s", "pypi:amplifier-module-tool-greet", "-y")
    first = greet(app).out
    wheel(index, "2.0", "Two.")
    unchanged = greet(app).out
    updated = app.run("module", "update", "--yes")
    second = greet(app).out
    back = app.run("module", "update", "--rollback")

    assert added.code == 0, added.err
    assert "version: 1.0" in added.out
    assert "not installed: not-to-be-had" in added.out
    assert "version: 1.0 -> 2.0" in updated.out
    assert (first, unchanged, second, greet(app).out) == ("One.\n", "One.\n", "Two.\n", "One.\n")
    assert back.code == 0
    (entry,) = read_lock(app.home / "amplifier.lock").values()
    assert (entry["kind"], entry["version"]) == ("index", "1.0")


def test_a_package_whose_content_was_changed_is_not_loaded(app: App, index: Path) -> None:
    wheel(index, "1.0", "One.")
    source = "pypi:amplifier-module-tool-greet==1.0"
    app.run("module", "add", "tool-greet", "-s", source, "--yes")
    (code,) = (app.home / "cache/content").glob("*/amplifier_module_tool_greet/__init__.py")
    code.write_text(TOOL.format(name="greet", answer="Evil."))

    ended = greet(app)

    assert ended.code == 1
    assert "is not what was locked" in ended.err


def test_a_bundle_of_a_package_is_used_by_name(app: App, index: Path) -> None:
    wheel(index, "1.0", "One.")
    below = "amplifier_module_tool_greet/theirs"
    source = f"pypi:amplifier-module-tool-greet#subdirectory={below}"

    added = app.run("bundle", "add", source, "--yes")

    assert added.code == 0, added.err
    assert app.run("plan", "-B", "theirs", "--json").document["plan"]["instruction"] == "Hi."


def test_what_is_not_in_the_index_or_has_no_wheel_is_said(app: App, index: Path) -> None:
    index.mkdir()
    (index / "amplifier_module_tool_greet-1.0.tar.gz").write_bytes(b"would have to be built")

    ended = app.run("module", "add", "tool-greet", "-s", "pypi:amplifier-module-tool-greet", "-y")

    assert ended.code == 1
    assert "cannot be fetched" in ended.err
    assert list((app.home / "cache/content").iterdir()) == []


def test_a_wheel_writes_nothing_outside(app: App, index: Path, tmp_path: Path) -> None:
    wheel(index, "1.0", "One.", **{"../../../../evil.py": "evil = 1"})

    ended = app.run("module", "add", "tool-greet", "-s", "pypi:amplifier-module-tool-greet", "-y")

    assert ended.code == 1
    assert "leads out of it" in ended.err
    assert not list(tmp_path.rglob("evil.py"))
