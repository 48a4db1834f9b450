"""Schedulers that place jobs by their predicted energy or delay."""
