"""A tool for the very first run: it looks, and touches nothing."""
