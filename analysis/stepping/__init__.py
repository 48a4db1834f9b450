"""Stepping through a run, decision by decision."""
