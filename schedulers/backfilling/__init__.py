"""Backfilling: EASY, conservative, and the plans that they keep."""
