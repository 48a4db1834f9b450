"""Experiments that made a page of the manual: one script for each table."""
