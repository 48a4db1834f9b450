"""A plan with any number of promises, kept on an availability profile."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.engine import SAME_INSTANT, latest
from cluster_sim.machine.memory import tasks_in
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.running import Running
from cluster_sim.run.decisions import Hold
from schedulers.backfilling.availability_profile import Amount, AvailabilityProfile
from schedulers.backfilling.boots import Boots
from schedulers.backfilling.plans import NEVER, Promise, refusal, worth_trying
from schedulers.backfilling.timeline import Timeline, planned_end, planned_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job
    from schedulers.backfilling.node_choice import NodeChoice

MOST_MB = 1e15
"""Memory, MB, of a node whose memory is unknown."""


class ProfilePlan:
    """Promises on a profile of cores, where they are ``counted``, else of the cores (and memory) of each node.

    A promise on nodes is of certain cores of certain nodes, and allows for their boots.
    """

    def __init__(self, where: NodeChoice, timeline: Timeline, counted: bool):
        self._where = where
        self._view = where.view
        self._counted = counted
        self._nodes = self._view.platform.node_count
        self._machine = None if counted else self._view.planning.outlook(empty=True)
        self._boots = Boots(None if counted else self._view.machine.boot_delays)
        if self._machine is not None and self._boots.needed is not None:
            # Nodes that are on come before nodes that would have to be booted, as they will when the job starts.
            self._machine.is_on, self._machine.is_off = self._boots.needed == 0.0, self._boots.needed > 0.0
        free: Amount = self._view.free_total
        if not counted:
            now = self._view.planning.outlook()
            memory = np.minimum(now.memory.capacity - now.memory.used, MOST_MB)
            free = self._vector(now.free, memory, now.resources.free)
        self.profile = AvailabilityProfile(self._view.now, free)
        self._cut_at_windows()
        self._endless: Amount = self._nothing()  # held by jobs that requested no time
        self._some_day: tuple[Job, Amount] | None = None
        self._made: dict[int, tuple[Job, Promise]] = {}  # by job index; only for the decision log
        for end, node, cores, running in timeline.coming():
            if running is None:
                self.profile.release(end, cores if counted else self._on_node(node, cores))
            else:
                self.profile.release(end, self._held(running))
                self.begin(running)

    # ------------------------------------------------------------------ amounts of cores, or of each node

    def _amount(self, job: Job, placement: Placement | None, of: Placement | None = None) -> int | npt.NDArray[Any]:
        """Return what a job takes with a placement, which may be what is offered ``of`` a larger one."""
        if self._counted or placement is None:
            # A job that has been resized holds other cores than it requested.
            return job.requested_cores if placement is None else placement.cores
        assert self._machine is not None
        cores = np.zeros(self._nodes, np.int64)
        for first, stop, taken in placement.spans:
            cores[first:stop] += self._machine.cores_held(job, first, stop, taken)
        memory = np.zeros(self._nodes)
        for first, stop, taken in placement.spans if self._where.counts_memory else ():
            memory[first:stop] += job.memory * taken
        resources = self._machine.resources
        return self._vector(cores, memory, resources.amount(resources.planned(job, of or placement)))

    def _nothing(self) -> Amount:
        return 0 if self._counted else self._on_node(0, 0)

    def _held(self, running: Running) -> int | npt.NDArray[Any]:
        """Return what a job gives back when it ends: what it has on nodes that are not withheld."""
        withheld = self._view.machine.withheld if self._view.machine.withheld_count else None
        return self._amount(running.job, running.placement.offered(withheld), running.placement)

    def _on_node(self, node: int, cores: int) -> npt.NDArray[Any]:
        assert self._machine is not None
        amount = np.zeros(self._nodes, np.int64)
        amount[node] = cores
        return self._vector(amount, np.zeros(self._nodes), np.zeros_like(self._machine.resources.free))

    def _vector(
        self, cores: npt.NDArray[np.integer], memory: npt.NDArray[np.float64], resources: npt.NDArray[np.int64]
    ) -> npt.NDArray[Any]:
        """Return what each node has of all that counts: cores, then memory (all as floats then), then counted resources."""
        parts = [cores, memory, resources] if self._where.counts_memory else [cores, resources]
        return np.concatenate(parts) if len(resources) or self._where.counts_memory else cores.astype(np.int64)

    def _room_for(self, job: Job, free: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return for how many tasks of the job each node has free cores, and memory if that counts; shape (nodes,)."""
        free = free - self._kept_from(job)
        nodes, memory = self._nodes, self._where.memory_of(job)
        room = free[:nodes].astype(np.int64)
        if self._view.machine.restricts and job.exclusive:
            room = np.where(room == self._view.platform.node_cores, room, 0)  # an empty node has all its memory, too
        elif memory:
            room = np.minimum(room, tasks_in(free[nodes : 2 * nodes], memory, self._view.platform.core_count))
        assert self._machine is not None
        if self._machine.resources.asks(job):
            room = np.minimum(room, self._machine.resources.room(job, self._resources(free)))
        return room

    def _resources(self, free: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the counted resources of a vector."""
        return free[self._nodes * (2 if self._where.counts_memory else 1) :].astype(np.int64)

    def _kept_from(self, job: Job) -> Amount:
        """Return what has to stay free beside the job all the time, for one that is to start some day."""
        if self._some_day is None or self._some_day[0] is job:
            return self._nothing()
        return np.maximum(self._some_day[1] - self._endless, 0)

    def _cut_at_windows(self) -> None:
        """Begin a step where an advance reservation begins or ends: a job can start there without a release."""
        for time in self._view.machine.turning_times:
            self.profile.cut(time)

    def tidy(self) -> None:
        """Make one step of neighbours with the same free."""
        self.profile.join_equal_steps()
        self._cut_at_windows()

    # ------------------------------------------------------------------ the plan

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return for which requests enough cores are free for as long, as far as their number can tell."""
        if self._counted:
            return cores <= self.profile.least_until(self._view.now + times)
        return worth_trying(self._view, cores)

    def place(self, job: Job) -> Placement | None:
        """Place the job on what is free all the time that it requests, and all the time that its nodes boot."""
        now = self._view.now
        if not self._counted:
            found = self._on_nodes(job, now, at_once=True)
            return None if found is None else found.placement
        if not self._is_free(job, planned_end(job, now)) or (placement := self._where.now(job)) is None:
            return None
        delay = self._view.planning.boot_time(placement)
        return placement if not delay or self._is_free(job, planned_end(job, now + delay)) else None

    def _is_free(self, job: Job, end: float) -> bool:
        least = self.profile.least(self._view.now, end)
        return bool(job.requested_cores + self._kept_from(job) <= least)

    def _on_nodes(self, job: Job, start: float, at_once: bool = False) -> Promise | None:
        """Return where the job can be from ``start`` on, on nodes that are on, else on nodes that boot as briefly as it goes.

        ``at_once``: on cores that are free now.
        """
        assert self._machine is not None
        for delay in self._boots.lengths:
            least = self.profile.least(start, planned_end(job, start + delay))
            room = self._boots.within(self._room_for(job, least), start, delay)
            if not self._has_room(job, room):
                continue
            where = self._where
            placement = where.now(job, room) if at_once else where.later(job, self._machine, start, room)
            if placement is not None:
                self._machine.resources.plan(job, placement, self._resources(least - self._kept_from(job)))
                return Promise(start, placement, self._boots.delay(placement))
        return None

    def _has_room(self, job: Job, room: npt.NDArray[np.int64]) -> bool:
        """Return whether the job could have so many cores of each node, by their number and the width rule."""
        return bool((room.max() if self._goes_on_one(job) else np.maximum(room, 0).sum()) >= job.requested_cores)

    def _goes_on_one(self, job: Job) -> bool:
        return self._view.machine.one_node_rule and job.requested_cores <= self._view.platform.widest_node

    def take(self, running: Running) -> None:
        """Take the job's cores until its expected end."""
        self.profile.take(self._view.now, running.expected_end, self._amount(running.job, running.placement))
        self._boots.add(running.job, self._view.now, running.placement)
        self.begin(running)

    def begin(self, running: Running) -> None:
        """Note that a job runs whose cores the profile has already taken."""
        self._made.pop(running.job.index, None)
        if running.expected_end == math.inf:
            self._endless = self._endless + self._held(running)
        if self._some_day is not None and self._some_day[0] is running.job:
            self._some_day = None

    def promise(self, job: Job) -> Promise | None:
        """Promise the earliest window in which what the job needs is free all the time, and take it.

        If jobs that requested no time have to end first, the start is inf, some day; the first job of which that is so has
        what it needs kept free of later promises.
        """
        promise: Promise | None = None
        if (until := self._view.machine.switches_until(job)) > self._view.now:
            self.profile.cut(until)  # from then on any nodes will do
        if self._counted:
            cores = job.requested_cores + int(self._kept_from(job))
            start = self.profile.earliest(cores, planned_time(job))
            promise = Promise(start) if start < math.inf else None
        else:
            times = self.profile.times
            for step, _ in self._worth_looking_at(job, self.profile.free, len(times)):
                promise = self._on_nodes(job, times.item(step))
                if promise is not None:
                    break
        if promise is None:
            return self._promise_some_day(job)
        self.keep(job, promise)
        return promise

    def keep(self, job: Job, promise: Promise) -> None:
        """Take what a promise is of; it had been withdrawn, or has just been found."""
        if self._view.explains:
            self._made[job.index] = job, promise
        if promise.time == math.inf:
            self._promise_some_day(job)
        else:
            self.profile.take(promise.time, promise.end(job), self._amount(job, promise.placement))
            self._boots.add(job, promise.time, promise.placement)

    def renew(self, job: Job, promise: Promise) -> Promise | None:
        """Keep a promise of another plan if this one can: at the same time, with no longer boots."""
        start, placement, delay = promise
        if not self._view.now <= latest(start) < math.inf:
            return None
        renewed: Promise | None = Promise(start)
        if self._counted:
            free = self.profile.least(start, planned_end(job, start))
            renewed = renewed if job.requested_cores <= free else None
        elif placement is None:
            renewed = self._on_nodes(job, start)
        else:
            renewed = Promise(start, placement, self._boots.delay(placement))
            least = self.profile.least(start, renewed.end(job))
            room = self._room_for(job, least)
            room = self._boots.within(room, start, renewed.delay)
            if any((room[first:stop] < cores).any() for first, stop, cores in placement.spans):
                return None
            assert self._machine is not None
            self._machine.resources.plan(job, placement, self._resources(least))
        if renewed is None or renewed.delay > delay:
            return None
        self.keep(job, renewed)
        return renewed

    def _promise_some_day(self, job: Job) -> Promise | None:
        """Promise a start when jobs that requested no time have ended; None if not even that would do."""
        in_the_end = self.profile.free[-1] + self._endless
        if self._counted:
            placement, fits = None, job.requested_cores <= in_the_end
        else:
            assert self._machine is not None
            placement = self._where.later(job, self._machine, math.inf, self._room_for(job, in_the_end))
            fits = placement is not None
            if placement is not None:
                self._machine.resources.plan(job, placement, self._resources(in_the_end))
        if fits and self._some_day is None:
            self._some_day = job, self._amount(job, placement)
        return Promise(math.inf) if fits else None

    def refusal(self, job: Job) -> Hold:
        return refusal(job, self._delayed_by(job))

    def _delayed_by(self, job: Job) -> Job | None:
        """Return the job promised the first time until which this one, started now, could not keep its cores."""
        profile = self.profile
        first, steps = self._first_lack(job)
        made = [(promise, other) for other, promise in self._made.values() if other is not job]
        if first < steps:
            time = float(profile.times[first])
            begun = [(promise.time, -other.index, other) for promise, other in made if promise.time <= time]
            meant = [entry for entry in begun if self._made[entry[2].index][1].end(entry[2]) > time]
            if meant:
                return max(meant)[2]
        # Its nodes would have to boot first, or it would take what a job is to have some day.
        if self._some_day is not None and self._some_day[0] is not job:
            return self._some_day[0]
        return min(((promise.time, other.index, other) for promise, other in made), default=(0.0, 0, None))[2]

    def could_start(self, job: Job) -> bool:
        """Return whether the job would find what it needs for as long as it asks for it, and waits all the same.

        It waits because this was promised to another when it was last looked for. Where nodes boot, this is not asked.
        """
        if self._boots.needed is not None or (self._some_day is not None and self._some_day[0] is not job):
            return False
        first, steps = self._first_lack(job)
        return first == steps or planned_end(job, self._view.now) <= self.profile.times.item(first)

    def _first_lack(self, job: Job) -> tuple[int, int]:
        """Return the first step at which the job, started now, would lack what it needs, and how many steps there are.

        If it never lacks anything, the first number is that of all steps.
        """
        profile, own = self.profile, self._made.get(job.index)
        free = profile.free
        if own is not None and own[1].time < math.inf:  # without what is kept for itself
            free = free.copy()
            kept = (profile.times >= own[1].time) & (profile.times < own[1].end(job))
            free[kept] += self._amount(job, own[1].placement)
        least = np.minimum.accumulate(free, axis=0)
        first, stop = 0, len(least)  # where it no longer fits is among these steps
        while first < stop:
            middle = (first + stop) // 2
            free = least[middle]
            if self._counted:
                fits_within = bool(job.requested_cores + self._kept_from(job) <= free)
            else:
                assert self._machine is not None
                room = self._room_for(job, free)
                fits_within = self._where.fits_later(job, self._machine, self._view.now, room)
            if fits_within:
                first = middle + 1
            else:
                stop = middle
        return first, len(least)

    def withdraw(self, job: Job, promise: Promise) -> None:
        """Take a promise back, or what is left of it."""
        self._made.pop(job.index, None)
        if self._some_day is not None and self._some_day[0] is job:
            self._some_day = None
        if promise.time < math.inf:
            start = max(promise.time, self._view.now)
            self.profile.give(start, promise.end(job), self._amount(job, promise.placement))
            self._boots.remove(job)

    def replace(self, job: Job, old: Promise, only_earlier: bool) -> Promise | None:
        """Make another promise in place of one (NEVER: of none), and return that which holds then.

        The old promise stays if the new one is later, and with ``only_earlier`` also if it is for the same time.
        """
        if old is not NEVER:
            self.withdraw(job, old)
        new = self.promise(job)
        if old is NEVER and not only_earlier:
            return new
        if new is not None:
            if latest(new.ready) < old.ready if only_earlier else new.ready <= latest(old.ready):
                return old if new == old else new
            self.withdraw(job, new)
        if old is not NEVER:
            self.keep(job, old)
        return old

    def give_back(self, running: Running, until: float) -> bool:
        """Give back what a job has that was expected to end then, s; return whether it ended before."""
        if until <= latest(self._view.now):
            return False
        self.profile.give(self._view.now, until, self._held(running))
        if until == math.inf:
            self._endless = self._endless - self._held(running)
        return True

    def shorten(self, running: Running, promise: Promise) -> bool:
        """Give back the boot that a job started as promised does not need; return whether there was one."""
        begins = running.expected_start
        if latest(begins) >= promise.ready:
            return False
        self.profile.give(
            planned_end(running.job, begins), promise.end(running.job), self._amount(running.job, running.placement)
        )
        return True

    def could_be_earlier(self, cores: npt.NDArray[np.int64], starts: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return which promises (cores, s) are worth trying to improve: as many cores are free at some time before."""
        profile, view = self.profile, self._view
        if self._counted:
            return profile.most_before(starts, profile.free) >= cores
        later: npt.NDArray[np.bool_] = starts > latest(view.now)
        if self._boots.needed is not None:  # there may be nodes at the same time that boot more quickly
            return later
        free = profile.free[:, : self._nodes]
        later &= profile.most_before(starts, free.sum(axis=1)) >= cores
        if view.machine.one_node_rule:
            later &= (profile.most_before(starts, free.max(axis=1)) >= cores) | (cores > view.platform.widest_node)
        later |= starts == math.inf
        return later

    def can_be_earlier(self, job: Job, promise: Promise) -> bool:
        """Return whether the job would find an earlier start than promised; on nodes, whether to search."""
        profile, start = self.profile, promise.time
        if self._counted:
            return profile.earliest(job.requested_cores, planned_time(job), start) < math.inf
        # Nodes may boot more quickly at the same time, and what is kept for one that starts some day is chosen anew.
        if self._boots.needed is not None or start == math.inf:
            return True
        times, free = profile.times, profile.free.copy()
        # The cores of its promise are its own from then on.
        since = max(int(times.searchsorted(start * SAME_INSTANT, "right")) - 1, 0)
        until = int(times.searchsorted(promise.end(job) / SAME_INSTANT))
        free[since:until] += self._amount(job, promise.placement)
        return any(
            self._has_room(job, self._room_for(job, free[step:stop].min(axis=0)))
            for step, stop in self._worth_looking_at(job, free, int(times.searchsorted(start)))
        )

    def _worth_looking_at(self, job: Job, free: npt.NDArray[Any], count: int) -> Iterator[tuple[int, int]]:
        """Return those of the first ``count`` steps from which the job may find room, each with the step at its end.

        A step is ruled out by a single number, which is no less than what any window over it has.
        """
        times, cores = self.profile.times, free[:, : self._nodes]
        most = cores.max(axis=1) if self._goes_on_one(job) else np.maximum(cores, 0).sum(axis=1)
        steps = np.arange(count)
        stops = np.maximum(times.searchsorted((times[:count] + planned_time(job)) / SAME_INSTANT), steps + 1)
        lacking = np.append(np.flatnonzero(most < job.requested_cores), len(times))
        worth = lacking[lacking.searchsorted(steps)] >= stops
        # A node may have less than nothing free, where a job outlives its request: that counts in the sum of its step.
        worth &= cores[:count].sum(axis=1) >= job.requested_cores
        return zip(steps[worth].tolist(), stops[worth].tolist(), strict=True)
