"""The committed code is what the contract in `spec/` says."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
GENERATED = REPO / "kernel" / "amplifier_core" / "_grpc_gen"


def generate(folder: Path) -> list[Path]:
    pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed")
    spec = spec_from_file_location("generate_grpc", REPO / "scripts" / "generate_grpc.py")
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    files: list[Path] = script.generate(folder)
    return files


def test_the_generated_code_is_up_to_date(tmp_path: Path) -> None:
    fresh = {path.name: path.read_text() for path in generate(tmp_path)}

    committed = {path.name: path.read_text() for path in GENERATED.glob("amplifier_module_pb2*")}
    assert len(fresh) == 3
    assert fresh == committed
