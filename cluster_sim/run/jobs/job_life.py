"""The life of a job: it gets its cores, its tasks begin, it ends or is killed, and may wait again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from math import inf
from typing import TYPE_CHECKING, Any

from simpy.events import URGENT, Event, Process

from cluster_sim.engine import CHANGE, WALLTIME, EagerProcess, latest
from cluster_sim.errors import InputError, PlacementError, SimulationError
from cluster_sim.machine.running import Running
from cluster_sim.registry import describe
from cluster_sim.run.jobs.attempts import STATES, AttemptEnd, Stopped
from cluster_sim.run.jobs.courses import Courses, asks_for
from cluster_sim.run.jobs.execution import Kill, execute
from cluster_sim.run.jobs.job_changes import JobChanges
from cluster_sim.run.jobs.staged import Stages, pursue
from cluster_sim.workload.jobs import Job, JobState

if TYPE_CHECKING:
    from cluster_sim.machine.course import Course
    from cluster_sim.machine.job_clocks import JobClocks
    from cluster_sim.machine.placement import Placement
    from cluster_sim.run.simulation import Simulation


MOST_LOSSES_AT_ONE_TIME = 1_000


class JobLife:
    """Starts and ends the jobs of a run, and keeps its records of them.

    ``pending`` and ``running`` are the run's jobs that wait and that hold cores, by their index.
    """

    def __init__(
        self,
        simulation: Simulation,
        pending: dict[int, Job],
        running: dict[int, Running],
        job_clocks: JobClocks,
    ):
        self._env = simulation.env
        self.machine = simulation.machine
        self._network = simulation.network
        self._executor = simulation.executor
        self.job_clocks = job_clocks
        self._pending = pending
        self.running = running  #: Jobs that hold cores, by their index.
        self._jobs = simulation.jobs
        self._attempts = simulation.attempts
        self._admission = simulation.admission
        self._notices = simulation.notices
        self._decision_log = simulation.decision_log
        self._view = simulation.view
        self._request_pass = simulation.request_pass
        self._check_end = simulation.closing.check
        self._enforces_walltime = simulation.enforce_walltime
        self._has_power_policy = simulation.power_policy is not None
        self._scheduler = simulation.scheduler
        self._failures = simulation.failures
        self._losses: Counter[int] = Counter()  # how often each job lost its cores in the instant
        self._losses_at = -1.0  # of this time, s
        mtbf = inf if simulation.failures is None else simulation.failures.mtbf_s
        self.courses: Courses = Courses(simulation.jobs.columns, mtbf)
        self.stages = Stages(simulation.executor, simulation.request_pass, simulation.attempts.stages)
        #: The phase of an instant in which what the scheduler decided on jobs at the end of a part happens.
        self.after_pass = URGENT if simulation.after_each_event else CHANGE
        self.changes = JobChanges(simulation, self)
        #: True if any job has data to exchange when its tasks have ended.
        self.communicates = bool((simulation.jobs.columns["comm_vol"] > 0).any())

    def require_pending(self, job: Job) -> None:
        """Raise PlacementError unless the job waits, and is the one of the queue, not a copy of it on other cores."""
        pending = self._pending.get(job.index)
        if pending is not job:
            if pending is not None and pending.job_id == job.job_id:
                expected = "the job of view.pending, on cores that view.place(job.on_cores(n)) has found"
                raise PlacementError(f"job {job.job_id} is a copy of the one that waits: decide on {expected}")
            has = " any more: it has its cores" if job.index in self.running else ""
            raise PlacementError(f"job {job.job_id} is not pending{has}")

    def start(self, job: Job, placement: Placement, p_state: int | None = None) -> None:
        """Give a job its cores. Raises PlacementError, with nothing changed, when it cannot have them."""
        self.require_pending(job)
        if self.courses.wanted:
            course = self.courses.at_start(job, placement)
        else:
            course = None
            if placement.cores != job.requested_cores:
                raise PlacementError(f"job {job.job_id} {asks_for(job)}, {placement!r} has {placement.cores}")
        self.set_out(job, placement, course, len(self._attempts.job), p_state)
        del self._pending[job.index]
        self._attempts.begin(job)

    def set_out(
        self,
        job: Job,
        placement: Placement,
        course: Course | None,
        attempt: int,
        p_state: int | None = None,
        restarts: bool = False,
    ) -> Running:
        """Give a job its cores for an attempt, or the rest of one; it begins as soon as its nodes are on.

        It ``restarts`` if it goes on elsewhere than it was.

        Raises PlacementError as :meth:`start`.
        """
        machine = self.machine
        memory = job.memory if machine.cores.uses_memory else 0.0
        budget = machine.budget
        slower = {} if budget is None else budget.require(job, placement, p_state)
        request = job if machine.cores.eligibility is None else self.changes.request(job, placement.cores)
        allocation = machine.cores.request(placement, memory, job, attempt, request=request)
        if p_state is not None:
            try:
                self.job_clocks.choose(job, allocation, p_state)
            except PlacementError:
                machine.cores.take_back(allocation)
                raise
        running = self.running[job.index] = Running(job, placement, allocation, self._env.now, attempt)
        if course is not None:
            running._course, course.running = course, running
            running.limit_s = course.time_left(placement.cores)
            if restarts:
                course.restart()
        if budget is not None:
            budget.slow_down(slower)  # not before nothing can be refused any more
            budget.start(running)
        if machine.nodes.all_on or machine.nodes.has_ready_nodes(placement):
            self.begin(running)
        else:
            running.start_time = inf
            running.expected_start = self._env.now + machine.nodes.boot_time(placement)
        # Boots begin after the pass, or a node would be in transition for what the scheduler still decides in it.
        kind = EagerProcess if running.start_time < inf else Process
        process = execute(self, running) if course is None else pursue(self, course, running)
        running._process = kind(self._env, process)
        return running

    def boot(self, running: Running) -> Generator[Event, Any, None]:
        """Boot the nodes of a job, and begin when they are on. Part of the job's process."""
        switching, nodes = self.machine.switching, running.placement.nodes
        switching.switch_on(nodes)
        yield from switching.wait_for(nodes)
        self.begin(running)

    def begin(self, running: Running) -> None:
        """Begin the tasks of a job, whose nodes are ready. Called by the job's process."""
        if self._decision_log is not None and running.start_time == inf:
            self._decision_log.booted(self._env.now, running.job.index, self._env.now > latest(running.expected_start))
        running.start_time = running.expected_start = self._env.now
        if self.job_clocks.chosen:
            self.job_clocks.begin(running.job)
        self.machine.power.load(running._allocation)
        if running._course is None:
            self._executor.start_tasks(running)
        else:
            self.stages.begin_next(running._course)
        if self._notices.wanted:
            self._notices.note("job_started", running.job)
        if self._enforces_walltime:
            self.limit(running)

    def limit(self, running: Running) -> None:
        """Have a job killed when it has run as long as it may, where walltimes are enforced."""
        if self._enforces_walltime and running.limit_s < inf:
            limit = self._env.at(self._env.now + running.limit_s, WALLTIME)
            limit.callbacks.append(lambda event: self._interrupt(running, Kill("walltime", AttemptEnd.TIMEOUT)))

    def communicate(self, running: Running) -> None:
        """Start what the tasks of a job exchange after their end, if they have not yet. Called by the job's process."""
        volume = self._volume(running)
        if running._course is not None:
            volume *= running._course.to_exchange
        nodes = running.placement.nodes
        if running._transfer is None and volume > 0.0 and len(nodes) > 1:
            transfer = self._network.transfer(nodes, volume / len(nodes))
            if transfer is not None and not isinstance(transfer, Event):
                raise InputError(
                    f"network model {describe(self._network)}, transfer", "an event, or None", repr(transfer)
                )
            running._transfer = transfer

    def time_ratio(self, running: Running) -> float:
        """Return how many times as long a job takes on its cores as on those that it requested."""
        return self._executor.work.time_ratio(running.job.index, running.placement.cores)

    def _volume(self, running: Running) -> float:
        """Return what all tasks of a job exchange, MB."""
        return self._executor.work.comm_vol(running.job.index) * running.job.requested_cores

    def end(self, running: Running, kill: Kill | None = None) -> None:
        """End a job: its work is done, or it has been killed. Called by the job's process."""
        job = running.job
        running._ended = True
        if kill is not None:
            course = running._course
            if course is None:
                stopped = Stopped(kill.outcome, self._executor.work_done(running), kill.reason)
            else:
                self.stages.cut_short(course)
                stopped = Stopped(kill.outcome, course.done, kill.reason, course.unsaved_core_s)
            self._attempts.stopped[running._attempt] = stopped
        self.vacate(running)
        self._request_pass()
        if kill is not None and self._waits_again(job, kill):
            self._queue_again(job)
            return
        if kill is None:
            self._attempts.completed(job)
            if running._course is not None:
                self.courses.forget(job)
        else:
            self._attempts.killed(self._env.now, job, kill.reason)
        if self._notices.wanted:
            self._notices.note("job_completed" if kill is None else "job_killed", job)
        self.over(job, "completed" if kill is None else "killed")

    def _waits_again(self, job: Job, kill: Kill) -> bool:
        """Return whether a job whose attempt was stopped joins the queue again."""
        if kill.outcome is AttemptEnd.FAILED:
            course = self.courses.of(job)
            saved = 0.0 if course is None else course.saved
            return self._failures is not None and self._failures.allows_another(job, saved)
        return kill.outcome in (AttemptEnd.REQUEUED, AttemptEnd.PREEMPTED)

    def vacate(self, running: Running) -> None:
        """Give back the cores of a job, and what is held for it: it is over, or suspended."""
        job, course = running.job, running._course
        del self.running[job.index]
        self._view.ended.append(running)
        if self._has_power_policy:
            self._view.vacated.append(running)
        if running.start_time < inf:
            self._executor.stop_tasks(running)
            if running._transfer is not None:
                # It exchanges nothing more for now; if it is suspended, it keeps what it has exchanged.
                left, begun = self._network.cancel(running._transfer), self.courses.of(job)
                if begun is not None and left is not None:
                    begun.to_exchange = left * len(running.placement.nodes) / self._volume(running)
            self.machine.power.unload(running._allocation)
        self.machine.cores.give_back(running._allocation)
        if course is not None:
            self.changes.let_go(course)
            course.running = None
            course.at_boundary, course.asks = False, 0  # one that is suspended there goes on with its next part
        if self.job_clocks.chosen:
            self.job_clocks.end(job, running.start_time < inf)

    def requeue(self, job: Job | str, reason: str) -> None:
        """Have a job that runs or was killed wait again, see :meth:`~cluster_sim.run.simulation.Simulation.requeue`."""
        index = self._jobs.index(job, "simulation.requeue")
        state = STATES[self._attempts.state[index]]
        if state in (JobState.COMPLETED, JobState.REJECTED):
            raise InputError("simulation.requeue", "a job that runs, waits or was killed", f"{state} job {job}")
        if state is JobState.KILLED:
            self._queue_again(self._jobs.job(index))
        elif index in self.running or index in self._view.suspended_by_index:
            self.kill_soon(index, reason or "requeued", AttemptEnd.REQUEUED)

    def note_loss(self, job: Job) -> None:
        """Note that a job loses cores before its end. Raises SimulationError if it does so in circles in one instant."""
        now = self._env.now
        if now != self._losses_at:
            self._losses.clear()
            self._losses_at = now
        self._losses[job.index] += 1
        if self._losses[job.index] > MOST_LOSSES_AT_ONE_TIME:
            scheduler = "the scheduler" if self._scheduler is None else type(self._scheduler).__name__
            raise SimulationError(
                f"job {job.job_id} has lost cores {self._losses[job.index]:,} times at {now:g} s: {scheduler} gives it cores "
                "and takes them, or a process has it requeued, in circles, and the clock does not go on"
            )

    def _queue_again(self, job: Job) -> None:
        self.note_loss(job)
        course = self.courses.of(job)
        if course is not None:
            course.go_back()
        self._attempts.requeued(self._env.now, job)
        self._admission.readmit(job)

    def kill_soon(self, index: int, reason: str, outcome: AttemptEnd) -> None:
        """Kill a job in this instant.

        Not at once: a process cannot be interrupted in the middle of what it does, nor before it has begun.
        """
        self._env.timeout(0).callbacks.append(lambda event: self._kill(index, reason, outcome))

    def _kill(self, index: int, reason: str, outcome: AttemptEnd) -> None:
        running, in_queue = self.running.get(index), index in self._pending
        waiting = self._admission.withdraw(index) if outcome is AttemptEnd.KILLED else None
        suspended = self.changes.withdraw(index)
        if running is not None:
            self._interrupt(running, Kill(reason, outcome))
        elif suspended is not None:
            job, kill = suspended.job, Kill(reason, outcome)
            course = self.courses.of(job)
            assert course is not None
            stopped = Stopped(kill.outcome, course.done, kill.reason, course.unsaved_core_s, self._env.now)
            self._attempts.stopped[suspended.attempt] = stopped
            if kill.outcome in (AttemptEnd.PREEMPTED, AttemptEnd.CANCELLED):
                self._attempts.suspensions -= 1  # it has taken these cores once, and the outcome says so
            self._request_pass()
            if self._waits_again(job, kill):
                self._queue_again(job)
            else:
                self._attempts.killed_suspended(self._env.now, job, kill.reason)
                self._notices.note("job_killed", job)
                self.over(job, "killed")
        elif waiting is not None:
            self._attempts.withdrawn(self._env.now, waiting, reason, in_queue)
            self._notices.note("job_killed", waiting)
            self._request_pass()
            self.over(waiting, "killed")

    def _interrupt(self, running: Running, kill: Kill) -> None:
        if not running._ended:
            running._ended = True  # a second kill in the same instant finds it so
            assert running._process is not None
            running._process.interrupt(kill)

    def over(self, job: Job, outcome: str) -> None:
        """Tell others that a job is completed, killed or rejected. Called when it has been recorded."""
        self._admission.over(job, outcome)
        self._check_end()
