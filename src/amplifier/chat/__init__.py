"""A conversation at the terminal: the prompt stays open, and what happens scrolls by above it."""
