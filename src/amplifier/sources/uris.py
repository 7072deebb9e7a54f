"""What a source names: a repository, a folder, an archive, or a package of an index."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from amplifier_core.module_sources import local_path

Kind = Literal["git", "path", "zip", "index", "package"]

_SCHEMES = {"git": ("https", "ssh", "http", "git", "file"), "zip": ("https", "file")}
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]*")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*")
INDEX = "pypi:"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SUBDIRECTORY = "subdirectory="


class SourceError(Exception):
    """A source that cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Source:
    """A place to get a module or a bundle from."""

    kind: Kind
    #: An address, a path or a name.
    location: str
    ref: str | None = None
    subdirectory: str = ""

    @property
    def uri(self) -> str:
        """The source as one text; the same for every way to write it."""
        prefix = {"git": "git+", "zip": "zip+", "index": INDEX}.get(self.kind, "")
        mark = "==" if self.kind == "index" else "@"
        ref = f"{mark}{self.ref}" if self.ref else ""
        below = f"#{_SUBDIRECTORY}{self.subdirectory}" if self.subdirectory else ""
        return f"{prefix}{self.location}{ref}{below}"

    @property
    def is_fetched(self) -> bool:
        """Whether it has to be brought here before it can be used."""
        return self.kind in ("git", "zip", "index")

    @property
    def is_pinned(self) -> bool:
        """Whether it names one state for ever."""
        return self.ref is not None and _COMMIT.fullmatch(self.ref) is not None


def parse_source(written: Any, base: Path | None = None) -> Source:
    """The source that a text or a mapping names; relative paths start at `base`.

    Raises:
        SourceError: it names none, or one that could do harm.
    """
    if isinstance(written, dict):
        return _from_mapping(written, base)
    if not isinstance(written, str | os.PathLike) or not str(written):
        raise SourceError(f"{written!r} names no source. Write a path or an address.")
    text = os.fspath(written)
    if any(each.isspace() or not each.isprintable() for each in text) and "+" in text[:4]:
        raise SourceError(f"The source {text!r} has spaces or unprintable characters. Remove them.")
    location, _, fragment = text.partition("#")
    below = _subdirectory(fragment, text)
    if location.startswith(INDEX):
        return _index(location.removeprefix(INDEX), below)
    if location.startswith("git+"):
        address, ref = _split_ref(location.removeprefix("git+"))
        return _git(address, ref, below)
    if location.startswith("zip+"):
        return _zip(location.removeprefix("zip+"), below)
    if location.startswith(("http://", "https://")):
        if urlsplit(location).path.endswith(".zip"):
            return _zip(location, below)
        raise SourceError(f"{text!r} names no archive. Write 'git+{location}' for a repository.")
    return _local(location, below, base)


def _local(text: str, below: str, base: Path | None) -> Source:
    path = local_path(text)
    if path is None:
        if _PACKAGE.fullmatch(text) is None:
            raise SourceError(f"{text!r} names no source. Write a path or an address.")
        return Source("package", text)
    path = Path(os.path.normpath((base or Path.cwd()) / path))
    if path.suffix == ".zip":
        return Source("zip", path.as_uri(), None, below)
    return Source("path", str(path / below if below else path))


def _from_mapping(written: dict[str, Any], base: Path | None) -> Source:
    values = {key: written.get(key) for key in ("type", "url", "ref", "path", "name")}
    below = _checked_subdirectory(str(written.get("subdirectory") or ""), str(written))
    if values["type"] == "git" and values["url"]:
        return _git(str(values["url"]), str(values["ref"]) if values["ref"] else None, below)
    if values["type"] == "file" and values["path"]:
        path = Path(os.path.expanduser(str(values["path"])))
        return _local(str((base or Path.cwd()) / path), below, base)
    if values["type"] == "package" and values["name"]:
        return _local(str(values["name"]), "", base)
    raise SourceError(
        f"{written!r} names no source. Its type is git with url, file with path, "
        f"or package with name."
    )


def _split_ref(address: str) -> tuple[str, str | None]:
    """The address and what follows its last `@`, unless that belongs to the host."""
    scheme, separator, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    name, at, ref = path.rpartition("@")
    return (f"{scheme}{separator}{host}{slash}{name}", ref) if at else (address, None)


def _git(address: str, ref: str | None, below: str) -> Source:
    _check_address(address, "git")
    if ref is not None and (_REF.fullmatch(ref) is None or ".." in ref):
        raise SourceError(f"{ref!r} is no branch, tag or commit. Correct what follows the '@'.")
    return Source("git", address, ref, below)


def _zip(address: str, below: str) -> Source:
    _check_address(address, "zip")
    return Source("zip", address, None, below)


def _index(text: str, below: str) -> Source:
    name, separator, version = text.partition("==")
    is_name = _PACKAGE.fullmatch(name) is not None
    if not is_name or (separator and _VERSION.fullmatch(version) is None):
        raise SourceError(
            f"{text!r} is no package. Write its name, and perhaps one version: 'pypi:name==1.2'."
        )
    # However it is written, an index knows it by one name.
    return Source("index", re.sub(r"[-_.]+", "-", name).lower(), version or None, below)


def _check_address(address: str, kind: Literal["git", "zip"]) -> None:
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise SourceError(f"{address!r} is no address: {error}. Correct it.") from error
    known = _SCHEMES[kind]
    if parts.scheme not in known:
        raise SourceError(f"{address!r} must begin with one of {', '.join(known)}. Correct it.")
    host_is_option = parts.netloc.rpartition("@")[2].startswith("-")
    if host_is_option or (parts.scheme == "file" and not parts.path.startswith("/")):
        raise SourceError(f"{address!r} names no place to fetch from. Correct it.")
    if parts.password:
        raise SourceError("The address of a source has a password. Use a credential helper.")


def _subdirectory(fragment: str, text: str) -> str:
    if not fragment:
        return ""
    if not fragment.startswith(_SUBDIRECTORY):
        raise SourceError(f"{text!r} has an unknown part {fragment!r}. Write '#subdirectory=...'.")
    return _checked_subdirectory(unquote(fragment.removeprefix(_SUBDIRECTORY)), text)


def _checked_subdirectory(below: str, text: str) -> str:
    parts = below.replace("\\", "/").split("/") if below else []
    if any(each in ("", ".", "..") for each in parts) or ":" in below:
        raise SourceError(f"The subdirectory of {text!r} leads elsewhere. Name one inside of it.")
    return "/".join(parts)
