"""The life of a job: it gets its cores, its tasks begin, it ends or is killed, and may wait again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from math import inf
from typing import TYPE_CHECKING, Any

from simpy.events import Event

from cluster_sim.engine import WALLTIME, latest
from cluster_sim.errors import InputError, PlacementError, SimulationError
from cluster_sim.machine.allocation import Allocation
from cluster_sim.machine.course import WHOLE, Course, StagedCourse
from cluster_sim.machine.running import Running
from cluster_sim.read_only import renew
from cluster_sim.registry import describe
from cluster_sim.run.jobs.attempt import Attempt, AttemptSteps, Kill
from cluster_sim.run.jobs.attempts import STATES, AttemptEnd, Attempts, Stopped
from cluster_sim.run.jobs.courses import Courses, asks_for
from cluster_sim.run.jobs.job_changes import JobChanges
from cluster_sim.workload.jobs import Job, JobState, any_asks

if TYPE_CHECKING:
    from cluster_sim.machine.job_clocks import JobClocks
    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.placement import Placement
    from cluster_sim.run.decision_log import DecisionLog
    from cluster_sim.run.failures import Failures
    from cluster_sim.run.jobs.admission import Admission
    from cluster_sim.run.jobs.execution import Executor
    from cluster_sim.run.jobs.live_jobs import LiveJobs
    from cluster_sim.run.jobs.rules import RunRules
    from cluster_sim.run.jobs.run_jobs import RunJobs
    from cluster_sim.run.news import News


MOST_LOSSES_AT_ONE_TIME = 1_000


class JobLife(AttemptSteps):
    """Starts and ends the jobs of a run, and keeps its records of them.

    ``live`` are the jobs that wait, hold cores or are suspended.
    """

    def __init__(
        self,
        machine: Machine,
        jobs: RunJobs,
        live: LiveJobs[Attempt],
        executor: Executor,
        network: Any,
        admission: Admission,
        attempts: Attempts,
        job_clocks: JobClocks,
        rules: RunRules,
        failures: Failures | None,
        request_pass: Callable[[], None],
        news: News,
        decision_log: DecisionLog | None,
    ):
        self.machine = machine
        self._env = machine.env
        self._hub = machine.hub
        self._jobs = jobs
        self.live = live
        self.executor = executor
        self._network = network
        self._admission = admission
        self.attempts = attempts
        self.job_clocks = job_clocks
        self._rules = rules
        self._failures = failures
        self._request_pass = request_pass
        self._decision_log = decision_log
        self._losses: Counter[int] = Counter()  # how often each job lost its cores in the instant
        self._losses_at = -1.0  # of this time, s
        mtbf = inf if failures is None else failures.mtbf_s
        self.courses = Courses(jobs.columns, mtbf)
        self.changes = JobChanges(self, news, rules, request_pass)
        #: True if any job has data to exchange when its tasks have ended.
        self.communicates = any_asks(jobs.columns, "comm_vol")
        self._hub.node_fails.append(self._kill_jobs_on)

    def require_pending(self, job: Job) -> None:
        """Raise PlacementError unless the job waits, and is the one of the queue, not a copy of it on other cores."""
        pending = self.live.pending.get(job.index)
        if pending is not job:
            if pending is not None and pending.job_id == job.job_id:
                expected = "the job of view.pending, on cores that view.place(job.on_cores(n)) has found"
                raise PlacementError(f"job {job.job_id} is a copy of the one that waits: decide on {expected}")
            has = " any more: it has its cores" if job.index in self.live.running else ""
            raise PlacementError(f"job {job.job_id} is not pending{has}")

    def start(self, job: Job, placement: Placement, p_state: int | None = None) -> None:
        """Give a job its cores. Raises PlacementError, with nothing changed, when it cannot have them."""
        pending = self.live.pending
        if pending.get(job.index) is not job:
            self.require_pending(job)
        course = WHOLE
        if self.courses.wanted:
            course = self.courses.at_start(job, placement)
        else:
            if placement.cores != job.requested_cores:
                raise PlacementError(f"job {job.job_id} {asks_for(job)}, {placement!r} has {placement.cores}")
        self.set_out(job, placement, course, len(self.attempts.job), p_state)
        del pending[job.index]
        self.attempts.begin(job)

    def set_out(
        self,
        job: Job,
        placement: Placement,
        course: Course,
        number: int,
        p_state: int | None = None,
        restarts: bool = False,
    ) -> Running:
        """Give a job its cores for an attempt, or the rest of one; it begins as soon as its nodes are on.

        The attempt has this ``number`` among all. It ``restarts`` if it goes on elsewhere than it was.
        Raises PlacementError as :meth:`start`.
        """
        machine, cores = self.machine, self.machine.cores
        memory = job.memory if cores.uses_memory else 0.0
        budget = machine.budget
        slower = budget.require(job, placement, p_state) if budget.is_set else {}
        request = self.changes.request(job, placement.cores) if cores.eligibility.restricts else job
        allocation = Allocation(cores, placement, memory, job, number, None, request)
        if p_state is not None:
            try:
                self.job_clocks.choose(job, allocation, p_state)
            except PlacementError:
                cores.take_back(allocation)
                raise
        running = self.live.running[job.index] = Running(job, placement, self._env.now, number, memory)
        if course is not WHOLE:
            renew(running, limit_s=course.time_left(job, placement.cores))
            if restarts:
                course.restart()
        if slower:
            budget.slow_down(slower)  # not before nothing can be refused any more
        are_ready = machine.nodes.all_on or machine.nodes.has_ready_nodes(placement)
        if not are_ready:
            renew(running, start_time=inf, expected_start=self._env.now + machine.nodes.boot_time(placement))
        attempt = Attempt(self._env, self, running, allocation, course, are_ready)
        self.live.holders[job.index] = attempt
        if budget.is_set:
            budget.start(attempt)
        return running

    # ------------------------------------------------------------------ the steps of an attempt

    def boot(self, attempt: Attempt) -> Generator[Event, Any, None]:
        """Boot the nodes of a job, and wait until they are on."""
        switching, nodes = self.machine.switching, attempt.running.placement.nodes
        switching.switch_on(nodes)
        yield from switching.wait_for(nodes)

    def begin(self, attempt: Attempt) -> None:
        """Begin the tasks of a job, whose nodes are ready."""
        running, now = attempt.running, self._env.now
        if self._decision_log is not None and running.start_time == inf:
            self._decision_log.booted(now, running.job.index, now > latest(running.expected_start))
        if running.start_time != now:
            renew(running, start_time=now, expected_start=now)
        if self.job_clocks.chosen:
            self.job_clocks.begin(running.job)
        self.machine.power.load(attempt.allocation)
        if attempt.course is WHOLE:
            self.executor.start_tasks(attempt)
        else:
            self.executor.begin_stage(attempt)
        for hear in self._hub.started:
            hear(running.job)
        if self._rules.enforce_walltime:
            self.limit(attempt)

    def go_on(self, attempt: Attempt) -> Generator[Event, Any, bool]:
        """End the stage of a job that has several, if it is in one, and begin the next; return whether there is one."""
        course = attempt.course
        assert isinstance(course, StagedCourse)
        if course.stage is not None:
            self.executor.complete_stage(attempt, course)
        if course.at_boundary:
            yield from self.changes.at_boundary(attempt, course)
            course.at_boundary = False
        return course.stage is None and self.executor.begin_stage(attempt)

    def limit(self, attempt: Attempt) -> None:
        """Have a job killed when it has run as long as it may, where walltimes are enforced."""
        running = attempt.running
        if self._rules.enforce_walltime and running.limit_s < inf:

            def stop(event: Event) -> None:
                if attempt.running is running:  # else its cores have changed, and another limit holds
                    self._interrupt(attempt, Kill("walltime", AttemptEnd.TIMEOUT))

            self._env.at(self._env.now + running.limit_s, WALLTIME).callbacks.append(stop)

    def communicate(self, attempt: Attempt) -> None:
        """Start what the tasks of a job exchange after their end, if they have not yet."""
        volume = self._volume(attempt.job) * attempt.course.to_exchange
        nodes = attempt.running.placement.nodes
        if not attempt.transfers and volume > 0.0 and len(nodes) > 1:
            transfer = self._network.transfer(nodes, volume / len(nodes))
            if transfer is not None and not isinstance(transfer, Event):
                raise InputError(
                    f"network model {describe(self._network)}, transfer", "an event, or None", repr(transfer)
                )
            attempt.transfers = () if transfer is None else (transfer,)

    def time_ratio(self, running: Running) -> float:
        """Return how many times as long a job takes on its cores as on those that it requested."""
        return self.executor.work.time_ratio(running.job.index, running.placement.cores)

    def _volume(self, job: Job) -> float:
        """Return what all tasks of a job exchange, MB."""
        return self.executor.work.comm_vol(job.index) * job.requested_cores

    def end(self, attempt: Attempt, kill: Kill | None = None) -> None:
        """End a job: its work is done, or it has been killed."""
        job, course = attempt.job, attempt.course
        object.__setattr__(attempt.running, "has_ended", True)  # `renew`, without a call
        if kill is not None:
            if isinstance(course, StagedCourse):
                self.executor.cut_short(attempt, course)
                stopped = Stopped(kill.outcome, course.done, kill.reason, course.unsaved_core_s)
            else:
                stopped = Stopped(kill.outcome, self.executor.work_done(attempt), kill.reason)
            self.attempts.stopped[attempt.running.attempt] = stopped
        self.vacate(attempt)
        if kill is None:
            self.attempts.completed(job)
            if course is not WHOLE:
                self.courses.forget(job)
        elif self._waits_again(job, kill):
            self._queue_again(job)
            return
        else:
            self.attempts.killed(self._env.now, job, kill.reason)
        for hear in self._hub.over:
            hear(job, "completed" if kill is None else "killed")

    def _waits_again(self, job: Job, kill: Kill) -> bool:
        """Return whether a job whose attempt was stopped joins the queue again."""
        if kill.outcome is AttemptEnd.FAILED:
            return self._failures is not None and self._failures.allows_another(job, self.courses.of(job).saved)
        return kill.outcome in (AttemptEnd.REQUEUED, AttemptEnd.PREEMPTED)

    def vacate(self, attempt: Attempt) -> None:
        """Give back the cores of a job, and what is held for it: it is over, or suspended."""
        running, job, course = attempt.running, attempt.job, attempt.course
        del self.live.running[job.index], self.live.holders[job.index]
        if running.start_time < inf:
            if self.executor.any_on_channels:
                self.executor.stop_tasks(attempt)
            for transfer in attempt.transfers:
                # It exchanges nothing more for now; if it is suspended, it keeps what it has exchanged.
                left, begun = self._network.cancel(transfer), self.courses.of(job)
                if begun is not WHOLE and left is not None:
                    begun.to_exchange = left * len(running.placement.nodes) / self._volume(job)
            self.machine.power.unload(attempt.allocation)
        self.machine.cores.give_back(attempt.allocation)
        for hear in self._hub.vacated:
            hear(running)
        if course is not WHOLE:
            self.changes.let_go(running, course)
            course.at_boundary, course.asks = False, 0  # one that is suspended there goes on with its next part
        if self.job_clocks.chosen:
            self.job_clocks.end(job, running.start_time < inf)

    def requeue(self, job: Job | str, reason: str) -> None:
        """Have a job that runs or was killed wait again, see :meth:`~cluster_sim.run.simulation.Simulation.requeue`."""
        index = self._jobs.index(job, "simulation.requeue")
        state = STATES[self.attempts.state[index]]
        if state in (JobState.COMPLETED, JobState.REJECTED):
            raise InputError("simulation.requeue", "a job that runs, waits or was killed", f"{state} job {job}")
        if state is JobState.KILLED:
            self._queue_again(self._jobs.job(index))
        elif index in self.live.running or index in self.live.suspended:
            self.kill_soon(index, reason or "requeued", AttemptEnd.REQUEUED)

    def note_loss(self, job: Job) -> None:
        """Note that a job loses cores before its end. Raises SimulationError if it does so in circles in one instant."""
        now = self._env.now
        if now != self._losses_at:
            self._losses.clear()
            self._losses_at = now
        self._losses[job.index] += 1
        if self._losses[job.index] > MOST_LOSSES_AT_ONE_TIME:
            times = f"{self._losses[job.index]:,} times at {now:g} s"
            raise SimulationError(
                f"job {job.job_id} has lost cores {times}: {self._rules.scheduler} gives it cores "
                "and takes them, or a process has it requeued, in circles, and the clock does not go on"
            )

    def _queue_again(self, job: Job) -> None:
        self.note_loss(job)
        self.courses.of(job).go_back()
        self.attempts.requeued(self._env.now, job)
        self._admission.readmit(job)

    def kill_soon(self, index: int, reason: str, outcome: AttemptEnd) -> None:
        """Kill a job in this instant.

        Not at once: a process cannot be interrupted in the middle of what it does, nor before it has begun.
        """
        self._env.timeout(0).callbacks.append(lambda event: self._kill(index, reason, outcome))

    def _kill(self, index: int, reason: str, outcome: AttemptEnd) -> None:
        attempt, in_queue = self.live.holders.get(index), index in self.live.pending
        waiting = self._admission.withdraw(index) if outcome is AttemptEnd.KILLED else None
        suspended = self.changes.withdraw(index)
        if attempt is not None:
            self._interrupt(attempt, Kill(reason, outcome))
        elif suspended is not None:
            job, kill = suspended.job, Kill(reason, outcome)
            course = self.courses.of(job)
            stopped = Stopped(kill.outcome, course.done, kill.reason, course.unsaved_core_s, self._env.now)
            self.attempts.stopped[suspended.attempt] = stopped
            if kill.outcome in (AttemptEnd.PREEMPTED, AttemptEnd.CANCELLED):
                self.attempts.suspensions -= 1  # it has taken these cores once, and the outcome says so
            self._request_pass()
            if self._waits_again(job, kill):
                self._queue_again(job)
            else:
                self.attempts.killed_suspended(self._env.now, job, kill.reason)
                for hear in self._hub.over:
                    hear(job, "killed")
        elif waiting is not None:
            self.attempts.withdrawn(self._env.now, waiting, reason, in_queue)
            self._request_pass()
            for hear in self._hub.over:
                hear(waiting, "killed")

    def _interrupt(self, attempt: Attempt, kill: Kill) -> None:
        if not attempt.running.has_ended:
            renew(attempt.running, has_ended=True)  # a second kill in the same instant finds it so
            attempt.interrupt(kill)

    def _kill_jobs_on(self, node: int, reason: str) -> int:
        """Kill the jobs that hold cores of a node, which breaks down; how many there are."""
        cores = self.machine.cores
        jobs = self.changes.suspended_on(node)
        if cores.free[node] < self.machine.platform.node_cores[node]:
            self.changes.forget_changes_to(node)
            jobs += [running.job for running in self.live.running.values() if running.placement.covers(node)]
        for job in jobs:
            self.kill_soon(job.index, reason, AttemptEnd.FAILED)
        return len(jobs)
