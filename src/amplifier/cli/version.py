"""`amplifier version`: what is installed."""

from __future__ import annotations

import sys

import click

from amplifier import __version__

SDKS = ("anthropic", "openai", "google-genai", "ollama", "xllamacpp", "grpcio", "wasmtime")


@click.command()
@click.option("-v", "--verbose", is_flag=True, help="Also kernel, Python, modules and places.")
def version(verbose: bool) -> None:
    """Print the version."""
    click.echo(f"amplifier {__version__}")
    if not verbose:
        return
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    click.echo(f"amplifier-core {version_of('amplifier-core')}")
    click.echo(f"Python {sys.version.split()[0]} ({sys.platform}), {sys.executable}")
    for name in SDKS:
        try:
            click.echo(f"{name} {version_of(name)}")
        except PackageNotFoundError:
            click.echo(f"{name} is not installed")
    for what, where in _places():
        click.echo(f"{what:<12}{where}")


def _places() -> list[tuple[str, object]]:
    """Where the program and its files are, and the modules that are installed beside it."""
    from importlib.metadata import entry_points
    from pathlib import Path

    import amplifier_core

    from amplifier.settings.places import home, project_root

    groups: dict[str, list[str]] = {}
    for point in sorted(entry_points(group="amplifier.modules")):
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "?"
        groups.setdefault(package, []).append(point.name)
    return [
        ("program", Path(__file__).parents[1]),
        ("kernel", Path(str(amplifier_core.__file__)).parent),
        ("home", home()),
        ("project", project_root()),
        *(("modules", f"{package}: {', '.join(names)}") for package, names in groups.items()),
    ]
