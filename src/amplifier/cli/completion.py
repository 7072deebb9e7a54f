"""`amplifier completion`: the Tab key knows the commands."""

from __future__ import annotations

import os
from pathlib import Path

import click

from amplifier.cli.common import Failure, failing_in_words

SHELLS = ("bash", "zsh", "fish")
#: Where each shell looks, and the line to put there.
SET_UP = {
    "bash": ("~/.bashrc", 'eval "$(amplifier completion bash)"'),
    "zsh": ("~/.zshrc", 'eval "$(amplifier completion zsh)"'),
    "fish": ("~/.config/fish/config.fish", "amplifier completion fish | source"),
}


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--install", is_flag=True, help="Add the line to the start-up file of the shell.")
@failing_in_words
def completion(shell: str | None, install: bool) -> None:
    """Print what makes SHELL complete commands, options, sessions, providers and more.

    Without SHELL, say how to set it up for the one in use.
    """
    if install:
        _install(shell or _in_use())
        return
    if shell is None:
        file, line = SET_UP[_in_use()]
        click.echo(f"Add this line to {file}, or use --install:\n\n  {line}")
        return
    from click.shell_completion import get_completion_class

    from . import COMPLETE, main

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(main, {}, "amplifier", COMPLETE).source())


def _in_use() -> str:
    name = os.path.basename(os.environ.get("SHELL", ""))
    return name if name in SET_UP else "bash"


def _install(shell: str) -> None:
    from amplifier.files import write_atomically

    place, line = SET_UP[shell]
    file = Path(place).expanduser()
    if file.is_symlink():
        raise Failure(f"{file} is a link, and is left alone. Add this line to it: {line}")
    text = file.read_text() if file.exists() else ""
    if line in text.splitlines():
        click.echo(f"{file} has that line already.")
        return
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    separator = "" if not text or text.endswith("\n") else "\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, f"{text}{separator}{line}\n", mode=mode)
    click.echo(f"Added to {file}. It takes effect in the next shell.")
