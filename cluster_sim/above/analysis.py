"""Names of our ``analysis``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_sim.siblings import sibling

if TYPE_CHECKING:
    from analysis import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        return getattr(sibling("analysis"), name)
