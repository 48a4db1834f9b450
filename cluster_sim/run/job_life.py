"""The life of a job: it gets its cores, its tasks begin, it ends or is killed, and may wait again."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from simpy.events import Process

from cluster_sim.engine import WALLTIME, EagerProcess, latest
from cluster_sim.errors import InputError, PlacementError
from cluster_sim.machine.running import Running
from cluster_sim.run.attempts import STATES, Outcome, Stopped
from cluster_sim.run.execution import Kill, execute
from cluster_sim.workload.jobs import Job, JobState

if TYPE_CHECKING:
    from cluster_sim.machine.job_clocks import JobClocks
    from cluster_sim.machine.placement import Placement
    from cluster_sim.run.simulation import Simulation


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
        self._job_clocks = job_clocks
        self._pending = pending
        self._running = running
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
        #: Whether any job has data to exchange when its tasks have ended.
        self.communicates = bool((simulation.jobs.columns["comm_vol"] > 0).any())

    def require_pending(self, job: Job) -> None:
        """Raises PlacementError unless the job waits."""
        if self._pending.get(job.index) is not job:
            raise PlacementError(f"job {job.job_id} is not pending")

    def start(self, job: Job, placement: Placement, p_state: int | None = None) -> None:
        """A job gets its cores. Raises PlacementError, with nothing changed, when it cannot have them."""
        self.require_pending(job)
        if placement.cores != job.requested_cores:
            message = f"job {job.job_id} asks for {job.requested_cores} cores, {placement!r} has {placement.cores}"
            raise PlacementError(message)
        machine = self.machine
        memory = job.memory if machine.uses_memory else 0.0
        budget = machine.budget
        slower = {} if budget is None else budget.require(job, placement, p_state)
        attempt = len(self._attempts.job)
        allocation = machine.hold(placement, memory, job, attempt)
        if p_state is not None:
            try:
                self._job_clocks.choose(job, allocation, p_state)
            except PlacementError:
                machine.take_back(allocation)
                raise
        del self._pending[job.index]
        running = self._running[job.index] = Running(job, placement, allocation, self._env.now, attempt)
        self._attempts.begin(job)
        if budget is not None:
            budget.slow_down(slower)  # not before nothing can be refused any more
            budget.start(running)
        if machine.all_on or machine.has_ready_nodes(placement):
            self.begin(running)
        else:
            running.start_time = inf
            running.expected_start = self._env.now + machine.boot_time(placement)
        # Boots begin after the pass, or a node would be in transition for what the scheduler still decides in it.
        kind = EagerProcess if running.start_time < inf else Process
        running._process = kind(self._env, execute(self, running))

    def begin(self, running: Running) -> None:
        """The tasks of a job begin: its nodes are ready. Called by the job's process."""
        if self._decision_log is not None and running.start_time == inf:
            self._decision_log.booted(self._env.now, running.job.index, self._env.now > latest(running.expected_start))
        running.start_time = running.expected_start = self._env.now
        if self._job_clocks.chosen:
            self._job_clocks.begin(running.job)
        self.machine.load(running._allocation)
        self._executor.start_tasks(running)
        if self._notices.wanted:
            self._notices.note("job_started", running.job)
        if self._enforces_walltime and running.job.requested_time < inf:
            limit = self._env.at(self._env.now + running.job.requested_time, WALLTIME)
            limit.callbacks.append(lambda event: self._interrupt(running, Kill("walltime", Outcome.TIMEOUT)))

    def communicate(self, running: Running) -> None:
        """The tasks of a job have ended: start what they exchange, if they have not yet. Called by the job's process."""
        volume = self._executor.work.comm_vol(running.job.index) * running.job.requested_cores
        nodes = running.placement.nodes
        if running._transfer is None and volume > 0.0 and len(nodes) > 1:
            running._transfer = self._network.transfer(nodes, volume / len(nodes))

    def end(self, running: Running, kill: Kill | None = None) -> None:
        """The job is over: its work is done, or it has been killed. Called by the job's process."""
        job = running.job
        running._ended = True
        if kill is not None:
            done = self._executor.work_done(running)
            self._attempts.stopped[running._attempt] = Stopped(kill.outcome, done, kill.reason)
        del self._running[job.index]
        self._view.ended.append(running)
        if self._has_power_policy:
            self._view.vacated.append(running)
        if running.start_time < inf:
            self._executor.stop_tasks(running)
            if running._transfer is not None:
                self._network.cancel(running._transfer)
            self.machine.unload(running._allocation)
        self.machine.release(running._allocation)
        if self._job_clocks.chosen:
            self._job_clocks.end(job, running.start_time < inf)
        self._request_pass()
        if kill is not None and kill.outcome is Outcome.REQUEUED:
            self._queue_again(job)
            return
        if kill is None:
            self._attempts.completed(job)
        else:
            self._attempts.killed(job, kill.reason)
        if self._notices.wanted:
            self._notices.note("job_completed" if kill is None else "job_killed", job)
        self.over(job, "completed" if kill is None else "killed")

    def requeue(self, job: Job | str, reason: str) -> None:
        """Have a job that runs or was killed wait again, see :meth:`~cluster_sim.run.simulation.Simulation.requeue`."""
        index = self._jobs.index(job, "simulation.requeue")
        state = STATES[self._attempts.state[index]]
        if state in (JobState.COMPLETED, JobState.REJECTED):
            raise InputError("simulation.requeue", "a job that runs, waits or was killed", f"{state} job {job}")
        if state is JobState.KILLED:
            self._queue_again(self._jobs.job(index))
        elif index in self._running:
            self.kill_soon(index, reason or "requeued", Outcome.REQUEUED)

    def _queue_again(self, job: Job) -> None:
        self._attempts.requeued(self._env.now, job)
        self._admission.readmit(job)

    def kill_soon(self, index: int, reason: str, outcome: Outcome) -> None:
        """Kill a job in this instant.

        Not at once: a process cannot be interrupted in the middle of what it does, nor before it has begun.
        """
        self._env.timeout(0).callbacks.append(lambda event: self._kill(index, reason, outcome))

    def _kill(self, index: int, reason: str, outcome: Outcome) -> None:
        running = self._running.get(index)
        waiting = self._admission.withdraw(index) if outcome is Outcome.KILLED else None
        if running is not None:
            self._interrupt(running, Kill(reason, outcome))
        elif waiting is not None:
            self._attempts.withdrawn(self._env.now, waiting, reason)
            self._notices.note("job_killed", waiting)
            self._request_pass()
            self.over(waiting, "killed")

    def _interrupt(self, running: Running, kill: Kill) -> None:
        if not running._ended:
            running._ended = True  # a second kill in the same instant finds it so
            assert running._process is not None
            running._process.interrupt(kill)

    def over(self, job: Job, outcome: str) -> None:
        """A job is completed, killed or rejected. Called when it has been recorded."""
        self._admission.over(job, outcome)
        self._check_end()
