"""What few policies need of a run: what will be free, power caps, and jobs that change while they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.machine.course import CourseProgress
from cluster_sim.machine.free import Free
from cluster_sim.machine.machine import Machine
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.running import Running
from cluster_sim.read_only import ReadOnlyList, closed
from cluster_sim.run.jobs.live_jobs import LiveJobs, Suspended
from cluster_sim.run.news import News
from cluster_sim.workload.jobs import Job

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.platform.accounts import Accounts
    from cluster_sim.run.jobs.job_changes import JobChanges


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


class Planning:
    """What a policy plans with: the future as far as it is known, what a power cap allows, and jobs that change."""

    def __init__(
        self, machine: Machine, live: LiveJobs[Any], news: News, changes: JobChanges | None, about: About = BY_HAND
    ):
        self._machine, self._cores, self._states = machine, machine.cores, machine.nodes
        self._live = live
        self._changes = changes  # what knows how far running jobs are; None in a view made by hand
        self.accounts = about.accounts  #: Who may have how much of the machine; None: all may.
        #: Names that an anonymised workload has changed.
        self.aliases = MappingProxyType({kind: MappingProxyType(dict(of)) for kind, of in about.aliases.items()})
        self.power_policy = about.power_policy  #: What the power policy is called, for reasons.
        self.quirks = about.quirks  #: Quirks of published programs that the run reproduces.
        self.seed = about.seed  #: The run's seed.
        #: True if jobs ask for memory and the scheduler (any, if there is none) has them get it.
        self.counts_memory = machine.cores.uses_memory and about.places_memory
        #: Jobs that gave their cores back since the power policy last reacted, and suspended jobs that left the memory of
        #: their nodes; empty if there is no power policy.
        self.vacated = news.vacated
        #: Jobs that, since the last pass, went on after a suspension, or with other cores or another limit.
        self.resumed = news.resumed
        #: Jobs that wait, at the end of a part, for what this pass decides of them.
        self.at_boundary = news.at_boundary
        #: Suspended jobs by their index.
        self.suspended_by_index: Mapping[int, Suspended] = MappingProxyType(live.suspended)
        #: Called before each pass of the scheduler, by what has to know what every pass brings: see :meth:`follow`.
        self.followers: ReadOnlyList[Callable[[], None]] = ReadOnlyList()
        self.__class__ = closed(type(self))

    def follow(self, follower: Callable[[], None]) -> None:
        """Have a function called before each pass of the scheduler."""
        list.append(self.followers, follower)

    def running_job(self, job: Job) -> Running:
        """Return what there is to know about a job that holds cores. Raises KeyError for any other job."""
        return self._live.running[job.index]

    def held_cores(self, job: Job) -> list[tuple[int, int]]:
        """Return (processor, cores held on it) of a running job, by position. Raises KeyError for any other job."""
        return self._cores.cores_by_processor(self._live.holders[job.index].allocation)

    def progress(self, running: Running) -> CourseProgress:
        """Return how far a running job is as its user could know it, what a requeue undoes, if it can be resized."""
        return CourseProgress(0, 1, 0.0, False, 0) if self._changes is None else self._changes.progress(running)

    def grown(self, running: Running, cores: int, memory: bool = False) -> Placement | None:
        """Return a running job's placement with more cores, on its own nodes first; None if too few are free.

        The others are free, on nodes that are on and, until the job's request ends, open to it, and have the GPUs that go
        with its tasks; a power cap allows them, and with ``memory`` the nodes have room for what the job's tasks occupy. A
        job with a p-state of its own gets whole nodes.
        """
        job = running.job
        rooms: npt.NDArray[np.integer] | None = (
            self._cores.memory.room(job.memory) if memory and job.memory > 0.0 else None
        )
        if self._cores.eligibility.restricts:
            rooms = self._cores.open_rooms(self._request(job, cores), None, rooms, None)
        if self._cores.resources.asks(job):
            room = self._cores.resources.room(job)
            rooms = room if rooms is None else np.minimum(rooms, room)
        placement = self._cores.grown(running.placement, cores, rooms)
        if placement is not None and (most := self._cores.eligibility.leaf_limit(job, self._machine.env.now)):
            placement = (
                placement if len(self._machine.platform.switch_tree.leaves_of(placement.nodes)) <= most else None
            )
        if placement is None or (self._changes is not None and not self._changes.keeps_its_clock(running, placement)):
            return None
        more = placement.beyond(running.placement)
        p_state = None if self._changes is None else self._changes.p_state_of(job)
        return placement if more is None or self.allows(job, more, p_state) else None

    def shrunk(self, running: Running, cores: int) -> Placement:
        """Return a running job's placement with fewer cores: it gives up those of the last nodes.

        One for which a p-state was chosen can give up whole nodes only, which is not looked at here.
        """
        return running.placement.shrunk(cores)

    def allows(self, job: Job, placement: Placement, p_state: int | None = None) -> bool:
        """Return whether a power cap, if any, lets the job start there now; what :meth:`place` finds may start.

        Raises PlacementError if a cap has to look at a p-state that the processors there do not have.
        """
        budget = self._machine.budget
        if budget.allows(job, placement, p_state):
            return True
        budget.refuse(job)
        return False

    def is_capped(self, job: Job) -> bool:
        """Return whether in this instant only a power cap has kept the job from starting."""
        return job.index in self._machine.budget.refused

    def fits(self, job: Job, placement: Placement) -> bool:
        """Return whether a job that waits, or is suspended, could have just these cores now: for those that it had."""
        return self._cores.can_hold(placement, self._request(job, placement.cores)) and self.allows(job, placement)

    def _request(self, job: Job, cores: int) -> Job:
        return job.on_cores(cores) if self._changes is None else self._changes.request(job, cores)

    def boot_time(self, placement: Placement) -> float:
        """Return how long it should take until all nodes of a placement are on, s."""
        return 0.0 if self._states.all_on else self._states.boot_time(placement)

    def outlook(self, empty: bool = False, withheld: bool = False, without: Iterable[Running] = ()) -> Free:
        """Return a copy of what is free now (or, ``empty``, with no job running) to try out what comes later.

        With ``withheld``, as if no node were; ``without`` some running jobs, as if they had ended.
        """
        free = Free.of(self._cores, self._states, empty, withheld)
        for running in without:
            free.release(running)
        return free
