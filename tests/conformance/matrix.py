"""The page of the documentation that says which modules the suite holds to which promises.

`python tests/conformance/matrix.py` writes it.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]

from subjects import KINDS, SUBJECTS, Subject  # noqa: E402

PAGE = REPO / "docs" / "reference" / "transports.md"

TRANSPORTS = {
    "python": ("in the session's process", "../how-to/tool.md"),
    "process": ("`isolation: process`", "../how-to/own-process.md"),
    "sidecar": ("sidecar", "../how-to/sidecar.md"),
    "grpc": ("gRPC server", "../how-to/other-languages.md"),
    "wasm": ("WebAssembly component", "../how-to/wasm.md"),
}

HEAD = """\
<!-- Made from the conformance suite by tests/conformance/matrix.py; changes made here are lost. -->
# Transports

A module works in a mount plan in the same way wherever it runs and whatever it is written in. One
suite, [`tests/conformance`](../../tests/conformance/README.md), holds all of these to the same
promises. Each language stands for a module that is built and run there; a kind of module may be
written in other languages as well.
"""


def page() -> str:
    parts = [
        HEAD,
        "## What is tested\n",
        _matrix(),
        "\n## The examples\n",
        _examples(),
        "\n## What they are held to\n",
        _claims(),
    ]
    return "\n".join(parts)


def _matrix() -> str:
    head = ["kind", *(f"[{name}]({link})" for name, link in TRANSPORTS.values())]
    rows = [[kind, *(_languages(kind, each) for each in TRANSPORTS)] for kind in KINDS]
    return _table(head, rows)


def _languages(kind: str, transport: str) -> str:
    found = [each.language for each in SUBJECTS if (each.kind, each.transport) == (kind, transport)]
    return ", ".join(sorted(set(found))) or "-"


def _examples() -> str:
    rows: dict[str, list[Subject]] = {}
    for each in SUBJECTS:
        if each.example is not None and (REPO / "examples" / each.example).is_dir():
            rows.setdefault(each.example, []).append(each)
    return _table(
        ["example", "kind", "language", "runs as"],
        [
            [
                f"[{name}](../../examples/{name}/README.md)",
                subjects[0].kind,
                subjects[0].language,
                " or ".join(TRANSPORTS[each.transport][0] for each in subjects),
            ]
            for name, subjects in sorted(rows.items())
        ],
    )


def _claims() -> str:
    import test_promises

    rows = [[_spelled(claim), *_scope(claim)] for claim in _tests(test_promises)]
    return _table(["promise", "kinds", "except"], rows)


def _tests(module: ModuleType) -> list[Callable[..., Any]]:
    return [each for name, each in vars(module).items() if name.startswith("test_")]


def _spelled(claim: Callable[..., Any]) -> str:
    return claim.__name__.removeprefix("test_").replace("_", " ")


def _scope(claim: Callable[..., Any]) -> list[str]:
    """The kinds that a claim is made of, and the transports that are left out."""
    (mark,) = [each for each in getattr(claim, "pytestmark", []) if each.name == "parametrize"]
    subjects = set(mark.args[1])
    kinds = [kind for kind in KINDS if any(each.kind == kind for each in subjects)]
    able = {each.transport for each in SUBJECTS if each.kind in kinds}
    missing = able - {each.transport for each in subjects}
    return [
        "all" if len(kinds) == len(KINDS) else ", ".join(kinds),
        ", ".join(TRANSPORTS[each][0] for each in TRANSPORTS if each in missing) or "-",
    ]


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"Wrote {PAGE.name}.")
