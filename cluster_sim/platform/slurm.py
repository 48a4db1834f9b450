"""What a slurm.conf says of a machine beyond its hardware: names and weights of nodes, partitions, and how jobs are scheduled.

:attr:`cluster_sim.platform.platform.Platform.slurm` has it. Features of nodes are tags of their types, which jobs name in
``requires``. Schedulers that follow Slurm's rules take the rest from here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: a queue of jobs with the nodes that they may use. Times in s; 0 nodes: no limit."""

    name: str
    nodes: tuple[int, ...]  #: Positions in the platform, rising.
    default: bool = False
    max_time_s: float = math.inf
    default_time_s: float | None = None  #: None: the maximum.
    min_nodes: int = 0
    max_nodes: int = 0
    priority_tier: int = 1
    priority_job_factor: int = 1
    over_subscribe: str = "NO"  #: NO, YES:n, FORCE:n or EXCLUSIVE.
    preempt_mode: str = ""  #: Empty: that of the whole machine.
    grace_time_s: float = 0.0
    state: str = "UP"
    options: Mapping[str, str] = field(default_factory=dict, hash=False)  #: Other keys, in small letters, as written.


@dataclass(frozen=True, slots=True)
class SlurmMachine:
    """The part of a slurm.conf that is no hardware; per-node facts are in platform order.

    ``gres`` are as written, ``gpu:a100:4``. ``parameters`` are all keys that stand alone on their line, in small letters,
    with their values as written: ``schedulerparameters``, ``priorityweightage``, ``licenses`` …; ``places`` says where each of
    them stands.
    """

    node_names: tuple[str, ...]
    weights: tuple[int, ...]
    gres: tuple[str, ...]
    partitions: tuple[Partition, ...]
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    places: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)

    def where(self, key: str) -> str:
        """A key with the file and the line in which it stands, for messages."""
        return f"{self.places.get(key.lower(), 'slurm.conf')}, {key}"

    def partition(self, name: str = "") -> Partition | None:
        """The partition of that name, or the default one; None if there is none."""
        return next((p for p in self.partitions if (p.name == name if name else p.default)), None)
