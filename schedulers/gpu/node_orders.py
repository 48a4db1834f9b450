"""Orders of nodes for jobs that share GPUs, as in the experiments of Weng et al. (USENIX ATC 2023).

Each gives a node a whole score from 0 to 100, the highest first, by what is left of its cores and GPUs, measured by the
widest node of the platform and by the node with most GPUs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.machine.units.fragmentation import OnOneNode, TypicalJobs, asked_on_one_node
from cluster_sim.machine.units.node_ranks import NodeRanks
from cluster_sim.workload.resource_request import GPU, GPU_COLUMNS, WHOLE

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.running import Running
    from cluster_sim.run.view import View
    from cluster_sim.workload.jobs import Job
    from cluster_sim.workload.workload import Workload

    Floats = npt.NDArray[np.float64]

MILLI = WHOLE // 1000


def on_one_node(job: Job) -> OnOneNode:
    """Return what a job asks for on one node."""
    names = ("nodes", *GPU_COLUMNS, "gpu_share", "gpu_type")
    row = {name: np.array([getattr(job, name)]) for name in names}
    return asked_on_one_node(row | {"requested_cores": np.array([job.requested_cores])})[0]


def _free(view: View) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the free cores of each node, and how much of each of its GPUs is left, thousandths of one."""
    left = np.rint(view.machine.unit_shares(GPU) * 1000.0).astype(np.int64)
    return view.free_cores.astype(np.int64), left


class BestFit:
    """Least cores and GPUs left: 1 − cores left / widest node / 2 − GPUs left / most GPUs / 2, in whole hundredths."""

    spec = "best-fit"

    def __call__(self, view: View, job: Job) -> Floats:
        """Return the ranks of the nodes."""
        asked, (cores, left) = on_one_node(job), _free(view)
        most = max(1000 * left.shape[1], 1)
        cores_left, gpus_left = cores - asked.cores, left.sum(axis=1) - asked.gpus * (asked.share // MILLI)
        scores = 100.0 * (1.0 - cores_left / view.platform.widest_node * 0.5 - gpus_left / most * 0.5)
        ranks: Floats = -np.trunc(scores)
        return ranks


class DotProduct:
    """Least product of what is free and what the job asks for, of cores and GPUs (Grandl et al. 2014, turned round)."""

    spec = "dot-product"

    def __call__(self, view: View, job: Job) -> Floats:
        """Return the ranks of the nodes."""
        asked, (cores, left) = on_one_node(job), _free(view)
        widest, most = view.platform.widest_node, max(1000 * left.shape[1], 1)
        gpus = asked.gpus * (asked.share // MILLI)
        product = cores / widest * asked.cores / widest + left.sum(axis=1) / most * gpus / most
        ranks: Floats = -np.trunc(100.0 * (1.0 - product / 2.0))
        return ranks


class Packing:
    """GPUs in use before idle ones, idle ones of nodes in use before those of idle nodes (Xiao et al. 2018)."""

    spec = "packing"

    def __call__(self, view: View, job: Job) -> Floats:
        """Return the ranks of the nodes."""
        asked, (_, left) = on_one_node(job), _free(view)
        if not asked.gpus or not left.shape[1]:
            return np.zeros(len(left))
        share, count = asked.share // MILLI, np.minimum(asked.gpus, left.shape[1])
        there = np.arange(left.shape[1]) < view.platform.units_of(GPU)[:, np.newaxis]
        idle = ((left == 1000) & there).sum(axis=1)
        fitting = np.sort(np.where(left >= share, left, 10**6), axis=1)[:, :count]
        taken_idle = (fitting == 1000).sum(axis=1)
        remaining = (fitting // 10).sum(axis=1) // 10
        in_use = np.where(taken_idle > 0, np.maximum(50 - taken_idle, 33), np.maximum(100 - remaining, 50))
        is_idle = idle == view.platform.units_of(GPU)
        ranks: Floats = -np.where(is_idle, np.maximum(33 - idle, idle), in_use).astype(np.float64)
        return ranks


class Clustering:
    """Nodes with jobs of the same kind first: that share a GPU, or have as many (Xiao et al. 2020).

    Among these, nodes with less left.
    """

    spec = "clustering"

    def __init__(self) -> None:
        self._view: View | None = None

    def __call__(self, view: View, job: Job) -> Floats:
        """Return the ranks of the nodes."""
        self._follow(view)
        asked, (_, left) = on_one_node(job), _free(view)
        if not asked.gpus:
            return np.zeros(len(left))
        most = max(1000 * left.shape[1], 1)
        begun = 25 * (most - left.sum(axis=1)) // most
        mine = self._hosted.get(_kind(asked), np.zeros(len(left), np.int64)) > 0
        others = (self._all - self._hosted.get(_kind(asked), 0)) > 0
        base = np.where(mine & ~others, 75, np.where(mine, 50, np.where(others, 0, 25)))
        ranks: Floats = -(base + begun).astype(np.float64)
        return ranks

    def _follow(self, view: View) -> None:
        """Count the running jobs of each kind on each node."""
        if view is not self._view:
            self._view = view
            self._known: dict[int, Running] = {}
            self._all = np.zeros(view.platform.node_count, np.int64)
            self._hosted: dict[int, npt.NDArray[np.int64]] = {}
        changed = view.running_by_index.items() ^ self._known.items()
        for index, running in changed:
            asked = on_one_node(running.job)
            if asked.gpus:
                come = view.running_by_index.get(index) is running
                of_kind = self._hosted.setdefault(_kind(asked), np.zeros(len(self._all), np.int64))
                for node in running.placement.nodes:
                    of_kind[node] += 1 if come else -1
                    self._all[node] += 1 if come else -1
        if changed:
            self._known = dict(view.running_by_index)


def _kind(asked: OnOneNode) -> int:
    """Return 0 for a job that shares a GPU, else how many it has."""
    return 0 if asked.gpus == 1 and asked.share < WHOLE else asked.gpus


class FragmentationGradientDescent:
    """Least growth of fragmentation (FGD of Weng et al. 2023): what typical jobs could no longer use of the free GPUs.

    A job that shares a GPU takes the one of the node with which it grows least. Typical are the most frequent requests of a
    workload, see :mod:`cluster_sim.machine.units.fragmentation`.
    """

    spec = "fgd"
    typical_of: Workload | None = None  #: Whose most frequent requests are typical; None: those of the run.

    def __init__(self) -> None:
        self._view: View | None = None

    def __call__(self, view: View, job: Job) -> NodeRanks:
        """Return the ranks of the nodes, with the GPU of each that the job should share."""
        if view is not self._view:
            self._begin(view, job)
        self._follow(view)
        asked = on_one_node(job)
        known = self._scores.get(asked)
        if known is None:
            nodes = len(self._changed)
            known = self._scores[asked] = np.zeros(nodes), np.full(nodes, -1), np.full(nodes, -1)
        scores, gpus, seen = known
        # Where it does not fit, the score does not matter.
        fits = (self._cores >= asked.cores) & ((self._left >= asked.share).sum(axis=1) >= asked.gpus)
        stale = np.flatnonzero((seen < self._changed) & fits)
        if len(stale):
            scores[stale], gpus[stale] = self._scored(asked, stale)
            seen[stale] = self._now
        return NodeRanks.of(-scores, gpus)

    def _begin(self, view: View, job: Job) -> None:
        columns = job.all_requests if self.typical_of is None else self.typical_of.columns
        platform = view.platform
        self._view, self._typical = view, TypicalJobs(columns)
        self._accepted = self._typical.accepted_on(platform)
        self._cores = np.full(platform.node_count, -1, np.int64)
        self._left = np.zeros((platform.node_count, max(int(platform.units_of(GPU).max(initial=0)), 1)), np.int64)
        self._before = np.zeros(platform.node_count)  # the fragmentation of each node now
        self._now = 0  # counts the changes
        self._changed = np.zeros(platform.node_count, np.int64)  # at which change each node was last another
        self._scores: dict[OnOneNode, tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int64]]] = {}

    def _follow(self, view: View) -> None:
        """Find the nodes on which other cores or GPUs are free than when this was last asked."""
        cores = view.free_cores
        left = np.zeros_like(self._left)
        shares = view.machine.unit_shares(GPU)  # of a machine without GPUs it has no columns
        left[:, : shares.shape[1]] = np.rint(shares * WHOLE)
        fresh = np.flatnonzero((cores != self._cores) | (left != self._left).any(axis=1))
        if len(fresh):
            self._now += 1
            self._changed[fresh] = self._now
            self._cores[fresh], self._left[fresh] = cores[fresh], left[fresh]
            self._before[fresh] = self._typical.fragmentation(cores[fresh], left[fresh], self._accepted[fresh])

    def _scored(self, asked: OnOneNode, nodes: npt.NDArray[np.int64]) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return the scores of nodes on which a job would run, and the GPU that it would share there, -1: by the law."""
        cores, left, accepted = self._cores[nodes] - asked.cores, self._left[nodes], self._accepted[nodes]
        if not (asked.gpus == 1 and asked.share < WHOLE):
            idle = left == WHOLE
            first = idle & (idle.cumsum(axis=1) <= asked.gpus)
            after = self._typical.fragmentation(cores, np.where(first, 0, left), accepted)
            return self._whole(self._before[nodes], after), np.full(len(nodes), -1)
        # Of GPUs of a node with as much left, the first stands for all.
        alike = np.tril(left[:, :, np.newaxis] == left[:, np.newaxis, :], -1).any(axis=2)
        row, gpu = np.nonzero((left >= asked.share) & ~alike)
        scores, chosen = np.full(len(nodes), -1.0), np.full(len(nodes), -1)
        if len(row):
            then = left[row]
            then[np.arange(len(row)), gpu] -= asked.share
            after = self._typical.fragmentation(cores[row], then, accepted[row])
            of_gpus = np.full(left.shape, -1.0)
            of_gpus[row, gpu] = self._whole(self._before[nodes][row], after)
            chosen = of_gpus.argmax(axis=1)
            scores = of_gpus.max(axis=1)
        return scores, chosen

    @staticmethod
    def _whole(before: Floats, after: Floats) -> Floats:
        """Return the score of each node: 100 / (1 + exp(growth / GPU)), cut to a whole number."""
        return np.array(
            [int(100.0 / (1.0 + math.exp(-each / 1000.0))) for each in (before - after).tolist()], np.float64
        )
