"""Amplifier: the application on top of the `amplifier_core` kernel."""
