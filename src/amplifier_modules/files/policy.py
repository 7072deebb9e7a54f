"""Which paths may be touched. What is denied stays denied, whatever else is allowed.

A policy judges the real path of what a caller holds open, and the identities (device and
inode) of that thing and of the folders above it. The identities see through other spellings
of a name, through bind mounts, and through hard links to a denied file.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from amplifier_modules.files.refusals import Refused

_TRIES = 20

Identity = tuple[int, int]
Deed = Literal["Reading", "Writing"]


class Policy(NamedTuple):
    """What config says about one kind of access."""

    deed: Deed
    allowed: tuple[str, ...] | None
    """Real paths, fixed when the policy was made; None means everywhere."""
    denied: tuple[str, ...]
    allowed_key: str
    denied_key: str
    protected: tuple[str, ...] = ()
    """Parts of paths that are denied in any folder."""
    protected_places: tuple[str, ...] = ()
    """Where those of the working folder led at first, should they be links."""

    @classmethod
    def of(
        cls,
        deed: Deed,
        allowed: Sequence[str] | None,
        denied: Sequence[str],
        base: str,
        keys: tuple[str, str],
        protected: Sequence[str] = (),
    ) -> Policy:
        """The policy of config values, which may be relative to `base`."""
        roots = None if allowed is None else [_absolute(each, base) for each in allowed]
        given = [_absolute(each, base) for each in denied]
        return cls(
            deed,
            # Fixed now: a root that is later made a link must not widen what is allowed.
            None if roots is None else tuple(os.path.realpath(each) for each in roots),
            # Both: a denied link stays denied, and so does what it led to at first.
            tuple(dict.fromkeys([*given, *(os.path.realpath(each) for each in given)])),
            *keys,
            protected=tuple(protected),
            protected_places=tuple(
                os.path.realpath(_absolute(each, base)) for each in protected if "*" not in each
            ),
        )

    def guard(self) -> Guard:
        """The policy as it is now, with the links in denied paths followed."""
        return Guard(self)


class Guard:
    """Judges paths for the time of one request."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        now = {*policy.denied, *(_real(each) for each in policy.denied)}
        self._denied = [_folded(each) for each in now]
        self._denied_identities = {found for each in now if (found := _identity(each))}
        self._allowed = None if policy.allowed is None else [_folded(p) for p in policy.allowed]

    def check(self, real: str, identities: Iterable[Identity] = ()) -> None:
        """Refuse `real` unless it may be touched.

        Raises:
            Refused: it is denied, or not among what is allowed.
        """
        policy = self._policy
        if self.denies(real, identities):
            text = f"{policy.deed} {real!r} is denied by {policy.denied_key!r}. Leave it alone."
            raise Refused(text, "PathDenied")
        if self._protects(real):
            text = (
                f"{policy.deed} {real!r} is denied by 'protected_paths': it decides what is run "
                "later. Ask the user to change it."
            )
            raise Refused(text, "PathDenied")
        if not self._allows(real):
            roots = ", ".join(repr(each) for each in policy.allowed or ()) or "none"
            text = (
                f"{policy.deed} {real!r} is not allowed: it is outside of {policy.allowed_key!r}. "
                f"Use a path inside one of these: {roots}."
            )
            raise Refused(text, "PathDenied")

    def _protects(self, real: str) -> bool:
        policy = self._policy
        if not policy.protected:
            return False
        # Not at the top: the process that searches has no pydantic, and writes nothing.
        from amplifier_modules.settings import protecting

        places = (_folded(each) for each in policy.protected_places)
        inside = any(_within(_folded(real), each) for each in places)
        return inside or protecting(real, policy.protected) is not None

    def denies(self, real: str, identities: Iterable[Identity] = ()) -> bool:
        folded = _folded(real)
        return any(_within(folded, each) for each in self._denied) or not (
            self._denied_identities.isdisjoint(identities)
        )

    def lets_through(self, real: str, identities: Iterable[Identity] = ()) -> bool:
        """Whether a path may lead through `real` and out again.

        Anywhere else, such a detour would tell what exists there.
        """
        if self.denies(real, identities):
            return False
        is_above = any(_within(each, _folded(real)) for each in self._allowed or ())
        return is_above or self._allows(real)

    def _allows(self, real: str) -> bool:
        folded = _folded(real)
        return self._allowed is None or any(_within(folded, each) for each in self._allowed)


def identity(found: os.stat_result) -> Identity:
    return (found.st_dev, found.st_ino)


def _identity(path: str) -> Identity | None:
    try:
        return identity(os.stat(path))
    except (OSError, ValueError):
        return None


def _real(path: str) -> str:
    """Where `path` leads now. A link that is swapped meanwhile makes the system's call fail."""
    for _ in range(_TRIES):
        with suppress(OSError):
            return os.path.realpath(path)
    raise Refused(f"{path!r} does not stop changing. Try again later.", "PathDenied")


def _absolute(path: str, base: str) -> str:
    return os.path.abspath(os.path.join(base, os.path.expanduser(path)))


def _folded(path: str) -> str:
    """`path` as the usual file system of this platform compares names."""
    if sys.platform == "darwin":
        return unicodedata.normalize("NFC", path).casefold()
    return os.path.normcase(path)


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
