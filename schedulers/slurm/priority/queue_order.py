"""Slurm's priorities as an order of the queue, for schedulers that are not Slurm's: ``easy:order=multifactor``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.errors import InputError, ModelWarning, warn_user
from cluster_sim.machine.running import Running
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.slurm import SlurmMachine
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job, JobColumns
from schedulers.slurm.job_request import Ask
from schedulers.slurm.priority.multifactor import Multifactor
from schedulers.slurm.request_maker import RequestMaker


class MultifactorOrder:
    """Slurm's multifactor priority: highest first, of the platform's slurm.conf or another: multifactor:conf=FILE.

    Ages, fair shares and priorities are brought up to date every PriorityCalcPeriod, counted from the start of the run.
    Fair shares are those of the run's accounts, and of equal shares where it has none. On a platform that has no slurm.conf
    all weights are 0, as in an empty one.
    """

    dynamic = True
    by_column = True

    def __init__(self, conf: str = ""):
        self._slurm: SlurmMachine | None = None
        if conf:
            self._slurm = Platform.read(conf).slurm
            if self._slurm is None:
                raise InputError("job order 'multifactor', option conf", "a slurm.conf", conf)
        self._in_run: PrioritiesInRun | None = None

    def in_run(self, view: View) -> PrioritiesInRun:
        """Return the order as it is in a run: the same for all who ask."""
        if self._in_run is None or self._in_run.view is not view:
            slurm = self._slurm or view.platform.slurm
            if slurm is None:
                text = "the platform has no slurm.conf: all weights are 0, and jobs go in order of submission"
                warn_user(ModelWarning(f"job order 'multifactor': {text}"))
            self._in_run = PrioritiesInRun(view, slurm or SlurmMachine((), (), (), ()))
        return self._in_run

    def __call__(self, job: Job | JobColumns, now: float) -> Any:
        """Return equal keys: outside of a run nobody has waited or used anything."""
        return 0.0 if isinstance(job, Job) else np.zeros(len(job.index))


class PrioritiesInRun:
    """The priorities of a run's jobs; it follows what happens to them from pass to pass."""

    dynamic = True
    by_column = True

    def __init__(self, view: View, slurm: SlurmMachine):
        self.view = view
        platform = view.platform
        self.priorities = Multifactor(slurm, platform.core_count, view.planning.accounts, platform.node_count)
        self.priorities.begin(view.now)
        default = slurm.partition()
        self._requests = RequestMaker("", "" if default is None else default.name)
        self.version = 0  #: Another number whenever keys of jobs that wait have changed.
        self._waiting: dict[int, tuple[Job, Ask]] = {}
        self._running: dict[int, tuple[Running, Ask]] = {}
        self._stopped: dict[int, Ask] = {}
        self._since: dict[int, float] = {}  # when each job first joined the queue, s: its age, like its place, stays
        view.planning.follow(self.follow)

    def __call__(self, job: Job | JobColumns, now: float) -> Any:
        """Return priorities, negated, since the least key goes first; of one job, or of many at once."""
        if isinstance(job, Job):
            ask = self._asked(job, now)
            return -self.priorities.priority(ask, ask.partitions[0])
        return -self.priorities.priorities(job.index.tolist())

    def tell(self, job: Job) -> str:
        """Say what a waiting job's priority is made of, for people."""
        ask = self._asked(job, self.view.now)
        return self.priorities.tell(ask, ask.partitions[0])

    def _asked(self, job: Job, now: float) -> Ask:
        """Return the request of a job that waits."""
        known = self._waiting.get(job.index)
        return self._join(job, now) if known is None else known[1]

    def _join(self, job: Job, now: float) -> Ask:
        ask = self._stopped.pop(job.index, None)
        if ask is not None:  # it was taken to be suspended, and waits again
            self.priorities.ended(ask, now)
        elif job.index in self._waiting:  # it was withdrawn, and waits again
            self.priorities.withdrawn(self._waiting[job.index][1], now)
        ask = self._requests.of(job, now)
        self._waiting[job.index] = job, ask
        self.priorities.submitted(ask, now, job.submit_time)
        first = self._since.setdefault(job.index, now)
        self.priorities.eligible(ask, first)
        if first < now:
            self.priorities.changed(ask, now)  # its age counts at once, not from the next period on
        return ask

    def follow(self) -> None:
        """Follow what happened since the last pass: starts, periods that are over, ends, and new jobs."""
        view, now = self.view, self.view.now
        for running in view.ended:
            self._started(running)
        for running in view.running_by_index.values():
            self._started(running)
        if self.priorities.advance(latest(now)):
            self.version += 1
        for running in view.ended:
            known, held = self._running.get(running.job.index), view.running_by_index.get(running.job.index)
            if known is not None and known[0] is running and held is not running:  # a grace also makes it news
                del self._running[running.job.index]
                if running.job.index in view.planning.suspended_by_index:
                    self.priorities.suspended(known[1], now)
                    self._stopped[running.job.index] = known[1]
                else:
                    self.priorities.ended(known[1], now)
        for job in view.submitted:
            if self._waiting.get(job.index, (None,))[0] is not job and view.is_pending(job):
                self._join(job, now)
        if len(self._waiting) > view.pending_count:
            for index in [index for index, (job, _) in self._waiting.items() if not view.is_pending(job)]:
                self.priorities.withdrawn(self._waiting.pop(index)[1], now)

    def _started(self, running: Running) -> None:
        """Count the cores of a job from when it got them, if that has not been done."""
        index, time, cpus = running.job.index, running.allocation_time, running.placement.cores
        known = self._running.get(index)
        if known is not None and known[0] is running:
            return
        if index in self._waiting:
            ask = self._waiting.pop(index)[1]
            self.priorities.started(ask, "", (), cpus, time)
        elif known is not None or index in self._stopped:  # it goes on, perhaps with other cores
            ask = self._stopped.pop(index) if known is None else known[1]
            self.priorities.suspended(ask, time)
            self.priorities.resumed(ask, time, cpus)
        else:
            return  # started and ended in one instant
        self._running[index] = running, ask


def multifactor(conf: Annotated[str, Doc("slurm.conf; the platform's unless given")] = "") -> MultifactorOrder:
    """Slurm's multifactor priority, highest first, by the platform's slurm.conf or another: multifactor:conf=FILE."""
    return MultifactorOrder(conf)
