"""What several commands share: options for scopes and output, and errors in words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from amplifier.settings.places import Scope

P = ParamSpec("P")
R = TypeVar("R")
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Scoped:
    """A scope that was chosen, and its settings file."""

    scope: Scope
    file: Path


def scope_options(default: Scope) -> Decorator:
    """`--global`, `--project`, `--local` and `--scope`, handed on as `scope: Scoped`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_scope(*args: Any, **kwargs: Any) -> Any:
            flags = [each for each in ("global", "project", "local") if kwargs.pop(f"_{each}")]
            named = kwargs.pop("_scope")
            chosen = {*flags, *([named] if named else [])}
            if len(chosen) > 1:
                raise click.UsageError(f"Choose one scope, not {' and '.join(sorted(chosen))}.")
            return command(*args, scope=_scoped(next(iter(chosen), default)), **kwargs)

        for flag, text in (
            ("local", "In .amplifier/settings.local.yaml, for you in this project."),
            ("project", "In .amplifier/settings.yaml, for all who work on this project."),
            ("global", "In your own settings.yaml, for all projects."),
        ):
            option = click.option(f"--{flag}", f"_{flag}", is_flag=True, help=text)
            with_scope = option(with_scope)
        choice = click.Choice(["global", "project", "local"])
        help_text = f"The same by name. Default: {default}."
        return click.option("--scope", "_scope", type=choice, help=help_text)(with_scope)

    return decorate


def session_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--session ID`, handed on as `session_dir`: the folder with the settings of one session."""

    @functools.wraps(command)
    def with_session(*args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.pop("_session")
        folder = failing_in_words(_session_folder)(wanted) if wanted else None
        return command(*args, session_dir=folder, **kwargs)

    text = "The settings of one session, which count when it goes on."
    return click.option("--session", "_session", metavar="ID", help=text)(with_session)


def _session_folder(wanted: str) -> Path:
    from amplifier.sessions.commands import find

    store, session_id = find(wanted)
    return store.folder_of(session_id)


def _scoped(scope: Any) -> Scoped:
    from amplifier.settings.places import NoProject, settings_file

    try:
        return Scoped(scope, settings_file(scope))
    except NoProject as error:
        raise Failure(str(error)) from error


def format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--format text|json`, and `--json` for the same."""

    @functools.wraps(command)
    def with_format(*args: Any, **kwargs: Any) -> Any:
        as_json = kwargs.pop("_json") or kwargs.pop("_format") == "json"
        kwargs.pop("_format", None)
        return command(*args, as_json=as_json, **kwargs)

    text = "Print a single JSON document."
    with_format = click.option("--json", "_json", is_flag=True, help=text)(with_format)
    choice = click.Choice(["text", "json"])
    return click.option("--format", "_format", type=choice, help="The same by name.")(with_format)


@dataclass(frozen=True)
class Listing:
    """How rows are to be printed; the first value of a row is its name."""

    as_json: bool
    detail: Literal["compact", "detailed"] | None

    def print(self, rows: Sequence[dict[str, Any]], line: Callable[[dict[str, Any]], str]) -> None:
        """All rows: as JSON, by name only, with all that is known, or with `line`."""
        if self.as_json:
            echo_json(rows)
            return
        for each in rows:
            click.echo(self._shown(each, line))

    def _shown(self, row: dict[str, Any], line: Callable[[dict[str, Any]], str]) -> str:
        if self.detail == "compact":
            return str(next(iter(row.values())))
        if self.detail == "detailed":
            width = max(map(len, row)) + 2
            facts = [f"{key + ':':<{width}}{value}" for key, value in row.items()]
            return "\n".join([*facts, ""])
        return line(row)


def list_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--compact`, `--detailed`, `--format` and `--json`, handed on as `listing: Listing`."""

    @functools.wraps(command)
    def with_listing(*args: Any, **kwargs: Any) -> Any:
        is_compact, is_detailed = kwargs.pop("_compact"), kwargs.pop("_detailed")
        if is_compact and is_detailed:
            raise click.UsageError("Choose --compact or --detailed, not both.")
        detail = "compact" if is_compact else "detailed" if is_detailed else None
        listing = Listing(kwargs.pop("as_json"), detail)  # type: ignore[arg-type]
        return command(*args, listing=listing, **kwargs)

    found = format_options(with_listing)
    text = "Print all that is known of each."
    found = click.option("--detailed", "_detailed", is_flag=True, help=text)(found)
    return click.option("--compact", "_compact", is_flag=True, help="Print names only.")(found)


def failing_in_words(command: Callable[P, R]) -> Callable[P, R]:
    """What we raise ourselves is shown as a sentence; a traceback means a defect of ours."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except (click.ClickException, BrokenPipeError):
            raise
        except OSError as error:
            raise _failure(f"{error}. Check the path and its permissions.") from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("amplifier", "amplifier_core"):
                raise
            raise _failure(str(error)) from error

    return guarded


def _failure(text: str) -> Failure:
    from amplifier.secrets import masked

    return Failure(masked(text))


class Failure(click.ClickException):
    """A sentence on stderr, without codes that would steer the terminal, and exit code 1."""

    def show(self, file: Any = None) -> None:
        from amplifier.output import note

        note(self.message)


def echo_json(value: Any) -> None:
    import json

    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def echo_line(text: str) -> None:
    """One line of what a stranger may have written: nothing in it moves the cursor."""
    from amplifier.output import printable

    click.echo(printable(text.replace("\n", " ")))


def done(work: Coroutine[Any, Any, R]) -> R:
    """Run `work` to its end."""
    # Late: every `--help` would wait for it.
    import asyncio

    return asyncio.run(work)


def agree(question: str, yes: bool) -> None:
    """Go on only if the person agrees; without a person there has to be --yes."""
    import sys

    if yes:
        return
    if not sys.stdin.isatty():
        raise Failure("Nobody is here to be asked. Read what is above, then use --yes.")
    click.confirm(question, abort=True)
