"""The shell: a tool that runs commands, and a guard that reads them before they run."""
