"""The bundles that can be named here, and the one that is active."""

from __future__ import annotations

from .assembling import chosen_bundle, library_on, locks_on, settings_on
from .planning import ground_of


def known_bundles() -> tuple[dict[str, str], str, str]:
    """Names with where they lead, the active one, and who says so."""
    ground = ground_of(None, as_if_trusted=False)
    settings = settings_on(ground)
    library = library_on(ground, settings, locks_on(ground))
    active, origin, _ = chosen_bundle(None, settings)
    return library.names(), active, str(origin)
