"""Changes to running jobs: cores taken from them, given back, or changed in number."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from cluster_sim.engine import WALLTIME
from cluster_sim.errors import InputError, PlacementError
from cluster_sim.machine.course import CourseProgress
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.running import Running
from cluster_sim.run.jobs.attempts import AttemptEnd
from cluster_sim.run.jobs.execution import REPLANNED, STOPPED, Kill

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.machine.course import Course
    from cluster_sim.run.decisions import Preempt
    from cluster_sim.run.jobs.job_life import JobLife
    from cluster_sim.run.simulation import Simulation
    from cluster_sim.workload.jobs import Job

_OUTCOMES = {"requeue": AttemptEnd.PREEMPTED, "cancel": AttemptEnd.CANCELLED, "timeout": AttemptEnd.TIMEOUT}


@dataclass(frozen=True, slots=True)
class Suspended:
    """A job that has lost its cores and keeps its work, and its memory on its nodes."""

    job: Job
    placement: Placement  #: The cores that it had.
    attempt: int  #: Its number in the records.
    since: float  #: s.
    memory_mb: float  #: That each of its tasks occupies meanwhile.
    p_state: int | None = None  #: That was chosen for it, and in which it goes on.


@dataclass(frozen=True, slots=True)
class Spared:
    """Cores that were held for a job's next part, and that it will not have."""

    placement: Placement


class JobChanges:
    """Preempts, resumes and resizes jobs, when a scheduler decides so or a job comes to the end of a part."""

    def __init__(self, simulation: Simulation, life: JobLife):
        self._env = simulation.env
        self._machine = simulation.machine
        self._executor = simulation.executor
        self._running = life.running
        self._life = life
        self._attempts = simulation.attempts
        self._view = simulation.view
        self._request_pass = simulation.request_pass
        self._suspended = simulation.view.suspended_by_index
        self._suspended_time_counts = simulation.suspended_time_counts
        self._at_boundaries = bool(getattr(simulation.scheduler, "at_boundaries", False))
        self._has_power_policy = simulation.power_policy is not None
        self._after_each_event = simulation.after_each_event
        self._told_at = -1.0  # when a pass was last asked for because of a resize, s

    # ------------------------------------------------------------------ taking cores away

    def preempt(self, decision: Preempt) -> None:
        """Take a running job's cores, now or after its grace; a suspended job has none, and ends, or waits again, now.

        Raises PlacementError for another job.
        """
        index = decision.job.index
        if index in self._suspended and decision.mode != "suspend":
            self._life.kill_soon(index, decision.because or "preempted", _OUTCOMES[decision.mode])
            return
        running = self._require_running(decision.job)
        if decision.grace_s <= 0.0:
            self._take(running, decision)
            return
        running.limit_s = min(running.limit_s, self._env.now + decision.grace_s - running.expected_start)
        self._view.ended.append(running)
        self._view.resumed.append(running)
        since = running.allocation_time

        def take_later(event: Event) -> None:
            # The job may have ended meanwhile, or have lost its cores and got others.
            holder = self._running.get(index)
            if holder is not None and holder.allocation_time == since and not holder._ended:
                self._take(holder, decision)
                self._request_pass()

        # A job that ends in the instant in which its grace is over has ended.
        self._env.at(self._env.now + decision.grace_s, WALLTIME).callbacks.append(take_later)

    def _take(self, running: Running, decision: Preempt) -> None:
        reason = decision.because or "preempted"
        process = running._process
        assert process is not None
        if decision.mode == "suspend":
            self._suspend(running)
        else:
            self._life.end(running, Kill(reason, _OUTCOMES[decision.mode]))
        process.interrupt(STOPPED)

    def _suspend(self, running: Running) -> None:
        job, life = running.job, self._life
        life.note_loss(job)
        course = running._course
        if course is None:
            done = self._executor.work_done(running)
            course = life.courses.begin(job, len(running.placement.nodes))
            if done > 0.0:  # its first stage was all its work
                core_s = (self._env.now - running.start_time) * running.placement.cores
                course.begin(self._executor.whole_seconds(running))
                if running._transfer is not None:  # what comes after all work
                    course.complete(core_s)
                else:
                    course.interrupt(done, core_s)
        else:
            life.stages.cut_short(course)
        self._count_time(course, running)
        running._ended = True
        self._attempts.suspended.add(running._attempt)
        self._attempts.suspensions += 1
        p_state = self.p_state_of(job)
        life.vacate(running)
        memory = running._allocation.memory_mb
        suspended = Suspended(job, running.placement, running._attempt, self._env.now, memory, p_state)
        self._suspended[job.index] = suspended
        self._end_with_window(suspended)
        self._machine.cores.keep_memory(running.placement, memory)
        self._machine.cores.withhold(running.placement.nodes, False)  # only there it goes on without a restart
        self._request_pass()

    def _end_with_window(self, suspended: Suspended) -> None:
        """Kill a job that is still suspended when its advance reservation ends: it can never go on."""
        job, eligibility = suspended.job, self._machine.cores.eligibility
        if eligibility is None or not job.reservation:
            return

        def kill(event: Event) -> None:
            if self._suspended.get(job.index) is suspended:
                reason = f"advance reservation '{job.reservation}' was over while it was suspended"
                self._life.kill_soon(job.index, reason, AttemptEnd.KILLED)

        self._env.at(max(eligibility.end_for(job), self._env.now)).callbacks.append(kill)

    def _count_time(self, course: Course, running: Running) -> None:
        """Add to the course how much of its requested time the job has used up on these cores."""
        if running.start_time < inf and 0.0 < running.job.requested_time < inf:
            whole = running.job.on_cores(running.placement.cores).requested_time
            course.used += (self._env.now - running.start_time) / whole

    # ------------------------------------------------------------------ giving them back

    def resume(self, job: Job, placement: Placement) -> None:
        """Let a suspended job go on, on these cores. Raises PlacementError, with nothing changed, when it cannot."""
        suspended = self._suspended.get(job.index)
        if suspended is None:
            raise PlacementError(f"job {job.job_id} is not suspended")
        life = self._life
        course = life.courses.at_start(job, placement)
        assert course is not None
        if placement.cores != suspended.placement.cores and not job.malleable:
            had = suspended.placement.cores
            raise PlacementError(f"job {job.job_id} had {had} cores and is not malleable, {placement!r} has others")
        moves = placement != suspended.placement
        counts = self._suspended_time_counts and 0.0 < job.requested_time < inf
        meanwhile = (self._env.now - suspended.since) / job.requested_time if counts else 0.0
        self._machine.cores.drop_memory(suspended.placement, suspended.memory_mb)
        course.used += meanwhile
        try:
            running = life.set_out(job, placement, course, suspended.attempt, suspended.p_state, restarts=moves)
        except PlacementError:
            course.used -= meanwhile
            self._machine.cores.keep_memory(suspended.placement, suspended.memory_mb)
            raise
        del self._suspended[job.index]
        self._attempts.suspended.discard(suspended.attempt)
        self._view.resumed.append(running)
        self._note_left(suspended)

    def request(self, job: Job, cores: int) -> Job:
        """Return the job as it asks for that many cores, for as long as it still may run on them."""
        course = self._life.courses.of(job)
        return job.on_cores(cores) if course is None else course.request(cores)

    def p_state_of(self, job: Job) -> int | None:
        """Return the p-state that was chosen for a job that holds cores; None: none was."""
        return self._life.job_clocks.p_state_of(job)

    def withdraw(self, index: int) -> Suspended | None:
        """Take out a suspended job, which is to be killed; None if it is not suspended."""
        suspended = self._suspended.pop(index, None)
        if suspended is not None:
            self._machine.cores.drop_memory(suspended.placement, suspended.memory_mb)
            self._attempts.suspended.discard(suspended.attempt)
            self._note_left(suspended)
        return suspended

    def _note_left(self, suspended: Suspended) -> None:
        """Tell the power policy of nodes that need not stay on any more for a suspended job."""
        if self._has_power_policy:
            self._view.vacated.append(suspended)

    def suspended_on(self, node: int) -> list[Job]:
        """Return suspended jobs that keep something on a node."""
        return [one.job for one in self._suspended.values() if one.placement.covers(node)]

    # ------------------------------------------------------------------ changing their number

    def resize(self, job: Job, placement: Placement) -> None:
        """Give a malleable job these cores in place of its own: at once, or, in parts, after the one that runs.

        What it is to get is held for it from now on. Raises PlacementError, with nothing changed, when it cannot be.
        """
        running = self._require_running(job)
        course = running._course
        self._check_resize(running, placement)
        assert course is not None
        if course.at_boundary:
            self._make_room_for(running, placement)
            self._change(course, placement)  # it waits for the end of this pass
        elif course.changes_at_boundaries:
            # The change waits for the end of the part; cores that the job does not have yet are held for it.
            course.target = placement
            more = placement.beyond(running.placement)
            if more is not None:
                memory = running._allocation.memory_mb
                course.reserved = self._machine.cores.request(more, memory, running.job, running._attempt)
        else:
            self._make_room_for(running, placement)
            self._life.stages.cut_short(course)
            process = running._process
            self._change(course, placement)
            self._life.stages.begin_next(course)
            assert process is not None
            process.interrupt(REPLANNED)
            gives_up = running.placement.beyond(placement) is not None
            someone = self._view.pending_count or self._suspended or self._has_power_policy
            # Others may have at once what jobs give up: one more pass in this instant, however many jobs do so.
            if gives_up and someone and self._told_at != self._env.now:
                self._told_at = self._env.now
                self._request_pass()

    def _check_resize(self, running: Running, placement: Placement) -> None:
        job, course = running.job, running._course
        who = f"job {job.job_id}"
        if course is None or not job.malleable:
            raise PlacementError(f"{who} is not malleable: its cores cannot change while it runs")
        if job.exclusive:
            raise PlacementError(f"{who} has its nodes for itself: its cores cannot change")
        if not self.can_resize(running):
            raise PlacementError(f"{who} cannot change its cores now")
        if not job.min_cores <= placement.cores <= job.max_cores:
            raise PlacementError(f"{who} can have {job.min_cores} to {job.max_cores} cores, {placement!r} has others")
        self._machine.cores.check_change(running._allocation, placement, course.request(placement.cores))
        more = placement.beyond(running.placement)
        budget = self._machine.budget
        p_state = self.p_state_of(job)
        if p_state is not None:
            self._check_clocks(running, placement, p_state)
        if more is not None and budget is not None and not budget.allows(more, p_state):
            raise PlacementError(f"{who} cannot have {placement!r} now: it {budget.why_not()}")

    def keeps_its_clock(self, running: Running, placement: Placement) -> bool:
        """Return whether a job could have these cores and run in the p-state that was chosen for it, if one was."""
        p_state = self.p_state_of(running.job)
        try:
            if p_state is not None:
                self._check_clocks(running, placement, p_state)
        except PlacementError:
            return False
        return True

    def _check_clocks(self, running: Running, placement: Placement, p_state: int) -> None:
        """Raise PlacementError unless a job that runs in a p-state of its own could do so there, too."""
        machine, own = self._machine, running.placement.cores_by_node()
        who = f"job {running.job.job_id}, which runs in p-state {p_state}, cannot have {placement!r}"
        for node, cores in placement.cores_by_node().items():
            if cores == own.get(node):
                continue
            if cores < machine.platform.node_cores[node]:
                raise PlacementError(
                    f"{who}: it can have nodes as it has them, and whole ones; others share their clocks"
                )
            try:
                for processor in machine.cores.processors_of(node):
                    machine.type_of[processor].in_p_state(p_state)
            except InputError as error:
                raise PlacementError(f"{who}: {error}") from None

    def undisturbed(self, job: Job, work_s: float, most_s: float) -> float:
        """Return how long a job with ``work_s`` of work runs with checkpoints if only ``most_s`` ends it, s."""
        return self._life.courses.undisturbed(job, work_s, most_s)

    def end_of(self, running: Running, work_s: float, limit_s: float) -> float:
        """Return when a job ends, s, if all its work takes ``work_s`` on cores as many as requested, of their kind.

        ``limit_s`` is how long it may run at most from its start on, or since it went on, or has these cores.
        """
        job, course, start = running.job, running._course, running.expected_start
        if course is None:
            return start + self.undisturbed(job, work_s, limit_s)
        whole_s = work_s * self._life.time_ratio(running)
        since = start if running.start_time == inf else self._env.now if course.stage is None else course.since
        return min(since + course.seconds_ahead(whole_s, start + limit_s - since), start + limit_s)

    def can_resize(self, running: Running) -> bool:
        """Return whether a job's cores can be changed: it is malleable, works, and no change of it is under way."""
        course = running._course
        if course is None or not running.job.malleable or course.target is not None or running.start_time == inf:
            return False
        if running.job.exclusive:  # nobody may join it on what it would give up
            return False
        return course.is_working or course.at_boundary

    def forget_changes_to(self, node: int) -> None:
        """Let jobs keep their cores that were to have more, after the part that runs, on a node that breaks down."""
        for running in self._running.values() if self._life.courses.wanted else ():
            course = running._course
            if course is not None and course.target is not None and course.target.covers(node):
                self.let_go(course)
                self._request_pass()

    def let_go(self, course: Course) -> None:
        """Free what is held for a job's next part: it will not have these cores."""
        running, target, reserved = course.running, course.target, course.reserved
        course.target = course.reserved = None
        if reserved is not None:
            assert running is not None
            assert target is not None
            self._machine.cores.give_back(reserved)
            self._spare(running, target)

    def _spare(self, running: Running, target: Placement) -> None:
        """Tell the power policy of nodes that need not stay on any more for a job's next part."""
        spared = target.beyond(running.placement)
        if self._has_power_policy and spared is not None:
            self._view.vacated.append(Spared(spared))

    def at_boundary(self, course: Course) -> Generator[Event, Any, None]:
        """End a part of a job: it says what it asks for, the scheduler decides, and its cores change."""
        running = course.running
        assert running is not None
        job, own = running.job, running.placement.cores
        asks = course.next_cores and job.malleable and not job.exclusive
        wanted = min(max(course.next_cores, job.min_cores), job.max_cores) if asks else own
        if wanted < own and course.target is None and self.p_state_of(job) is None:
            self.resize(job, running.placement.shrunk(wanted))
        elif wanted > own:
            course.asks = wanted
        if (course.asks and course.target is None) or (self._at_boundaries and job.malleable):
            self._view.at_boundary.append(running)
            self._request_pass()
            yield self._env.at(self._env.now, self._life.after_pass)
        course.asks = 0
        if course.target is not None:
            self._change_as_planned(course)
        if course.running is not running and not self._after_each_event:
            self._request_pass()  # others may have what it has given up

    def _change_as_planned(self, course: Course) -> None:
        """Give the job the cores that were planned from here on, unless a power cap no longer allows it more."""
        running, target, reserved = course.running, course.target, course.reserved
        assert running is not None
        assert target is not None
        course.target = course.reserved = None
        if reserved is not None:
            self._machine.cores.give_back(reserved)
        try:
            self._make_room_for(running, target)
        except PlacementError:
            self._spare(running, target)
            self._request_pass()  # others may have what was held for it
            return
        self._change(course, target)

    def _make_room_for(self, running: Running, placement: Placement) -> None:
        """Slow processors down where a power cap asks for it. Raises PlacementError where that would not be enough."""
        budget, more = self._machine.budget, placement.beyond(running.placement)
        if budget is not None and more is not None:
            budget.slow_down(budget.require(running.job, more, self.p_state_of(running.job)))

    def _change(self, course: Course, placement: Placement) -> None:
        """Replace the job's cores by the others; its tasks are stopped."""
        running, machine = course.running, self._machine
        assert running is not None
        self._count_time(course, running)
        allocation = running._allocation
        machine.power.unload(allocation)
        machine.cores.change(allocation, placement)
        self._life.job_clocks.follow(running.job, allocation)
        machine.power.load(allocation)
        # The job goes on, with these cores, as another object.
        other = Running(running.job, placement, allocation, self._env.now, running._attempt)
        other.allocation_time, other._groups = running.allocation_time, running._groups
        other._process, other._course, other._transfer = running._process, running._course, running._transfer
        running._ended = True
        if other._course is not None:
            other._course.running = other
        self._running[running.job.index] = other
        self._view.ended.append(running)
        if self._has_power_policy:
            self._view.vacated.append(running)
        self._view.resumed.append(other)
        other.limit_s = course.time_left(placement.cores)
        course.reconfigure()
        self._life.limit(other)

    # ------------------------------------------------------------------ what can be known

    def progress(self, running: Running) -> CourseProgress:
        """Return how far a running job is, as its user could know it."""
        course = running._course
        lasted = self._env.now - running.start_time if running.start_time < inf else 0.0
        if course is None:
            return CourseProgress(0, 1, lasted * running.placement.cores, False, 0)
        lost = course.unsaved_core_s
        if course.is_working:
            lost += (self._env.now - course.since) * running.placement.cores
        return CourseProgress(course.part, len(course.parts), lost, self.can_resize(running), course.asks)

    def _require_running(self, job: Job) -> Running:
        running = self._running.get(job.index)
        if running is None or running._ended:
            raise PlacementError(f"job {job.job_id} is not running")
        return running
