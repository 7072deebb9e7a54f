"""Settings of the command: where they are, how they are read, merged, explained and written."""
