"""Manifests, the registry of transports, and what kind a module is."""

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from amplifier_core import transports
from amplifier_core.loader import (
    TYPE_TO_MOUNT_POINT,
    ModuleValidationError,
    module_failure_reason,
)
from amplifier_core.module_sources import ModuleLoadError
from amplifier_core.transports import (
    MODULE_TYPES,
    Manifest,
    guess_type,
    known_transports,
    module_type,
    read_manifest,
    register_transport,
    transport_loader,
)
from helpers_loader import MARKER, module_dir, not_installed, package
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transports, "_loaders", {})


def manifest_in(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "amplifier.toml").write_text(text, encoding="utf-8")
    return folder


async def load_cobol(*arguments: Any) -> Any:
    raise NotImplementedError


# -- manifests ------------------------------------------------------------------------


def test_a_manifest_tells_the_transport_the_type_and_the_rest(tmp_path: Path) -> None:
    text = '[module]\ntransport = "grpc"\ntype = "hook"\n[grpc]\nendpoint = "localhost:1"\n'

    manifest = read_manifest(manifest_in(tmp_path, text))

    settings = {
        "module": {"transport": "grpc", "type": "hook"},
        "grpc": {"endpoint": "localhost:1"},
    }
    assert manifest == Manifest(tmp_path, "grpc", "hook", settings)


def test_transport_and_type_may_be_left_out(tmp_path: Path) -> None:
    manifest = read_manifest(manifest_in(tmp_path, "[module]\n"))

    assert (manifest.transport, manifest.module_type) == ("python", None)


def test_a_directory_without_a_manifest_is_python(tmp_path: Path) -> None:
    package(tmp_path, "")

    assert read_manifest(tmp_path) == Manifest(tmp_path, "python", None, {})
    assert read_manifest(tmp_path / "missing").transport == "python"


def test_a_bare_component_needs_no_manifest(tmp_path: Path) -> None:
    (tmp_path / "weather.wasm").write_bytes(b"\0asm")

    assert read_manifest(tmp_path).transport == "wasm"


def test_a_manifest_says_more_than_the_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "weather.wasm").write_bytes(b"\0asm")
    manifest_in(tmp_path, '[module]\ntransport = "python"\n')

    assert read_manifest(tmp_path).transport == "python"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("module = [", "cannot be read as TOML"),
        ("", r"has no \[module\] table"),
        ("[other]\n", r"has no \[module\] table"),
        ('module = "grpc"', r"has no \[module\] table"),
        ('[module]\ntransport = "grcp"', "unknown transport 'grcp'. Did you mean 'grpc'?"),
        ('[module]\ntransport = "Python"', "unknown transport 'Python'. Did you mean 'python'?"),
        ("[module]\ntransport = 7", "unknown transport 7. Use one of python, rust, wasm, grpc"),
        ("[module]\ntransport = []", r"unknown transport \[\]"),
        ('[module]\ntype = "tools"', "unknown module type 'tools'. Did you mean 'tool'?"),
        ('[module]\ntype = ""', "unknown module type ''. Use one of orchestrator"),
    ],
)
def test_a_wrong_manifest_is_refused_naming_the_file(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        read_manifest(manifest_in(tmp_path, text))

    assert str(tmp_path / "amplifier.toml") in str(caught.value)
    assert isinstance(caught.value, ModuleValidationError)
    assert module_failure_reason(caught.value) == "invalid_module_metadata"


def test_a_manifest_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "amplifier.toml").write_bytes(b"[module]\nname = '\xff'\n")

    with pytest.raises(ValueError, match="cannot be read as TOML"):
        read_manifest(tmp_path)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nobody is kept from reading")
def test_a_manifest_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    (manifest_in(tmp_path, "[module]\n") / "amplifier.toml").chmod(0)

    with pytest.raises(ValueError, match="cannot be read"):
        read_manifest(tmp_path)


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]))
EXTRAS = st.dictionaries(
    st.from_regex("[a-z][a-z0-9_-]{0,9}", fullmatch=True).filter(
        lambda key: key not in ("transport", "type")
    ),
    TEXTS | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.lists(TEXTS, max_size=3),
    max_size=4,
)


@given(
    st.none() | st.sampled_from(["python", "rust", "wasm", "grpc"]),
    st.none() | st.sampled_from(MODULE_TYPES),
    EXTRAS,
    EXTRAS,
)
def test_what_a_manifest_says_is_read_back(
    transport: str | None, kind: str | None, more: dict[str, Any], other: dict[str, Any]
) -> None:
    said = {"transport": transport, "type": kind}
    section = {key: value for key, value in said.items() if value is not None} | more
    lines = [f"[module]\n{_toml(section)}", f"[other]\n{_toml(other)}"]
    with tempfile.TemporaryDirectory() as folder:
        manifest = read_manifest(manifest_in(Path(folder), "\n".join(lines)))

    assert manifest.transport == (transport or "python")
    assert manifest.module_type == kind
    assert manifest.settings == {"module": section, "other": other}


def _toml(table: dict[str, Any]) -> str:
    # A JSON value on one line is a TOML value too.
    return "\n".join(f"{key} = {json.dumps(v, ensure_ascii=False)}" for key, v in table.items())


@given(st.sampled_from(["", "[module]\n", "[module]\ntransport = "]), st.text(max_size=40))
def test_whatever_is_in_the_file_it_is_read_or_refused(start: str, rest: str) -> None:
    with tempfile.TemporaryDirectory() as folder, suppress(ValueError):
        (Path(folder) / "amplifier.toml").write_bytes((start + rest).encode("utf-8", "replace"))
        assert read_manifest(Path(folder)).transport in known_transports()


# -- the registry ---------------------------------------------------------------------


def test_a_registered_transport_may_be_named_by_manifests(tmp_path: Path) -> None:
    manifest_in(tmp_path, '[module]\ntransport = "cobol"\n')
    with pytest.raises(ValueError, match="unknown transport 'cobol'"):
        read_manifest(tmp_path)

    register_transport("cobol", load_cobol)

    assert read_manifest(tmp_path).transport == "cobol"
    assert transport_loader("cobol") is load_cobol
    assert known_transports() == ("python", "rust", "wasm", "grpc", "cobol")


def test_a_transport_may_be_replaced() -> None:
    async def other(*arguments: Any) -> Any:
        raise NotImplementedError

    register_transport("grpc", load_cobol)
    register_transport("grpc", other)

    assert transport_loader("grpc") is other
    assert known_transports() == ("python", "rust", "wasm", "grpc")


def test_a_transport_that_nobody_serves_is_refused() -> None:
    with pytest.raises(ModuleLoadError, match="'cobol' is not available"):
        transport_loader("cobol")


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [("grpc", "grpc", "grpc"), ("rust", "grpc", "grpc")],
)
def test_a_transport_whose_extra_is_missing_names_it(
    name: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_installed(package, monkeypatch)

    with pytest.raises(ModuleLoadError, match=rf"pip install 'amplifier-core\[{extra}\]'"):
        transport_loader(name)


@pytest.mark.parametrize("name", ["grpc", "rust"])
def test_a_built_in_transport_is_served_without_being_registered(name: str) -> None:
    assert transport_loader(name) is transport_loader(name)


# -- types ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module_id", "kind"),
    [
        ("loop-basic", "orchestrator"),
        ("my-orchestrator", "orchestrator"),
        ("provider-x", "provider"),
        ("tool-provider", "provider"),
        ("TOOL-bash", "tool"),
        ("context-tool", "tool"),
        ("hooks-logging", "hook"),
        ("context-simple", "context"),
        ("something", "tool"),
        ("", "tool"),
    ],
)
def test_an_id_suggests_a_type(module_id: str, kind: str) -> None:
    assert guess_type(module_id) == kind


@given(st.text())
def test_every_id_suggests_a_type_that_has_a_mount_point(module_id: str) -> None:
    assert guess_type(module_id) in TYPE_TO_MOUNT_POINT


@pytest.mark.parametrize("kind", MODULE_TYPES)
def test_a_module_has_the_type_that_it_declares(tmp_path: Path, kind: str) -> None:
    package = module_dir(tmp_path, "odd", f"{MARKER} = {kind!r}")
    plain = module_dir(tmp_path, "plain", "")
    manifest_in(plain, f'[module]\ntype = "{kind}"\n')

    assert module_type("odd", package) == kind
    assert module_type("plain", plain) == kind


def test_a_marker_in_python_code_beside_another_transport_says_nothing(tmp_path: Path) -> None:
    path = module_dir(tmp_path, "odd", f'{MARKER} = "hook"')
    manifest_in(path, '[module]\ntransport = "grpc"\n')

    assert module_type("context-odd", path) == "context"


def test_an_unknown_type_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    path = module_dir(tmp_path, "odd", f'{MARKER} = "gadget"')

    with pytest.raises(ModuleValidationError, match="'odd' has unknown type 'gadget'") as caught:
        module_type("odd", path)

    assert ", ".join(MODULE_TYPES) in str(caught.value)
    assert caught.value.reason_code == "invalid_module_metadata"
