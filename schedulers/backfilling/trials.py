"""Jobs on trial: who may not be backfilled runs on idle cores all the same, until a job that goes first wants these."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cluster_sim.engine import latest
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.running import Running
from cluster_sim.run.decisions import Preempt
from cluster_sim.run.outlook import Outlook, offered
from cluster_sim.run.view import View
from schedulers.backfilling.releases import Releases, indispensable, put_off

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job
    from schedulers.backfilling.job_queue import JobQueue
    from schedulers.backfilling.node_choice import NodeChoice


class PlanOfCores(Protocol):
    """Interface of a plan to the jobs on trial."""

    def may_stay(self, running: Running) -> bool:
        """Return whether a job on trial delays nobody who was promised a start."""
        ...

    def takes_room(self, job: Job, cores: int) -> bool:
        """Return whether so many cores for a job take room that others were promised."""
        ...

    def take(self, running: Running) -> None:
        """Count a job as started."""
        ...


class Trials:
    """The jobs that run on trial. They are not among the scheduler's ``releases``, and what they hold counts as free.

    A job is tried ``most`` times at the most, and gives its cores to another that may be tried when it has run for ``time_s``
    (s). With ``counted``, any free cores serve any job.
    """

    def __init__(self, most: int, time_s: float, where: NodeChoice, counted: bool):
        self._most = most
        self._time_s = time_s
        self._where = where
        self._view: View = where.view
        self._counted = counted
        self._running: dict[int, Running] = {}  # by index of the job, longest on trial first
        self._tried: Counter[int] = Counter()
        self._wake = -math.inf  # for when a pass has been asked for last

    def __iter__(self) -> Iterator[Running]:
        """Return the jobs on trial, longest on trial first."""
        return iter([*self._running.values()])

    def __len__(self) -> int:
        return len(self._running)

    def follow(self, releases: Releases) -> None:
        """Forget those that have ended, put off those that outlive their requests. Other cores do not end a trial."""
        now = self._view.now
        for index in [*self._running]:
            one = self._view.running_by_index.get(index)
            if one is None:
                del self._running[index]
                continue
            self._running[index] = one
            releases.drop(one)
            if one.expected_end <= latest(now):
                put_off(one, now)

    def go_on_from(self, before: Trials | None, releases: Releases) -> None:
        """Keep the jobs on trial that were on trial when the scheduler began the last time, if that was in this run."""
        if before is not None and before._view is self._view:
            self._tried, self._running = before._tried, before._running
            self.follow(releases)

    def may_try(self, job: Job) -> bool:
        """Return whether the job may be tried once more. Under a power cap none may: it would take watts."""
        budget = self._view.power_budget
        return self._tried[job.index] < self._most and (budget is None or budget.limit_w == math.inf)

    def place(self, job: Job) -> Placement | None:
        """Return where the job can be tried now: on nodes that need not boot for it."""
        asleep = self._view.is_off
        return self._where.now(job, np.where(asleep, 0, self._view.free_cores) if asleep.any() else None)

    def begin(self, running: Running) -> None:
        """Note that a job has been started on trial."""
        self._tried[running.job.index] += 1
        self._running[running.job.index] = running

    def settle(self, plan: PlanOfCores, releases: Releases) -> None:
        """End the trial of jobs that could be backfilled where they run."""
        for one in self:
            if plan.may_stay(one):
                self._keep(one, plan, releases)

    def settle_before(self, job: Job, queue: JobQueue, plan: PlanOfCores, releases: Releases) -> bool:
        """Let jobs on trial keep their cores that go before a job of the queue, which does not fit.

        Return whether there were any.
        """
        first = queue.before(job, [one.job for one in self], self._view.now)
        for one in [self._running[other.index] for other in first]:
            if not plan.takes_room(one.job, one.placement.cores):
                self._keep(one, plan, releases)
        return bool(first)

    def _keep(self, running: Running, plan: PlanOfCores, releases: Releases) -> None:
        del self._running[running.job.index]
        releases.add(running)
        plan.take(running)

    def next_time(self) -> float | None:
        """Return when the next of them will have been on trial for long enough, s; None if a pass is asked for then."""
        ends = [end for one in self if (end := one.allocation_time + self._time_s) > latest(self._view.now)]
        if not ends or min(ends) == self._wake:
            return None
        self._wake = min(ends)
        return self._wake

    def leave(self, leaving: Iterable[Running], other: Job, why: str) -> Iterator[Preempt]:
        """Have jobs lose their cores for another one, and wait again."""
        for one in leaving:
            del self._running[one.job.index]
            yield Preempt(one.job, "requeue", because=why, behind=other)

    def long_enough(self) -> list[Running]:
        """Return the jobs that have been on trial for as long as they may if others want to be."""
        now = self._view.now
        since = latest(now) - self._time_s
        return [one for one in self if one.allocation_time <= since and one.allocation_time < now]

    def free_without(self, leaving: Iterable[Running]) -> int:
        """Return how many cores would be free if these left."""
        view = self._view
        if not self._counted:
            return self._outlook(leaving).free_total
        withheld = view.withheld if view.withheld_count else None
        return view.free_total + sum(offered(one.placement, withheld).cores for one in leaving)

    def _outlook(self, leaving: Iterable[Running]) -> Outlook:
        outlook = self._view.outlook()
        for one in leaving:
            outlook.release(one)
        return outlook

    def in_the_way_of_first(self, plan: PlanOfCores, job: Job, placement: Placement | None) -> list[Running]:
        """Return the jobs that have to leave for the first job of the queue to start.

        If it has a placement, they leave so that it starts without a boot. Nobody leaves if it waits for watts, or for
        the room that it has to leave.
        """
        if placement is not None:
            return self.in_the_way(job, self, boots=False) if self._view.boot_time(placement) > 0.0 else []
        if self._view.is_capped(job) or plan.takes_room(job, job.requested_cores):
            return []
        return self.in_the_way(job, self)

    def in_the_way(self, job: Job, among: Iterable[Running], boots: bool = True) -> list[Running]:
        """Return the jobs that have to leave for the job to fit, the first of them first.

        With ``boots`` nodes may boot for it. Nobody leaves if it fits now, or would not fit even without all of them.
        """
        view = self._view
        asleep = int(view.free_cores[view.is_off].sum()) if self._counted and not boots else 0

        def fits(leaving: list[Running]) -> bool:
            if self._counted:
                return job.requested_cores <= self.free_without(leaving) - asleep
            outlook = self._outlook(leaving)
            awake = None if boots else np.where(view.is_off, 0, outlook.free)
            return self._where.later(job, outlook, view.now, awake) is not None

        leaving: list[Running] = []
        remaining = iter(among)
        while not fits(leaving):
            one = next(remaining, None)
            if one is None:
                return []
            leaving.append(one)
        return indispensable(leaving, fits)
