"""Partitions as they are now, and jobs that wait in them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cluster_sim.platform.slurm import Partition
from schedulers.slurm.selection.node_sets import NodeSet, set_of


@dataclass(slots=True, eq=False)
class Queue:
    """A partition as it is now: an administrator may change it. Times in s; 0 nodes: no limit."""

    name: str
    nodes: NodeSet
    tier: int = 1
    max_time: float = math.inf
    default_time: float | None = None  #: None: the most.
    min_nodes: int = 0
    max_nodes: int = 0
    exclusive: bool = False
    state: str = "UP"
    alternate: str = ""  #: The partition that takes its jobs while it takes none.
    memory_per_node: float = 0.0  #: MB, of jobs that say nothing of memory; 0: as on the whole machine.
    memory_per_cpu: float = 0.0

    @classmethod
    def of(cls, partition: Partition) -> Queue:
        """Return a partition as the configuration has it."""
        return cls(
            partition.name,
            set_of(partition.nodes),
            partition.priority_tier,
            partition.max_time_s,
            partition.default_time_s,
            partition.min_nodes,
            partition.max_nodes,
            partition.over_subscribe.startswith("EXCLUSIVE"),
            partition.state,
            partition.alternate,
            partition.def_memory_per_node,
            partition.def_memory_per_cpu,
        )

    @property
    def starts_jobs(self) -> bool:
        """Return whether jobs that wait for it are started: one that drains does so."""
        return self.state in ("UP", "DRAIN")

    @property
    def takes_jobs(self) -> bool:
        """Return whether jobs may be submitted to it: they wait in one that is down."""
        return self.state in ("UP", "DOWN")
