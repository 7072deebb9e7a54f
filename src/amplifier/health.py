"""Looks at everything that can be wrong with an installation."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from amplifier.settings.places import FOLDER, home, project_root

State = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; the text says how to mend it."""

    what: str
    state: State
    text: str


def examine() -> list[Finding]:
    """Look at everything; what cannot be looked at is itself a finding."""
    looks: dict[str, Callable[[], Iterator[tuple[State, str]]]] = {
        "install": _install,
        "settings": _settings,
        "keys": _keys,
        "cache": _cache,
        "lock": _lock,
        "trust": _trust,
        "plan": _plan,
    }
    found = []
    for what, look in looks.items():
        try:
            found += [Finding(what, state, text) for state, text in look()]
        except Exception as error:
            found.append(Finding(what, "error", str(error) or type(error).__name__))
    return found


def _install() -> Iterator[tuple[State, str]]:
    from amplifier_core import __version__ as kernel
    from amplifier_core.transports.entry_points import installed

    from amplifier import __version__

    python = ".".join(map(str, sys.version_info[:3]))
    yield "ok", f"amplifier {__version__}, kernel {kernel}, Python {python}"
    if kernel != __version__:
        yield "error", "Kernel and command differ in version. Install both in one command."
    if "loop-streaming" not in installed.table():
        yield "error", "The bundled modules are not installed. Install the package again."
    if shutil.which("git") is None:
        yield "warning", "git is not installed. Modules cannot be added from repositories."


def _settings() -> Iterator[tuple[State, str]]:
    from amplifier.settings.scopes import load_settings

    layers = load_settings().layers
    for each in layers:
        yield "ok", f"{each.scope}: {each.file}"
    if not layers:
        yield "ok", "nothing is set; defaults apply"
    if not os.access(home() if home().exists() else home().parent, os.W_OK):
        yield "error", f"{home()} cannot be written. Correct its permissions."


def _keys() -> Iterator[tuple[State, str]]:
    from amplifier.plans import CREDENTIALS

    found = [name for names in CREDENTIALS.values() for name in names if os.environ.get(name)]
    if found:
        yield "ok", f"set: {', '.join(found)}"
    else:
        yield "warning", "No key of a provider is set: only the embedded demo model can answer."
    file = home() / "keys.env"
    if file.is_file() and os.name != "nt" and stat.S_IMODE(file.stat().st_mode) & 0o077:
        yield "error", f"Others can read {file}. Use `chmod 600 {file}`."


def _cache() -> Iterator[tuple[State, str]]:
    from amplifier.sources.cache import cache_folder
    from amplifier.sources.trees import tree_hash
    from amplifier.sources.uris import SourceError

    folder = cache_folder()
    kept = [each for each in folder.glob("*") if not each.name.startswith(".")]
    for each in kept:
        try:
            is_whole = tree_hash(each) == f"sha256:{each.name}"
        except SourceError:
            is_whole = False
        if not is_whole:
            yield "error", f"{each} was changed. Remove it, and use `amplifier module update`."
    for each in folder.glob(".fetching-*"):
        yield "warning", f"{each} was left by a fetch that was cut off. Remove it."
    yield "ok", f"{len(kept)} contents in {folder}"


def _lock() -> Iterator[tuple[State, str]]:
    from amplifier.sources.cache import folder_of
    from amplifier.sources.lock import NAME, read_lock

    for file in (home() / NAME, project_root() / FOLDER / NAME):
        locked = read_lock(file)
        for uri, each in locked.items():
            if not folder_of(each["hash"]).is_dir():
                yield "error", f"{uri} is not on this machine. Use `amplifier module update`."
        if locked:
            yield "ok", f"{len(locked)} sources in {file}"


def _trust() -> Iterator[tuple[State, str]]:
    from amplifier.trust.review import review
    from amplifier.trust.store import trusted

    yield "ok", f"{len(trusted())} contents are trusted"
    for path, _ in review(None).untrusted:
        yield "warning", f"{path} is not trusted and has no effect. See `amplifier trust show`."


def _plan() -> Iterator[tuple[State, str]]:
    from amplifier.bundles.planning import plan_for

    plan = plan_for(None)
    yield "ok", f"bundle {plan.bundle} with {len(plan.mounts.get('tools', []))} tool modules"
