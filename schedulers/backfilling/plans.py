"""Plans: what is free now and how much of it was promised to jobs that wait.

A backfilling pass asks its plan where a job can start now without breaking a promise (``place``), tells it what it started
(``take``), and makes promises (``promise``). There are three of them, for what a pass needs to know:

- :class:`~schedulers.backfilling.easy.CountedPlan`: any free cores are as good as any others, and one promise at most: two
  numbers are all there is;
- :class:`~schedulers.backfilling.node_plan.NodePlan`: nodes differ, and one promise at most: the same with a number for
  each node;
- :class:`~schedulers.backfilling.profile_plan.ProfilePlan`: any number of promises, on an availability profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.machine.running import Running
from cluster_sim.run.decisions import Hold
from cluster_sim.run.view import View
from schedulers.backfilling.timeline import planned_end

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job
    from schedulers.backfilling.node_choice import NodeChoice

DELAYS = Reason(ReasonKind.DELAYS)
"""Reason for which a job waits though enough cores are free; ``behind`` is the promised job."""
NO_EARLIER = Reason(ReasonKind.NO_EARLIER)
"""Reason where no other job was promised a start: its nodes would have to boot first, for example."""


class Promise(NamedTuple):
    """Promise of cores to a job: the time, s, and perhaps which cores. If nodes have to boot, it starts later."""

    time: float
    placement: Placement | None = None
    delay: float = 0.0  #: How long its nodes boot first, s, as far as the plan counts that.

    @property
    def ready(self) -> float:
        """Return when its tasks are to begin, s."""
        return self.time + self.delay

    def end(self, job: Job) -> float:
        """Return until when it is planned to hold its cores, s."""
        return planned_end(job, self.time + self.delay)


NEVER = Promise(math.inf)
"""Promise of a job that has none."""


class Plan(Protocol):
    """Interface of a plan to a backfilling pass."""

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return which of these requests (cores, s) are worth asking ``place`` about, all at once; shape (jobs,)."""
        ...

    def place(self, job: Job) -> Placement | None:
        """Return where the job can start now without delaying a job that was promised a start."""
        ...

    def take(self, running: Running) -> None:
        """Note that the job that was placed has been started."""
        ...

    def promise(self, job: Job) -> Promise | None:
        """Promise the earliest start that can be had; None if the machine has not enough, nodes being down.

        It is inf when jobs that requested no time have to end first.
        """
        ...

    def refusal(self, job: Job) -> Hold:
        """Return why a job waits that would fit: whose promise it would break if it started now, as far as that is known."""
        ...


class PlanOnDemand:
    """A plan that is made when the first job is promised a start; until then whatever fits may start.

    For plans that take long to make, where most passes promise nothing.
    """

    def __init__(self, where: NodeChoice, make: Callable[[], Plan]):
        self._where = where
        self._make = make
        self._plan: Plan | None = None

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        return worth_trying(self._where.view, cores) if self._plan is None else self._plan.may_start(cores, times)

    def place(self, job: Job) -> Placement | None:
        return self._where.now(job) if self._plan is None else self._plan.place(job)

    def take(self, running: Running) -> None:
        if self._plan is not None:
            self._plan.take(running)

    def promise(self, job: Job) -> Promise | None:
        if self._plan is None:
            self._plan = self._make()
        return self._plan.promise(job)

    def refusal(self, job: Job) -> Hold:
        return refusal(job, None) if self._plan is None else self._plan.refusal(job)


class PlanOfOne(Plan, Protocol):
    """Interface of a plan with one promise at most, also to jobs on trial."""

    def may_stay(self, running: Running) -> bool:
        """Return whether a running job, whose cores count as free, could be backfilled where it is."""
        ...

    def is_over_in_time(self, job: Job) -> bool:
        """Return whether a job that starts now, without a boot, ends by the promised start."""
        ...


def refusal(job: Job, promised: Job | None) -> Hold:
    """Return that a job waits, though it would fit, for the sake of a job that was promised a start."""
    return Hold(job, NO_EARLIER) if promised is None or promised is job else Hold(job, DELAYS, promised)


def ends_in_time(times: npt.NDArray[np.float64], shadow: float, now: float) -> npt.NDArray[np.bool_]:
    """Return which lengths (s) are over by the shadow time. For rounding a little more: ``place`` has the last word."""
    return times <= shadow - now + 1e-9 * abs(shadow)


def worth_trying(
    view: View, cores: npt.NDArray[np.int64], free: npt.NDArray[np.integer] | None = None
) -> npt.NDArray[np.bool_]:
    """Return which requests could fit at all on the free cores of the nodes (default: of now); shape (jobs,).

    As many are free, and on one node where the width rule wants one.
    """
    total = view.free_total
    if free is None:
        free = view.free_cores
    else:
        total = min(int(np.maximum(free, 0).sum()), total)
    enough = cores <= total
    if view.machine.one_node_rule:
        enough &= (cores <= free.max()) | (cores > view.platform.widest_node)
    return enough
