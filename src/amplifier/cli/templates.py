"""Writes the beginning of a module: code, tests, a README, all of which work at once.

A beginning is made of folders of `module_templates`: what all kinds of modules in a language
have in common is in `all`, and what is particular to a kind in a folder of its name. A name
that ends in `.txt` loses that, `dot_` becomes a dot, and `$id` and its like are filled in.
"""

from __future__ import annotations

import re
from pathlib import Path
from zlib import crc32

from amplifier.cli.common import Failure

TEMPLATES = Path(__file__).parent / "module_templates"
PREFIXES = {"orchestrator": "loop", "hook": "hooks"}
LANGUAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "python": {"python": ("python",)},
    "grpc": {"python": ("python", "served"), "go": ("go",), "typescript": ("typescript",)},
    "rust": {
        "rust": ("rust",),
        "go": ("go",),
        "typescript": ("typescript",),
        "python": ("python", "served"),
    },
    "wasm": {"rust": ("wasm-rust", "wit"), "python": ("wasm-python", "wit")},
}
"""For each transport its languages, the usual one first, and what they are written from."""

_FIRST_PORT, _PORTS = 20_000, 10_000
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FIELD = re.compile(r"\$(id|kind|short|module|package|class|port|use)\b")
_USE = {
    "grpc": """\
`./serve --port $port` runs it where `amplifier.toml` says that it answers; a session connects to
it, and `amplifier module validate` starts it for as long as it looks.""",
    "rust": """\
A session starts it and ends it: it is a program with the name that `amplifier.toml` gives.""",
}


def write_module(parent: Path, kind: str, name: str, transport: str, language: str | None) -> Path:
    """A new folder below `parent` with a module in it."""
    folders = _folders(transport, language)
    names = _names(kind, name)
    folder = parent / f"amplifier-module-{names['id']}"
    try:
        folder.mkdir()
    except FileExistsError as error:
        raise Failure(f"There is already a {folder.name!r} here. Choose another name.") from error
    names["use"] = _filled(_USE.get(transport, ""), names)
    for each in folders:
        _copy(TEMPLATES / each / "all", folder, names)
        _copy(TEMPLATES / each / kind, folder, names)
    if transport != "python":
        manifest = TEMPLATES / "manifests" / f"{transport}.toml.txt"
        (folder / "amplifier.toml").write_text(_filled(manifest.read_text(), names))
    return folder


def _folders(transport: str, language: str | None) -> tuple[str, ...]:
    languages = LANGUAGES[transport]
    if language is None:
        return next(iter(languages.values()))
    if language in languages:
        return languages[language]
    where = [other for other, known in LANGUAGES.items() if language in known]
    mend = (
        f"Use --transport {' or '.join(where)}" if where else "There is no other transport for it"
    )
    raise Failure(
        f"A module over {transport!r} cannot be begun in {language!r}, but in "
        f"{_listed(list(languages))}. {mend}."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + (" or " if names[1:] else "") + names[-1]


def _names(kind: str, name: str) -> dict[str, str]:
    if _NAME.fullmatch(name) is None or len(name) > 60:
        raise Failure(f"{name!r} is no name for a module. Use small letters, digits and dashes.")
    prefix = PREFIXES.get(kind, kind)
    short = name.removeprefix(f"{prefix}-")
    id = f"{prefix}-{short}"
    module = id.replace("-", "_")
    title = "".join(each.capitalize() for each in short.split("-"))
    return {
        "id": id,
        "kind": kind,
        "short": short.replace("-", "_"),
        "module": module,
        "package": f"amplifier_module_{module}",
        # Each its own, so that several can be in one mount plan.
        "port": str(_FIRST_PORT + crc32(id.encode()) % _PORTS),
        "class": title if title[0].isalpha() else f"My{title}",
    }


def _copy(source: Path, target: Path, names: dict[str, str]) -> None:
    for file in sorted(source.rglob("*")):
        if not file.is_file() or "__pycache__" in file.parts:
            continue
        place = file.relative_to(source).as_posix().removesuffix(".txt").replace("dot_", ".")
        written = target / _filled(place, names)
        written.parent.mkdir(parents=True, exist_ok=True)
        text = _filled(file.read_text(encoding="utf-8"), names)
        written.write_text(text, encoding="utf-8")
        if written.name == "Cargo.lock":
            written.write_text(_in_order(text), encoding="utf-8")
        if text.startswith("#!"):
            written.chmod(0o755)


def _in_order(lock: str) -> str:
    """Cargo takes a lock file as it is only if its packages are sorted by name."""
    head, *packages = lock.rstrip("\n").split("\n\n[[package]]\n")
    return "\n\n[[package]]\n".join([head, *sorted(packages)]) + "\n"


def _filled(text: str, names: dict[str, str]) -> str:
    return _FIELD.sub(lambda match: names[match[1]], text)
