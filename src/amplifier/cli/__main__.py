"""Lets `python -m amplifier.cli` do what the `amplifier` command does."""

from . import start

start()
