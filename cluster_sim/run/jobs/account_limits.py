"""Limits of associations and qualities of service: who may have how many jobs and resources at once (Slurm 22.05).

Every job counts in several *scopes*: its association, every account above that, its quality of service, and in this the
job's user and account. A limit that the quality of service sets is not asked of the associations again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from cluster_sim.platform.accounts import Accounts, QualityOfService, Tres

NO_TRES: Tres = {}
NO_QUALITY = QualityOfService("")
_WORDS = {"cpu": "Cpu", "node": "Node", "mem": "Mem"}
_WORDS_OF_A_JOB = {"cpu": "CpuPerJobLimit", "node": "NodePerJobLimit", "mem": "MemPerJob"}

Scope = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """The needs of a job that are limited; CPUs and nodes as far as they are known before nodes are chosen."""

    association: int  #: Position in the accounts; -1: none, and no limits but those of the quality of service.
    qos: str
    user: str
    account: str
    cpus: int
    nodes: int
    memory: float  #: MB.
    limit_s: float

    @property
    def whose(self) -> tuple[int, str, str, str]:
        """Return what decides which limits hold for it: association, quality of service, user, account."""
        return self.association, self.qos, self.user, self.account

    @property
    def tres(self) -> dict[str, float]:
        """Return the limits by name of the resource."""
        return {"cpu": self.cpus, "node": self.nodes, "mem": self.memory}


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on the jobs of a scope together: jobs, resources, and Slurm's words for a job that waits for it."""

    scope: Scope
    jobs: float
    tres: Tres
    jobs_reason: str
    tres_reason: str  #: With the resource's name in place of ``*``.


@dataclass(frozen=True, slots=True)
class _Rules:
    """The limits for the jobs of one user with one quality of service; ``largest``: of each job, with Slurm's words."""

    largest: tuple[tuple[str, float, str], ...]
    longest_s: float
    too_long: str
    scopes: tuple[Scope, ...]  # all in which such a job counts: others may have limits there
    together: tuple[Limit, ...]  # in the order in which Slurm asks: the quality of service's first


@dataclass(slots=True)
class _Used:
    jobs: int = 0
    cpus: float = 0.0
    memory: float = 0.0
    nodes: Counter[int] = field(default_factory=Counter)  # jobs on each: a node that two jobs share counts once


_NOTHING = _Used()


class Limits:
    """The holdings of each scope's running jobs, and the limits that keep others from starting."""

    def __init__(self, accounts: Accounts):
        self._accounts = accounts
        self._used: dict[Scope, _Used] = {}
        self._held: dict[int, tuple[tuple[Scope, ...], float, float, tuple[int, ...]]] = {}
        self._rules: dict[tuple[int, str, str, str], _Rules] = {}

    def started(self, job: int, demand: Demand, nodes: tuple[int, ...], cpus: int) -> None:
        """Count in a job that has these nodes (positions) and CPUs."""
        scopes = self._rules_for(demand).scopes
        self._held[job] = scopes, float(cpus), demand.memory, nodes
        for scope in scopes:
            used = self._used.setdefault(scope, _Used())
            used.jobs += 1
            used.cpus += cpus
            used.memory += demand.memory
            used.nodes.update(nodes)

    def ended(self, job: int) -> None:
        """Count out what a job had; leave alone one that had nothing."""
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
        """Return Slurm's word for the first limit that the job exceeds before nodes are chosen for it; empty: none.

        It may be too large for a limit alone, or too many jobs may be running. The rest is :meth:`refusal_on`.
        """
        together = self._rules_for(demand).together
        full = (each.jobs_reason for each in together if self._used.get(each.scope, _NOTHING).jobs >= each.jobs)
        return next(full, "") or self.too_large(demand)

    def too_large(self, demand: Demand) -> str:
        """Return Slurm's word for the first limit that the job exceeds alone, whatever runs; empty: none."""
        rules = self._rules_for(demand)
        for name, most, reason in rules.largest:
            if demand.tres[name] > most:
                return reason
        if rules.longest_s < demand.limit_s < math.inf:
            return rules.too_long
        for limit in rules.together:
            for name, most in limit.tres.items():
                if demand.tres[name] > most:
                    return limit.tres_reason.replace("*", _WORDS[name])
            if limit.jobs < 1:
                return limit.jobs_reason
        return ""

    def refusal_on(self, demand: Demand, nodes: tuple[int, ...], cpus: int) -> str:
        """Return Slurm's word for the first limit that the job would exceed on these nodes and CPUs; empty: none."""
        for limit in self._rules_for(demand).together:
            if limit.tres:
                used = self._used.get(limit.scope, _NOTHING)
                total = {
                    "cpu": used.cpus + cpus,
                    "node": len(used.nodes.keys() | set(nodes)),
                    "mem": used.memory + demand.memory,
                }
                for name, most in limit.tres.items():
                    if total[name] > most:
                        return limit.tres_reason.replace("*", _WORDS[name])
        return ""

    def _rules_for(self, demand: Demand) -> _Rules:
        """Return the limits that are set, from the quality of service and from the association up to the root."""
        if demand.whose in self._rules:
            return self._rules[demand.whose]
        association, qos, user, account = demand.whose
        those = self._accounts.associations
        above = [those[position] for position in self._upwards(association)]
        quality = self._accounts.qos_by_name.get(qos, NO_QUALITY)
        largest = {name: (most, f"QOSMax{_WORDS_OF_A_JOB[name]}") for name, most in quality.max_tres.items()}
        for one in above:  # the nearest account that sets a limit counts
            for name, most in one.max_tres.items():
                largest.setdefault(name, (most, f"AssocMax{_WORDS_OF_A_JOB[name]}"))
        longest, too_long = quality.max_wall_s, "QOSMaxWallDurationPerJobLimit"
        if longest == math.inf:
            longest, too_long = _nearest([one.max_wall_s for one in above]), "AssocMaxWallDurationPerJobLimit"
        scope = ("qos", quality.name)
        of_account = quality.max_jobs_per_account, quality.max_tres_per_account, "MaxJobsPerAccount", "Max*PerAccount"
        of_user = quality.max_jobs_per_user, quality.max_tres_per_user, "QOSMaxJobsPerUserLimit", "QOSMax*PerUserLimit"
        together = [
            Limit(scope, quality.grp_jobs, quality.grp_tres, "QOSGrpJobsLimit", "QOSGrp*Limit"),
            Limit((*scope, "account", account), *of_account),
            Limit((*scope, "user", user), *of_user),
            *self._of_associations(association, quality),
        ]
        rules = self._rules[demand.whose] = _Rules(
            tuple((name, most, reason) for name, (most, reason) in largest.items()),
            longest,
            too_long,
            tuple({limit.scope: None for limit in together}),
            tuple(limit for limit in together if limit.jobs < math.inf or limit.tres),
        )
        return rules

    def _of_associations(self, association: int, quality: QualityOfService) -> Iterator[Limit]:
        for position in self._upwards(association):
            here, scope = self._accounts.associations[position], ("association", position)
            tres = {name: most for name, most in here.grp_tres.items() if name not in quality.grp_tres}
            jobs = here.grp_jobs if quality.grp_jobs == math.inf else math.inf
            yield Limit(scope, jobs, tres, "AssocGrpJobsLimit", "AssocGrp*Limit")
            if position == association and min(quality.max_jobs_per_user, quality.max_jobs_per_account) == math.inf:
                most = _nearest([self._accounts.associations[i].max_jobs for i in self._upwards(position)])
                yield Limit(scope, most, NO_TRES, "AssocMaxJobsLimit", "")

    def _upwards(self, position: int) -> Iterator[int]:
        while position >= 0:
            yield position
            position = self._accounts.parents[position]


def _nearest(limits: list[float]) -> float:
    """Return the first limit that is set."""
    return next((most for most in limits if most < math.inf), math.inf)
