"""What a job asks of Slurm: plain data, from which passes are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from schedulers.slurm.partitions import Queue

MINUTE = 60.0


@dataclass(slots=True, eq=False)
class Ask:
    """A job's request in Slurm's terms; the options of ``sbatch`` are named where one says just this. Times in s, memory in MB.

    Tasks, CPUs for each and nodes are as asked for, before any node has been chosen. Two are equal only if they are one.
    """

    key: int  #: Which job: its index in the workload. Of jobs submitted in one second the lower goes first.
    job_id: str
    submit_time: float = 0.0  #: Time of the first submission, or of the last requeue.
    user: str = ""
    account: str = ""
    qos: str = ""
    partitions: tuple[str, ...] = ("",)  #: Names, at least one: the job may start in any of them.
    nice: int = 0
    limit_s: float = math.nan  #: ``--time``; NaN: the partition's.
    time_min_s: float = 0.0  #: ``--time-min``; 0: none.
    min_nodes: int = 0  #: ``--nodes``; 0: as many as it takes.
    max_nodes: int = 0  #: 0: no more than ``min_nodes``, or if that is 0 any number.
    tasks: int = 0  #: ``--ntasks``; 0: one on each node, or ``tasks_per_node`` on each.
    cores: int = 0  #: That it has in the workload, and needs, even if nothing else says so.
    tasks_per_node: int = 0
    cpus_per_task: int = 1
    memory_per_node: float = 0.0
    memory_per_cpu: float = 0.0
    gpus_per_node: int = 0
    gpu_type: str = ""  #: Empty: any.
    exclusive: bool = False
    features: str = ""  #: ``--constraint``: ``a&b``, ``a|b``.
    required_nodes: tuple[int, ...] = ()  #: ``--nodelist``: positions in the platform; ``asks`` may name them.
    excluded_nodes: tuple[int, ...] = ()
    spread: bool = False  #: ``--spread-job``
    switches: int = 0  #: ``--switches``: most leaf switches of its nodes; 0: any number.
    switch_wait_s: float = math.inf  #: How long it waits for them, as far as ``max_switch_wait`` lets it.
    licences: Mapping[str, int] = field(default_factory=dict)
    reservation: str = ""
    begin_time: float = -math.inf  #: ``--begin``, or until when a requeued job has to wait.
    array: str = ""  #: Job array of which it is a task; empty: none.
    array_limit: int = 0  #: Tasks of the array that may run at once; 0: all.
    #: Until its first node is free, s, each time that it is killed; then as others.
    kill_cleanups_s: tuple[float, ...] = ()
    held: bool = False  #: The job waits until somebody releases it.
    name: str = ""  #: ``--job-name``
    dependency: str = ""  #: ``--dependency``, as given to sbatch; of job arrays each task waits for itself.
    deadline_s: float = math.inf  #: ``--deadline``, on the run's clock.
    no_requeue: bool = False
    exit_code: int = 0  #: With which it will end by itself; nobody looks at it before.

    @property
    def least_nodes(self) -> int:
        """Return how many nodes it needs at least."""
        return self.min_nodes or 1

    @property
    def most_nodes(self) -> int:
        """Return how many nodes it takes at most, no more than it has tasks; 0: any number."""
        tasks = self.tasks or self.least_nodes * self.tasks_per_node
        most = min(self.max_nodes, tasks) if tasks else self.max_nodes
        return max(most, self.min_nodes)

    @property
    def cpus(self) -> int:
        """Return how many CPUs it asks for: those of its tasks, at least one on each node."""
        tasks = self.tasks or self.least_nodes * (self.tasks_per_node or 1)
        return max(tasks * self.cpus_per_task, self.least_nodes)

    def limit_in(self, queue: Queue | None) -> float:
        """Return how long it may run in a partition (None: unknown), s: whole minutes, as Slurm counts."""
        default, most = (None, math.inf) if queue is None else (queue.default_time, queue.max_time)
        seconds = self.limit_s
        if math.isnan(seconds):
            seconds = most if default is None else default
        if self.time_min_s:
            seconds = min(seconds, most)
        return seconds if seconds == math.inf else math.ceil(seconds / MINUTE) * MINUTE


@dataclass(slots=True, eq=False)
class QueuedJob:
    """A job in one of its partitions, with its priority there: it stands in the queue once for each."""

    ask: Ask
    queue: Queue
    priority: int = 0
