"""Write the Python code of the gRPC contract in `spec/` into the kernel.

`python scripts/generate_grpc.py [FOLDER]`; run it after every change of the contract.
"""

import sys
from importlib.resources import files
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
CONTRACT = "amplifier_module.proto"
OUTPUT = REPO / "kernel" / "amplifier_core" / "_grpc_gen"
ABSOLUTE = "import amplifier_module_pb2 as amplifier__module__pb2"
RELATIVE = "from . import amplifier_module_pb2 as amplifier__module__pb2"


def generate(folder: Path) -> list[Path]:
    """Generate into `folder`; the files that are now there."""
    from grpc_tools import protoc

    folder.mkdir(parents=True, exist_ok=True)
    places = [f"--{kind}_out={folder}" for kind in ("python", "pyi", "grpc_python")]
    include = str(files("grpc_tools") / "_proto")
    code = protoc.main(["protoc", f"-I{REPO / 'spec'}", f"-I{include}", *places, CONTRACT])
    if code != 0:
        raise SystemExit(f"{CONTRACT} could not be compiled. Correct what is reported above.")
    services = folder / "amplifier_module_pb2_grpc.py"
    text = services.read_text()
    if ABSOLUTE not in text:
        raise SystemExit("The generator writes its imports differently now. Mend this script.")
    services.write_text(text.replace(ABSOLUTE, RELATIVE))
    return sorted(folder.glob("amplifier_module_pb2*"))


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
