"""`amplifier completion`: the Tab key knows the commands."""

from __future__ import annotations

import os

import click

SHELLS = ("bash", "zsh", "fish")
#: Where each shell looks, and the line to put there.
SET_UP = {
    "bash": ("~/.bashrc", 'eval "$(amplifier completion bash)"'),
    "zsh": ("~/.zshrc", 'eval "$(amplifier completion zsh)"'),
    "fish": ("~/.config/fish/config.fish", "amplifier completion fish | source"),
}


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(shell: str | None) -> None:
    """Print what makes SHELL complete commands and options.

    Without SHELL, say how to set it up for the one in use.
    """
    if shell is None:
        name = os.path.basename(os.environ.get("SHELL", ""))
        file, line = SET_UP.get(name, SET_UP["bash"])
        click.echo(f"Add this line to {file}:\n\n  {line}")
        return
    from click.shell_completion import get_completion_class

    from . import main

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(main, {}, "amplifier", "_AMPLIFIER_COMPLETE").source())
