"""Answers of the lessons, with reasons; a module per lesson, with its ``EXERCISES``."""
