"""What a policy sees of a run: the queue, the running jobs and the machine, read-only; a clairvoyant one sees more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.engine import Environment
from cluster_sim.errors import SimulationError
from cluster_sim.machine.allocation import Allocation
from cluster_sim.machine.course import CourseProgress
from cluster_sim.machine.eligibility import Eligibility
from cluster_sim.machine.machine import Machine
from cluster_sim.machine.placement import Placement, grown, open_rooms, place
from cluster_sim.machine.running import Running
from cluster_sim.models.processor_step import models_of
from cluster_sim.run.decisions import Decision, Reject, Start, check_decision
from cluster_sim.run.jobs.live_jobs import Held, LiveJobs, Suspended
from cluster_sim.run.machine_view import MachineView
from cluster_sim.run.news import News
from cluster_sim.run.outlook import Outlook
from cluster_sim.run.shortage import shortage
from cluster_sim.workload.jobs import Job, requests

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.guest_requests import Departure
    from cluster_sim.platform.accounts import Accounts
    from cluster_sim.platform.platform import Platform
    from cluster_sim.run.jobs.job_changes import JobChanges
    from cluster_sim.workload.advance_reservations import AdvanceReservation, Window
    from cluster_sim.workload.work import Work
    from cluster_sim.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class About:
    """What policies may know of a run that does not change."""

    places_memory: bool = False  #: Whether the scheduler has jobs get the memory that they ask for.
    explains: bool = False
    accounts: Accounts | None = None
    aliases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    power_policy: str = "the power policy"
    seed: int = 0
    quirks: frozenset[str] = frozenset()


BY_HAND = About()
"""Of a view without a run."""


class View(MachineView):
    """The state of a run as policies may see it. It is live: after ``yield Start(…)`` it shows the job running.

    Jobs appear with what was requested for them only; how long one really runs, a policy learns when it ends.
    What it tells of the machine is in :class:`~cluster_sim.run.machine_view.MachineView`.

    :meth:`by_hand` makes a view without a simulation, so that a policy can be tested on a state written down in a test.
    """

    def __init__(
        self,
        machine: Machine,
        live: LiveJobs[Any],
        news: News,
        changes: JobChanges | None = None,
        about: About = BY_HAND,
    ):
        super().__init__(machine)
        self._live = live
        self._pending = live.pending
        self._running = live.running
        self._changes = changes  # what knows how far running jobs are
        self._about = about
        self.accounts = about.accounts  #: Who may have how much of the machine; None: all may.
        self.aliases = about.aliases  #: Names that an anonymised workload has changed.
        self.explains = about.explains  #: Whether the run logs decisions: ``Hold`` and ``Reserve`` are worth it.
        self.power_policy = about.power_policy  #: What the power policy is called, for reasons.
        self.quirks = about.quirks  #: Quirks of published programs that the run reproduces.
        self.seed = about.seed  #: The run's seed.
        #: True if jobs ask for memory and the scheduler (any, if there is none) has them get it.
        self.counts_memory = machine.cores.uses_memory and about.places_memory
        #: Jobs that joined the queue since the last scheduling pass.
        self.submitted = news.submitted
        #: Jobs that gave their cores back since the last scheduling pass.
        self.ended = news.ended
        #: Who did since the power policy last reacted, and suspended jobs that left the memory of their nodes; empty if there
        #: is none.
        self.vacated = news.vacated
        #: Jobs that, since the last pass, went on after a suspension, or with other cores or another limit.
        self.resumed = news.resumed
        #: Jobs that wait, at the end of a part, for what this pass decides of them.
        self.at_boundary = news.at_boundary
        #: Pending, running and suspended jobs by their index, for those who look at them at every decision.
        self.pending_by_index: Mapping[int, Job] = live.pending
        self.running_by_index: Mapping[int, Running] = live.running
        self.suspended_by_index = live.suspended
        #: Called before each pass of the scheduler, by what has to know what every pass brings.
        self.followers: list[Callable[[], None]] = []

    @classmethod
    def by_hand(
        cls,
        platform: Platform,
        pending: Workload | Iterable[Job] = (),
        seed: int = 0,
        reservations: Iterable[AdvanceReservation] = (),
    ) -> View:
        """Make a view of an idle machine with these jobs pending, at time 0; :meth:`apply` applies decisions."""
        from cluster_sim.workload.workload import Workload

        machine = Machine(Environment(), platform, models_of(platform))
        jobs = requests(pending.jobs) if isinstance(pending, Workload) else list(pending)
        machine.cores.eligibility = Eligibility.of(platform, jobs[0].all_requests if jobs else {}, reservations)
        news = News()
        news.submitted += jobs
        view = cls(machine, LiveJobs({job.index: job for job in jobs}), news)
        view.rng = np.random.default_rng(seed)
        return view

    def apply(self, decision: Decision) -> None:
        """Carry a decision out on a view made by hand (in a run the simulation does it).

        Raises PlacementError, InputError for a decision with a value of a wrong kind, and SimulationError in a run.
        """
        if self._about is not BY_HAND:
            raise SimulationError(
                "view.apply is for views made by hand: yield the decision, and the run carries it out"
            )
        check_decision(decision)
        if isinstance(decision, Start):
            job = decision.job
            allocation = Allocation(self._cores, decision.placement, job.memory, job, request=job)
            for processor, _ in self._cores.cores_by_processor(allocation) if decision.p_state is not None else ():
                self._machine.processor(processor).set_p_state(decision.p_state or 0)
            self._machine.power.load(allocation)
            running = self._running[job.index] = Running(job, decision.placement, self.now, memory_mb=job.memory)
            self._live.holders[job.index] = Held(running, allocation)
        if isinstance(decision, (Start, Reject)):
            del self._pending[decision.job.index]

    @cached_property
    def rng(self) -> np.random.Generator:
        """Return the scheduler's own random numbers, seeded by the run's seed."""
        return np.random.default_rng(np.random.SeedSequence(self.seed).spawn(1)[0])

    # ------------------------------------------------------------------ jobs

    @property
    def pending(self) -> tuple[Job, ...]:
        """Return jobs that wait for cores, in order of submission; one that waits for other jobs comes later."""
        return tuple(self._pending.values())

    @property
    def pending_count(self) -> int:
        """Return how many jobs wait."""
        return len(self._pending)

    def is_pending(self, job: Job) -> bool:
        """Return whether the job still waits: it may have been started, cancelled or rejected since it was submitted.

        One that was killed and waits again is another object, which ``submitted`` has.
        """
        return self._pending.get(job.index) is job

    @property
    def running(self) -> tuple[Running, ...]:
        """Return jobs that hold cores, in order of allocation."""
        return tuple(self._running.values())

    @property
    def running_count(self) -> int:
        """Return how many jobs hold cores."""
        return len(self._running)

    @property
    def guests(self) -> Sequence[Departure]:
        """Return what users' processes hold: whose, node, cores, and when it should be given back (s; inf: never)."""
        guests = self._machine.guests
        return guests.expected() if guests else ()

    def held_cores(self, job: Job) -> list[tuple[int, int]]:
        """Return (processor, cores held on it) of a running job, by position. Raises KeyError for any other job."""
        return self._cores.cores_by_processor(self._live.holders[job.index].allocation)

    def running_job(self, job: Job) -> Running:
        """Return what there is to know about a job that holds cores. Raises KeyError for any other job."""
        return self._running[job.index]

    @property
    def suspended(self) -> tuple[Suspended, ...]:
        """Return jobs that have lost their cores and keep their work, in the order in which they lost them."""
        return tuple(self.suspended_by_index.values())

    def progress(self, running: Running) -> CourseProgress:
        """Return how far a running job is as its user could know it, what a requeue undoes, if it can be resized."""
        return CourseProgress(0, 1, 0.0, False, 0) if self._changes is None else self._changes.progress(running)

    # ------------------------------------------------------------------ placing jobs

    def grown(self, running: Running, cores: int, memory: bool = False) -> Placement | None:
        """Return a running job's placement with more cores, on its own nodes first; None if too few are free.

        The others are free, on nodes that are on and, until the job's request ends, open to it; a power cap allows them, and
        with ``memory`` the nodes have room for what the job's tasks occupy. A job with a p-state of its own gets whole nodes.
        """
        machine, job = self._machine, running.job
        rooms: npt.NDArray[np.integer] | None = (
            self._cores.memory.room(job.memory) if memory and job.memory > 0.0 else None
        )
        if self._cores.eligibility is not None:
            rooms = open_rooms(self._cores, self._request(job, cores), None, rooms, None)
        placement = grown(self._cores, running.placement, cores, rooms)
        if placement is None or (self._changes is not None and not self._changes.keeps_its_clock(running, placement)):
            return None
        more = None if machine.budget is None else placement.beyond(running.placement)
        p_state = None if self._changes is None else self._changes.p_state_of(job)
        return placement if more is None or self.allows(job, more, p_state) else None

    def shrunk(self, running: Running, cores: int) -> Placement:
        """Return a running job's placement with fewer cores: it gives up those of the last nodes.

        One for which a p-state was chosen can give up whole nodes only, which is not looked at here.
        """
        return running.placement.shrunk(cores)

    def place(
        self,
        job: Job,
        order: npt.NDArray[np.float64] | None = None,
        memory: bool = False,
        within: npt.NDArray[np.integer] | None = None,
    ) -> Placement | None:
        """Return a placement of the job on cores that are free now, or None if it does not fit.

        ``order`` ranks the nodes, shape (nodes,), least first; ties, and None, go by platform order. With ``memory``
        the nodes must have room for the job's memory too. ``within``, shape (nodes,), are the most cores that may be
        taken on each node.
        """
        placement = place(self._cores, job, order, memory, within)
        if placement is not None and self._machine.budget is not None:
            placement = self._machine.budget.fit(
                job,
                placement,
                lambda other, room: place(self._cores, job, order if other is None else other, memory, room),
                within,
            )
        if placement is not None:
            placement.found_at = self._cores.version
        return placement

    def allows(self, job: Job, placement: Placement, p_state: int | None = None) -> bool:
        """Return whether a power cap, if any, lets the job start there now; what :meth:`place` finds may start.

        Raises PlacementError if a cap has to look at a p-state that the processors there do not have.
        """
        budget = self._machine.budget
        if budget is None or budget.allows(placement, p_state):
            return True
        budget.refuse(job)
        return False

    def is_capped(self, job: Job) -> bool:
        """Return whether in this instant only a power cap has kept the job from starting."""
        return self._machine.budget is not None and job.index in self._machine.budget.refused

    def fits(self, job: Job, placement: Placement) -> bool:
        """Return whether a job that waits, or is suspended, could have just these cores now: for those that it had."""
        return self._cores.can_hold(placement, self._request(job, placement.cores)) and self.allows(job, placement)

    def _request(self, job: Job, cores: int) -> Job:
        return job.on_cores(cores) if self._changes is None else self._changes.request(job, cores)

    @property
    def counts_only(self) -> bool:
        """Return whether any free cores serve any job: one-core nodes, no wishes for nodes, tags or reservations."""
        return self._cores.widest == 1 and self.one_node_rule

    @property
    def turning_times(self) -> list[float]:
        """Return when advance reservations begin or end, s."""
        eligibility = self._cores.eligibility
        return [] if eligibility is None else eligibility.turning_times

    def boot_time(self, placement: Placement) -> float:
        """Return how long it should take until all nodes of a placement are on, s."""
        return 0.0 if self._states.all_on else self._states.boot_time(placement)

    def outlook(self, empty: bool = False, withheld: bool = False) -> Outlook:
        """Return a copy of what is free now (or, ``empty``, with no job running) to try out what comes later.

        With ``withheld``, as if no node were.
        """
        return Outlook(self._machine, empty, withheld)

    # ------------------------------------------------------------------ which nodes are eligible for a job

    @property
    def one_node_rule(self) -> bool:
        """Return whether every job that fits the widest node goes on one: none asks for particular or whole nodes."""
        return not self._cores.shapes and self._cores.eligibility is None

    @property
    def restricts(self) -> bool:
        """Return whether it can matter to a job which nodes it gets: tags, exclusive nodes, advance reservations."""
        return self._cores.eligibility is not None

    def eligible(self, job: Job) -> npt.NDArray[np.bool_] | None:
        """Return the nodes that the job may ever use: they have its tags, and are in its reservation; None: all."""
        eligibility = self._cores.eligibility
        return None if eligibility is None else eligibility.nodes(job)

    def open_at(self, job: Job, time: float) -> npt.NDArray[np.bool_] | None:
        """Return those of the nodes that no advance reservation closes from ``time`` (s) until the job should end."""
        eligibility = self._cores.eligibility
        return None if eligibility is None else eligibility.open_at(job, time)

    def widest_node(self, job: Job) -> int:
        """Return the cores of the widest node that the job may use: one that asks for no more goes on one node."""
        eligibility = self._cores.eligibility
        return self._cores.widest if eligibility is None else eligibility.widest(job)

    @property
    def reservations(self) -> tuple[Window, ...]:
        """Return the advance reservations that are not over, by start."""
        eligibility = self._cores.eligibility
        return () if eligibility is None else tuple(w for w in eligibility.windows if w.end > self.now)

    def shortage(self, job: Job, memory: bool = False) -> str:
        """Say why a job does not fit on what is free now, as a clause for ``Hold``; empty if it fits."""
        missing = shortage(self._machine, job, memory, self.power_policy)
        budget = self._machine.budget
        return budget.why_not() if not missing and budget is not None and self.is_capped(job) else missing


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
