"""Brings a repository, archive or package into an empty folder, and nothing anywhere else."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from .trees import MOST_BYTES, MOST_FILES
from .uris import Source, SourceError

LIMIT_VARIABLE = "AMPLIFIER_GIT_CLONE_TIMEOUT_S"
LONGEST_FETCH = 300.0
LARGEST_ARCHIVE = 100_000_000
_CHUNK = 1 << 16
_BAD_ARCHIVE = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError,
    zlib.error,
)  # fmt: skip
# No hooks, no links, no helper programs, no transport that runs a command.
_SAFE = (
    "core.hooksPath=/dev/null", "core.symlinks=false", "core.fsmonitor=false",
    "protocol.ext.allow=never", "submodule.recurse=false", "core.longpaths=true",
)  # fmt: skip


def fetch(source: Source, folder: Path) -> str:
    """Put what `source` names into `folder`; the result is the commit, if there is one.

    Raises:
        SourceError: it cannot be had, or must not be.
    """
    if source.kind == "git":
        return _clone(source, folder)
    if source.kind == "index":
        return _from_index(source, folder)
    _unpack(source, folder)
    return ""


# -- git ------------------------------------------------------------------------------


def _clone(source: Source, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    _git(source, folder, "init", "--quiet", ".")
    wanted = source.ref or "HEAD"
    _git(
        source, folder, "fetch", "--quiet", "--depth", "1", "--no-tags",
        "--no-recurse-submodules", "--", source.location, wanted,
    )  # fmt: skip
    _git(source, folder, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    commit = _git(source, folder, "rev-parse", "HEAD").strip()
    shutil.rmtree(folder / ".git")
    return commit


def _git(source: Source, folder: Path, *arguments: str) -> str:
    settings = [part for each in _SAFE for part in ("-c", each)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "https:ssh:http:git:file"}
    return _output(source, ["git", *settings, *arguments], folder, env)


def _output(source: Source, command: list[str], folder: Path, env: dict[str, str]) -> str:
    """What a program prints that brings a source, in time and without anybody to ask."""
    limit = _limit()
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise SourceError("git is not installed. Install it, or use an archive.") from error
    try:
        out, err = process.communicate(timeout=limit)
    except BaseException as error:
        _end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            message = f"{source.uri!r} was not fetched within {limit:g} s. Raise {LIMIT_VARIABLE}."
            raise SourceError(message) from error
        raise
    if process.returncode:
        said = " ".join(err.decode("utf-8", "replace").split())[-300:]
        raise SourceError(f"{source.uri!r} cannot be fetched: {said or 'no reason is known'}.")
    return out.decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and the helpers it has started."""
    if os.name == "nt":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _limit() -> float:
    try:
        return float(os.environ.get(LIMIT_VARIABLE) or LONGEST_FETCH)
    except ValueError:
        return LONGEST_FETCH


# -- an index of packages ---------------------------------------------------------------


def _from_index(source: Source, folder: Path) -> str:
    """Unpack a wheel, and nothing that would have to be built: building runs its code."""
    wanted = f"{source.location}=={source.ref}" if source.ref else source.location
    place = folder.parent / "wheel"
    place.mkdir(parents=True)
    command = [
        *(sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", "--no-input"),
        *("download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", "."),
        *("--", wanted),
    ]
    _output(source, command, place, dict(os.environ))
    wheels = list(place.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceError(f"{source.uri!r} has no wheel. Ask its makers for one, or use git.")
    if wheels[0].stat().st_size > LARGEST_ARCHIVE:
        raise _too_large(source)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _extract(source, wheels[0], folder)
    except _BAD_ARCHIVE as error:
        raise SourceError(f"{source.uri!r} cannot be unpacked: {error}.") from error
    return ""


# -- archives -------------------------------------------------------------------------


def _unpack(source: Source, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder.parent / f"{folder.name}.zip"
    try:
        _download(source, archive)
        _extract(source, archive, folder)
        _lift_single_folder(folder)
    except _BAD_ARCHIVE as error:
        raise SourceError(f"{source.uri!r} cannot be unpacked: {error}.") from error
    finally:
        archive.unlink(missing_ok=True)


def _download(source: Source, archive: Path) -> None:
    parts = urlsplit(source.location)
    try:
        if parts.scheme == "file":
            size = Path(unquote(parts.path)).stat().st_size
            if size > LARGEST_ARCHIVE:
                raise _too_large(source)
            shutil.copyfile(unquote(parts.path), archive)
            return
        _download_over_network(source, archive)
    except OSError as error:
        raise SourceError(f"{source.uri!r} cannot be fetched: {error}.") from error


def _download_over_network(source: Source, archive: Path) -> None:
    import urllib.request

    opened = urllib.request.urlopen(source.location, timeout=60)
    with opened as response, archive.open("wb") as file:
        if not response.geturl().startswith("https://"):
            raise SourceError(f"{source.uri!r} leads to an unprotected address. Use another.")
        size = 0
        while chunk := response.read(_CHUNK):
            size += len(chunk)
            if size > LARGEST_ARCHIVE:
                raise _too_large(source)
            file.write(chunk)


def _too_large(source: Source) -> SourceError:
    return SourceError(f"{source.uri!r} has more than {LARGEST_ARCHIVE:,} bytes. That is too much.")


def _extract(source: Source, archive: Path, folder: Path) -> None:
    left, seen = MOST_BYTES, set()
    with zipfile.ZipFile(archive) as opened:
        if len(opened.infolist()) > MOST_FILES:
            raise SourceError(
                f"{source.uri!r} has more than {MOST_FILES:,} files. That is too much."
            )
        for info in opened.infolist():
            target = _target(info, folder)
            if info.is_dir():
                continue
            if target in seen:
                raise SourceError(f"{source.uri!r} has {info.filename!r} twice. Mend the archive.")
            seen.add(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            # What an archive says about sizes is a claim: what comes out is counted.
            with opened.open(info) as content, target.open("xb") as file:
                while chunk := content.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise _too_large(source)
                    file.write(chunk)
            if (info.external_attr >> 16) & stat.S_IXUSR:
                target.chmod(0o755)


def _target(info: zipfile.ZipInfo, folder: Path) -> Path:
    name = info.filename
    path = PurePosixPath(name)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise SourceError(f"{name!r} is packed in an unusual way. Use an ordinary zip archive.")
    is_elsewhere = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name
    if is_elsewhere or not path.parts or stat.S_ISLNK(info.external_attr >> 16):
        raise SourceError(f"The archive has {name!r}, which leads out of it. Do not use it.")
    return folder.joinpath(*path.parts)


def _lift_single_folder(folder: Path) -> None:
    """An archive of a repository has all in one folder: that is the content."""
    inside = list(folder.iterdir())
    if len(inside) != 1 or not inside[0].is_dir():
        return
    only = inside[0].rename(folder.parent / f"{folder.name}.only")
    folder.rmdir()
    only.rename(folder)
