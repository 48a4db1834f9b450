"""priority/multifactor: the priorities of a run's jobs, brought up to date every PriorityCalcPeriod, and limits (Slurm 22.05)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cluster_sim.errors import ModelWarning, warn_user
from cluster_sim.platform.accounts import Accounts, Association, QualityOfService
from cluster_sim.platform.slurm import SlurmMachine
from cluster_sim.run.jobs.account_limits import Demand, Limits
from cluster_sim.run.jobs.limit_gate import are_enforced
from schedulers.slurm.job_request import Ask
from schedulers.slurm.partitions import Queue
from schedulers.slurm.priority.association_shares import AssociationShares
from schedulers.slurm.priority.factors import Factors, warn_without_qualities
from schedulers.slurm.protocols import Accounting, BasicPriority

_ROW = np.dtype(
    [
        *((name, np.float64) for name in ("since", "nodes", "cpus", "limit_s", "qos", "nice", "partition")),
        *((name, np.float64) for name in ("age", "fairshare", "jobsize", "sum")),
        ("association", np.int64),
    ]
)
"""Row of a waiting job: since when its age counts (s; inf: not yet), its request, and its priority's weighted parts."""


class Multifactor(Accounting):
    """Priorities, shares and limits of a run by Slurm's rules.

    With ``is_basic`` priorities are those of priority/basic, and the rest is the same; None: if the slurm.conf says so.

    ``accounts`` are those of the cluster. Without them every account and user that submits a job has one share, and nobody
    has limits. Limits hold where ``AccountingStorageEnforce`` says so; ``all_cpus`` and ``all_nodes`` are the cluster's.
    """

    def __init__(
        self,
        slurm: SlurmMachine,
        all_cpus: int,
        accounts: Accounts | None = None,
        all_nodes: int | None = None,
        is_basic: bool | None = None,
    ):
        said = slurm.parameters.get("prioritytype", "").lower() == "priority/basic"
        self._is_basic = said if is_basic is None else is_basic
        self.factors = Factors.of(slurm, not self._is_basic)
        self.limits_resources = accounts is not None and are_enforced(slurm)
        self._given = accounts
        self._all_nodes = len(slurm.node_names) if all_nodes is None else all_nodes
        self._all_cpus = all_cpus
        self._slurm = slurm
        if self.factors.qos and not self._is_basic:
            warn_without_qualities("PriorityWeightQOS", accounts)
        top = max((partition.priority_job_factor for partition in slurm.partitions), default=0)
        self._of_partition = {
            name: self.factors.of_largest(self.factors.partition, partition.priority_job_factor, top, "part")
            for partition in slurm.partitions
            for name in ((partition.name, "") if partition.default else (partition.name,))
        }
        self.begin(0.0)

    def begin(self, controller_start: float, queues: Mapping[str, Queue] | None = None) -> None:
        """Begin a run with these partitions, or those configured; periods count from ``controller_start`` (s)."""
        self._queues = {each.name: Queue.of(each) for each in self._slurm.partitions} if queues is None else queues
        self._own: dict[tuple[str, str], int] = {}
        self._stranger_told = False
        self.shares = AssociationShares(
            Accounts() if self._given is None else self._given, self.factors, controller_start
        )
        self._basic = BasicPriority() if self._is_basic else None
        self._limits = Limits(self.shares.accounts)
        self._start, self._periods = controller_start, 0
        self._rows, self._slots, self._free = np.zeros(16, _ROW), dict[int, int](), list[int]()
        self._associations: dict[int, int] = {}
        self._rates: dict[int, float] = {}
        self._direct: dict[int, int] = {}  # priorities that an administrator has set

    # ------------------------------------------------------------------ what becomes of jobs

    def submitted(self, ask: Ask, now: float, submit_time: float | None = None) -> None:
        """Work out the priority of a job that waits from now on.

        ``submit_time`` (s) is when it was submitted, where it was held until now: with ACCRUE_ALWAYS its age counts from then.
        """
        if self._basic is not None:
            self._basic.submitted(ask, now)
        self._associations[ask.key] = association = self._association(ask)
        if self._free:
            new_slot = self._free.pop()
        else:
            if len(self._slots) == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros(len(self._rows), _ROW)])
            new_slot = len(self._slots)
        slot = self._slots[ask.key] = new_slot
        row = self._rows[slot]
        row["since"], row["association"] = math.inf, association
        if "accrue_always" in self.factors.flags:
            row["since"] = math.floor(ask.submit_time if submit_time is None else submit_time)
        self._note_request(ask, now)

    def changed(self, ask: Ask, now: float) -> None:
        """Work a job's priority out anew, since its request has changed."""
        if self._basic is not None:
            self._basic.changed(ask, now)
        self._note_request(ask, now)

    def eligible(self, ask: Ask, now: float) -> None:
        """Count the job's age from now on."""
        if self._basic is not None:
            self._basic.eligible(ask, now)
        row = self._rows[self._slots[ask.key]]
        row["since"] = min(float(row["since"]), math.floor(now))

    def held(self, ask: Ask) -> None:
        """Take the age of a held job away."""
        if self._basic is not None:
            self._basic.held(ask)
        self._direct.pop(ask.key, None)
        if "accrue_always" not in self.factors.flags:
            self._rows[self._slots[ask.key]]["since"] = math.inf

    def set_priority(self, ask: Ask, priority: int) -> None:
        """Keep this priority until the job is held."""
        self._direct[ask.key] = priority

    def tested(self, ask: Ask, cpus: int) -> None:
        """Take what the job would get as its size, from the next period on."""
        self._rows[self._slots[ask.key]]["cpus"] = cpus

    def started(self, ask: Ask, partition: str, nodes: tuple[int, ...], cpus: int, now: float) -> None:
        """Count a job that waits no more: it uses its CPUs, and counts in its limits."""
        if self.told is not None:
            self.told[ask.key] = self.tell(ask, partition)
        association = self._associations[ask.key]
        if self.limits_resources:
            self._limits.started(ask.key, self._demand(ask), nodes, cpus)
        self._leave(ask)
        if association >= 0:
            self._rates[ask.key] = self._rate(ask, cpus)
            self.shares.usage.start(ask.key, association, self._rates[ask.key], now)

    def _rate(self, ask: Ask, cpus: int) -> float:
        """Return the weighted CPUs of a job that has this many."""
        quality = self.quality(ask)
        return cpus * (1.0 if quality is None else quality.usage_factor)

    def suspended(self, ask: Ask, now: float) -> None:
        """Count no use until the job is resumed; it still counts in its limits."""
        self.shares.usage.stop(ask.key, now)

    def resumed(self, ask: Ask, now: float, cpus: int | None = None) -> None:
        """Count the job's use again, with other CPUs if they are given."""
        if ask.key in self._rates:
            if cpus is not None:
                self._rates[ask.key] = self._rate(ask, cpus)
            self.shares.usage.start(ask.key, self._associations[ask.key], self._rates[ask.key], now)

    def ended(self, ask: Ask, now: float) -> None:
        """Count no use of the job any more."""
        self.shares.usage.stop(ask.key, now)
        self._limits.ended(ask.key)
        self._rates.pop(ask.key, None)
        del self._associations[ask.key]

    def withdrawn(self, ask: Ask, now: float) -> None:
        if self._basic is not None:
            self._basic.withdrawn(ask, now)
        self._leave(ask)
        del self._associations[ask.key]

    # ------------------------------------------------------------------ periods

    def advance(self, now: float) -> bool:
        """Bring usage, shares and priorities up to the last period that is over; return whether there was one."""
        before = self._periods
        while self.next_change(now) <= now:
            time = self.next_change(now)
            self._periods += 1
            waiting = {job: self._associations[job] for job in self._slots} if self.shares.is_classic else {}
            self.shares.end_period(time, waiting)
            self._work_out(self._rows, time)
        return self._periods > before

    def next_change(self, now: float) -> float:
        """Return the end of the period, s."""
        return self._start + (self._periods + 1) * self.factors.period_s

    def _work_out(self, rows: npt.NDArray[np.void], now: float) -> None:
        """Work out the parts of the priorities of waiting jobs, and their sum before that of the partition."""
        factors = self.factors
        rows["age"] = factors.ages(math.floor(now) - rows["since"])
        rows["fairshare"] = factors.fairshare * self.shares.factor[rows["association"]]
        rows["jobsize"] = factors.sizes(rows["nodes"], rows["cpus"], rows["limit_s"], self._all_nodes, self._all_cpus)
        rows["sum"] = rows["age"] + rows["fairshare"] + rows["jobsize"]

    # ------------------------------------------------------------------ priorities and limits

    def priority(self, ask: Ask, partition: str) -> int:
        """Return the job's priority in one of its partitions, at least 1; 0: held."""
        if ask.held:
            return 0
        if ask.key in self._direct:
            return self._direct[ask.key]
        if self._basic is not None:
            return self._basic.priority(ask, partition)
        rows, slot = self._rows, self._slots[ask.key]  # added in Slurm's order: sums of floats are cut, not rounded
        total = rows["sum"].item(slot) + self._of_partition.get(partition, 0.0)
        return max(1, int(total + rows["qos"].item(slot) - rows["nice"].item(slot)))

    def priorities(self, keys: Sequence[int]) -> npt.NDArray[np.float64]:
        """Return the priorities of many jobs, by their keys, each in the first of its partitions; 0 for jobs that do not wait."""
        slots = np.array([self._slots.get(key, -1) for key in keys], np.int64)
        if self._basic is not None:
            return np.array([self._basic.given(key) if key in self._slots else 0 for key in keys], np.float64)
        rows = self._rows[slots]
        priorities: npt.NDArray[np.float64] = np.trunc(rows["sum"] + rows["partition"] + rows["qos"] - rows["nice"])
        return np.where(slots < 0, 0.0, np.maximum(priorities, 1.0))

    def parts(self, ask: Ask, partition: str) -> Mapping[str, float]:
        """Return the weighted parts of its priority, by the names of ``sprio``; nice is subtracted. Basic: none."""
        if self._basic is not None:
            return {}
        row = self._rows[self._slots[ask.key]]
        parts = {name: float(row[name]) for name in ("age", "fairshare", "jobsize")}
        return {
            **parts,
            "partition": self._of_partition.get(partition, 0.0),
            "qos": float(row["qos"]),
            "nice": float(row["nice"]),
        }

    def tell(self, ask: Ask, partition: str) -> str:
        """Say what a waiting job's priority is made of, for people."""
        parts = self.parts(ask, partition)
        told = [f"{name} {value:.0f}" for name, value in parts.items() if value and name != "nice"]
        if parts.get("nice"):
            told.append(f"less nice {parts['nice']:.0f}")
        return f"priority {self.priority(ask, partition)} ({', '.join(told)})" if told else ""

    def refusal(self, ask: Ask, now: float) -> str:
        """Return Slurm's word for the limit that keeps the job waiting before a choice of nodes; empty: none does."""
        return self._limits.refusal(self._demand(ask)) if self.limits_resources else ""

    def refusal_on(self, ask: Ask, nodes: tuple[int, ...], cpus: int, now: float) -> str:
        """Return Slurm's word for the limit that would be exceeded if the job got these nodes and CPUs; empty: none."""
        return self._limits.refusal_on(self._demand(ask), nodes, cpus) if self.limits_resources else ""

    def qos_priority(self, ask: Ask) -> int:
        """Return the priority of its quality of service; 0 for one that nobody knows."""
        quality = self.quality(ask)
        return 0 if quality is None else quality.priority

    def quality(self, ask: Ask) -> QualityOfService | None:
        """Return the job's quality of service; None for one that nobody knows."""
        return self.shares.accounts.qos_by_name.get(self.qos(ask))

    def qos(self, ask: Ask) -> str:
        """Return the job's quality of service: what it says, else its association's default, else ``normal``."""
        return self.shares.accounts.qos_of(ask.qos, self._associations.get(ask.key, -1))

    # ------------------------------------------------------------------ rows

    def _limit(self, ask: Ask) -> float:
        """Return the job's time limit in the first of its partitions, s."""
        return ask.limit_in(self._queues.get(self._partition_of(ask)))

    def _note_request(self, ask: Ask, now: float) -> None:
        slot = self._slots[ask.key]
        row = self._rows[slot]
        row["nodes"], row["cpus"], row["nice"] = ask.least_nodes, ask.cpus, ask.nice
        row["limit_s"] = self._limit(ask)
        self.shares.look_at(int(row["association"]))
        top = max((quality.priority for quality in self.shares.accounts.qos), default=0)
        row["qos"] = self.factors.of_largest(self.factors.qos, self.qos_priority(ask), top, "qos")
        row["partition"] = self._of_partition.get(ask.partitions[0], 0.0)
        self._work_out(self._rows[slot : slot + 1], now)

    def _leave(self, ask: Ask) -> None:
        self._free.append(self._slots.pop(ask.key))

    def _demand(self, ask: Ask) -> Demand:
        row = self._rows[self._slots[ask.key]]
        cpus, position = int(row["cpus"]), int(row["association"])
        account = self.shares.accounts.associations[position].account if position >= 0 else ask.account
        memory = ask.memory_per_node * ask.least_nodes or ask.memory_per_cpu * cpus
        return Demand(position, self.qos(ask), ask.user, account, cpus, ask.least_nodes, memory, self._limit(ask))

    # ------------------------------------------------------------------ associations

    def _association(self, ask: Ask) -> int:
        """Return the position of the job's association; -1: none."""
        if self._given is None:
            # The association of a user in an account, where nobody has said which there are: made when first seen.
            account = ask.account.lower() or "none"
            user = ask.user.lower() or "none"
            for key, one in (
                ((account, ""), Association(account, parent="root")),
                ((account, user), Association(account, user)),
            ):
                if key not in self._own:
                    self._own[key] = self.shares.add(one)
            return self._own[account, user]
        position = self.shares.accounts.find(ask.user, ask.account, self._partition_of(ask))
        if position < 0 and not self._stranger_told:
            self._stranger_told = True
            who = f"user '{ask.user}'" + f" with account '{ask.account}'" * bool(ask.account)
            warn_user(ModelWarning(f"{who} has no association: fair share 0, and no limits"))
        return position

    def _partition_of(self, ask: Ask) -> str:
        partition = self._slurm.partition(ask.partitions[0])
        return "" if partition is None else partition.name
