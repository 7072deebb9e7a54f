"""`amplifier version`: what is installed."""

from __future__ import annotations

import sys

import click

from amplifier import __version__

SDKS = ("anthropic", "openai", "google-genai", "ollama", "xllamacpp", "grpcio", "wasmtime")


@click.command()
@click.option("-v", "--verbose", is_flag=True, help="Also kernel, Python and what is optional.")
def version(verbose: bool) -> None:
    """Print the version."""
    click.echo(f"amplifier {__version__}")
    if not verbose:
        return
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    click.echo(f"amplifier-core {version_of('amplifier-core')}")
    click.echo(f"Python {sys.version.split()[0]} ({sys.platform})")
    for name in SDKS:
        try:
            click.echo(f"{name} {version_of(name)}")
        except PackageNotFoundError:
            click.echo(f"{name} is not installed")
