"""Accounts of a Slurm cluster: who is charged, with which shares, qualities of service and limits.

What ``sacctmgr`` keeps in its database, as plain data; :func:`cluster_sim.formats.slurm.sacctmgr.read_accounts` reads its output.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from cluster_sim.read_only import ReadOnlyDict

Tres = Mapping[str, float]
"""Amounts of resources by name: ``cpu``, ``node``, ``mem`` in MB. A resource without an amount is not limited."""


@dataclass(frozen=True, slots=True)
class Association:
    """An account, or a user in one.

    ``max_…`` limit the jobs of each user, and hold for all users below an account; ``grp_…`` limit all below it together.
    """

    account: str
    user: str = ""  #: Empty: this is the account itself.
    parent: str = ""  #: Of an account: the account above it. Empty only for the root.
    partition: str = ""  #: Of a user: the one partition that it holds for; empty: all others.
    shares: int | None = 1  #: None: ``Fairshare=parent``.
    default_qos: str = ""
    grp_jobs: float = math.inf
    grp_tres: Tres = field(default_factory=dict, hash=False)
    max_jobs: float = math.inf
    max_tres: Tres = field(default_factory=dict, hash=False)  #: Of each job.
    max_wall_s: float = math.inf  #: Of each job.

    def __post_init__(self) -> None:
        _close_limits(self)


@dataclass(frozen=True, slots=True)
class QualityOfService:
    """What a job asks for with ``--qos``: a priority, who may be preempted, and limits."""

    name: str
    priority: int = 0
    usage_factor: float = 1.0
    preempts: frozenset[str] = frozenset()  #: Names of qualities of service.
    preempt_mode: str = ""  #: In capitals; empty: that of the cluster.
    #: How long its jobs run before they may be preempted, s; None: as the cluster's.
    preempt_exempt_s: float | None = None
    grace_time_s: float = 0.0  #: How long its jobs go on when they are preempted.
    grp_jobs: float = math.inf
    grp_tres: Tres = field(default_factory=dict, hash=False)
    max_jobs_per_user: float = math.inf
    max_tres_per_user: Tres = field(default_factory=dict, hash=False)
    max_jobs_per_account: float = math.inf
    max_tres_per_account: Tres = field(default_factory=dict, hash=False)
    max_tres: Tres = field(default_factory=dict, hash=False)  #: Of each job.
    max_wall_s: float = math.inf  #: Of each job.

    def __post_init__(self) -> None:
        _close_limits(self)


def _close_limits(limits: Association | QualityOfService) -> None:
    """Have the limits by resource only be read: schedulers see them."""
    for each in fields(limits):
        if isinstance(amounts := getattr(limits, each.name), Mapping):
            object.__setattr__(limits, each.name, ReadOnlyDict(amounts))


ROOT = Association("root", shares=0)


@dataclass(frozen=True)
class Accounts:
    """Associations, every account before those below it, the root first; and qualities of service."""

    associations: tuple[Association, ...] = (ROOT,)
    qos: tuple[QualityOfService, ...] = (QualityOfService("normal"),)

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Return the position of the account above each association; -1 for the root."""
        of_account = {a.account: i for i, a in enumerate(self.associations) if not a.user}
        above = [of_account[a.account] if a.user else of_account.get(a.parent, -1) for a in self.associations]
        return tuple(above)

    def renamed(self, aliases: Mapping[str, Mapping[str, str]]) -> Accounts:
        """Return the accounts under the names of an anonymised log (:attr:`cluster_sim.workload.workload.Workload.aliases`).

        Who has no job there is numbered on; the root stays as it is unless it has a job. Accounts that have no user of the log
        under a name that it had are as they are: they are those of another cluster, or have been renamed already.
        """
        users = aliases.get("user", {})
        if not any(a.user in users for a in self.associations):
            return self
        user = _numbered_on("u", users, [a.user for a in self.associations])
        accounts = {"root": "root", **aliases.get("account", {})}
        account = _numbered_on("a", accounts, [a.account for a in self.associations])
        renamed = [
            replace(a, user=user.get(a.user, ""), account=account[a.account], parent=account.get(a.parent, ""))
            for a in self.associations
        ]
        return replace(self, associations=tuple(renamed))

    @cached_property
    def qos_by_name(self) -> ReadOnlyDict[QualityOfService]:
        """Return the qualities of service, by name."""
        return ReadOnlyDict((quality.name, quality) for quality in self.qos)

    def qos_of(self, asked: str, position: int) -> str:
        """Return what a job asks for, else the default of its association (-1: it has none), else ``normal``."""
        return asked.lower() or (self.associations[position].default_qos if position >= 0 else "") or "normal"

    @cached_property
    def _of_user(self) -> dict[tuple[str, str | None, str], int]:
        found: dict[tuple[str, str | None, str], int] = {}
        for position, a in enumerate(self.associations):
            if a.user:
                found.setdefault((a.user, a.account, a.partition), position)
                found.setdefault((a.user, None, a.partition), position)
        return found

    def find(self, user: str, account: str = "", partition: str = "") -> int:
        """Return the position of a user's association with the account, or of the user's first; -1: there is none."""
        where, found = account.lower() or None, self._of_user
        return found.get((user.lower(), where, partition), found.get((user.lower(), where, ""), -1))


def _numbered_on(letter: str, known: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """Return the new name of each name: the known one, or one with the next free number."""
    taken = set(known.values())
    free = (name for number in itertools.count(1) if (name := f"{letter}{number}") not in taken)
    return {name: known[name] if name in known else next(free) for name in dict.fromkeys(filter(None, names))}
