"""Our package ``schedulers`` by a name that no file of a user's has: ``from cluster_sim.schedulers import Scheduler``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_sim.siblings import sibling

if TYPE_CHECKING:
    from schedulers import *  # noqa: F403
else:
    _ours = sibling("schedulers")

    def __getattr__(name: str) -> object:
        if name == "__path__":  # else Python would load each module a second time, under this name
            raise AttributeError(name)
        return getattr(_ours, name)

    def __dir__() -> list[str]:
        return dir(_ours)
