"""Jobs that run: they end by themselves, at their limits or for others, are suspended, and go on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from cluster_sim.run.decisions import Decision, Preempt, Resume
from cluster_sim.run.view import View
from schedulers.slurm.clean_up import CleanUps
from schedulers.slurm.cluster import SlurmCluster
from schedulers.slurm.dependencies import Dependencies
from schedulers.slurm.gang import turns
from schedulers.slurm.job_request import Ask
from schedulers.slurm.selection.node_holder import NodeHolder

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job


class RunningJobs:
    """Jobs that run: what the scheduler does to them, and what follows from their ends for the cluster.

    ``waiting`` are the jobs that wait, by their keys; ``check_after`` says when limits are next checked after a time (s);
    ``note`` is told when something has ended (s).
    """

    def __init__(
        self,
        cluster: SlurmCluster,
        clean: CleanUps,
        waiting: Mapping[int, tuple[Job, Ask]],
        dependencies: Dependencies | None,
        check_after: Callable[[float], float],
        note: Callable[[float], None],
    ):
        self._cluster = cluster
        self._clean_ups = clean
        self._waiting = waiting
        self._dependencies = dependencies
        self._check_after = check_after
        self._note = note
        self.killed: set[int] = set()  #: Jobs that have been killed, and of whose ends the run has not yet told.
        self.lost: set[int] = set()  #: Jobs whose nodes went down, likewise: they are not slow to clean up.
        self.misses_ends = False  #: Whether the run may have forgotten to tell of ends.

    # ------------------------------------------------------------------ ends

    def follow(self, view: View) -> Iterator[Decision]:
        """Take in who has ended; suspended jobs may have been killed."""
        cluster = self._cluster
        told = [cluster.held[one.job.index] for one in view.ended if one.job.index in cluster.held]
        looks, self.misses_ends = cluster.is_shared or self.misses_ends, False
        gone = []
        for held in (*told, *cluster.held.values()) if looks else told:
            if not held.ending and not lives_on(held, view):
                cluster.end(held.ask.key)  # all of them, before others go on
                gone.append(held)
                if not math.isnan(held.stopped) and held.ask.key not in self.lost:
                    self.killed.add(held.ask.key)
        for held in gone:
            yield from self._let_go(held, view)

    def _let_go(self, held: NodeHolder, view: View, waits_again: bool = False) -> Iterator[Decision]:
        """Let a job go that has ended: others go on, and when its nodes are cleaned up they are free."""
        key, now = held.ask.key, view.now
        if not held.ending:
            self._cluster.end(key)
        self._cluster.accounting.ended(held.ask, now)
        if self._dependencies is not None and not waits_again:
            last = held.end + self._cluster.settings.over_time_limit
            is_well = not held.ask.exit_code and held.ask.key not in self.killed | self.lost and math.floor(now) <= last
            self._dependencies.over(held.ask, now, is_well)
        self._clean_ups.begin(key, now, key in self.killed)
        self.killed.discard(key)
        self.lost.discard(key)
        self._note(now)
        yield from self.go_on(view)

    # ------------------------------------------------------------------ time limits

    @property
    def next_check(self) -> float:
        """Return when a check will first find a job past its limit, s; inf: none."""
        cluster = self._cluster
        if cluster.preemption is None:
            last = cluster.running.first + cluster.settings.over_time_limit
        else:
            last = min(map(self._last_end, cluster.held.values()), default=math.inf)
        return last if last == math.inf else self._check_after(last)

    def _last_end(self, held: NodeHolder) -> float:
        """Return after when a running job is killed, s."""
        if held.ending or not math.isnan(held.stopped):
            return math.inf
        return held.end + (0.0 if held.is_told else self._cluster.settings.over_time_limit)

    def enforce_limits(self, view: View, now: float) -> Iterator[Decision]:
        """Kill the jobs that a check finds past their limits, or past their grace."""
        if self.next_check > now:
            return
        for held in list(self._cluster.held.values()):
            last = self._last_end(held)
            if last < math.inf and self._check_after(last) <= now:
                if held.is_told:
                    yield from self.stop(held, view)
                else:
                    self.killed.add(held.ask.key)
                    yield Preempt(view.running_by_index[held.ask.key].job, "timeout", because="TimeLimit")

    # ------------------------------------------------------------------ preemption

    def stop(self, held: NodeHolder, view: View) -> Iterator[Decision]:
        """Stop a job that loses its nodes to another."""
        preemption = self._cluster.preemption
        assert preemption is not None
        mode = preemption.mode(held).lower()
        waiting, running = self._waiting.get(held.preemptor), view.running_by_index.get(held.preemptor)
        behind = waiting[0] if waiting is not None else running.job if running is not None else None
        job = view.running_by_index[held.ask.key].job
        yield Preempt(job, mode, because=preemption.because, behind=behind)
        self.killed.add(held.ask.key)
        yield from self._let_go(held, view, waits_again=mode == "requeue")

    def make_way(self, job: Job, view: View) -> Iterator[Decision]:
        """Stop jobs of lower tiers when this one starts on their cores, where jobs share cores."""
        preemption = self._cluster.preemption
        if preemption is None or not self._cluster.is_shared:
            return
        for held in turns(self._cluster.held.values(), preemption.tiers())[0]:
            held.preemptor = job.index
            if preemption.mode(held) != "SUSPEND":
                yield from self.stop(held, view)
                continue
            held.stopped = view.now
            self._cluster.accounting.suspended(held.ask, view.now)
            stopped = view.running_by_index[held.ask.key].job
            yield Preempt(stopped, "suspend", because=preemption.because, behind=job)

    def go_on(self, view: View) -> Iterator[Decision]:
        """Let suspended jobs go on if no job of a higher tier, and no guest, uses their cores; put off their limits."""
        preemption = self._cluster.preemption
        if preemption is None or not self._cluster.is_shared:
            return
        for held in turns(self._cluster.held.values(), preemption.tiers())[1]:
            asleep = view.planning.suspended_by_index[held.ask.key]
            if not view.planning.fits(asleep.job, asleep.placement):
                continue  # guests have its cores
            self._cluster.end_later(held.ask.key, held.end + math.floor(view.now) - math.floor(held.stopped))
            held.stopped = math.nan
            self._cluster.accounting.resumed(held.ask, view.now)
            yield Resume(asleep.job, asleep.placement)


def lives_on(held: NodeHolder, view: View) -> bool:
    """Return whether the run has the job among those that run or are suspended."""
    return held.ask.key in view.running_by_index or held.ask.key in view.planning.suspended_by_index
