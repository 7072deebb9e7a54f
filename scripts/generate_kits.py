"""Write the code of the gRPC contract for Go and TypeScript, and hand the kits to the examples.

`python scripts/generate_kits.py [--copy]`; run it after every change of the contract, or with
`--copy` after a change of a kit. Needs go and npm, but no protoc. A kit is what every module
in a language has in common; the one that is edited lies among the templates.
"""

import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
TEMPLATES = REPO / "src" / "amplifier" / "cli" / "module_templates"
TOOLS = REPO / ".cache" / "generators"
CONTRACT = "amplifier_module.proto"
GO_PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
)
TYPESCRIPT_PLUGIN = "@bufbuild/protoc-gen-es@2.16.0"
USERS = {
    "go": ("grpc-provider-go", "grpc-orchestrator-go"),
    "typescript": ("grpc-context-typescript",),
}
"""The examples that hold a copy of each kit."""


def main() -> None:
    if "--copy" not in sys.argv:
        TOOLS.mkdir(parents=True, exist_ok=True)
        generate_go(TEMPLATES / "go" / "all" / "kit" / "contract")
        generate_typescript(TEMPLATES / "typescript" / "all" / "kit")
    for language, examples in USERS.items():
        for example in examples:
            kit = REPO / "examples" / example / "kit"
            shutil.rmtree(kit, ignore_errors=True)
            shutil.copytree(TEMPLATES / language / "all" / "kit", kit)


def generate_go(folder: Path) -> None:
    for plugin in GO_PLUGINS:
        subprocess.run(
            ["go", "install", plugin], check=True, env={**os.environ, "GOBIN": str(TOOLS)}
        )
    options = [f"--{kind}_opt=M{CONTRACT}=./{folder.name}" for kind in ("go", "go-grpc")]
    places = [f"--{kind}_out={folder.parent}" for kind in ("go", "go-grpc")]
    plugins = [f"--plugin={TOOLS / name}" for name in ("protoc-gen-go", "protoc-gen-go-grpc")]
    compile_contract([*plugins, *places, *options])


def generate_typescript(folder: Path) -> None:
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run([*npm, f"--prefix={TOOLS}", TYPESCRIPT_PLUGIN], check=True)
    plugin = TOOLS / "node_modules" / ".bin" / "protoc-gen-es"
    compile_contract(
        [f"--plugin=protoc-gen-es={plugin}", f"--es_out={folder}", "--es_opt=target=ts"]
    )
    made = folder / "amplifier_module_pb.ts"
    (folder / "contract.ts").write_text(f"{made.read_text().strip()}\n")
    made.unlink()


def compile_contract(arguments: list[str]) -> None:
    from grpc_tools import protoc

    include = str(files("grpc_tools") / "_proto")
    command = ["protoc", f"-I{REPO / 'spec'}", f"-I{include}", *arguments, CONTRACT]
    if protoc.main(command) != 0:
        raise SystemExit(f"{CONTRACT} could not be compiled. Correct what is reported above.")


if __name__ == "__main__":
    main()
