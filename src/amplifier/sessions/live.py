"""A session that writes its log while it runs, and so do its children."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from amplifier_core import AmplifierSession
from amplifier_core import __version__ as kernel_version

from amplifier.budget import Budget
from amplifier.sessions import events
from amplifier.sessions.files import FileStore
from amplifier.sessions.journal import Journal
from amplifier.sessions.loading import load_to_go_on
from amplifier.sessions.masking import Masker
from amplifier.sessions.projection import State
from amplifier.sessions.record import to_json
from amplifier.sessions.recorder import Recorder
from amplifier.sessions.resuming import bring_back
from amplifier.sessions.store import Store

LOGGER = "hooks-logging"
RECALL = "session.recall"


@dataclass
class Recording:
    """How a session is to be kept."""

    store: Store
    facts: dict[str, Any] = field(default_factory=dict)
    """What the first record says beside the session's ids."""
    earlier: State | None = None
    """What is known of a session that goes on."""
    limits: dict[str, Any] = field(default_factory=dict)
    """What it may spend, as far as this command line or an earlier one says."""


class RecordedSession(AmplifierSession):
    """As any session; with a `recording` it is written down."""

    recording: Recording | None = None
    recorder: Recorder | None = None
    budget: Budget | None = None
    _opening: asyncio.Lock | None = None
    _past: State | None = None
    _child_watchers: tuple[Callable[[AmplifierSession], None], ...] = ()

    def fork(
        self, config: dict[str, Any] | None = None, session_id: str | None = None, **options: Any
    ) -> AmplifierSession:
        child = super().fork(config, session_id, **options)
        if self.budget is not None and isinstance(child, RecordedSession):
            child.limit(self.budget)
        if self.recording is not None and isinstance(child, RecordedSession):
            child.recording = Recording(self.recording.store, dict(self.recording.facts))
        for watch in self._child_watchers:
            watch(child)
            if isinstance(child, RecordedSession):
                child.watch_children(watch)
        return child

    def watch_children(self, watch: Callable[[AmplifierSession], None]) -> None:
        """Call `watch` with each child, and each child of a child, before it is initialized."""
        self._child_watchers = (*self._child_watchers, watch)

    def limit(self, budget: Budget) -> None:
        """Let this session and its children spend no more than `budget`."""
        self.budget = budget
        budget.attach(self)

    async def initialize(self) -> None:
        if self.recording is None or self.initialized or self._is_initializing_here():
            await super().initialize()
            return
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            if not self.initialized:
                await self._initialize_recorded(self.recording)

    async def _initialize_recorded(self, recording: Recording) -> None:
        self._keep_the_log_apart()
        journal = await self._opened(recording)
        try:
            await super().initialize()
            await self._begin(recording, journal)
        except BaseException:
            await journal.close()
            if self.initialized:
                await self.cleanup()
            raise

    async def _opened(self, recording: Recording) -> Journal:
        """The journal; claimed at once if the session exists, so that nothing starts in vain."""
        if self.parent_id and recording.earlier is None:
            recording.earlier = self._past = await _earlier(recording.store, self.session_id)
        next_seq = recording.earlier.next_seq if recording.earlier else 0
        journal = Journal(recording.store, self.session_id, next_seq, Masker(self.config))
        if next_seq:
            await journal.claim(holder())
        return journal

    @property
    def has_own_past(self) -> bool:
        """Whether the conversation so far comes from the log: nobody else has to bring it."""
        return self._past is not None

    async def _begin(self, recording: Recording, journal: Journal) -> None:
        self.recorder = Recorder(journal)
        if journal.next_seq == 0:
            ids = {"session_id": self.session_id, "parent_id": self.parent_id}
            journal.note(events.CREATED, {**ids, "version": kernel_version, **recording.facts})
        journal.note(events.CLAIMED, holder())
        composition = composed(self.config, journal.masker)
        known = recording.earlier.composition if recording.earlier else {}
        if known.get("hash") != composition["hash"]:
            journal.note(events.COMPOSED, composition)
        before = recording.earlier.limits if recording.earlier else {}
        if recording.limits != before:
            journal.note(events.LIMITED, recording.limits)
        if journal.is_claimed:
            await journal.commit()
        await self.recorder.attach(self.coordinator)
        self.coordinator.register_capability(RECALL, self._recall)

    async def _recall(self, session_id: str) -> dict[str, Any] | None:
        """What is known of a child that ran in an earlier process; None if there was none."""
        assert self.recording is not None
        state = await _earlier(self.recording.store, session_id)
        if state is None or state.parent_id != self.session_id:
            return None
        return {"agent_name": state.agent, "turn_count": len(state.turns)}

    def _keep_the_log_apart(self) -> None:
        """Give modules the session's folder, and another name to the one that also writes logs."""
        assert self.recording is not None
        if not isinstance(self.recording.store, FileStore):
            return
        folder = self.recording.store.folder_of(self.session_id)
        self.coordinator.register_capability("session.dir", str(folder))
        for hook in self.config.get("hooks") or ():
            if isinstance(hook, dict) and hook.get("module") == LOGGER:
                config = hook["config"] = dict(hook.get("config") or {})
                config.setdefault("session_log_template", str(folder / "log.jsonl"))

    async def execute(self, prompt: str) -> str:
        if self.recording is None:
            return await super().execute(prompt)
        await self.initialize()
        recorder = self.recorder
        assert recorder is not None
        if not recorder.journal.is_claimed:
            await recorder.journal.claim(holder())
        if self._past is not None:
            past, self._past = self._past, None
            await bring_back(self, past)
        try:
            answer = await super().execute(prompt)
        except BaseException as error:
            await self._end_turn(recorder, error)
            if recorder.journal.failure is not None and isinstance(error, Exception):
                raise recorder.journal.failure from error
            raise
        await self._end_turn(recorder, None)
        if recorder.journal.failure is not None:
            # A denial for want of a log is no answer.
            raise recorder.journal.failure
        return answer

    async def _end_turn(self, recorder: Recorder, error: BaseException | None) -> None:
        """Close a turn whose loop has not said that it is over."""
        if recorder.journal.failure is not None or not recorder.is_turn_open:
            return
        if error is None:
            status = "success"
        else:
            status = "cancelled" if isinstance(error, asyncio.CancelledError) else "error"
        await recorder.end_turn({"status": status})

    async def cleanup(self, *, cascade_children: bool = False) -> None:
        try:
            await super().cleanup(cascade_children=cascade_children)
        finally:
            recorder, self.recorder = self.recorder, None
            if recorder is not None:
                recorder.detach()
                await recorder.journal.close()


async def _earlier(store: Store, session_id: str) -> State | None:
    """What is known of a session, if it exists."""
    if not (await store.tail(session_id)).next_seq:
        return None
    state, _ = await load_to_go_on(store, session_id)
    return state


def holder() -> dict[str, Any]:
    """Who this process is, for others who want to write to the same session."""
    return {"pid": os.getpid(), "host": socket.gethostname()}


def composed(plan: dict[str, Any], masker: Masker) -> dict[str, Any]:
    """The plan without secrets, and a hash by which a change of it is noticed."""
    import json

    plain = masker.value(json.loads(to_json(plan)))
    # What may be spent is another matter than what it is made of.
    plain.pop("budget", None)
    for hook in plain.get("hooks") or ():
        if isinstance(hook, dict) and hook.get("module") == LOGGER:
            hook.get("config", {}).pop("session_log_template", None)
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
    return {"hash": digest, "plan": plain}
