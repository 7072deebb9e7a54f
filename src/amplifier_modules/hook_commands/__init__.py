"""Lets a project's own commands listen to a session, and refuse what it is about to do."""
