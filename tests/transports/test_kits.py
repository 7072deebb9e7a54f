"""What modules in Go and TypeScript have in common, and the examples that are built on it."""

import ast
import base64
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from amplifier_core._grpc_gen import amplifier_module_pb2 as pb
from google.protobuf.descriptor_pb2 import FileDescriptorProto

REPO = Path(__file__).resolve().parents[2]
TEMPLATES = REPO / "src" / "amplifier" / "cli" / "module_templates"


def go_descriptor() -> bytes:
    text = (TEMPLATES / "go/all/kit/contract/amplifier_module.pb.go").read_text()
    _, _, rest = text.partition("_rawDesc = ")
    lines = rest.partition("\n\n")[0]
    literals = re.findall(r'^\s*("(?:[^"\\]|\\.)*")|^"" \+', lines, re.MULTILINE)
    return b"".join(ast.literal_eval(f"b{each}") for each in literals if each)


def typescript_descriptor() -> bytes:
    text = (TEMPLATES / "typescript/all/kit/contract.ts").read_text()
    found = re.search(r'fileDesc\("([^"]+)"\)', text)
    assert found is not None
    return base64.b64decode(found[1] + "==")


@pytest.mark.parametrize("descriptor", [go_descriptor, typescript_descriptor])
def test_the_code_of_the_contract_is_up_to_date(descriptor: Any) -> None:
    found, wanted = FileDescriptorProto(), FileDescriptorProto()
    found.ParseFromString(descriptor())
    pb.DESCRIPTOR.CopyToProto(wanted)

    for each in (found, wanted):
        each.ClearField("options")
        _forget_json_names(each.message_type)
    assert found == wanted, "Run `python scripts/generate_kits.py`."


def _forget_json_names(messages: Any) -> None:
    """Generators differ in whether they write down what follows from the name."""
    for message in messages:
        for field in message.field:
            field.ClearField("json_name")
        _forget_json_names(message.nested_type)


def _script() -> Any:
    spec = spec_from_file_location("generate_kits", REPO / "scripts" / "generate_kits.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _files(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_each_example_holds_its_kit_unchanged() -> None:
    for language, examples in _script().USERS.items():
        kit = _files(TEMPLATES / language / "all" / "kit")
        for example in examples:
            held = _files(REPO / "examples" / example / "kit")
            assert held == kit, "Run `python scripts/generate_kits.py --copy`."


def test_examples_in_a_language_obey_orders_alike() -> None:
    provider, orchestrator = (REPO / "examples" / each for each in _script().USERS["go"])

    assert (provider / "orders.go").read_bytes() == (orchestrator / "orders.go").read_bytes()


@pytest.mark.parametrize(
    ("place", "contract"),
    [("wit/all", "amplifier-modules.wit"), ("rust/all/kit", "amplifier_module.proto")],
)
def test_beginnings_hold_the_contract(place: str, contract: str) -> None:
    held = (TEMPLATES / place / contract).read_bytes()

    assert held == (REPO / "spec" / contract).read_bytes()
