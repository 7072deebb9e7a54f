"""Tells the model where it is: folder, session, repository, time."""
