"""From settings and a bundle to the plan that a session runs, with the origin of each part.

The same inputs give the same plan: it is kept on disk under the hash of what it was made
from, and made anew as soon as one of those differs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Container, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from amplifier import __version__
from amplifier.settings.documents import read_file
from amplifier.settings.nodes import ConfigError
from amplifier.settings.places import FOLDER, home, project_folder, project_root
from amplifier.sources.lock import NAME as LOCK
from amplifier.trust.store import content_hash, trusted

DEFAULT = "default"
BUILT_IN = Path(__file__).parent / "builtin"
HOOKS_MODULE = ("hooks-shell", "hook-shell")
MOST_PLANS = 200
SCRIPTS = (".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".rb", ".pl")
LARGEST_SCRIPT = 20_000_000
_WORD = re.compile(
    rb"[A-Za-z0-9_.][A-Za-z0-9_./-]*|(?<=\})/[A-Za-z0-9_./-]+|(?<=R)/[A-Za-z0-9_./-]+"
)


class Untrusted(Exception):
    """What a project brings has not been trusted, or not as it is now."""


@dataclass
class Plan:
    """What a session is made of."""

    bundle: str
    #: For the kernel, with `${NAME}` not yet filled in.
    mounts: dict[str, Any]
    #: Where each part was written, by its place in the plan.
    origins: dict[str, str]
    #: What it was made from: path -> [file, tree or listing; hash].
    inputs: dict[str, list[str]]
    #: The folders of the bundles in it, by the names that mentions use.
    namespaces: dict[str, str]
    notes: list[str] = field(default_factory=list)

    @property
    def hash(self) -> str:
        text = json.dumps(self.mounts, sort_keys=True, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@dataclass(frozen=True)
class Ground:
    """The files that every plan of this project starts from."""

    root: Path
    session_dir: Path | None
    #: Settings and locks: None where there is no such file.
    files: dict[str, bytes | None]
    #: Whether what the project brings takes part.
    with_project: bool
    notes: tuple[str, ...] = ()


def plan_for(
    bundle: str | None, *, session_dir: Path | None = None, as_if_trusted: bool = False
) -> Plan:
    """The plan for a bundle; without one for the active bundle, else the default one.

    Raises:
        ConfigError: a file cannot be used or something does not resolve.
        Untrusted: it is made of what the user has not trusted.
    """
    ground = ground_of(session_dir, as_if_trusted)
    file = home() / "cache" / "plans" / f"{_key(bundle, ground)}.json"
    plan = _kept(file)
    if plan is None:
        from .assembling import assemble

        plan = assemble(bundle, ground)
        _keep(file, plan)
    plan.notes += ground.notes
    # Not kept with the plan: the module looks for these files by itself at every start.
    hooks = _hook_files(plan.mounts, ground.root)
    plan.inputs |= hooks
    if not as_if_trusted:
        _check_trust(plan, hooks)
    return plan


def ground_of(session_dir: Path | None, as_if_trusted: bool) -> Ground:
    root, folder = project_root(), project_folder()
    own = [home() / "settings.yaml", home() / LOCK]
    own += [session_dir / "settings.yaml"] if session_dir else []
    names = ("settings.yaml", "settings.local.yaml", LOCK) if folder else ()
    brought = [root / FOLDER / each for each in names]
    files = {str(each): read_file(each, 5_000_000) for each in own}
    found = {str(each): read_file(each, 5_000_000) for each in brought}
    known = trusted() if any(found.values()) else {}
    untrusted = [path for path, data in found.items() if data and content_hash(data) not in known]
    if untrusted and not as_if_trusted:
        note = (
            f"Not trusted, and so not used: {', '.join(untrusted)}. "
            f"See `amplifier trust show`, then `amplifier trust add`."
        )
        return Ground(root, session_dir, files, False, (note,))
    return Ground(root, session_dir, {**files, **found}, True)


# -- keeping --------------------------------------------------------------------------


def _key(bundle: str | None, ground: Ground) -> str:
    digest = hashlib.sha256()
    parts: list[Any] = [__version__, bundle, str(Path.cwd()), ground.root, home()]
    parts.append(ground.with_project)
    # A new file may be what a name means from now on.
    parts += [
        sorted(each.name for each in (folder / below).glob("*"))
        for folder in (home(), ground.root / FOLDER)
        for below in ("bundles", "agents")
    ]
    parts += [(path, data and content_hash(data)) for path, data in ground.files.items()]
    digest.update(repr(parts).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _kept(file: Path) -> Plan | None:
    try:
        plan = Plan(**json.loads(file.read_bytes()))
        pairs = plan.inputs.items()
        is_same = all(_hash(Path(path), kind) == found for path, (kind, found) in pairs)
    except (OSError, ValueError, TypeError, ConfigError):
        return None
    return plan if is_same else None


def _keep(file: Path, plan: Plan) -> None:
    from contextlib import suppress

    from amplifier.files import write_atomically

    # A plan that cannot be kept is made again next time.
    with suppress(OSError):
        write_atomically(file, json.dumps(asdict(plan)), 0o600)
        kept = sorted(file.parent.glob("*.json"), key=lambda each: each.stat().st_mtime)
        for each in kept[:-MOST_PLANS]:
            each.unlink(missing_ok=True)


def _hash(path: Path, kind: str) -> str | None:
    from amplifier.sources.trees import tree_hash
    from amplifier.sources.uris import SourceError

    if kind == "tree":
        try:
            return tree_hash(path) if path.is_dir() else None
        except SourceError as error:
            raise ConfigError(str(error)) from error
    if kind == "listing":
        return content_hash("\n".join(sorted(each.name for each in path.iterdir())).encode())
    data = read_file(path, 5_000_000)
    return content_hash(data) if data is not None else None


def _hook_files(mounts: dict[str, Any], root: Path) -> dict[str, list[str]]:
    """Files with commands that a hook module of the plan would run, and the scripts they name.

    What a command does depends on where it runs: these files are trusted at their place.
    """
    folder = root / FOLDER / "hooks"
    is_used = any(each["module"] in HOOKS_MODULE for each in mounts.get("hooks", []))
    if not is_used or not folder.is_dir():
        return {}
    files = [each for each in sorted(folder.rglob("*")) if not each.is_dir()]
    contents = {each: read_file(each) or b"" for each in files}
    for each in [script for data in contents.values() for script in _scripts(data, root)]:
        contents.setdefault(each, read_file(each, LARGEST_SCRIPT) or b"")
    return {
        str(path): ["file", content_hash(f"{path}\0".encode("utf-8", "surrogateescape") + data)]
        for path, data in contents.items()
    }


def _scripts(data: bytes, root: Path) -> Iterator[Path]:
    """The programs of the project that a text names."""
    from contextlib import suppress

    for word in dict.fromkeys(_WORD.findall(data)):
        path = root / word.decode().removeprefix("/")
        # A word may be longer than any name of a file.
        with suppress(OSError):
            if path.is_file() and (path.suffix in SCRIPTS or os.access(path, os.X_OK)):
                yield path


# -- trust ----------------------------------------------------------------------------


def foreign_inputs(plan: Plan) -> list[tuple[Path, str]]:
    """What the plan is made of that is neither the user's own nor built in, with hashes."""
    own = (home().resolve(), BUILT_IN.resolve())
    return [
        (Path(path), found)
        for path, (kind, found) in plan.inputs.items()
        if kind != "listing" and not any(Path(path).resolve().is_relative_to(each) for each in own)
    ]


def untrusted_inputs(plan: Plan) -> list[tuple[Path, str]]:
    foreign = foreign_inputs(plan)
    known = trusted() if foreign else {}
    return [(path, found) for path, found in foreign if found not in known]


def _check_trust(plan: Plan, hooks: Container[str]) -> None:
    missing = untrusted_inputs(plan)
    if any(str(path) in hooks for path, _ in missing):
        for each in plan.mounts.get("hooks", []):
            if each["module"] in HOOKS_MODULE:
                each["config"] = {**each.get("config", {}), "enabled": False}
        folder = project_root() / FOLDER / "hooks"
        plan.notes.append(f"Not trusted, and so not used: {folder}. See `amplifier trust show`.")
        missing = [(path, found) for path, found in missing if str(path) not in hooks]
    if missing:
        names = ", ".join(str(path) for path, _ in missing[:5])
        raise Untrusted(
            f"Bundle {plan.bundle!r} is made of what you have not trusted, or not as it is now: "
            f"{names}. See `amplifier trust show`, then use `amplifier trust add`."
        )
