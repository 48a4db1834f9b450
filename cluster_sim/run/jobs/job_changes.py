"""Changes to running jobs: cores taken from them, given back, or changed in number."""

from __future__ import annotations

from collections.abc import Callable, Generator
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from simpy.events import URGENT, Event

from cluster_sim.engine import CHANGE, WALLTIME
from cluster_sim.errors import InputError, PlacementError
from cluster_sim.machine.course import WHOLE, Course, CourseProgress, StagedCourse
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.running import Running
from cluster_sim.read_only import renew
from cluster_sim.run.jobs.attempt import REPLANNED, STOPPED, Attempt, Kill
from cluster_sim.run.jobs.attempts import AttemptEnd, Attempts
from cluster_sim.run.jobs.live_jobs import LiveJobs, Spared, Suspended

if TYPE_CHECKING:
    from cluster_sim.machine.job_clocks import JobClocks
    from cluster_sim.machine.machine import Machine
    from cluster_sim.run.decisions import Preempt
    from cluster_sim.run.jobs.courses import Courses
    from cluster_sim.run.jobs.execution import Executor
    from cluster_sim.run.jobs.rules import RunRules
    from cluster_sim.run.news import News
    from cluster_sim.workload.jobs import Job

_OUTCOMES = {"requeue": AttemptEnd.PREEMPTED, "cancel": AttemptEnd.CANCELLED, "timeout": AttemptEnd.TIMEOUT}


class Life(Protocol):
    """The life of jobs as far as changes of running jobs need it, see :class:`~cluster_sim.run.jobs.job_life.JobLife`."""

    machine: Machine
    live: LiveJobs[Attempt]
    executor: Executor
    attempts: Attempts
    job_clocks: JobClocks
    courses: Courses

    def set_out(
        self, job: Job, placement: Placement, course: Course, number: int, p_state: int | None, restarts: bool
    ) -> Running:
        """Give a job its cores for the rest of an attempt."""
        ...

    def limit(self, attempt: Attempt) -> None:
        """Have a job killed when it has run as long as it may."""
        ...

    def vacate(self, attempt: Attempt) -> None:
        """Give back the cores of a job."""
        ...

    def end(self, attempt: Attempt, kill: Kill | None = None) -> None:
        """End a job."""
        ...

    def kill_soon(self, index: int, reason: str, outcome: AttemptEnd) -> None:
        """Kill a job in this instant."""
        ...

    def note_loss(self, job: Job) -> None:
        """Note that a job loses cores before its end."""
        ...

    def time_ratio(self, running: Running) -> float:
        """Return how many times as long a job takes on its cores as on those that it requested."""
        ...


class JobChanges:
    """Preempts, resumes and resizes jobs, when a scheduler decides so or a job comes to the end of a part."""

    def __init__(self, life: Life, news: News, rules: RunRules, request_pass: Callable[[], None]):
        self._life = life
        self._machine = life.machine
        self._env = life.machine.env
        self._live = life.live
        self._executor = life.executor
        self._attempts = life.attempts
        self._news = news
        self._rules = rules
        self._request_pass = request_pass
        #: The phase of an instant in which what the scheduler decided on jobs at the end of a part happens.
        self._after_pass = URGENT if rules.after_each_event else CHANGE
        self._told_at = -1.0  # when a pass was last asked for because of a resize, s

    # ------------------------------------------------------------------ taking cores away

    def preempt(self, decision: Preempt) -> None:
        """Take a running job's cores, now or after its grace; a suspended job has none, and ends, or waits again, now.

        Raises PlacementError for another job.
        """
        index = decision.job.index
        if index in self._live.suspended and decision.mode != "suspend":
            self._life.kill_soon(index, str(decision.because or "preempted"), _OUTCOMES[decision.mode])
            return
        attempt = self._require_running(decision.job)
        if decision.grace_s <= 0.0:
            self._take(attempt, decision)
            return
        running = attempt.running
        limit = min(running.limit_s, self._env.now + decision.grace_s - running.expected_start)
        renew(running, limit_s=limit)
        list.append(self._news.ended, running)
        list.append(self._news.resumed, running)
        since = running.allocation_time

        def take_later(event: Event) -> None:
            # The job may have ended meanwhile, or have lost its cores and got others.
            holder = self._live.holders.get(index)
            if holder is None or holder.running.has_ended:
                return
            if holder.running.allocation_time == since:
                self._take(holder, decision)
                self._request_pass()

        # A job that ends in the instant in which its grace is over has ended.
        self._env.at(self._env.now + decision.grace_s, WALLTIME).callbacks.append(take_later)

    def _take(self, attempt: Attempt, decision: Preempt) -> None:
        if decision.mode == "suspend":
            self._suspend(attempt)
        else:
            self._life.end(attempt, Kill(str(decision.because or "preempted"), _OUTCOMES[decision.mode]))
        attempt.interrupt(STOPPED)

    def _suspend(self, attempt: Attempt) -> None:
        job, running, life, course = attempt.job, attempt.running, self._life, attempt.course
        life.note_loss(job)
        if not isinstance(course, StagedCourse):
            done = self._executor.work_done(attempt)
            course = life.courses.begin(job, len(running.placement.nodes))
            if done > 0.0:  # its first stage was all its work
                core_s = (self._env.now - running.start_time) * running.placement.cores
                course.begin(self._executor.whole_seconds(attempt))
                if attempt.transfers:  # what comes after all work
                    course.complete(core_s)
                else:
                    course.interrupt(done, core_s)
        else:
            self._executor.cut_short(attempt, course)
        self._count_time(course, running)
        renew(running, has_ended=True)
        self._attempts.suspended.add(running.attempt)
        self._attempts.suspensions += 1
        p_state = self.p_state_of(job)
        life.vacate(attempt)
        memory = running.memory_mb
        suspended = Suspended(job, running.placement, running.attempt, self._env.now, memory, p_state)
        self._live.suspended[job.index] = suspended
        self._end_with_window(suspended)
        self._machine.cores.keep_memory(running.placement, memory)
        self._machine.cores.withhold(running.placement.nodes, False)  # only there it goes on without a restart
        self._request_pass()

    def _end_with_window(self, suspended: Suspended) -> None:
        """Kill a job that is still suspended when its advance reservation ends: it can never go on."""
        job, eligibility = suspended.job, self._machine.cores.eligibility
        if eligibility.end_for(job) == inf:
            return

        def kill(event: Event) -> None:
            if self._live.suspended.get(job.index) is suspended:
                reason = f"advance reservation '{job.reservation}' was over while it was suspended"
                self._life.kill_soon(job.index, reason, AttemptEnd.KILLED)

        self._env.at(max(eligibility.end_for(job), self._env.now)).callbacks.append(kill)

    def _count_time(self, course: StagedCourse, running: Running) -> None:
        """Add to the course how much of its requested time the job has used up on these cores."""
        if running.start_time < inf and 0.0 < running.job.requested_time < inf:
            whole = running.job.on_cores(running.placement.cores).requested_time
            course.used += (self._env.now - running.start_time) / whole

    # ------------------------------------------------------------------ giving them back

    def resume(self, job: Job, placement: Placement) -> None:
        """Let a suspended job go on, on these cores. Raises PlacementError, with nothing changed, when it cannot."""
        suspended = self._live.suspended.get(job.index)
        if suspended is None:
            raise PlacementError(f"job {job.job_id} is not suspended")
        life = self._life
        course = life.courses.at_start(job, placement)
        assert isinstance(course, StagedCourse)
        if placement.cores != suspended.placement.cores and not job.malleable:
            had = suspended.placement.cores
            raise PlacementError(f"job {job.job_id} had {had} cores and is not malleable, {placement!r} has others")
        moves = placement != suspended.placement
        counts = self._rules.suspended_time_counts and 0.0 < job.requested_time < inf
        meanwhile = (self._env.now - suspended.since) / job.requested_time if counts else 0.0
        self._machine.cores.drop_memory(suspended.placement, suspended.memory_mb)
        course.used += meanwhile
        try:
            running = life.set_out(job, placement, course, suspended.attempt, suspended.p_state, moves)
        except PlacementError:
            course.used -= meanwhile
            self._machine.cores.keep_memory(suspended.placement, suspended.memory_mb)
            raise
        del self._live.suspended[job.index]
        self._attempts.suspended.discard(suspended.attempt)
        list.append(self._news.resumed, running)
        self._note_left(suspended)

    def request(self, job: Job, cores: int) -> Job:
        """Return the job as it asks for that many cores, for as long as it still may run on them."""
        return self._life.courses.of(job).request(job, cores)

    def p_state_of(self, job: Job) -> int | None:
        """Return the p-state that was chosen for a job that holds cores; None: none was."""
        return self._life.job_clocks.p_state_of(job)

    def withdraw(self, index: int) -> Suspended | None:
        """Take out a suspended job, which is to be killed; None if it is not suspended."""
        suspended = self._live.suspended.pop(index, None)
        if suspended is not None:
            self._machine.cores.drop_memory(suspended.placement, suspended.memory_mb)
            self._attempts.suspended.discard(suspended.attempt)
            self._note_left(suspended)
        return suspended

    def _note_left(self, suspended: Suspended) -> None:
        """Tell the power policy of nodes that need not stay on any more for a suspended job."""
        if self._rules.has_power_policy:
            list.append(self._news.vacated, suspended)

    def suspended_on(self, node: int) -> list[Job]:
        """Return suspended jobs that keep something on a node."""
        return [one.job for one in self._live.suspended.values() if one.placement.covers(node)]

    # ------------------------------------------------------------------ changing their number

    def resize(self, job: Job, placement: Placement) -> None:
        """Give a malleable job these cores in place of its own: at once, or, in parts, after the one that runs.

        What it is to get is held for it from now on. Raises PlacementError, with nothing changed, when it cannot be.
        """
        attempt = self._require_running(job)
        running, course = attempt.running, self._check_resize(attempt, placement)
        if course.at_boundary:
            self._make_room_for(running, placement)
            self._change(attempt, course, placement)  # it waits for the end of this pass
        elif course.changes_at_boundaries:
            # The change waits for the end of the part; cores that the job does not have yet are held for it.
            course.target = placement
            more = placement.beyond(running.placement)
            if more is not None:
                cores = self._machine.cores
                request = job if cores.resources.asked else None
                course.reserved = cores.request(more, running.memory_mb, job, running.attempt, request=request)
        else:
            self._make_room_for(running, placement)
            self._executor.cut_short(attempt, course)
            self._change(attempt, course, placement)
            self._executor.begin_stage(attempt)
            attempt.interrupt(REPLANNED)
            gives_up = running.placement.beyond(placement) is not None
            someone = self._live.pending or self._live.suspended or self._rules.has_power_policy
            # Others may have at once what jobs give up: one more pass in this instant, however many jobs do so.
            if gives_up and someone and self._told_at != self._env.now:
                self._told_at = self._env.now
                self._request_pass()

    def _check_resize(self, attempt: Attempt, placement: Placement) -> StagedCourse:
        """Return the course of a job that could have these cores. Raises PlacementError if it could not."""
        job, running, course = attempt.job, attempt.running, attempt.course
        who = f"job {job.job_id}"
        if not isinstance(course, StagedCourse) or not job.malleable:
            raise PlacementError(f"{who} is not malleable: its cores cannot change while it runs")
        if job.exclusive:
            raise PlacementError(f"{who} has its nodes for itself: its cores cannot change")
        if not self.can_resize(running):
            raise PlacementError(f"{who} cannot change its cores now")
        if not job.min_cores <= placement.cores <= job.max_cores:
            raise PlacementError(f"{who} can have {job.min_cores} to {job.max_cores} cores, {placement!r} has others")
        self._machine.cores.check_change(attempt.allocation, placement, course.request(job, placement.cores))
        more = placement.beyond(running.placement)
        budget = self._machine.budget
        p_state = self.p_state_of(job)
        if p_state is not None:
            self._check_clocks(running, placement, p_state)
        if more is not None and not budget.allows(job, more, p_state):
            raise PlacementError(f"{who} cannot have {placement!r} now: it {budget.why_not()}")
        return course

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
        job, course, start = running.job, self._course_of(running), running.expected_start
        if not isinstance(course, StagedCourse):
            return start + self.undisturbed(job, work_s, limit_s)
        whole_s = work_s * self._life.time_ratio(running)
        attempt = self._live.holders[job.index]
        since = start if running.start_time == inf else self._env.now if course.stage is None else attempt.since
        return min(since + course.seconds_ahead(whole_s, start + limit_s - since), start + limit_s)

    def can_resize(self, running: Running) -> bool:
        """Return whether a job's cores can be changed: it is malleable, works, and no change of it is under way."""
        course = self._course_of(running)
        if not isinstance(course, StagedCourse) or course.target is not None or running.start_time == inf:
            return False
        if not running.job.malleable or running.job.exclusive:  # nobody may join it on what it would give up
            return False
        return course.is_working or course.at_boundary

    def forget_changes_to(self, node: int) -> None:
        """Let jobs keep their cores that were to have more, after the part that runs, on a node that breaks down."""
        for attempt in self._live.holders.values() if self._life.courses.wanted else ():
            course = attempt.course
            if course.target is not None and course.target.covers(node):
                self.let_go(attempt.running, course)
                self._request_pass()

    def let_go(self, running: Running, course: Course) -> None:
        """Free what is held for a job's next part: it will not have these cores."""
        target, reserved = course.target, course.reserved
        course.target = course.reserved = None
        if reserved is not None:
            assert target is not None
            self._machine.cores.give_back(reserved)
            self._spare(running, target)

    def _spare(self, running: Running, target: Placement) -> None:
        """Tell the power policy of nodes that need not stay on any more for a job's next part."""
        spared = target.beyond(running.placement)
        if self._rules.has_power_policy and spared is not None:
            list.append(self._news.vacated, Spared(spared))

    def at_boundary(self, attempt: Attempt, course: StagedCourse) -> Generator[Event, Any, None]:
        """End a part of a job: it says what it asks for, the scheduler decides, and its cores change."""
        running = attempt.running
        job, own = running.job, running.placement.cores
        asks = course.next_cores and job.malleable and not job.exclusive
        wanted = min(max(course.next_cores, job.min_cores), job.max_cores) if asks else own
        if wanted < own and course.target is None and self.p_state_of(job) is None:
            self.resize(job, running.placement.shrunk(wanted))
        elif wanted > own:
            course.asks = wanted
        if (course.asks and course.target is None) or (self._rules.at_boundaries and job.malleable):
            list.append(self._news.at_boundary, running)
            self._request_pass()
            yield self._env.at(self._env.now, self._after_pass)
        course.asks = 0
        if course.target is not None:
            self._change_as_planned(attempt, course)
        if attempt.running is not running and not self._rules.after_each_event:
            self._request_pass()  # others may have what it has given up

    def _change_as_planned(self, attempt: Attempt, course: StagedCourse) -> None:
        """Give the job the cores that were planned from here on, unless a power cap no longer allows it more."""
        running, target, reserved = attempt.running, course.target, course.reserved
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
        self._change(attempt, course, target)

    def _make_room_for(self, running: Running, placement: Placement) -> None:
        """Slow processors down where a power cap asks for it. Raises PlacementError where that would not be enough."""
        budget, more = self._machine.budget, placement.beyond(running.placement)
        if more is not None:
            budget.slow_down(budget.require(running.job, more, self.p_state_of(running.job)))

    def _change(self, attempt: Attempt, course: StagedCourse, placement: Placement) -> None:
        """Replace the job's cores by the others; its tasks are stopped."""
        running, allocation, machine = attempt.running, attempt.allocation, self._machine
        self._count_time(course, running)
        machine.power.unload(allocation)
        machine.cores.change(allocation, placement)
        self._life.job_clocks.follow(running.job, allocation)
        machine.power.load(allocation)
        # Policies see the job go on, with these cores, as another object.
        other = Running(running.job, placement, self._env.now, running.attempt, running.memory_mb)
        renew(other, allocation_time=running.allocation_time, limit_s=course.time_left(running.job, placement.cores))
        renew(running, has_ended=True)
        attempt.running, attempt.whole_s = other, None
        self._live.running[running.job.index] = other
        list.append(self._news.ended, running)
        if self._rules.has_power_policy:
            list.append(self._news.vacated, running)
        list.append(self._news.resumed, other)
        course.reconfigure()
        self._life.limit(attempt)

    # ------------------------------------------------------------------ what can be known

    def progress(self, running: Running) -> CourseProgress:
        """Return how far a running job is, as its user could know it."""
        course = self._course_of(running)
        if not isinstance(course, StagedCourse):
            lasted = self._env.now - running.start_time if running.start_time < inf else 0.0
            return CourseProgress(0, 1, lasted * running.placement.cores, False, 0)
        lost = course.unsaved_core_s
        if course.is_working:
            lost += (self._env.now - self._live.holders[running.job.index].since) * running.placement.cores
        return CourseProgress(course.part, len(course.parts), lost, self.can_resize(running), course.asks)

    def _course_of(self, running: Running) -> Course:
        """Return the course of a job that holds cores, or has ended."""
        attempt = self._live.holders.get(running.job.index)
        return WHOLE if attempt is None else attempt.course

    def _require_running(self, job: Job) -> Attempt:
        attempt = self._live.holders.get(job.index)
        if attempt is None or attempt.running.has_ended:
            raise PlacementError(f"job {job.job_id} is not running")
        return attempt
