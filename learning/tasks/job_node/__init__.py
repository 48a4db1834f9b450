"""JobNode: choose a job and a node, or wait (López 2023)."""
