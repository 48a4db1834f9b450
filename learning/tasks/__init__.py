"""What agents learn: a room for each task, and what all tasks share."""
