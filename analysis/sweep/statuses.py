"""What became of a run of a sweep, and the name of its own agent."""

from __future__ import annotations

DONE, FAILED = "done", "failed"

TRAINED = "trained"
"""The scheduler, or power policy, that the sweep trains itself."""
