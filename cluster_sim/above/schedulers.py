"""Names of our ``schedulers``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_sim.siblings import sibling

if TYPE_CHECKING:
    from schedulers import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        return getattr(sibling("schedulers"), name)
