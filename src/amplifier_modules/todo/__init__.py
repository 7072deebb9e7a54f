"""A todo list that the model keeps, and the reminder that shows it."""
