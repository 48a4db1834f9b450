"""Jobs on trial: who may not be backfilled runs on idle cores all the same, until a job that goes first wants these."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from annotated_types import Ge, Le, Unit
from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.errors import SpecError
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.machine.running import Running
from cluster_sim.run.decisions import Decision, Preempt, WakeAt
from cluster_sim.run.view import View
from schedulers.backfilling.candidates import ranked
from schedulers.backfilling.easy import BACKFILLED, CountedPlan, EasyBackfilling
from schedulers.backfilling.node_plan import NodePlan
from schedulers.backfilling.plans import Plan
from schedulers.backfilling.room import PlanWithRoom
from schedulers.backfilling.timeline import Timeline, indispensable, put_off

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job
    from schedulers.backfilling.job_queue import JobQueue
    from schedulers.backfilling.node_choice import NodeChoice


TRIAL_S = 120.0
TRIED = Reason(ReasonKind.ON_TRIAL)
LEAVES = "it was on trial, and the first job of the queue can start with its cores"
TRIED_ENOUGH = "it was on trial for long enough, and another job is tried"

MostTrials = Annotated[int, Ge(0), Unit("trials"), Doc("how often a job runs on trial, on idle cores")]
TrialFor = Annotated[float, Ge(0), Le(math.inf), Unit("s"), Doc("time of a trial after which another job may be tried")]
PlanOfCores = CountedPlan | NodePlan


class Trials:
    """The jobs that run on trial. They are not entered in the scheduler's timeline, and what they hold counts as free.

    A job is tried ``most`` times at the most, and gives its cores to another that may be tried when it has run for ``time_s``
    (s). With ``counted``, any free cores serve any job.
    """

    def __init__(self, most: int, time_s: float, where: NodeChoice, timeline: Timeline, counted: bool):
        self._most = most
        self._time_s = time_s
        self._where = where
        self._view: View = where.view
        self._counted = counted
        self._timeline = timeline
        self._running = timeline.on_trial  # by index of the job, longest on trial first
        self._tried: Counter[int] = Counter()
        self._wake = -math.inf  # for when a pass has been asked for last

    def __iter__(self) -> Iterator[Running]:
        """Return the jobs on trial, longest on trial first."""
        return iter([*self._running.values()])

    def __len__(self) -> int:
        return len(self._running)

    def follow(self) -> None:
        """Forget those that have ended, put off those that outlive their requests. Other cores do not end a trial."""
        now = self._view.now
        for index in [*self._running]:
            one = self._view.running_by_index.get(index)
            if one is None:
                del self._running[index]
                continue
            self._running[index] = one
            self._timeline.drop(one)
            if one.expected_end <= latest(now):
                put_off(one, now)

    def go_on_from(self, before: Trials | None) -> None:
        """Keep the jobs on trial that were on trial when the scheduler began the last time, if that was in this run."""
        if before is not None and before._view is self._view:
            self._tried = before._tried
            self._running.update(before._running)
            self.follow()

    def may_try(self, job: Job) -> bool:
        """Return whether the job may be tried once more. Under a power cap none may: it would take watts."""
        return self._tried[job.index] < self._most and self._view.machine.power_budget.limit_w == math.inf

    def place(self, job: Job) -> Placement | None:
        """Return where the job can be tried now: on nodes that need not boot for it."""
        asleep = self._view.machine.is_off
        return self._where.now(job, np.where(asleep, 0, self._view.free_cores) if asleep.any() else None)

    def begin(self, running: Running) -> None:
        """Note that a job has been started on trial."""
        self._tried[running.job.index] += 1
        self._running[running.job.index] = running

    def settle(self, plan: Plan) -> None:
        """End the trial of jobs that could be backfilled where they run."""
        for one in self:
            assert isinstance(plan, PlanOfCores)
            if plan.may_stay(one):
                self._keep(one, plan)

    def settle_before(self, job: Job, queue: JobQueue, plan: Plan) -> bool:
        """Let jobs on trial keep their cores that go before a job of the queue, which does not fit.

        Return whether there were any.
        """
        first = queue.before(job, [one.job for one in self], self._view.now)
        for one in [self._running[other.index] for other in first]:
            if not takes_room(plan, one.job, one.placement.cores):
                self._keep(one, plan)
        return bool(first)

    def _keep(self, running: Running, plan: Plan) -> None:
        del self._running[running.job.index]
        self._timeline.add(running)
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
            return view.planning.outlook(without=leaving).free_total
        withheld = view.machine.withheld if view.machine.withheld_count else None
        return view.free_total + sum(one.placement.offered(withheld).cores for one in leaving)

    def in_the_way(self, job: Job, among: Iterable[Running], boots: bool = True) -> list[Running]:
        """Return the jobs that have to leave for the job to fit, the first of them first.

        With ``boots`` nodes may boot for it. Nobody leaves if it fits now, or would not fit even without all of them.
        """
        view = self._view
        asleep = int(view.free_cores[view.machine.is_off].sum()) if self._counted and not boots else 0

        def fits(leaving: list[Running]) -> bool:
            if self._counted:
                return job.requested_cores <= self.free_without(leaving) - asleep
            outlook = view.planning.outlook(without=leaving)
            awake = None if boots else np.where(view.machine.is_off, 0, outlook.free)
            return self._where.later(job, outlook, view.now, awake) is not None

        leaving: list[Running] = []
        remaining = iter(among)
        while not fits(leaving):
            one = next(remaining, None)
            if one is None:
                return []
            leaving.append(one)
        return indispensable(leaving, fits)


def takes_room(plan: Plan, job: Job, cores: int) -> bool:
    """Return whether so many cores for a job take room that is kept for others."""
    return isinstance(plan, PlanWithRoom) and plan.takes_room(job, cores)


class EasyOnTrial(EasyBackfilling):
    """EASY that also runs jobs on trial, on cores that would be idle else (Perković and Keleher, SC 2000).

    :func:`~schedulers.backfilling.experiments.easy` makes it, and checks its options.

    A job that may not be backfilled runs all the same, ``trials`` times at the most. What it holds counts as free. It is
    requeued when the first job of the queue can start with that, or when another job can be tried there after
    ``trial_for`` seconds. As soon as it could be backfilled where it runs, it stays. Jobs on trial boot no nodes.
    """

    def __init__(self, *easy: Any, trials: int = 0, trial_for: float = TRIAL_S, **options: Any):
        super().__init__(*easy, **options)
        self._most_trials, self._trial_s = trials, trial_for
        self._trials: Trials | None = None

    def begin(self, view: View) -> None:
        super().begin(view)
        if self._most_trials and view.machine.turns:
            raise SpecError(
                "scheduler 'easy', option trials",
                "no advance reservations, and no jobs with a switch_wait",
                f"{len(view.machine.reservations)} reservations" if view.machine.reservations else "jobs with one",
            )
        self._placement: Placement | None = None  # of the job that was looked at last, if it is the first of the queue
        before = self._trials
        self._trials = Trials(self._most_trials, self._trial_s, self._where, self._timeline, self._counted)
        self._trials.go_on_from(before)

    @property
    def _on_trial(self) -> Trials:
        assert self._trials is not None
        return self._trials

    def _follow(self, view: View) -> bool:
        puts_off = super()._follow(view)
        self._on_trial.follow()
        return puts_off or bool(self._on_trial)

    def _place_first(self, plan: Plan, job: Job) -> Placement | None:
        """Return where a job starts, but for one that would boot nodes while jobs on trial have others."""
        placement = self._placement = super()._place_first(plan, job)
        if placement is not None and self._on_trial and self._leaving(plan, job, placement):
            return None
        return placement

    def _leaving(self, plan: Plan, job: Job, placement: Placement | None) -> list[Running]:
        """Return the jobs on trial that have to leave for the first job of the queue to start.

        If it has a placement, they leave so that it starts without a boot. Nobody leaves if it waits for watts, or for
        the room that it has to leave.
        """
        view, trials = self._where.view, self._on_trial
        if placement is not None:
            return trials.in_the_way(job, trials, boots=False) if view.planning.boot_time(placement) > 0.0 else []
        if view.planning.is_capped(job) or takes_room(plan, job, job.requested_cores):
            return []
        return trials.in_the_way(job, trials)

    def _hold(self, view: View, plan: Plan, place: int, job: Job) -> Iterator[Decision]:
        """Start the job with cores of jobs on trial, if it can; else promise it a start."""
        trials = self._on_trial
        if trials:
            placement = self._placement
            if placement is None and trials.settle_before(job, self._queue, plan):
                self._log.others_first = True
            leaving = self._leaving(plan, job, placement)
            yield from trials.leave(leaving, job, LEAVES)
            if leaving:
                placement = plan.place(job) if placement is None else trials.place(job)
            if placement is not None:
                self._timeline.add((yield from self._start(view, place, job, placement)))
                self._log.others_first = True
                # They may go before others that wait: the next pass, in this instant, looks at the whole queue.
                self._plan = None
                return
        yield from super()._hold(view, plan, place, job)

    def _backfill(self, view: View, plan: Plan, first: int) -> Iterator[Decision]:
        self._on_trial.settle(plan)
        yield from super()._backfill(view, plan, first)
        if first < self._queue.stop:
            yield from self._try_out(view, plan)

    def _try_out(self, view: View, plan: Plan) -> Iterator[Decision]:
        """Start jobs on trial, also on the cores of those that have been on trial for long enough.

        These cores are also for those that end before the promised start, and wait only for them. If somebody waits for one who
        has not been on trial for long enough yet, a pass is held when it has.
        """
        assert isinstance(plan, PlanOfCores)
        queue, trials = self._queue, self._on_trial
        enough = trials.long_enough()
        places = (queue.requests(self._behind)[0] <= trials.free_without(trials)).nonzero()[0] + self._behind
        if self._order_behind is not None:
            places = ranked(queue, places, self._order_behind, view.now)
        wide, waits = trials.free_without(enough), False
        for place in places.tolist():
            job = queue.jobs[place]
            if job is None:
                continue
            if not view.is_pending(job):
                queue.leave(place)
                continue
            in_time = plan.is_over_in_time(job)
            if not in_time and not trials.may_try(job):
                continue
            placement = trials.place(job) if job.requested_cores <= wide else None
            if placement is None and enough:
                leaving = trials.in_the_way(job, enough, boots=False)
                yield from trials.leave(leaving, job, TRIED_ENOUGH)
                enough = [one for one in enough if one not in leaving]
                placement = trials.place(job) if leaving else None
            if placement is None:
                waits = True
            else:
                running = yield from self._start(view, place, job, placement, BACKFILLED if in_time else TRIED)
                if in_time:
                    self._timeline.add(running)
                    plan.take(running)
                else:
                    trials.begin(running)
                wide = trials.free_without(enough)
            if waits and not wide:
                break
        if waits and (wake := trials.next_time()) is not None:
            yield WakeAt(wake)
        self._version = view.machine.version
