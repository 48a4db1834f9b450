"""The way of a job from its submission to the queue, and out again if it does not start: rejected, or cancelled."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cluster_sim.run.jobs.arrivals import arrivals
from cluster_sim.run.jobs.limit_gate import LimitGate, limits_hold
from cluster_sim.run.jobs.precedence import Precedence, has_dependencies
from cluster_sim.run.jobs.window_gate import WindowGate
from cluster_sim.workload.jobs import Job, any_asks

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cluster_sim.machine.machine import Machine
    from cluster_sim.platform.accounts import Accounts
    from cluster_sim.run.decision_log import DecisionLog
    from cluster_sim.run.jobs.attempts import Attempts
    from cluster_sim.run.policies import Scheduler
    from cluster_sim.workload.workload import Workload


class Admission:
    """Submits the jobs of a run and lets them into its queue, ``pending``, where schedulers see them.

    On the way a job can be rejected, because the platform can never hold it, or held back: until the jobs that it waits
    for are over, until its advance reservation begins, and while a limit of its account allows no more jobs. ``columns``
    are those that schedulers see.
    """

    def __init__(
        self,
        machine: Machine,
        workload: Workload,
        columns: dict[str, npt.NDArray[Any]],
        pending: dict[int, Job],
        attempts: Attempts,
        decision_log: DecisionLog | None,
        scheduler: Scheduler,
        accounts: Accounts | None,
        request_pass: Callable[[], None],
        one_by_one: bool,
    ):
        self._machine = machine
        self._env = machine.env
        self._hub = machine.hub
        self._columns = columns
        self._pending = pending
        self._attempts = attempts
        self._decision_log = decision_log
        self._scheduler = scheduler
        self._request_pass = request_pass
        platform = machine.platform
        self._core_count = platform.core_count
        self._gate: WindowGate | None = None
        self._limits: LimitGate | None = None
        if accounts is not None and not scheduler.keeps_limits and limits_hold(platform):
            self._limits = LimitGate(self._env, accounts, platform, self.admit, scheduler.chooses_cores)
        self._precedence: Precedence | None = None
        # When jobs joined the queue, for the first time, that may have been held on their way, s; NaN: not yet.
        self._late: dict[int, float] = {}
        if has_dependencies(workload):
            acts = (self.submit, self.admit, self.reject)
            self._precedence = Precedence(self._env, workload, columns, *acts)
            self._late = dict.fromkeys(self._precedence.waiting, math.nan)
            self._hub.over.append(self._precedence.over)
        if self._limits is not None:
            self._hub.over.append(self._limits.over)
        self.prepare()
        others = self._precedence.following if self._precedence is not None else frozenset[int]()
        #: The process that submits jobs, each at its time.
        self.process = self._env.process(arrivals(self._env, columns, len(workload), self.submit, others, one_by_one))

    def prepare(self) -> None:
        """Look at what jobs may ask for besides cores."""
        eligibility = self._machine.cores.eligibility
        self._by_memory = self._scheduler.memory and any_asks(self._columns, "memory")
        #: True if a job can ask for more than cores.
        self._has_wishes = self._machine.cores.shapes or self._by_memory or eligibility.restricts
        self._has_wishes = self._has_wishes or self._machine.cores.resources.asked
        if self._gate is None and eligibility.restricts:
            self._gate = WindowGate(self._env, eligibility, self.admit, self._refuse, self._turn)

    def expect(self, job: Job) -> None:
        """Expect a job that is not of the workload, to be submitted at its time."""
        if self._precedence is not None:
            self._precedence.expect(job)

    def readmit(self, job: Job) -> None:
        """Let a job that ran wait again, in its old place; one killed while it waited for others may still have to."""
        if self._precedence is not None and job.index in self._precedence.refused:
            self.reject(job, self._precedence.refused[job.index])
            return
        for hear in self._hub.submitted:
            hear(job)
        if self._precedence is not None and self._precedence.holds(job):
            return
        later = [index for index in self._pending if index > job.index]
        self.admit(job)
        for index in later:  # behind it, in the order that they have
            if job.index in self._pending:
                self._pending[index] = self._pending.pop(index)

    def submit(self, job: Job) -> None:
        """Take in a job that arrives now."""
        reason = ""
        if job.requested_cores > self._core_count or self._has_wishes:
            scheduler = self._scheduler
            least = job.on_cores(job.min_cores) if scheduler.chooses_cores else job
            cores, by_memory = self._machine.cores, self._by_memory
            reason = cores.why_impossible(least, by_memory, not scheduler.keeps_resources, scheduler.spreads_tasks)
            reason = reason or cores.why_on_too_many_switches(least, by_memory)
            if not reason and not scheduler.gives_resources and cores.resources.asks(least):
                asked = cores.resources.described(least)
                reason = f"it asks for {asked}, which this scheduler does not give"
        if not reason and self._precedence is not None:
            reason = self._precedence.refused.get(job.index, "")
        if not reason and self._machine.budget.is_set:
            reason = self._machine.budget.why_never(job)
        if not reason and self._limits is not None:
            reason = self._limits.why_never(job)
        if reason:
            self.reject(job, reason)
            return
        for hear in self._hub.submitted:
            hear(job)
        if self._precedence is None or not self._precedence.holds(job):
            self.admit(job)

    def admit(self, job: Job) -> None:
        """Show the job to schedulers, unless its advance reservation has not begun, or it is over a limit."""
        gate, limits, attempts = self._gate, self._limits, self._attempts
        if (gate is not None and gate.holds(job)) or (limits is not None and limits.holds(job)):
            if not attempts.has_waited(job):
                self._late[job.index] = math.nan
            return
        if self._late and math.isnan(self._late.get(job.index, 0.0)):
            self._late[job.index] = self._env.now
        self._pending[job.index] = job
        if attempts.any_came_back:
            attempts.joined(self._env.now, job)
        for hear in self._hub.queued:
            hear(job)

    def reject(self, job: Job, reason: str) -> None:
        """Refuse a job for good, whether it waits or is just being submitted."""
        waited = self.withdraw(job.index) is not None
        self._attempts.rejected(self._env.now, job, reason, waited)
        if self._decision_log is not None:
            self._decision_log.rejected(self._env.now, job, reason)
        for hear in self._hub.over:
            hear(job, "rejected")

    def withdraw(self, index: int) -> Job | None:
        """Take out a job that waits, in the queue or on its way to it; None if it does not."""
        job = self._pending.pop(index, None)
        if job is None and self._precedence is not None:
            job = self._precedence.held.pop(index, None)
        if job is None and self._gate is not None:
            job = self._gate.held.pop(index, None)
        if job is None and self._limits is not None:
            job = self._limits.withdraw(index)
        return job

    def times(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return when each job is submitted and eligible to start, s; NaN: it depends on jobs not yet over."""
        submit = self._columns["submit_time"] if self._precedence is None else self._precedence.submit_time.copy()
        if not self._late:
            return submit, submit
        eligible = submit.copy()
        eligible[list(self._late)] = list(self._late.values())
        return submit, eligible

    def _refuse(self, job: Job, reason: str) -> None:
        """Reject a job if it is still in the queue."""
        if self._pending.get(job.index) is job:
            self.reject(job, reason)
            self._request_pass()

    def _turn(self) -> None:
        """Ask for a pass: the window of an advance reservation begins or ends."""
        self._machine.cores.version = object()
        self._request_pass()
