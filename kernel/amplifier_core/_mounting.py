"""What one module put into a coordinator, so that exactly that can be taken out again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

from .coordinator import SINGLE_SLOTS, ModuleCoordinator

#: Mount point, name (None in a single slot), module.
Installed = tuple[str, str | None, Any]

SYSTEMS = ("approval_system", "display_system")


class Mounting:
    """The state of a coordinator before a module is mounted.

    Modules may change the mount points directly, so what they did is found by comparing.
    """

    def __init__(self, coordinator: Any) -> None:
        # What only stands in for a coordinator is left alone: an empty one is watched instead.
        watched = coordinator if isinstance(coordinator, ModuleCoordinator) else ModuleCoordinator()
        self.coordinator = coordinator
        self._coordinator = watched
        self._slots = {
            point: slot.copy() if slot.__class__ is dict and point not in SINGLE_SLOTS else slot
            for point, slot in watched._mount_points.items()
        }
        self._systems = (watched.approval_system, watched.display_system)
        self._capabilities = watched._capabilities.copy()
        self._channels = {key: len(given) for key, given in watched._channels.items()}
        self._serial = watched._hooks._serial
        self._cleanups = len(watched._cleanups)

    def installed(self) -> list[Installed]:
        """Every module that is new in its place since then."""
        found: list[Installed] = []
        for point, slot in self._coordinator._mount_points.items():
            before = self._slots.get(point)
            if slot is before or slot is None:
                continue
            if not _is_table(slot, point):
                found.append((point, None, slot))
            elif slot:
                known = before if isinstance(before, dict) else {}
                found += [
                    (point, name, module)
                    for name, module in slot.items()
                    if name not in known or known[name] is not module
                ]
        return found

    def record(self) -> Mounted:
        """What was added since then, to be removed when the session ends."""
        coordinator = self._coordinator
        hooks = coordinator.hooks
        return Mounted(
            self.installed(),
            # Kept as long as the session, and mostly empty: an empty tuple takes no memory.
            tuple(hooks._registered_since(self._serial) if hooks._serial > self._serial else ()),
            _added(self._capabilities, coordinator._capabilities),
            tuple(
                (channel, given)
                for channel, group in coordinator._channels.items()
                for given in group[self._channels.get(channel, 0) :]
            ),
            tuple(
                (name, now, earlier)
                for name, earlier in zip(SYSTEMS, self._systems, strict=True)
                if (now := getattr(coordinator, name)) is not earlier
            ),
        )

    async def undo(self) -> None:
        """Put everything back as it was, running the cleanups that were registered since."""
        try:
            await self._coordinator._run_cleanups(self._cleanups)
        finally:
            await self.record().remove(self._coordinator)
            self._restore()

    def _restore(self) -> None:
        points = self._coordinator.mount_points
        for added in points.keys() - self._slots.keys():
            del points[added]
        for point, before in self._slots.items():
            slot = points.get(point)
            if _is_table(slot, point) and isinstance(before, dict):
                slot.clear()
                slot.update(before)
            else:
                points[point] = before
        self._coordinator._capabilities.update(self._capabilities)


@dataclass(slots=True)
class Mounted:
    """What one module added to a coordinator."""

    installed: list[Installed]
    registrations: tuple[Any, ...]
    capabilities: dict[str, Any]
    contributors: tuple[tuple[str, dict[str, Any]], ...]
    systems: tuple[tuple[str, Any, Any], ...]

    def modules(self) -> list[Any]:
        """The objects that now serve the session: mounted modules and hook handlers."""
        mounted = [module for _, _, module in self.installed]
        return mounted + [each.handler for each in self.registrations]

    async def remove(self, coordinator: ModuleCoordinator) -> None:
        """Take out what is still there; what others put in its place stays."""
        for point, name, module in self.installed:
            if point in coordinator.mount_points and coordinator.get(point, name) is module:
                await coordinator.unmount(point, name=name)
        if self.registrations:
            coordinator.hooks._remove(self.registrations)
        for key, value in self.capabilities.items():
            if coordinator._capabilities.get(key) is value:
                del coordinator._capabilities[key]
        for channel, given in self.contributors:
            group = coordinator._channels.get(channel, [])
            group[:] = [each for each in group if each is not given]
            if not group:
                coordinator._channels.pop(channel, None)
        for attribute, ours, earlier in self.systems:
            if getattr(coordinator, attribute) is ours:
                setattr(coordinator, attribute, earlier)


def _is_table(slot: Any, point: str) -> TypeGuard[dict[str, Any]]:
    """Whether a slot holds modules by name; the one module of a single slot may be a dict."""
    return isinstance(slot, dict) and point not in SINGLE_SLOTS


def _added(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What is new or another object under its name; values are never compared."""
    return {name: it for name, it in now.items() if name not in before or before[name] is not it}
