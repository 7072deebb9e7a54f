"""What is tested: each kind of module, over each transport, in each language it is there in."""

from dataclasses import dataclass

KINDS = ("tool", "provider", "orchestrator", "context", "hook", "approval")

MODULE_IDS = {
    "tool": "tool-echo",
    "provider": "provider-echo",
    "orchestrator": "orchestrator-relay",
    "context": "context-notes",
    "hook": "hook-gatekeeper",
    "approval": "approval-gatekeeper",
}


PROGRAMS = {
    "sidecar-tool-rust": "echo",
    "sidecar-hook-rust": "gatekeeper",
    "grpc-provider-go": "serve",
    "grpc-orchestrator-go": "serve",
    "grpc-context-typescript": "serve",
}
"""What the examples that are programs are called; each is a server, and a sidecar as well."""


@dataclass(frozen=True)
class Subject:
    """One module under test."""

    kind: str
    transport: str
    """python, process (`isolation: process`), sidecar, grpc or wasm."""
    language: str
    example: str | None = None
    """The example that it is; None for a Python module of the suite."""
    folder: str = ""
    """Where it is in what was built from the example."""

    @property
    def id(self) -> str:
        return f"{self.kind}-{self.transport}-{self.language}"

    @property
    def module_id(self) -> str:
        return MODULE_IDS[self.kind]

    @property
    def survives(self) -> bool:
        """Whether its crash leaves the session standing: one of the same process does not."""
        return self.transport != "python"

    @property
    def counts(self) -> bool:
        """Whether it can say how many of its calls were cancelled: a component forgets them."""
        return self.transport != "wasm"

    @property
    def can_refuse(self) -> bool:
        """Whether it sees its config when it is mounted: a component does when it is called."""
        return self.transport != "wasm" and self.kind in ("orchestrator", "context", "hook")


IN_PYTHON = [
    Subject(kind, transport, "Python")
    for transport in ("python", "process", "grpc")
    for kind in KINDS
]

IN_WASM = [
    Subject(kind, "wasm", "Rust", "wasm-rust", kind)
    for kind in ("provider", "orchestrator", "context", "hook", "approval")
]

EXAMPLES = [
    Subject("tool", "wasm", "Rust", "wasm-tool-rust"),
    Subject("hook", "wasm", "Python", "wasm-hook-python"),
    *(
        Subject(kind, transport, language, example)
        for transport in ("sidecar", "grpc")
        for kind, language, example in (
            ("tool", "Rust", "sidecar-tool-rust"),
            ("hook", "Rust", "sidecar-hook-rust"),
            ("provider", "Go", "grpc-provider-go"),
            ("orchestrator", "Go", "grpc-orchestrator-go"),
            ("context", "TypeScript", "grpc-context-typescript"),
        )
    ),
    Subject("approval", "sidecar", "Python"),
]

SUBJECTS = [*IN_PYTHON, *EXAMPLES, *IN_WASM]
