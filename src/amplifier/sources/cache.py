"""What was fetched, kept under its own hash: never changed, so several versions live together."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from amplifier.files import locked
from amplifier.settings.places import home

from .fetching import fetch
from .trees import LEFT_OUT, tree_hash
from .uris import Source, SourceError


@dataclass(frozen=True)
class Fetched:
    """A content that is in the cache."""

    hash: str
    commit: str
    folder: Path


def cache_folder() -> Path:
    return home() / "cache" / "content"


def folder_of(hash: str) -> Path:
    return cache_folder() / hash.removeprefix("sha256:")


def bring(source: Source) -> Fetched:
    """Fetch a source into the cache. Readers see the whole of it or nothing.

    Raises:
        SourceError: it cannot be had, or must not be.
    """
    cache_folder().mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".fetching-", dir=cache_folder()))
    try:
        commit = fetch(source, work / "content")
        content = work / "content" / source.subdirectory
        if not content.is_dir() or content.is_symlink():
            message = f"{source.uri!r} has no folder {source.subdirectory!r}. Correct it."
            raise SourceError(message)
        for name in LEFT_OUT:
            for each in list(content.rglob(name)):
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        found = tree_hash(content)
        _keep(content, found)
        return Fetched(found, commit, folder_of(found))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _keep(content: Path, hash: str) -> None:
    target = folder_of(hash)
    with locked(target):
        if target.exists():
            with suppress(SourceError):
                if tree_hash(target) == hash:
                    return
            # Damaged: put aside first, so that nobody sees half of each.
            target.rename(content.parent / f"{content.name}.damaged")
        content.rename(target)


def copied(folder: Path, hash: str) -> Path:
    """A folder with exactly this content, taken from `folder`, where it may change meanwhile.

    Raises:
        SourceError: that has another content.
    """
    target = folder_of(hash)
    if target.is_dir() and tree_hash(target) == hash:
        return target
    cache_folder().mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".fetching-", dir=cache_folder()))
    try:
        content = work / "content"
        shutil.copytree(folder, content, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        if tree_hash(content) != hash:
            raise SourceError(f"{str(folder)!r} has changed since it was looked at. Start again.")
        _keep(content, hash)
    except (OSError, shutil.Error) as error:
        raise SourceError(f"{str(folder)!r} cannot be copied: {error}.") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return target


def verified(hash: str, uri: str) -> Path:
    """The folder with exactly this content.

    Raises:
        SourceError: it is not in the cache, or is not what it was.
    """
    folder = folder_of(hash)
    if not folder.is_dir():
        raise SourceError(
            f"{uri!r} is locked, and its content is not on this machine. "
            f"Fetch it with `amplifier module update`."
        )
    if tree_hash(folder) != hash:
        raise SourceError(
            f"The content of {uri!r} in {str(folder)!r} is not what was locked. "
            f"Fetch it again with `amplifier module update`."
        )
    return folder
