"""Bundles: files that say what a session is made of, composed into a mount plan."""
