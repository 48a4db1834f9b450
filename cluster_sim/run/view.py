"""What a policy sees of a run: the queue, the running jobs and the machine, read-only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.machine.eligibility import Eligibility
from cluster_sim.machine.node import NodeView
from cluster_sim.machine.placement import Placement, place
from cluster_sim.run.decisions import Decision, Reject, Start, check_decision
from cluster_sim.run.outlook import Outlook
from cluster_sim.run.shortage import shortage
from cluster_sim.workload.jobs import requests

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.guests import Departure, Request
    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.power_budget import PowerBudget
    from cluster_sim.machine.running import Running
    from cluster_sim.machine.transition_log import TransitionLog
    from cluster_sim.models.contention import ContentionModel
    from cluster_sim.models.power import PowerModel
    from cluster_sim.models.processor_step import ProcessorModels
    from cluster_sim.platform.platform import NodeType, Platform, ProcessorType
    from cluster_sim.workload.advance_reservations import AdvanceReservation, Window
    from cluster_sim.workload.jobs import Job
    from cluster_sim.workload.work import Work
    from cluster_sim.workload.workload import Workload


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers, which change as the machine does, behind a pane of glass."""
    glass = array.view()
    glass.flags.writeable = False
    return glass


class View:
    """The state of a run as policies may see it. It is live: after ``yield Start(…)`` it shows the job running.

    Jobs appear with what was requested for them only; how long one really runs, a policy learns when it ends.
    Arrays have one entry per node, in platform order; they cannot be written to, nor can nodes be told anything here.

    :meth:`by_hand` makes a view without a simulation, so that a policy can be tested on a state written down in a test.
    """

    counts_memory = False  #: Whether jobs ask for memory and the scheduler (any, if there is none) has them get it.
    explains = False  #: Whether the run keeps a log of decisions, so that ``Hold`` and ``Reserve`` are worth yielding.
    power_policy = "the power policy"  #: What the power policy is called, for reasons.
    seed = 0  #: The run's seed.

    def __init__(self, machine: Machine, pending: dict[int, Job], running: dict[int, Running]):
        self._machine = machine
        self._pending = pending
        self._running = running
        self._nodes: dict[int, NodeView] = {}
        #: Free cores of each node.
        self.free_cores: npt.NDArray[np.int32] = _read_only(machine.free)
        #: MB in use on each node.
        self.memory_used: npt.NDArray[np.float64] = _read_only(machine.memory_used)
        #: MB that each node has; inf when not given.
        self.memory_capacity: npt.NDArray[np.float64] = _read_only(machine.memory_mb)
        #: Memory bandwidth that the running tasks on each node ask for, MB/s.
        self.demand: npt.NDArray[np.float64] = _read_only(machine.demand)
        #: Which nodes a scheduler can use at once: idle or computing, and not withheld.
        self.is_on: npt.NDArray[np.bool_] = _read_only(machine.is_on)
        #: Which nodes are OFF, and would be booted for a job: not withheld.
        self.is_off: npt.NDArray[np.bool_] = _read_only(machine.is_off)
        #: Which nodes are idle or computing, withheld or not: for power policies.
        self.powered_on: npt.NDArray[np.bool_] = _read_only(machine.powered_on)
        #: Which nodes are OFF, withheld or not: for power policies.
        self.powered_off: npt.NDArray[np.bool_] = _read_only(machine.powered_off)
        #: Which nodes the power policy keeps from the scheduler.
        self.withheld: npt.NDArray[np.bool_] = _read_only(machine.withheld)
        self.submitted: list[Job] = []  #: Jobs that joined the queue since the last scheduling pass.
        self.ended: list[Running] = []  #: Jobs that gave their cores back since the last scheduling pass.
        self.vacated: list[
            Running | Request
        ] = []  #: The same since the power policy last reacted; empty if there is none.
        self.quirks: frozenset[str] = frozenset()  #: Quirks of published programs that the run reproduces.

    @classmethod
    def by_hand(
        cls,
        platform: Platform,
        pending: Workload | Iterable[Job] = (),
        seed: int = 0,
        reservations: Iterable[AdvanceReservation] = (),
    ) -> View:
        """A view of an idle machine with these jobs pending, at time 0; decisions are applied with :meth:`apply`."""
        from cluster_sim.run.execution import Bench
        from cluster_sim.workload.workload import Workload

        bench = Bench(platform)
        jobs = requests(pending.jobs) if isinstance(pending, Workload) else list(pending)
        bench.machine.eligibility = Eligibility.of(platform, jobs[0]._columns if jobs else {}, reservations)
        view = cls(bench.machine, {job.index: job for job in jobs}, {})
        view.submitted = jobs
        view.rng = np.random.default_rng(seed)
        return view

    def apply(self, decision: Decision) -> None:
        """Carry a decision out on a view made by hand (in a run the simulation does it).

        Raises PlacementError, and InputError for a decision with a value of a wrong kind.
        """
        from cluster_sim.machine.running import Running

        check_decision(decision)
        if isinstance(decision, Start):
            job = decision.job
            allocation = self._machine.hold(decision.placement, job.memory, job)
            for processor, _ in self._machine.cores_by_processor(allocation) if decision.p_state is not None else ():
                self._machine.processor(processor).set_p_state(decision.p_state or 0)
            self._machine.load(allocation)
            self._running[job.index] = Running(job, decision.placement, allocation, self.now)
        if isinstance(decision, (Start, Reject)):
            del self._pending[decision.job.index]

    def pass_is_over(self) -> None:
        """The scheduler has seen what is new."""
        self.submitted.clear()
        self.ended.clear()

    @cached_property
    def rng(self) -> np.random.Generator:
        """The scheduler's own random numbers; seeded by the run's seed."""
        return np.random.default_rng(np.random.SeedSequence(self.seed).spawn(1)[0])

    # ------------------------------------------------------------------ time and jobs

    @property
    def now(self) -> float:
        """s on the run's clock."""
        return self._machine.env.now

    @property
    def pending(self) -> tuple[Job, ...]:
        """Jobs that wait for cores, in order of submission; one that waited for other jobs comes when they are over."""
        return tuple(self._pending.values())

    @property
    def pending_count(self) -> int:
        """How many jobs wait."""
        return len(self._pending)

    def is_pending(self, job: Job) -> bool:
        """Whether the job still waits: it may have been started, cancelled or rejected since it was submitted.

        One that was killed and waits again is another object, which ``submitted`` has.
        """
        return self._pending.get(job.index) is job

    @property
    def running(self) -> tuple[Running, ...]:
        """Jobs that hold cores, in order of allocation."""
        return tuple(self._running.values())

    @property
    def running_by_index(self) -> Mapping[int, Running]:
        """The same by index of the job, for those who look at them at every decision."""
        return self._running

    @property
    def running_count(self) -> int:
        """How many jobs hold cores."""
        return len(self._running)

    @property
    def guests(self) -> Sequence[Departure]:
        """What processes of the user's own hold: whose, node, cores, and when they should give them back (s; inf: never)."""
        guests = self._machine.guests
        return guests.expected() if guests else ()

    def running_job(self, job: Job) -> Running:
        """What there is to know about a job that holds cores. Raises KeyError for any other job."""
        return self._running[job.index]

    # ------------------------------------------------------------------ the machine

    @property
    def version(self) -> object:
        """Another object after every change of what is free; while it is the same, nothing started, ended or switched."""
        return self._machine.version

    @property
    def platform(self) -> Platform:
        """The hardware."""
        return self._machine.platform

    def node(self, index: int) -> NodeView:
        """One node, by its position in the platform: to be looked at. Decisions and ``simulation.node`` change it."""
        view = self._nodes.get(index)
        if view is None:
            if not 0 <= index < self.platform.node_count:
                raise IndexError(f"node {index} of a machine with {self.platform.node_count} nodes")
            view = self._nodes[index] = NodeView(self._machine, index)
        return view

    def nodes(self) -> Iterator[NodeView]:
        """All nodes; for a large platform use the arrays."""
        return (self.node(i) for i in range(self.platform.node_count))

    @property
    def contention(self) -> ContentionModel:
        """How tasks on one processor slow each other; it can be asked about processors that do not exist."""
        return self._machine.contention

    @property
    def processor_models(self) -> ProcessorModels:
        """Types of processors with both models applied to them."""
        return self._machine.models

    @property
    def power_model(self) -> PowerModel:
        """What processors draw; it can be asked about processors that do not exist."""
        return self._machine.power

    def processors_of(self, node: int) -> range:
        """The processors of a node, by their positions in the platform."""
        return self._machine.processors_of(node)

    def node_of(self, processor: int) -> int:
        """The node that a processor is in, both by their positions in the platform."""
        return self._machine.node_of(processor)

    def held_cores(self, job: Job) -> list[tuple[int, int]]:
        """(processor, cores held on it) of a running job, processors by position. Raises KeyError for any other job."""
        return self._machine.cores_by_processor(self._running[job.index]._allocation)

    @property
    def clock_changes(self) -> Sequence[tuple[float, int, ProcessorType]]:
        """Every change of a processor's clock so far: time (s), processor by position, its type from then on."""
        return self._machine.ledger.clock_changes

    @property
    def usable_cores(self) -> npt.NDArray[np.int32]:
        """Free cores of each node that is on, or off and can be booted; of the others 0."""
        machine = self._machine
        return self.free_cores if machine.all_on else np.where(machine.is_on | machine.is_off, machine.free, 0)

    @property
    def free_total(self) -> int:
        """Free cores of all nodes that are on, or off and can be booted."""
        return self._machine.free_total

    @property
    def withheld_count(self) -> int:
        """How many nodes the power policy keeps from the scheduler."""
        return self._machine.withheld_count

    @property
    def offered_cores(self) -> int:
        """Cores, free or not, of the nodes that it does not: nobody can be promised more."""
        return self._machine.offered_cores

    @property
    def transition_ends(self) -> Mapping[int, float]:
        """When the nodes in transition should be on, or OFF, s, by node; one that takes longer than expected stays."""
        return self._machine.transition_ends

    @property
    def state_changes(self) -> TransitionLog:
        """Every change of a node's state so far: time (s), node, state, W drawn when not on."""
        return self._machine.ledger.transitions

    @cached_property
    def textual_rank(self) -> npt.NDArray[np.float64]:
        """Position of each node when their names are sorted as text."""
        rank = np.empty(self.platform.node_count)
        rank[np.argsort(np.array(self.platform.node_names()), kind="stable")] = np.arange(self.platform.node_count)
        return rank

    @cached_property
    def node_gflops(self) -> npt.NDArray[np.float64]:
        """Peak rate per core of each node, averaged over its processors, 1e9 operations/s."""
        return self._by_type(lambda node: sum(p.gflops for p in node.processors) / len(node.processors))

    @cached_property
    def node_max_watts(self) -> npt.NDArray[np.float64]:
        """Most that each node can draw: all its cores busy, W."""
        return self._by_type(lambda node: sum(self._machine.max_watts(p) for p in node.processors))

    @cached_property
    def node_bandwidth(self) -> npt.NDArray[np.float64]:
        """Bandwidth that each node serves before tasks slow each other, MB/s; inf where they never do."""
        return self._by_type(lambda node: sum(self._machine.contention.on(p).threshold for p in node.processors))

    def _by_type(self, figure: Callable[[NodeType], float]) -> npt.NDArray[np.float64]:
        figures = np.array([figure(node_type) for node_type in self.platform.node_types], np.float64)
        return figures[self.platform.type_of_node]

    def node_watts(self) -> npt.NDArray[np.float64]:
        """What each node draws now, W."""
        return np.array([node.watts for node in self.nodes()])

    def current_gflops(self) -> npt.NDArray[np.float64]:
        """Rate that the running tasks of each node reach now, summed over tasks, 1e9 operations/s."""
        return np.array([sum(self._machine.achieved_gflops(p.index) for p in node.processors) for node in self.nodes()])

    @property
    def watts(self) -> float:
        """What the machine draws now, W."""
        return self._machine.watts

    @property
    def energy_j(self) -> float:
        """Energy since the start of the run, J."""
        return self._machine.energy_j

    def place(
        self,
        job: Job,
        order: npt.NDArray[np.float64] | None = None,
        memory: bool = False,
        within: npt.NDArray[np.integer] | None = None,
    ) -> Placement | None:
        """A placement of the job on cores that are free now, or None if it does not fit.

        ``order`` ranks the nodes, shape (nodes,), least first; ties, and None, go by platform order. With ``memory``
        the nodes must have room for the job's memory too. ``within``, shape (nodes,), are the most cores that may be
        taken on each node.
        """
        placement = place(self._machine, job, order, memory, within)
        if placement is not None and self._machine.budget is not None:
            placement = self._machine.budget.fit(
                job,
                placement,
                lambda other, room: place(self._machine, job, order if other is None else other, memory, room),
                within,
            )
        if placement is not None:
            placement.found_at = self._machine.version
        return placement

    def allows(self, job: Job, placement: Placement, p_state: int | None = None) -> bool:
        """Whether a power cap, if there is one, lets the job start there now; what :meth:`place` finds may start.

        Raises PlacementError if a cap has to look at a p-state that the processors there do not have.
        """
        budget = self._machine.budget
        if budget is None or budget.allows(placement, p_state):
            return True
        budget.refused[job.index] = job
        return False

    def is_capped(self, job: Job) -> bool:
        """Whether in this pass only a power cap has kept the job from starting."""
        return self._machine.budget is not None and job.index in self._machine.budget.refused

    @property
    def power_budget(self) -> PowerBudget | None:
        """The limit that a power policy has set to what the machine may draw."""
        return self._machine.budget

    @property
    def counts_only(self) -> bool:
        """Whether any free cores serve any job: nodes have one core, and no job asks for nodes, tags or a reservation."""
        return self._machine.widest == 1 and self.one_node_rule

    @property
    def capacity_changes(self) -> int:
        """How often, since the run began, a node has become usable or ceased to be, or is to be later than was known."""
        return self._machine.capacity_changes

    @property
    def turning_times(self) -> list[float]:
        """When advance reservations begin or end, s."""
        eligibility = self._machine.eligibility
        return [] if eligibility is None else eligibility.turning_times

    def boot_time(self, placement: Placement) -> float:
        """How long it should take until all nodes of a placement are on, s."""
        return 0.0 if self._machine.all_on else self._machine.boot_time(placement)

    @property
    def boot_delays(self) -> npt.NDArray[np.float64] | None:
        """How long each node should have to boot for a job that gets it, s, shape (nodes,); None if no node has to.

        0 of a node that is on, or will be when it can be had; of one that is OFF, or will be, the mean time of its boot,
        withheld or not.
        """
        return self._machine.boot_delays()

    def outlook(self, empty: bool = False, withheld: bool = False) -> Outlook:
        """A copy of what is free now (or, ``empty``, with no job running) to try out what comes later.

        With ``withheld``, as if no node were.
        """
        return Outlook(self._machine, empty, withheld)

    # ------------------------------------------------------------------ which nodes are eligible for a job

    @property
    def one_node_rule(self) -> bool:
        """Whether every job that fits the widest node goes on one: none asks for nodes, tags, whole nodes or a reservation."""
        return not self._machine.shapes and self._machine.eligibility is None

    @property
    def restricts(self) -> bool:
        """Whether it can matter to a job which nodes it gets: tags, exclusive nodes, advance reservations."""
        return self._machine.eligibility is not None

    def eligible(self, job: Job) -> npt.NDArray[np.bool_] | None:
        """Nodes that the job may ever use: they have the tags that it requires, and are in its reservation; None: all."""
        eligibility = self._machine.eligibility
        return None if eligibility is None else eligibility.nodes(job)

    def open_at(self, job: Job, time: float) -> npt.NDArray[np.bool_] | None:
        """Of those, the nodes that are not closed by an advance reservation from ``time`` (s) until it should end."""
        eligibility = self._machine.eligibility
        return None if eligibility is None else eligibility.open_at(job, time)

    def widest_node(self, job: Job) -> int:
        """Cores of the widest node that the job may use: one that asks for no more goes on one node."""
        eligibility = self._machine.eligibility
        return self._machine.widest if eligibility is None else eligibility.widest(job)

    @property
    def reservations(self) -> tuple[Window, ...]:
        """The advance reservations that are not over, by start."""
        eligibility = self._machine.eligibility
        return () if eligibility is None else tuple(w for w in eligibility.windows if w.end > self.now)

    def shortage(self, job: Job, memory: bool = False) -> str:
        """Why a job does not fit on what is free now, as a clause for ``Hold``; empty if it fits."""
        missing = shortage(self._machine, job, memory, self.power_policy)
        budget = self._machine.budget
        return budget.why_not() if not missing and budget is not None and self.is_capped(job) else missing


class ClairvoyantView(View):
    """A view that also tells how long jobs really run, for policies that say in their class that they are clairvoyant."""

    work: Work
    kills_at_walltime = False  #: Whether a job ends at its requested time in any case.

    def run_time(self, job: Job, ops_per_s: float | None = None) -> float:
        """Uncontended run time of a job on cores of that rate (default: the platform's fastest), s."""
        return self.work.seconds(job.index, ops_per_s or self.platform.fastest_ops_per_s)

    def true_end(self, running: Running) -> float:
        """When a job that holds cores really ends, s, if no task slows another: by its slowest core, or its walltime."""
        types = self._machine.type_of
        rate = min(types[processor].ops_per_s for processor, _ in self.held_cores(running.job))
        seconds = self.run_time(running.job, rate)
        if self.kills_at_walltime:
            seconds = min(seconds, running.job.requested_time)
        return running.expected_start + seconds
