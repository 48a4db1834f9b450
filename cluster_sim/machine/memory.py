"""The memory of the nodes: how much there is, and how much of it jobs and guests occupy."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.platform.platform import Platform

MB_PER_GB = 1024.0


def tasks_in(left_mb: npt.NDArray[np.float64], memory_mb: float, most: int) -> npt.NDArray[np.int64]:
    """Return for how many tasks of ``memory_mb`` each, at ``most``, each node has memory, shape (nodes,)."""
    tasks: npt.NDArray[np.int64] = np.minimum(np.maximum(left_mb, 0.0) / memory_mb + 1e-9, most).astype(np.int64)
    return tasks


class NodeMemory:
    """Columns of memory by node, in platform order, MB."""

    def __init__(self, platform: Platform):
        capacity = [t.memory_gb * MB_PER_GB if t.memory_gb is not None else np.inf for t in platform.node_types]
        self.capacity = np.array(capacity)[platform.type_of_node]  #: Of each node, inf when not given.
        self.used = np.zeros(platform.node_count)  #: What jobs and guests occupy of each node.
        self._tenants = np.zeros(platform.node_count, np.int64)  # jobs and guests that occupy some, of each node
        self._most = platform.core_count

    def copy(self, empty: bool = False) -> NodeMemory:
        """Return a copy to try things out on, as it is now or as if nothing were occupied."""
        other = copy(self)
        other.used = np.zeros(len(self.used)) if empty else self.used.copy()
        return other

    def room(self, memory_mb: float, if_empty: bool = False) -> npt.NDArray[np.int64]:
        """Return for how many tasks of ``memory_mb`` each node has memory left (or has, if empty), shape (nodes,)."""
        left = self.capacity if if_empty else self.capacity - self.used
        return tasks_in(left, memory_mb, self._most)

    def occupy(self, shares: Mapping[int, int], mb: float) -> None:
        """Occupy memory of nodes for a tenant: on each ``mb`` times its share."""
        for node, share in shares.items():
            self.used[node] += mb * share
            self._tenants[node] += 1

    def leave(self, shares: Mapping[int, int], mb: float) -> None:
        """Undo ``occupy``. An empty node is reset to exactly 0 MB, so that rounding cannot make equal nodes differ."""
        for node, share in shares.items():
            self._tenants[node] -= 1
            self.used[node] = self.used.item(node) - mb * share if self._tenants.item(node) else 0.0

    def leave_run(self, first: int, stop: int, mb: npt.NDArray[Any]) -> None:
        """Undo ``occupy`` on neighbouring nodes, ``mb`` on each, shape (stop - first,)."""
        used, tenants = self.used[first:stop], self._tenants[first:stop]
        used -= mb
        tenants -= 1
        used[tenants == 0] = 0.0
