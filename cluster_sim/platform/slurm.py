"""What a slurm.conf says of a machine beyond its hardware: names and weights of nodes, partitions, and how jobs are scheduled.

:attr:`cluster_sim.platform.platform.Platform.slurm` has it. Features of nodes are tags of their types, which jobs name in
``requires``. Schedulers that follow Slurm's rules take the rest from here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

DEFAULTS: Mapping[str, str] = {
    "SchedulerType": "sched/backfill",
    "SchedulerParameters": "",
    "SelectType": "select/linear",
    "SelectTypeParameters": "",
    "PriorityType": "priority/basic",
    "PriorityCalcPeriod": "5",
    "PriorityDecayHalfLife": "7-0",
    "PriorityFavorSmall": "NO",
    "PriorityFlags": "",
    "PriorityMaxAge": "7-0",
    "PriorityWeightAge": "0",
    "PriorityWeightFairshare": "0",
    "PriorityWeightJobSize": "0",
    "PriorityWeightPartition": "0",
    "PriorityWeightQOS": "0",
    "FairShareDampeningFactor": "1",
    "PreemptMode": "OFF",
    "PreemptParameters": "",
    "PreemptType": "preempt/none",
    "PreemptExemptTime": "0",
    "JobRequeue": "1",
    "AccountingStorageEnforce": "",
    "AccountingStorageType": "accounting_storage/none",
    "OverTimeLimit": "0",
    "KillWait": "30",
    "MessageTimeout": "10",
    "DefMemPerCPU": "0",
    "DefMemPerNode": "0",
    "Licenses": "",
    "EnforcePartLimits": "NO",
    "TopologyPlugin": "topology/none",
    "TopologyParam": "",
}
"""Keys of the whole machine that a simulation follows, with what Slurm 22.05 takes where a slurm.conf leaves them out.

Defaults of partitions are those of :class:`Partition`, those of SchedulerParameters and PreemptParameters those of
``schedulers.slurm.settings``.
"""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: a queue of jobs with the nodes that they may use. Times in s; 0 nodes: no limit; memory in MB."""

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
    alternate: str = ""  #: The partition that takes its jobs while it takes none.
    def_memory_per_cpu: int = 0  #: Of jobs that say nothing of memory; 0: as on the whole machine.
    def_memory_per_node: int = 0
    options: Mapping[str, str] = field(default_factory=dict, hash=False)  #: Other keys, in small letters, as written.
    place: str = field(default="", compare=False)  #: The file and the line in which it stands.


@dataclass(frozen=True, slots=True)
class SlurmMachine:
    """The part of a slurm.conf that is no hardware; per-node facts are in platform order.

    ``gres`` are as written, ``gpu:a100:4``. ``parameters`` are all keys that stand alone on their line, in small letters,
    with their values as written: ``schedulerparameters``, ``priorityweightage``, ``licenses`` …; ``places`` says where each of
    them stands. ``threads`` are how many CPUs of each node make a core, which has one job only; empty: 1. Slurm measures the
    size of jobs by ``all_nodes`` and ``all_cpus``, with the nodes that no partition has; 0: those of the platform.
    """

    node_names: tuple[str, ...]
    weights: tuple[int, ...]
    gres: tuple[str, ...]
    partitions: tuple[Partition, ...]
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    places: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)
    threads: tuple[int, ...] = ()
    all_nodes: int = 0
    all_cpus: int = 0

    def said(self, key: str) -> str:
        """Return what a key of :data:`DEFAULTS` says, as written, or its default where nothing is said."""
        text = self.parameters.get(key.lower(), "")
        return DEFAULTS[key] if text.lower() in ("", "(null)") else text

    def where(self, key: str) -> str:
        """Return a key with the file and the line in which it stands, for messages."""
        return f"{self.places.get(key.lower(), 'slurm.conf')}, {key}"

    def partition(self, name: str = "") -> Partition | None:
        """Return the partition of that name, or without a name the default one; None if there is none."""
        return next((p for p in self.partitions if (p.name == name if name else p.default)), None)
