"""From the options of a command to a session that can be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from amplifier.budget import Budget
    from amplifier.sessions.commands import Recording
    from amplifier.sessions.files import FileStore


class Prepared(NamedTuple):
    """All that it takes to open a session."""

    plan: dict[str, Any]
    recording: Recording | None
    budget: Budget
    allow_partial: bool


class NotPrepared(Exception):
    """A session that cannot be opened, and why in words."""


def check_options(options: dict[str, Any]) -> None:
    """Refuse options that contradict each other."""
    if options["model"] and not options["provider"]:
        raise click.UsageError(
            "--model needs --provider, because model names are a provider's own."
        )
    if options.get("resume") and options.get("no_session"):
        raise click.UsageError("--resume goes on with a log, and --no-session keeps none.")


def prepared(options: dict[str, Any], found: tuple[FileStore, str] | None = None) -> Prepared:
    """A new session; or one that goes on, because of `--resume` or because it was `found`.

    Raises:
        NotPrepared: something that it needs is not there.
    """
    from amplifier.bundles.planning import Untrusted
    from amplifier.bundles.running import plan_to_run
    from amplifier.cli.options import budget_of
    from amplifier.logs import log_to_stderr
    from amplifier.plans import PlanError
    from amplifier.sessions.store import StoreError
    from amplifier.settings.nodes import ConfigError

    log_to_stderr(options["verbose"])
    try:
        recording = _recording(options, found)
        provider, model = options["provider"], options["model"]
        if recording is not None:
            provider, model = recording.provider, recording.model
        own = None
        if recording is not None and recording.session_id is not None:
            own = recording.store.folder_of(recording.session_id)
        plan = plan_to_run(options["bundle"], provider, model, own)
    except (PlanError, ConfigError, Untrusted, StoreError, OSError) as error:
        raise NotPrepared(str(error)) from error
    budget = budget_of(options, plan, recording)
    return Prepared(plan, recording, budget, options["allow_partial"])


def _recording(options: dict[str, Any], found: tuple[FileStore, str] | None) -> Recording | None:
    from amplifier.sessions.commands import recording_for, resumed

    provider, model = options["provider"], options["model"]
    if found is not None:
        return resumed(*found, provider, model)
    if options.get("no_session"):
        return None
    return recording_for(options.get("resume"), provider, model, options["durability"])
