"""Our package ``learning`` by a name that no file of a user's has: ``from cluster_sim.learning import JobNode``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_sim.siblings import stand_in

if TYPE_CHECKING:
    from learning import *  # noqa: F403
else:
    __getattr__, __dir__ = stand_in("learning")
