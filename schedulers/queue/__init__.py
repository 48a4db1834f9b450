"""Schedulers of one queue: orders of jobs and of nodes, list scheduling, a schedule played back."""
