"""Names: the statuses of a sweep's runs, and the agent that it trains itself."""

from __future__ import annotations

DONE, FAILED = "done", "failed"

TRAINED = "trained"
"""Name of the scheduler, or power policy, that the sweep trains itself."""
