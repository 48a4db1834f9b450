"""What a clairvoyant policy sees of a run: also how long jobs really run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cluster_sim.run.view import View

if TYPE_CHECKING:
    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.running import Running
    from cluster_sim.run.jobs.job_changes import JobChanges
    from cluster_sim.run.jobs.live_jobs import LiveJobs
    from cluster_sim.run.news import News
    from cluster_sim.run.view import About
    from cluster_sim.workload.jobs import Job
    from cluster_sim.workload.work import Work


class ClairvoyantView(View):
    """A view that also tells how long jobs really run, for policies that say in their class that they are clairvoyant."""

    def __init__(
        self,
        machine: Machine,
        live: LiveJobs[Any],
        news: News,
        changes: JobChanges | None,
        about: About,
        work: Work,
        kills_at_walltime: bool,
    ):
        super().__init__(machine, live, news, changes, about)
        self.work = work
        self.kills_at_walltime = kills_at_walltime  #: True if a job ends at its requested time in any case.

    def run_time(self, job: Job, ops_per_s: float | None = None) -> float:
        """Return the uncontended run time of a job's work on cores of that rate (default: the platform's fastest), s.

        That is what published formulas have as run time; checkpoints and a walltime come to it in the other two.
        """
        return self.work.seconds(job.index, ops_per_s or self.platform.fastest_ops_per_s)

    def undisturbed_time(self, job: Job) -> float:
        """Return how long a job really runs on the fastest cores, with checkpoints, if only its walltime stops it, s.

        All of it, as slowdowns want it: also of a job that begins again with what its last checkpoint holds.
        """
        seconds = self.run_time(job)
        most = job.requested_time if self.kills_at_walltime else math.inf
        return min(seconds, most) if self._changes is None else self._changes.undisturbed(job, seconds, most)

    def true_end(self, running: Running) -> float:
        """Return when a job that holds cores really ends, s, by its slowest core or walltime, if no task slows another.

        With its checkpoints, and of one that was resized, suspended or stopped with what it had done before. As if it had
        had the clocks that it has since its start, or its present stage, and keeps these and its cores.
        """
        types, job = self._machine.type_of, running.job
        seconds = self.run_time(job, min(types[processor].ops_per_s for processor, _ in self.held_cores(job)))
        most = running.limit_s if self.kills_at_walltime else math.inf
        if self._changes is None:
            return running.expected_start + min(seconds, most)
        return self._changes.end_of(running, seconds, most)
