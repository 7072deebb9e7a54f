"""What one module put into a coordinator, so that exactly that can be taken out again."""

from __future__ import annotations

from typing import Any, TypeGuard

from .coordinator import SINGLE_SLOTS, ModuleCoordinator

Installed = tuple[str, str | None, Any]
"""Mount point, name (None in a single slot), module."""

SYSTEMS = ("approval_system", "display_system")


class Mounting:
    """The state of a coordinator before a module is mounted.

    Modules may change the mount points directly, so what they did is found by comparing.
    A coordinator that is only a stand-in for one is left alone.
    """

    __slots__ = (
        "_capabilities",
        "_channels",
        "_cleanups",
        "_coordinator",
        "_serial",
        "_slots",
        "_systems",
    )

    def __init__(self, coordinator: Any) -> None:
        self._coordinator: ModuleCoordinator | None = None
        if isinstance(coordinator, ModuleCoordinator):
            self._coordinator = coordinator
            self._slots = {
                point: slot.copy() if _is_table(slot, point) else slot
                for point, slot in coordinator.mount_points.items()
            }
            self._systems = [(name, getattr(coordinator, name)) for name in SYSTEMS]
            self._capabilities = coordinator._capabilities.copy()
            self._channels = {key: len(given) for key, given in coordinator._channels.items()}
            self._serial = coordinator.hooks._serial
            self._cleanups = len(coordinator._cleanup_fns)

    def installed(self) -> list[Installed]:
        """Every module that is new in its place since then."""
        found: list[Installed] = []
        points = self._coordinator.mount_points if self._coordinator is not None else {}
        for point, slot in points.items():
            before = self._slots.get(point)
            if _is_table(slot, point):
                known = before if isinstance(before, dict) else {}
                for name, module in slot.items():
                    if name not in known or known[name] is not module:
                        found.append((point, name, module))
            elif slot is not before and slot is not None:
                found.append((point, None, slot))
        return found

    def record(self) -> Mounted:
        """What was added since then, to be removed when the session ends."""
        coordinator = self._coordinator
        if coordinator is None:
            return Mounted([], [], {}, [], [])
        added = {
            name: value
            for name, value in coordinator._capabilities.items()
            if name not in self._capabilities or self._capabilities[name] is not value
        }
        contributors = [
            (channel, given)
            for channel, group in coordinator._channels.items()
            for given in group[self._channels.get(channel, 0) :]
        ]
        hooks = coordinator.hooks
        fresh = hooks._registered_since(self._serial) if hooks._serial > self._serial else []
        systems = [
            (name, now, earlier)
            for name, earlier in self._systems
            if (now := getattr(coordinator, name)) is not earlier
        ]
        return Mounted(self.installed(), fresh, added, contributors, systems)

    async def undo(self) -> None:
        """Put everything back as it was, running the cleanups that were registered since."""
        coordinator = self._coordinator
        if coordinator is None:
            return
        try:
            await coordinator._run_cleanups(self._cleanups)
        finally:
            await self.record().remove(coordinator)
            self._restore(coordinator)

    def _restore(self, coordinator: ModuleCoordinator) -> None:
        points = coordinator.mount_points
        for added in points.keys() - self._slots.keys():
            del points[added]
        for point, before in self._slots.items():
            slot = points.get(point)
            if _is_table(slot, point) and isinstance(before, dict):
                if not _same_entries(slot, before):
                    slot.clear()
                    slot.update(before)
            elif slot is not before:
                points[point] = before
        coordinator._capabilities.update(self._capabilities)


class Mounted:
    """What one module added to a coordinator."""

    __slots__ = ("capabilities", "contributors", "installed", "registrations", "systems")

    def __init__(
        self,
        installed: list[Installed],
        registrations: list[Any],
        capabilities: dict[str, Any],
        contributors: list[tuple[str, dict[str, Any]]],
        systems: list[tuple[str, Any, Any]],
    ) -> None:
        self.installed = installed
        self.registrations = registrations
        self.capabilities = capabilities
        self.contributors = contributors
        self.systems = systems

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


def _same_entries(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Same names in the same order with the same objects; modules are never compared."""
    return list(one) == list(other) and all(one[name] is other[name] for name in one)
