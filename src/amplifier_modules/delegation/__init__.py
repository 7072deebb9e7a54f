"""Hands work to other agents: child sessions that can do at most what their parent can."""
