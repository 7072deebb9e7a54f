"""`hooks-logging`: writes the events of a session to a file, one JSON object per line."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from amplifier_core import ModuleCoordinator
from amplifier_core.events import ALL_EVENTS, SESSION_END
from amplifier_core.models import HookResult
from pydantic import Field, field_validator

from amplifier_modules.records import record as records
from amplifier_modules.records.hooks_redaction import CAPABILITY as REDACTOR
from amplifier_modules.records.known import KnownSecrets, collect_contributed, given_to
from amplifier_modules.records.logfile import LogFile, log_at
from amplifier_modules.records.plain import Plainer
from amplifier_modules.records.redactor import Redactor
from amplifier_modules.records.subscriptions import any_event, declared_events
from amplifier_modules.settings import Settings

__amplifier_module_type__ = "hook"

TEMPLATE = "~/.amplifier/projects/{project}/sessions/{session_id}/events.jsonl"
FILE_NAME = "events.jsonl"
_NAME = "hooks-logging"
_MOUNTED = "hooks-logging.mounted"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")

logger = logging.getLogger(__name__)

_CONTINUE = HookResult(action="continue")


class LoggingSettings(Settings):
    """Keys of hooks-logging."""

    priority: int = 100
    session_log_template: str = TEMPLATE
    auto_discover: bool = True
    additional_events: tuple[str, ...] = ()
    strip_raw: bool = False
    exclude_events: tuple[str, ...] = ("llm:stream_*delta",)
    stream_text: bool = False
    max_value_chars: int = Field(16_384, ge=16)
    max_record_bytes: int = Field(262_144, ge=1024)
    max_bytes: int = Field(33_554_432, ge=0)
    keep: int = Field(3, ge=0)

    @field_validator("session_log_template")
    @classmethod
    def _has_known_placeholders(cls, template: str) -> str:
        unknown = set(_PLACEHOLDER.findall(template)) - {"project", "session_id"}
        if unknown:
            raise ValueError(
                f"there is no placeholder {min(unknown)!r}; use {{project}} and {{session_id}}"
            )
        return template


class SessionLog:
    """Turns the events of one session into lines of its log."""

    def __init__(self, coordinator: ModuleCoordinator, settings: LoggingSettings) -> None:
        self._coordinator = coordinator
        self._settings = settings
        self._redactor = Redactor(known=KnownSecrets(given_to(coordinator.config)))
        self._logs: dict[str, LogFile] = {}
        self._unregister: dict[str, Callable[[], None]] = {}
        self._excluded: dict[str, bool] = {}
        self._has_complained = False

    # -- which events -----------------------------------------------------------------

    def listen_to(self, events: Iterable[str]) -> None:
        for event in events:
            if event not in self._unregister and not self._is_excluded(event):
                self._unregister[event] = self._coordinator.hooks.register(
                    event, self.handle, priority=self._settings.priority, name=_NAME
                )

    async def get_ready(self) -> None:
        """Listen to what modules declare, and know what they know of secrets."""
        redactor = self._coordinator.get_capability(REDACTOR)
        if isinstance(redactor, Redactor):
            rules = dict.fromkeys(("secrets", *redactor.rules))
            self._redactor = Redactor(rules, redactor.allowlist, self._redactor.known)
        self._redactor.known.learn(await collect_contributed(self._coordinator))
        if self._settings.auto_discover and any_event not in self._unregister:
            self.listen_to(await declared_events(self._coordinator))

    def _is_excluded(self, event: str) -> bool:
        known = self._excluded.get(event)
        if known is None:
            patterns = self._settings.exclude_events
            known = any(fnmatchcase(event, pattern) for pattern in patterns)
            self._excluded[event] = known
        return known

    # -- writing ----------------------------------------------------------------------

    async def handle(self, event: str, data: dict[str, Any]) -> HookResult:
        self.write(event, data)
        return _CONTINUE

    def write(self, event: str, data: Any) -> None:
        """Log one event. Whatever goes wrong is reported once and harms nobody."""
        session_id = data.get("session_id") if isinstance(data, dict) else None
        if not session_id or self._is_excluded(event):
            return
        try:
            log = self._log_of(str(session_id))
            log.append(self._line(event, data))
            if event == SESSION_END:
                log.close()
        except Exception as error:
            if not self._has_complained:
                # Not its text: that may be what must not be written down.
                kind = type(error).__name__
                logger.warning("Event %r cannot be logged (%s); others may be lost", event, kind)
            self._has_complained = True

    def _line(self, event: str, data: dict[str, Any]) -> bytes:
        if self._settings.strip_raw and "raw" in data:
            data = {name: value for name, value in data.items() if name != "raw"}
        level, most = records.level_of(event, data), self._settings.max_record_bytes
        room = most
        while True:
            line = records.line(records.record(event, level, self._payload(event, data, room)))
            # Characters may take several bytes, and so may the marks of what was cut.
            if len(line) <= most or room < 64:
                return line
            room = room // 2 if len(line) < 4 * most else room // 8

    def _payload(self, event: str, data: dict[str, Any], room: int) -> dict[str, Any]:
        """The event's data as it may be written: plain, of limited size, without secrets."""
        redactor = self._redactor
        margin = redactor.known.longest
        plainer = Plainer(self._settings.max_value_chars, room, redactor.redact_text, margin)
        plain = plainer.fields(data)
        if not self._settings.stream_text and records.is_stream(event):
            plain = records.without_pieces(plain)
        masked, rules = redactor.redact(plain)
        if rules:
            masked["redaction"] = _noted(masked.get("redaction"), rules)
        return masked

    # -- where ------------------------------------------------------------------------

    def _log_of(self, session_id: str) -> LogFile:
        log = self._logs.get(session_id)
        if log is None:
            settings = self._settings
            path = self._path(session_id)
            log = self._logs[session_id] = log_at(path, settings.max_bytes, settings.keep)
        return log

    def _path(self, session_id: str) -> Path:
        template, capability = self._settings.session_log_template, self._coordinator.get_capability
        if template == TEMPLATE:
            folder = capability("session.dir")
            if folder is not None and session_id == self._coordinator.session_id:
                return Path(str(folder), FILE_NAME)
            home = os.environ.get("AMPLIFIER_HOME")
            template = template.replace("~/.amplifier", home) if home else template
        working_dir = Path(str(capability("session.working_dir") or "."))
        path = template.replace("{project}", project_slug(working_dir.resolve()))
        path = path.replace("{session_id}", _as_file_name(session_id))
        return Path(working_dir.absolute(), Path(path).expanduser())

    def close(self) -> None:
        for unregister in self._unregister.values():
            unregister()
        self._unregister.clear()
        for log in self._logs.values():
            log.close()
        self._logs.clear()


def project_slug(folder: Path) -> str:
    """The name of a project's folder: its path, with dashes for separators."""
    slug = re.sub(r"[/\\]", "-", str(folder)).replace(":", "")
    return slug if slug.startswith("-") else f"-{slug}"


def _as_file_name(session_id: str) -> str:
    name = re.sub(r"[/\\\0]", "-", session_id)
    return "unnamed" if name in ("", ".", "..") else name


def _noted(earlier: Any, rules: list[Any]) -> dict[str, Any]:
    """What was masked here, added to what was masked before the event came here."""
    before = earlier.get("rules") if isinstance(earlier, dict) else None
    known = before if isinstance(before, list) else []
    return {"applied": True, "rules": [*known, *(rule for rule in rules if rule not in known)]}


async def mount(
    coordinator: ModuleCoordinator, config: dict[str, Any] | None = None
) -> Callable[[], None]:
    settings = LoggingSettings.read(config, _NAME)
    log = SessionLog(coordinator, settings)
    wanted = settings.additional_events
    # From now on, so that the log tells which modules could not be mounted.
    log.listen_to([any_event] if any_event in wanted else [*ALL_EVENTS, *wanted])
    mounted = coordinator.get_capability(_MOUNTED) or []
    coordinator.register_capability(_MOUNTED, [*mounted, log])
    return log.close


async def on_session_ready(coordinator: ModuleCoordinator) -> None:
    """Add the events that modules have declared while they were mounted."""
    for log in coordinator.get_capability(_MOUNTED) or []:
        await log.get_ready()
