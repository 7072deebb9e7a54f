"""Shows a person at a terminal what a session does while it does it."""
