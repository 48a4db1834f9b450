"""Settings of the random tests: the same examples in every run, and no limit on the time of one."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("models", deadline=None, derandomize=True, database=None)
settings.load_profile("models")
