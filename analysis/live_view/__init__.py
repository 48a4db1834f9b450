"""Runs that are shown while they go on, in a browser or a notebook."""
