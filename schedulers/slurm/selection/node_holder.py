"""Jobs and guests that hold nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from schedulers.slurm.job_request import Ask
from schedulers.slurm.selection.node_sets import NodeSet, set_of

GUESTS = "(guests)"
"""Name in the place of a partition where a guest holds cores of a node."""


@dataclass(slots=True, eq=False)
class NodeHolder:
    """A job, or a guest, that holds nodes: CPUs and memory (MB) on each, and when its limit ends it."""

    ask: Ask
    nodes: tuple[int, ...]  #: Positions of its nodes, rising.
    cpus: tuple[int, ...]  #: CPUs on each of them.
    memory: tuple[float, ...]
    start: float  #: s
    end: float  #: End by its limit, s.
    ending: bool = False  #: Its end has come, its nodes are not yet cleaned up.
    made: float = math.nan  #: When Slurm made its record, s: at its submission, or when the task before it was started.
    partition: str = ""
    cores: tuple[tuple[int, ...], ...] = ()  #: Which on each of its nodes, where jobs of several tiers share them.
    preemptor: int = -1  #: The job that has last asked for its nodes; -1: none.
    is_told: bool = False  #: Whether it has to leave them.
    stopped: float = math.nan  #: Since when it is suspended, s; NaN: it runs.
    mask: NodeSet = 0
    arrays: tuple[npt.NDArray[Any], ...] = ()

    @property
    def is_guest(self) -> bool:
        """Return whether a process of a user's own holds them, not a job: it has no limit, and cannot be preempted."""
        return self.partition == GUESTS

    def __post_init__(self) -> None:
        self.made = self.ask.submit_time if math.isnan(self.made) else self.made
        self.mask = set_of(self.nodes)
        self.arrays = (np.array(self.nodes), np.array(self.cpus), np.array(self.memory))
