"""Limits of associations and qualities of service: who may have how many jobs and resources at once (Slurm 22.05).

Every job counts in several *scopes*: its association, every account above that, its quality of service, and in this the
job's user and account. A limit that the quality of service sets is not asked of the associations again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cluster_sim.platform.accounts import Accounts, Tres

NO_TRES: Tres = {}
_WORDS = {"cpu": "Cpu", "node": "Node", "mem": "Mem"}
_WORDS_OF_A_JOB = {"cpu": "CpuPerJobLimit", "node": "NodePerJobLimit", "mem": "MemPerJob"}

Scope = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a job needs of what is limited. CPUs and nodes as far as they are known before nodes are chosen."""

    association: int  #: Position in the accounts; -1: none, and no limits but those of the quality of service.
    qos: str
    user: str
    account: str
    cpus: int
    nodes: int
    memory: float  #: MB.
    limit_s: float

    @property
    def tres(self) -> dict[str, float]:
        """The same by name of the resource."""
        return {"cpu": self.cpus, "node": self.nodes, "mem": self.memory}


@dataclass(frozen=True, slots=True)
class Limit:
    """How much the jobs of a scope may have together: jobs, resources, and Slurm's words for a job that waits for it."""

    scope: Scope
    jobs: float
    tres: Tres
    jobs_reason: str
    tres_reason: str  #: With the resource's name in place of ``*``.


@dataclass(slots=True)
class _Used:
    jobs: int = 0
    cpus: float = 0.0
    memory: float = 0.0
    nodes: Counter[int] = field(default_factory=Counter)  # jobs on each: a node that two jobs share counts once


class Limits:
    """What each scope's running jobs hold, and which limit keeps another from starting."""

    def __init__(self, accounts: Accounts):
        self._accounts = accounts
        self._used: dict[Scope, _Used] = {}
        self._held: dict[int, tuple[tuple[Scope, ...], float, float, tuple[int, ...]]] = {}

    def started(self, job: int, demand: Demand, nodes: tuple[int, ...], cpus: int) -> None:
        """A job has these nodes (positions) and CPUs."""
        scopes = tuple({limit.scope: None for limit in self.limits(demand)})
        self._held[job] = scopes, float(cpus), demand.memory, nodes
        for scope in scopes:
            used = self._used.setdefault(scope, _Used())
            used.jobs += 1
            used.cpus += cpus
            used.memory += demand.memory
            used.nodes.update(nodes)

    def ended(self, job: int) -> None:
        """The job gives back what it had; one that had nothing is left alone."""
        scopes, cpus, memory, nodes = self._held.pop(job, ((), 0.0, 0.0, ()))
        for scope in scopes:
            used = self._used[scope]
            used.jobs -= 1
            used.cpus -= cpus
            used.memory -= memory
            for node in nodes:
                used.nodes[node] -= 1
                if not used.nodes[node]:
                    del used.nodes[node]
            if not used.jobs:
                del self._used[scope]

    def refusal(self, demand: Demand) -> str:
        """Slurm's word for the first limit that the job exceeds before nodes are chosen for it; empty: none.

        It may be too large for a limit alone, or too many jobs may be running. The rest is :meth:`refusal_on`.
        """
        too_large = self._too_large(demand)
        if too_large:
            return too_large
        for limit in self.limits(demand):
            if limit.jobs < math.inf and self._used.get(limit.scope, _Used()).jobs >= limit.jobs:
                return limit.jobs_reason
            for name, most in limit.tres.items():
                if demand.tres[name] > most:
                    return limit.tres_reason.replace("*", _WORDS[name])
        return ""

    def refusal_on(self, demand: Demand, nodes: tuple[int, ...], cpus: int) -> str:
        """Slurm's word for the first limit that the job would exceed with others, if it got these nodes and CPUs; empty: none."""
        for limit in self.limits(demand):
            if limit.tres:
                used = self._used.get(limit.scope, _Used())
                total = {
                    "cpu": used.cpus + cpus,
                    "node": len(used.nodes.keys() | set(nodes)),
                    "mem": used.memory + demand.memory,
                }
                for name, most in limit.tres.items():
                    if total[name] > most:
                        return limit.tres_reason.replace("*", _WORDS[name])
        return ""

    def _too_large(self, demand: Demand) -> str:
        """Whether the job asks for more than any one may."""
        quality = self._accounts.qos_by_name.get(demand.qos)
        position = demand.association
        own = self._accounts.associations[position] if position >= 0 else None
        for name, asked in demand.tres.items():
            if quality is not None and name in quality.max_tres:
                if asked > quality.max_tres[name]:
                    return f"QOSMax{_WORDS_OF_A_JOB[name]}"
            elif own is not None and asked > self._inherited_tres(position).get(name, math.inf):
                return f"AssocMax{_WORDS_OF_A_JOB[name]}"
        if quality is not None and quality.max_wall_s < math.inf:
            return "QOSMaxWallDurationPerJobLimit" if demand.limit_s > quality.max_wall_s else ""
        return "AssocMaxWallDurationPerJobLimit" if demand.limit_s > self._inherited_wall(position) else ""

    def limits(self, demand: Demand) -> Iterator[Limit]:
        """All limits that hold for a job with others, in the order in which Slurm asks: the quality of service's first."""
        quality = self._accounts.qos_by_name.get(demand.qos)
        jobs_are_set = users_are_set = False
        set_by_qos: frozenset[str] = frozenset()
        if quality is not None:
            scope, user, account = ("qos", quality.name), demand.user, demand.account
            yield Limit(scope, quality.grp_jobs, quality.grp_tres, "QOSGrpJobsLimit", "QOSGrp*Limit")
            yield Limit(
                (*scope, "account", account),
                quality.max_jobs_per_account,
                quality.max_tres_per_account,
                "MaxJobsPerAccount",
                "Max*PerAccount",
            )
            yield Limit(
                (*scope, "user", user),
                quality.max_jobs_per_user,
                quality.max_tres_per_user,
                "QOSMaxJobsPerUserLimit",
                "QOSMax*PerUserLimit",
            )
            jobs_are_set = quality.grp_jobs < math.inf
            users_are_set = min(quality.max_jobs_per_user, quality.max_jobs_per_account) < math.inf
            set_by_qos = frozenset(quality.grp_tres)
        yield from self._of_associations(demand.association, jobs_are_set, users_are_set, set_by_qos)

    def _of_associations(
        self, position: int, jobs_are_set: bool, users_are_set: bool, set_by_qos: frozenset[str]
    ) -> Iterator[Limit]:
        user = position
        while position >= 0:
            here = self._accounts.associations[position]
            tres = {name: most for name, most in here.grp_tres.items() if name not in set_by_qos}
            jobs = math.inf if jobs_are_set else here.grp_jobs
            yield Limit(("association", position), jobs, tres, "AssocGrpJobsLimit", "AssocGrp*Limit")
            if position == user:
                most = math.inf if users_are_set else self._inherited_jobs(user)
                yield Limit(("association", position), most, NO_TRES, "AssocMaxJobsLimit", "")
            position = self._accounts.parents[position]

    def _upwards(self, position: int) -> Iterator[int]:
        while position >= 0:
            yield position
            position = self._accounts.parents[position]

    def _inherited_jobs(self, position: int) -> float:
        """``MaxJobs`` of an association: its own, or that of the first account above that has one."""
        found = (self._accounts.associations[i].max_jobs for i in self._upwards(position))
        return next((most for most in found if most < math.inf), math.inf)

    def _inherited_wall(self, position: int) -> float:
        found = (self._accounts.associations[i].max_wall_s for i in self._upwards(position))
        return next((most for most in found if most < math.inf), math.inf)

    def _inherited_tres(self, position: int) -> Mapping[str, float]:
        """``MaxTRES`` of an association: for each resource its own, or that of the first account above that has one."""
        found: dict[str, float] = {}
        for i in self._upwards(position):
            found = {**self._accounts.associations[i].max_tres, **found}
        return found
