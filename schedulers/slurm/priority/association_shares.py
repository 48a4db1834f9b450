"""Usage and fair share of every association of a cluster, from period to period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cluster_sim.platform.accounts import Accounts, Association
from schedulers.slurm.priority.factors import Factors
from schedulers.slurm.priority.fair_share import FairShare, ShareTree, classic, fair_tree, norm_usage
from schedulers.slurm.priority.usage import Usage, decay_per_second


class AssociationShares:
    """Usage of associations, and the fair share that Slurm gives them at the end of every PriorityCalcPeriod.

    ``now`` (s) is when the first period begins. Jobs add to :attr:`usage`; positions are those in :attr:`accounts`.

    The classic formula takes the usage of accounts from before a period's was added, and that of a user from when Slurm
    first looks at it: on its way through the jobs, at the user's first one that waits, else when one is submitted. The
    recorded run fair-classic shows all three.
    """

    def __init__(self, accounts: Accounts, factors: Factors, now: float):
        self.accounts = accounts
        self._factors = factors
        self.is_classic = "no_fair_tree" in factors.flags  #: Whether by the classic formula, not Fair Tree.
        self._parents = list(accounts.parents)
        self.usage = Usage(self._parents, decay_per_second(factors.half_life_s))
        self.usage.begin(now)
        self._unseen: set[int] = set()
        self._take(norm_usage(self.usage.totals()))

    def _take(self, norm: list[float]) -> None:
        """Base the fair shares on this usage from now on, over that of the root."""
        self._norm = norm
        self._shares: FairShare | None = None
        self._factor: npt.NDArray[np.float64] | None = None

    def add(self, association: Association) -> int:
        """Add an association below one that exists; return its position."""
        self.accounts = replace(self.accounts, associations=(*self.accounts.associations, association))
        self._parents.append(self.accounts.parents[-1])
        self.usage.extend()
        self._take([*self._norm, 0.0])
        return len(self._parents) - 1

    def end_period(self, now: float, waiting: Mapping[int, int]) -> None:
        """End a period now (s); the classic formula asks for ``waiting`` jobs with positions of associations."""
        if not self.is_classic:
            self.usage.end_period(now)
            self._take(norm_usage(self.usage.totals()))
            return
        accounts = norm_usage(self.usage.totals())
        first: dict[int, int] = {}
        for job in sorted(waiting):
            first.setdefault(waiting[job], job)
        seen = self.usage.end_period(now, {job: position for position, job in first.items() if position >= 0})
        self._unseen = {i for i, a in enumerate(self.accounts.associations) if a.user and i not in seen}
        self._take([seen.get(i, used) for i, used in enumerate(accounts)])

    def look_at(self, *positions: int) -> None:
        """Look at the fair share of these associations as Slurm does; the first look after a period counts."""
        unseen = self._unseen.intersection(positions)
        if unseen:
            self._unseen -= unseen
            now = norm_usage(self.usage.totals())
            self._take([now[i] if i in unseen else used for i, used in enumerate(self._norm)])

    def sshare(self) -> FairShare:
        """Return what ``sshare`` tells of all associations."""
        self.look_at(*self._unseen)
        return self._fair_share()

    def _fair_share(self) -> FairShare:
        if self._shares is None:
            those = self.accounts.associations
            tree = ShareTree(self._parents, [a.shares for a in those], [bool(a.user) for a in those])
            if self.is_classic:
                self._shares = classic(tree, self._norm, self._factors.dampening)
            else:
                self._shares = fair_tree(tree, self._norm)
        return self._shares

    @property
    def factor(self) -> npt.NDArray[np.float64]:
        """Return each association's fair-share factor, and last a 0 for jobs without one; all 0 if it has no weight."""
        if self._factor is None:
            if self._factors.fairshare:
                self._factor = np.append(np.nan_to_num(self._fair_share().factor), 0.0)
            else:
                self._factor = np.zeros(len(self._parents) + 1)
        return self._factor
