"""`hooks-shell`, also called `hook-shell`: commands of the project as hooks of the session."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from amplifier_core.models import HookResult

from amplifier_modules.hook_commands.answers import cut
from amplifier_modules.hook_commands.hook_events import (
    HOOK_EVENT_OF,
    KINDS,
    HookEvent,
    completed,
)
from amplifier_modules.hook_commands.hook_files import check_owner, read_hook_files
from amplifier_modules.hook_commands.hook_sets import Source, read_hook_set
from amplifier_modules.hook_commands.options import ShellSettings
from amplifier_modules.hook_commands.running import Outcome, Runner, label_of

__amplifier_module_type__ = "hook"

logger = logging.getLogger(__name__)

NAME = "hooks-shell"
ACTIVE = "hook_commands:active"
# Late, so that commands judge an input as the hooks before them leave it.
_PRIORITY = 100
_WAKES = ("session:start", "session:resume")


class ShellHooks:
    """Answers the events of a session with what its hook commands say."""

    def __init__(
        self, coordinator: Any, settings: ShellSettings, project: Path, files: list[Source]
    ) -> None:
        self._coordinator = coordinator
        self._settings = settings
        self._runner = Runner(coordinator, settings, project)
        self._files = files
        self._skills: dict[str, Source] = {}
        self._untold: list[str] = []
        """What the model is to read at its next request."""

    async def on_event(self, event: str, data: Any) -> HookResult | None:
        """Run the hooks of `event`."""
        if event in _WAKES:
            await self._announce()
        name = HOOK_EVENT_OF[event]
        try:
            sources = (*self._files, *self._skills.values())
            outcome = await self._runner.run(name, completed(event, data), sources)
        except Exception as error:
            if not KINDS[name].blocks:
                raise
            logger.exception("The %s hooks could not be run", name)
            reason = f"The {name} hooks could not be run: {type(error).__name__}: {error}"
            return HookResult(action="deny", reason=reason)
        if KINDS[name].heard:
            return self._answer(outcome)
        return await self._carried_out(event, name, outcome)

    async def on_request(self, event: str, data: Any) -> HookResult | None:
        """Hand over what hooks of events that nobody answers to had to tell the model."""
        texts, self._untold = self._untold, []
        return self._answer(Outcome(injections=texts)) if texts else None

    async def on_skill_loaded(self, event: str, data: Any) -> HookResult | None:
        """Let the hooks of a skill take part until it is unloaded."""
        fields = data if isinstance(data, Mapping) else {}
        skill, content = fields.get("skill_name"), fields.get("hooks")
        if not isinstance(skill, str) or not content:
            return None
        try:
            self._skills[skill] = self._skill_source(skill, content, fields)
        except (ValueError, OSError) as error:
            reason = f"The hooks of skill {skill!r} cannot be used: {error}"
            logger.error("%s", reason)
            return HookResult(
                action="deny", reason=reason, user_message=reason, user_message_level="error"
            )
        await self._announce()
        return None

    async def on_skill_unloaded(self, event: str, data: Any) -> None:
        if isinstance(data, Mapping):
            self._skills.pop(str(data.get("skill_name")), None)

    def _skill_source(self, skill: str, content: Any, fields: Mapping[str, Any]) -> Source:
        folder = Path(str(fields.get("skill_directory") or ""))
        if not folder.is_absolute():
            raise ValueError("The skill does not say where it is. It needs a 'skill_directory'.")
        if not self._settings.trusted:
            check_owner(folder, folder.stat())
        is_whole = isinstance(content, Mapping) and "hooks" in content
        return Source(f"skill {skill}", read_hook_set(content if is_whole else {"hooks": content}),
                      folder)  # fmt: skip

    async def _announce(self) -> None:
        """Say which commands may run from now on, in the log and as an event."""
        active = list(_described((*self._files, *self._skills.values())))
        for each in active:
            logger.info("Active hook: %s", each)
        if active:
            await self._coordinator.hooks.emit(ACTIVE, {"hooks": active})

    def _answer(self, outcome: Outcome) -> HookResult | None:
        """The outcome as a result that a loop carries out."""
        said: dict[str, Any] = {}
        if outcome.reason is not None:
            said = {"action": "deny", "reason": outcome.reason}
            self._untold += outcome.injections
        elif outcome.injections:
            said = {
                "action": "inject_context",
                "context_injection": self._fitting("\n\n".join(outcome.injections)),
                "context_injection_role": "user",
            }
        if outcome.messages:
            said["user_message"] = "\n".join(outcome.messages)
            said["user_message_level"] = outcome.level
            said["user_message_source"] = NAME
        return HookResult(**said) if said else None

    def _fitting(self, text: str) -> str:
        wrapped = '<system-reminder source="hooks-shell">\n{}\n</system-reminder>'
        limit = getattr(self._coordinator, "injection_size_limit", None)
        if limit is not None:
            text = cut(text, max(1, limit - len(wrapped)))
        return wrapped.format(text)

    async def _carried_out(
        self, event: str, name: HookEvent, outcome: Outcome
    ) -> HookResult | None:
        """Do here what the emitter of the event will not do."""
        self._untold += outcome.injections
        if outcome.messages:
            spoken = self._answer(Outcome(messages=outcome.messages, level=outcome.level))
            await self._coordinator.process_hook_result(spoken, event, NAME)
        if outcome.reason is None:
            return None
        if name == "Stop":
            logger.warning("A Stop hook objects: %s", outcome.reason)
            self._untold.append(f"A Stop hook objects to your last answer: {outcome.reason}")
        return HookResult(action="deny", reason=outcome.reason)


def _described(sources: tuple[Source, ...]) -> Iterator[dict[str, str]]:
    for source in sources:
        for name, groups in source.hooks.hooks.items():
            for group in groups:
                for hook in group.hooks:
                    about = {"event": name, "matcher": group.matcher, "type": hook.type}
                    yield {**about, hook.type: label_of(hook), "source": source.name}


def _guarding(register: Callable[..., Any]) -> dict[str, bool]:
    """The option that makes a guard, on kernels that know guards."""
    try:
        return {"guard": True} if "guard" in inspect.signature(register).parameters else {}
    except ValueError:
        return {}


async def mount(
    coordinator: Any, config: dict[str, Any] | None = None
) -> Callable[[], None] | None:
    settings = ShellSettings.read(config, NAME)
    if not settings.enabled:
        return None
    folder = settings.working_dir or coordinator.get_capability("session.working_dir")
    project = Path(folder or Path.cwd()).absolute()
    shell = ShellHooks(coordinator, settings, project, read_hook_files(project, settings.trusted))
    register, guard = coordinator.hooks.register, _guarding(coordinator.hooks.register)
    listening = [
        register(event, shell.on_event, priority=_PRIORITY, name=NAME,
                 **(guard if KINDS[name].blocks else {}))
        for event, name in HOOK_EVENT_OF.items()
    ]  # fmt: skip
    listening.append(register("provider:request", shell.on_request, name=NAME))
    if settings.skills:
        listening.append(register("skill:loaded", shell.on_skill_loaded, name=NAME))
        listening.append(register("skill:unloaded", shell.on_skill_unloaded, name=NAME))
    coordinator.register_contributor("observability.events", NAME, lambda: [ACTIVE])

    def stop() -> None:
        for unregister in listening:
            unregister()

    return stop
