"""Tasks that agents learn: a folder for each task, and the parts that all tasks share."""
