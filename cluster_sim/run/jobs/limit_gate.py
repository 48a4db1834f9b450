"""Limits of accounts as a rule of admission: jobs over a limit wait outside of the queue, where they block nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cluster_sim.run.jobs.account_limits import Demand, Limits

if TYPE_CHECKING:
    from cluster_sim.engine import Environment
    from cluster_sim.platform.accounts import Accounts
    from cluster_sim.platform.platform import Platform
    from cluster_sim.platform.slurm import SlurmMachine
    from cluster_sim.workload.jobs import Job


def limits_hold(platform: Platform) -> bool:
    """Return whether limits are enforced: as the slurm.conf says, and always on a platform that has none."""
    return platform.slurm is None or are_enforced(platform.slurm)


def are_enforced(slurm: SlurmMachine) -> bool:
    """Return whether a slurm.conf has limits enforced."""
    enforced = slurm.said("AccountingStorageEnforce").lower().replace(" ", "").split(",")
    return bool({"limits", "safe", "all", "1"} & set(enforced))


class LimitGate:
    """The gate between submission and queue, if a run has accounts with limits.

    A job joins the queue when it and the jobs that are in the queue or run are within their limits together. It counts from
    then on until it is over: whichever jobs of the queue are started, no limit is exceeded. Jobs of one user with one account and
    quality of service join in order of submission. ``admit`` is the simulation's. If the scheduler ``chooses_cores``, a job
    counts with the most that it may have.
    """

    def __init__(
        self,
        env: Environment,
        accounts: Accounts,
        platform: Platform,
        admit: Callable[[Job], None],
        chooses_cores: bool = False,
    ):
        self._env = env
        self._accounts = accounts
        self._limits = Limits(accounts)
        self._admit = admit
        self._chooses_cores, self._core_count = chooses_cores, platform.core_count
        self._widest, self._node_count = int(platform.node_cores.max()), platform.node_count
        default = None if platform.slurm is None else platform.slurm.partition()
        self._partition = "" if default is None else default.name
        self._inside: dict[int, Demand] = {}
        self._outside: dict[tuple[int, str, str, str], dict[int, Job]] = {}

    def demand(self, job: Job) -> Demand:
        """Return what the job needs of what is limited."""
        partition = self._partition if job.partition in ("", "-1") else job.partition
        position = self._accounts.find(job.user, job.account, partition)
        own = self._accounts.associations[position] if position >= 0 else None
        cores = min(job.max_cores, self._core_count) if self._chooses_cores else job.requested_cores
        nodes = job.nodes or -(-cores // self._widest)
        return Demand(
            position,
            self._accounts.qos_of(job.qos, position),
            job.user.lower(),
            own.account if own is not None else job.account.lower(),
            cores,
            nodes,
            job.memory * cores,
            job.requested_time,
        )

    def why_never(self, job: Job) -> str:
        """Say why a limit would keep the job waiting for ever; empty: none would."""
        demand = self.demand(job)
        word = self._limits.too_large(demand)
        asks = "asks for" if demand.cpus == job.requested_cores else "may be given"
        return f"it {asks} more than a limit allows: {word}" if word else ""

    def holds(self, job: Job) -> bool:
        """Return whether a job that could now go to the queue is held back instead; else it counts from now on."""
        if job.index in self._inside:
            return False  # it ran, and waits again
        demand = self.demand(job)
        waiting = self._outside.get(demand.whose)
        if waiting or self._is_refused(job, demand):
            self._outside.setdefault(demand.whose, {})[job.index] = job
            return True
        self._enter(job, demand)
        return False

    def withdraw(self, index: int) -> Job | None:
        """Take out a job that is held; None if it is not."""
        for waiting in self._outside.values():
            if index in waiting:
                self._look_again()  # it may have held up those behind it
                return waiting.pop(index)
        return None

    def over(self, job: Job, outcome: str) -> None:
        """Count out a job that is over; others may be within their limits now."""
        demand = self._inside.pop(job.index, None)
        if demand is not None:
            self._limits.ended(job.index)
            self._look_again()

    def _look_again(self) -> None:
        """Let in who may come in, when all else of this instant has happened."""
        self._env.at(self._env.now).callbacks.append(lambda event: self._let_in())

    def _let_in(self) -> None:
        for whose in [whose for whose, waiting in self._outside.items() if not waiting]:
            del self._outside[whose]
        heads = sorted(self._outside.values(), key=lambda waiting: next(iter(waiting)))
        for waiting in heads:
            while waiting:
                job = next(iter(waiting.values()))
                demand = self.demand(job)
                if self._is_refused(job, demand):
                    break
                del waiting[job.index]
                self._enter(job, demand)
                self._admit(job)

    def _nodes(self, job: Job, demand: Demand) -> tuple[int, ...]:
        """Return nodes that no other job has: a job's own are not known before it starts, and count for each."""
        return tuple(job.index * self._node_count + number for number in range(demand.nodes))

    def _is_refused(self, job: Job, demand: Demand) -> bool:
        limits = self._limits
        return bool(limits.refusal(demand) or limits.refusal_on(demand, self._nodes(job, demand), demand.cpus))

    def _enter(self, job: Job, demand: Demand) -> None:
        self._inside[job.index] = demand
        self._limits.started(job.index, demand, self._nodes(job, demand), demand.cpus)
