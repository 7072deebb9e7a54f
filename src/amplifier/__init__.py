"""Amplifier: the application on top of the `amplifier_core` kernel."""

__version__ = "2.1.0"
