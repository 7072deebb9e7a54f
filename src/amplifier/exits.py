"""Exit codes of the command. 2, for a command that cannot be understood, comes from click."""

DONE, FAILED, USED_UP, INTERRUPTED = 0, 1, 3, 130
