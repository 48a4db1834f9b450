"""Ranks of nodes that also say which GPU of a node a job should share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


class NodeRanks(np.ndarray[Any, np.dtype[np.float64]]):
    """Ranks of nodes, least first, shape (nodes,), and ``gpus``: which one of each a share should go on, -1: any."""

    gpus: npt.NDArray[np.int64]

    @classmethod
    def of(cls, ranks: npt.NDArray[np.float64], gpus: npt.NDArray[np.int64]) -> NodeRanks:
        """Return ranks with the GPUs."""
        found = ranks.view(cls)
        found.gpus = gpus
        return found
