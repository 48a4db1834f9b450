"""What a policy sees of a run: the queue, the running jobs and the machine, read-only; a clairvoyant one sees more."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.engine import Environment
from cluster_sim.errors import ModelWarning, SimulationError, warn_user
from cluster_sim.machine.allocation import Allocation
from cluster_sim.machine.eligibility import eligibility_of
from cluster_sim.machine.machine import Machine
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import FITS, Reason, lacking
from cluster_sim.machine.running import Running
from cluster_sim.machine.units.counted_resources import resources_of
from cluster_sim.models.processor_step import models_of
from cluster_sim.read_only import closed, renew
from cluster_sim.run.decisions import Decision, Reject, Start, check_decision
from cluster_sim.run.jobs.live_jobs import Held, LiveJobs, Suspended
from cluster_sim.run.machine_view import MachineView, forwarded
from cluster_sim.run.news import News
from cluster_sim.run.planning import BY_HAND, About, Planning
from cluster_sim.spelling import guessed
from cluster_sim.workload.jobs import Job, requests

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.free import Order
    from cluster_sim.platform.platform import Platform
    from cluster_sim.run.jobs.job_changes import JobChanges
    from cluster_sim.workload.advance_reservations import AdvanceReservation
    from cluster_sim.workload.work import Work
    from cluster_sim.workload.workload import Workload


MOVED = {
    **dict.fromkeys("nodes node_gflops node_watts node_of memory_used is_on withheld".split(), "machine"),
    **dict.fromkeys("contention power_model reservations open_at eligible".split(), "machine"),
    **dict.fromkeys("outlook grown shrunk progress allows held_cores suspended_by_index".split(), "planning"),
}
"""Part of the view in which a member stands that the manual once had in the view itself; the old name still works."""


class View:
    """The state of a run as policies may see it. It is live: after ``yield Start(…)`` it shows the job running.

    Jobs appear with what was requested for them only; how long one really runs, a policy learns when it ends.
    Nothing can be set or changed here: policies yield decisions.
    ``machine`` tells more of the nodes, ``planning`` what few policies need: what will be free, power caps, and jobs
    that change.

    :meth:`by_hand` makes a view without a simulation, so that a policy can be tested on a state written down in a test.
    """

    now: float = forwarded("_machine.env.now", "The time on the run's clock, s.")
    platform: Platform = forwarded("_machine.platform", "The hardware.")
    free_total: int = forwarded("_cores.free_total", "Free cores of all nodes that are on, or off and can be booted.")
    watts: float = forwarded("_machine.power.watts", "What the machine draws now, W.")
    energy_j: float = forwarded("_machine.power.energy_j", "The energy since the start of the run, J.")

    def __init__(
        self,
        machine: Machine,
        live: LiveJobs[Any],
        news: News,
        changes: JobChanges | None = None,
        about: About = BY_HAND,
    ):
        self._machine, self._cores = machine, machine.cores
        self._live = live
        self._pending = live.pending
        self._running = live.running
        self._about = about
        self.machine = MachineView(machine)  #: The nodes, what is free on them and what they draw.
        self.planning = Planning(machine, live, news, changes, about)  #: What will be, and jobs that change.
        self.free_cores = self.machine.free_cores  #: Free cores of each node, shape (nodes,).
        self.explains = about.explains  #: Whether the run logs decisions: ``Hold`` and ``Reserve`` are worth it.
        #: Jobs that joined the queue since the last scheduling pass.
        self.submitted = news.submitted
        #: Jobs that gave their cores back since the last scheduling pass.
        self.ended = news.ended
        #: Pending and running jobs by their index, for those who look at them at every decision.
        self.pending_by_index: Mapping[int, Job] = MappingProxyType(live.pending)
        self.running_by_index: Mapping[int, Running] = MappingProxyType(live.running)
        self.__class__ = closed(type(self))

    def __getattr__(self, name: str) -> Any:
        """Return a member by its old name, with one warning. Raises AttributeError that says where another one is."""
        if name in MOVED:
            _tell_new_name(name)
            return getattr(getattr(self, MOVED[name]), name)
        where = [f"view.{part}.{name}" for part in ("machine", "planning") if hasattr(vars(self).get(part), name)]
        raise guessed(self, name, {name: "".join(where)})

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

        jobs = requests(pending.jobs) if isinstance(pending, Workload) else list(pending)
        eligibility = eligibility_of(platform, jobs[0].all_requests if jobs else {}, reservations)
        machine = Machine(Environment(), platform, models_of(platform), eligibility=eligibility)
        machine.cores.resources = resources_of(platform, jobs[0].all_requests if jobs else {})
        news = News()
        list.extend(news.submitted, jobs)
        view = cls(machine, LiveJobs({job.index: job for job in jobs}), news)
        renew(view, rng=np.random.default_rng(seed))
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
        return np.random.default_rng(np.random.SeedSequence(self._about.seed).spawn(1)[0])

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
    def suspended(self) -> tuple[Suspended, ...]:
        """Return jobs that have lost their cores and keep their work, in the order in which they lost them."""
        return tuple(self._live.suspended.values())

    def place(
        self,
        job: Job,
        order: Order = None,
        memory: bool = False,
        within: npt.NDArray[np.integer] | None = None,
    ) -> Placement | None:
        """Return a placement of the job on cores that are free now, or None if it does not fit.

        ``order`` ranks the nodes, shape (nodes,), least first; ties, and None, go by platform order. It may be a rule
        that chooses them as a set, see :mod:`~cluster_sim.platform.node_choice`. With ``memory``
        the nodes must have room for the job's memory too. ``within``, shape (nodes,), are the most cores that may be
        taken on each node.
        """
        placement = self._cores.place(job, order, memory, within)
        if placement is not None and self._machine.budget.is_set:
            placement = self._machine.budget.fit(
                job,
                placement,
                lambda other, room: self._cores.place(job, order if other is None else other, memory, room),
                within,
            )
        if placement is not None:
            object.__setattr__(placement, "found_at", self._cores.version)  # `renew`, without a call
        return placement

    def shortage(self, job: Job, memory: bool = False) -> Reason:
        """Return why a job does not fit on what is free now, for ``Hold``; false if it fits. As text it is a clause."""
        machine = self._machine
        if machine.cores.place(job, None, memory) is None:
            return lacking(
                machine.cores, machine.nodes, machine.guests.expected(), job, memory, self._about.power_policy
            )
        return machine.budget.why_not() if self.planning.is_capped(job) else FITS


@cache
def _tell_new_name(name: str) -> None:
    warn_user(ModelWarning(f"view.{name} is view.{MOVED[name]}.{name} now"))


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
        self.work = work
        self.kills_at_walltime = kills_at_walltime  #: True if a job ends at its requested time in any case.
        self._changes = changes
        super().__init__(machine, live, news, changes, about)

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
        seconds = self.run_time(job, min(types[processor].ops_per_s for processor, _ in self.planning.held_cores(job)))
        most = running.limit_s if self.kills_at_walltime else math.inf
        if self._changes is None:
            return running.expected_start + min(seconds, most)
        return self._changes.end_of(running, seconds, most)
