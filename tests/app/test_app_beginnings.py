"""`amplifier module new` in every language: what it writes is sound as it stands."""

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from helpers_beginnings import BUILT, CACHE, EVERY, beginning

from amplifier.cli import main
from amplifier.sources.trees import tree_hash

Amplifier = Callable[..., Result]


@pytest.fixture
def amplifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Amplifier]:
    """The command, in a folder of its own."""
    # Compiled components are kept where all tests keep them.
    monkeypatch.setenv("AMPLIFIER_HOME", str(CACHE / "amplifier-home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["module", *arguments])

    return run


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "transport", "language"), BUILT)
def test_what_is_written_is_built_and_validates(
    amplifier: Amplifier, kind: str, transport: str, language: str
) -> None:
    folder = beginning(Path.cwd(), kind, transport, language)

    validated = amplifier("validate", folder.name)

    assert validated.exit_code == 0, validated.output
    assert "(0 errors, 0 warnings)" in validated.output


@pytest.mark.parametrize(("kind", "transport", "language"), EVERY)
def test_nothing_is_left_to_be_filled_in(
    amplifier: Amplifier, kind: str, transport: str, language: str
) -> None:
    made = amplifier("new", kind, "demo", "--transport", transport, "--language", language)

    (folder,) = Path.cwd().iterdir()
    files = [path for path in folder.rglob("*") if path.is_file()]
    names = {path.relative_to(folder).as_posix() for path in files}
    assert (made.exit_code, folder.name in made.output) == (0, True)
    assert {"amplifier.toml", "README.md"} <= names
    assert not [name for name in names if "$" in name or name.endswith(".txt")]
    assert f'transport = "{transport}"' in (folder / "amplifier.toml").read_text()
    for path in files:
        assert "$id" not in path.read_text()
        assert "$kind" not in path.read_text()


# -- what cannot be begun -------------------------------------------------------------


@pytest.mark.parametrize(
    ("transport", "language", "said"),
    [
        ("grpc", "cobol", "but in python, go or typescript. There is no other transport for it."),
        ("python", "go", "but in python. Use --transport grpc or rust."),
    ],
)
def test_a_language_that_does_not_go_with_a_transport_is_refused(
    amplifier: Amplifier, transport: str, language: str, said: str
) -> None:
    refused = amplifier("new", "tool", "demo", "--transport", transport, "--language", language)

    assert (refused.exit_code, list(Path.cwd().iterdir())) == (1, [])
    assert said in refused.output


def test_two_servers_are_given_two_places(amplifier: Amplifier) -> None:
    for name in ("one", "two"):
        amplifier("new", "tool", name, "--transport", "grpc")

    manifests = [(folder / "amplifier.toml").read_text() for folder in Path.cwd().iterdir()]
    assert len(set(manifests)) == 2


# -- building -------------------------------------------------------------------------

MANIFEST = '[module]\ntransport = "rust"\ntype = "tool"\ncrate = "side"\n'


def _buildable(script: str, manifest: str = MANIFEST) -> Path:
    folder = Path("amplifier-module-tool-side")
    folder.mkdir()
    (folder / "amplifier.toml").write_text(manifest)
    (folder / "build.sh").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "build.sh").chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("# Needs: no-such-compiler", "that takes 'no-such-compiler'. Install it."),
        ("echo the reason; exit 3", "the reason\nbuild.sh of"),
        ("echo no net >&2; exit 75", "lacks what it needs."),
    ],
)
def test_a_module_that_cannot_be_built_says_why(
    amplifier: Amplifier, script: str, said: str
) -> None:
    folder = _buildable(script)

    refused = amplifier("validate", folder.name)

    assert (refused.exit_code, said in refused.output) == (1, True), refused.output


def test_a_script_that_is_no_program_is_reported(amplifier: Amplifier) -> None:
    folder = _buildable("exit 0")
    (folder / "build.sh").chmod(0o644)

    refused = amplifier("validate", folder.name)

    assert refused.exit_code == 1
    assert "could not be run" in refused.output


def test_a_module_is_built_again_when_its_sources_have_changed(amplifier: Amplifier) -> None:
    folder = _buildable('cd "$(dirname "$0")"; echo once more >> ../log; touch side')

    for _ in range(2):
        amplifier("validate", folder.name)
    built = Path("log").read_text().count("once more")
    newer = (folder / "side").stat().st_mtime_ns + 1_000_000_000
    os.utime(folder / "amplifier.toml", ns=(newer, newer))
    amplifier("validate", folder.name)

    assert (built, Path("log").read_text().count("once more")) == (1, 2)


def test_a_program_where_cargo_puts_it_is_not_built_again(amplifier: Amplifier) -> None:
    make = "mkdir -p target/release; touch target/release/side"
    folder = _buildable(f'cd "$(dirname "$0")"; echo once more >> ../log; {make}')

    for _ in range(2):
        amplifier("validate", folder.name)

    assert Path("log").read_text().count("once more") == 1


def test_what_building_leaves_behind_is_no_source(amplifier: Amplifier) -> None:
    folder = _buildable('cd "$(dirname "$0")"; echo once more >> ../log; touch side')
    amplifier("validate", folder.name)
    newer = (folder / "side").stat().st_mtime_ns + 1_000_000_000
    for place in ("node_modules", ".build", "target"):
        (folder / place).mkdir()
        (folder / place / "left").touch()
        os.utime(folder / place / "left", ns=(newer, newer))

    amplifier("validate", folder.name)

    assert Path("log").read_text().count("once more") == 1


def test_what_building_leaves_behind_is_not_pinned_down(amplifier: Amplifier) -> None:
    amplifier("new", "tool", "demo", "--transport", "rust", "--language", "typescript")
    (folder,) = Path.cwd().iterdir()
    before = tree_hash(folder)
    for place in ("node_modules", ".build"):
        (folder / place).mkdir()
        (folder / place / "link").symlink_to(folder)

    assert tree_hash(folder) == before


# -- serving --------------------------------------------------------------------------


def _servable(program: str, endpoint: str) -> Path:
    folder = Path("amplifier-module-tool-far")
    folder.mkdir()
    (folder / "amplifier.toml").write_text(
        f'[module]\ntransport = "grpc"\ntype = "tool"\n[grpc]\nendpoint = "{endpoint}"\n'
        "connect_timeout = 0.2\n"
    )
    (folder / "serve").write_text(f"#!/bin/sh\n{program}\n")
    (folder / "serve").chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("echo a line; echo ERROR:no luck", "did not come up: no luck. Run `./serve --port"),
        ("exit 1", "did not come up: it said nothing."),
    ],
)
def test_a_server_that_does_not_come_up_is_reported(
    amplifier: Amplifier, free_port: int, program: str, said: str
) -> None:
    folder = _servable(program, f"127.0.0.1:{free_port}")

    refused = amplifier("validate", folder.name)

    assert (refused.exit_code, said in refused.output) == (1, True), refused.output


def test_the_server_of_somebody_else_is_left_alone(amplifier: Amplifier, free_port: int) -> None:
    folder = _servable("touch ../started", f"127.0.0.1:{free_port}")
    with socket.create_server(("127.0.0.1", free_port)):
        refused = amplifier("validate", folder.name)

    assert (refused.exit_code, Path("started").exists()) == (1, False)


def test_a_server_elsewhere_is_not_started_here(amplifier: Amplifier) -> None:
    folder = _servable("touch ../started", "192.0.2.1:50051")

    refused = amplifier("validate", folder.name)

    assert (refused.exit_code, Path("started").exists()) == (1, False)


def test_a_manifest_that_cannot_be_read_is_reported_as_before(amplifier: Amplifier) -> None:
    folder = _buildable("touch ../built", manifest="[module")

    refused = amplifier("validate", folder.name)

    assert (refused.exit_code, Path("built").exists()) == (1, False)


def test_a_file_that_is_no_component_is_reported(amplifier: Amplifier) -> None:
    folder = _buildable("exit 1", manifest='[module]\ntransport = "wasm"\n')
    (folder / "module.wasm").write_bytes(b"none")

    refused = amplifier("validate", folder.name)

    assert refused.exit_code == 1
    assert "FAILED" in refused.output
