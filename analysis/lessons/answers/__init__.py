"""What is right in each lesson, and why; a module per lesson, with its ``EXERCISES``."""
