"""What a project brings does nothing until the user has trusted exactly that content."""
