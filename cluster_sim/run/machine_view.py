"""What a policy sees of the machine, read-only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.machine.node import NodeView
from cluster_sim.platform.hardware import check_count
from cluster_sim.read_only import closed, shown
from cluster_sim.workload.resource_request import WHOLE

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.guest_requests import Departure
    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.reason import Reason
    from cluster_sim.machine.transition_log import TransitionLog
    from cluster_sim.models.contention import ContentionModel
    from cluster_sim.models.power import PowerModel
    from cluster_sim.models.processor_step import ProcessorModels
    from cluster_sim.platform.platform import NodeType, Platform, ProcessorType
    from cluster_sim.workload.advance_reservations import Window
    from cluster_sim.workload.jobs import Job


def _read_only(*arrays: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Return views of the same numbers that cannot be written to; they change as the machine does."""
    views = [array.view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views


def forwarded(path: str, doc: str) -> Any:
    """Return a property that reads ``path`` from the object, which costs no call of a Python function."""
    return property(attrgetter(path), doc=doc)


class BudgetView:
    """What the machine may draw, as policies may see it. It is live."""

    is_set: bool = forwarded("_machine.budget.is_set", "True if a power policy has set a limit, be it inf.")
    limit_w: float = forwarded("_machine.budget.limit_w", "The limit, W.")

    def __init__(self, machine: Machine):
        self._machine = machine
        self.__class__ = closed(BudgetView)

    @property
    def refused(self) -> Mapping[int, Job]:
        """Return the jobs that the limit has kept from starting in this instant, by index."""
        return MappingProxyType(dict(self._machine.budget.refused))

    def faster(self) -> list[tuple[int, int]]:
        """Return (processor, p-state) of slowed processors that there is room to speed up again, least watts first."""
        return self._machine.budget.faster()

    def why_not(self) -> Reason:
        """Return why a job waits that the limit keeps from starting."""
        return self._machine.budget.why_not()

    def why_never(self, job: Job) -> str:
        """Say why a job could not start even if nothing else ran; empty if it could."""
        return self._machine.budget.why_never(job)


class MachineView:
    """The nodes of a run, what is free on them and what they draw, as policies may see them. It is live.

    Arrays have one entry per node, in platform order; they cannot be written to, nor can nodes be told anything here.
    """

    now: float = forwarded("_machine.env.now", "The time on the run's clock, s.")
    version: object = forwarded(
        "_cores.version",
        "Another object after every change of what is free: while it is the same, nothing started, ended or switched.",
    )
    platform: Platform = forwarded("_machine.platform", "The hardware.")
    contention: ContentionModel = forwarded(
        "_machine.models.contention",
        "How tasks on one processor slow each other; it answers for processors that do not exist, too.",
    )
    processor_models: ProcessorModels = forwarded(
        "_machine.models",
        "Types of processors with both models applied to them.",
    )
    power_model: PowerModel = forwarded(
        "_machine.models.power",
        "What processors draw; it answers for processors that do not exist, too.",
    )
    clock_changes: Sequence[tuple[float, int, ProcessorType]] = forwarded(
        "_machine.ledger.clock_changes",
        "Every change of a processor's clock so far: time (s), processor by position, its type from then on.",
    )
    free_total: int = forwarded(
        "_cores.free_total",
        "Free cores of all nodes that are on, or off and can be booted.",
    )
    withheld_count: int = forwarded(
        "_states.withheld_count",
        "How many nodes the power policy keeps from the scheduler.",
    )
    offered_cores: int = forwarded(
        "_states.offered_cores",
        "The cores, free or not, of the nodes that are not withheld: nobody can be promised more.",
    )
    state_changes: TransitionLog = forwarded(
        "_machine.ledger.transitions",
        "Every change of a node's state so far: time (s), node, state, W drawn when not on.",
    )
    watts: float = forwarded("_machine.power.watts", "What the machine draws now, W.")
    energy_j: float = forwarded("_machine.power.energy_j", "The energy since the start of the run, J.")
    turning_times: Sequence[float] = forwarded(
        "_cores.eligibility.turning_times",
        "When advance reservations begin or end, s.",
    )
    turns: bool = forwarded(
        "_cores.eligibility.turns",
        "Whether time alone may open nodes to a job: a reservation ends, or it has waited long enough for its switches.",
    )
    restricts: bool = forwarded(
        "_cores.eligibility.restricts",
        "Whether it can matter to a job which nodes it gets: tags, exclusive nodes, advance reservations, switches.",
    )
    counts_resources: bool = forwarded(
        "_cores.resources.counts",
        "Whether jobs of the run ask for GPUs, other counted units or licences, and the platform has any.",
    )
    capacity_changes: int = forwarded(
        "_states.changes",
        "How often a node has become usable or ceased to be, or is to be usable later than was known.",
    )

    def __init__(self, machine: Machine):
        self._machine = machine
        self._cores, self._states = machine.cores, machine.nodes
        self._nodes: dict[int, NodeView] = {}
        #: What the machine may draw: ``is_set`` if a power policy has set a limit.
        self.power_budget = BudgetView(machine)
        #: When nodes in transition should be on, or OFF, s, by node; one that takes longer stays.
        self.transition_ends: Mapping[int, float] = MappingProxyType(machine.nodes.transition_ends)
        cores, states = machine.cores, machine.nodes
        free, used, capacity, demand, is_on, is_off, on, off, withheld = _read_only(
            *(cores.free, cores.memory.used, cores.memory.capacity, machine.demand),
            *(states.is_on, states.is_off, states.powered_on, states.powered_off, states.withheld),
        )
        self.free_cores: npt.NDArray[np.int32] = free  #: Free cores of each node.
        self.memory_used: npt.NDArray[np.float64] = used  #: MB in use on each node.
        self.memory_capacity: npt.NDArray[np.float64] = capacity  #: MB that each node has; inf when not given.
        #: Memory bandwidth that the running tasks on each node ask for, MB/s.
        self.demand: npt.NDArray[np.float64] = demand
        #: Which nodes a scheduler can use at once: idle or computing, and not withheld.
        self.is_on: npt.NDArray[np.bool_] = is_on
        #: Which nodes are OFF, and would be booted for a job: not withheld.
        self.is_off: npt.NDArray[np.bool_] = is_off
        #: Which nodes are idle or computing, withheld or not: for power policies.
        self.powered_on: npt.NDArray[np.bool_] = on
        #: Which nodes are OFF, withheld or not: for power policies.
        self.powered_off: npt.NDArray[np.bool_] = off
        #: Which nodes the power policy keeps from the scheduler.
        self.withheld: npt.NDArray[np.bool_] = withheld
        self.__class__ = closed(type(self))

    def node(self, index: int) -> NodeView:
        """Return a node, by its position in the platform, to look at. Decisions and ``simulation.node`` change it.

        Raises InputError for a position that the machine does not have.
        """
        view = self._nodes.get(index)
        if view is None:
            index = check_count("node", index, self.platform.node_count - 1, least=0)
            view = self._nodes[index] = shown(NodeView(self._machine, index))
        return view

    def nodes(self) -> Iterator[NodeView]:
        """Return all nodes; for a large platform use the arrays."""
        return (self.node(i) for i in range(self.platform.node_count))

    def processors_of(self, node: int) -> range:
        """Return the processors of a node, by their positions in the platform."""
        return self._cores.processors_of(node)

    def node_of(self, processor: int) -> int:
        """Return the node that a processor is in, both by their positions in the platform."""
        return self._cores.node_of(processor)

    @property
    def counts_only(self) -> bool:
        """Return whether any free cores serve any job: one-core nodes, no wishes for nodes, tags or reservations."""
        return self._cores.widest == 1 and self.one_node_rule

    @property
    def one_node_rule(self) -> bool:
        """Return whether every job that fits the widest node goes on one: none asks for particular or whole nodes."""
        cores = self._cores
        return not cores.shapes and not cores.eligibility.restricts and not cores.resources.counts

    def eligible(self, job: Job) -> npt.NDArray[np.bool_] | None:
        """Return the nodes that the job may ever use: they have its tags, and are in its reservation; None: all."""
        return self._cores.eligibility.nodes(job)

    def open_at(self, job: Job, time: float) -> npt.NDArray[np.bool_] | None:
        """Return those of the nodes that no advance reservation closes from ``time`` (s) until the job should end."""
        return self._cores.eligibility.open_at(job, time)

    def leaf_limit(self, job: Job, time: float) -> int:
        """Return on how many leaf switches a job's nodes may hang that starts at a time (s); 0: on any number."""
        return self._cores.eligibility.leaf_limit(job, time)

    def switches_until(self, job: Job) -> float:
        """Return until when a job waits for as few leaf switches as it asks for, s; -inf: it does not, inf: for ever."""
        return self._cores.eligibility.switches_until(job)

    def widest_node(self, job: Job) -> int:
        """Return the cores of the widest node that the job may use: one that asks for no more goes on one node."""
        return self._cores.eligibility.widest(job)

    @property
    def reservations(self) -> tuple[Window, ...]:
        """Return the advance reservations that are not over, by start."""
        return tuple(window for window in self._cores.eligibility.windows if window.end > self.now)

    @property
    def guests(self) -> Sequence[Departure]:
        """Return what users' processes hold: whose, node, cores, and when it should be given back (s; inf: never)."""
        guests = self._machine.guests
        return guests.expected() if guests.held else ()

    def asks_for_resources(self, job: Job) -> bool:
        """Return whether the job asks for GPUs, other counted units or licences: cores alone do not do for it."""
        return self._cores.resources.asks(job)

    def unit_shares(self, resource: str) -> npt.NDArray[np.float64]:
        """Return what is left of each unit of a resource, from 0 to 1, shape (nodes, units of the node with most).

        Units that a node does not have are 0. Where all units of a node are alike, the free ones stand first.
        """
        resources = self._cores.resources
        if resources.asked and resource in self.platform.resource_names:
            return resources.shares(resource)
        counts = self.platform.units_of(resource)
        return (np.arange(counts.max(initial=0)) < counts[:, np.newaxis]).astype(np.float64)

    def free_units(self, resource: str, share: float = 1.0) -> npt.NDArray[np.int64]:
        """Return of how many units of a resource each node has at least that share free, such as of ``"gpu"``.

        While no job of the run asks for any, all are free.
        """
        resources = self._cores.resources
        if not resources.asked or resource not in self.platform.resource_names:
            return self.platform.units_of(resource)
        return resources.units_free(resource, resources.free, round(share * WHOLE))

    @property
    def usable_cores(self) -> npt.NDArray[np.int32]:
        """Free cores of each node that is on, or off and can be booted; of the others 0."""
        states = self._states
        return self.free_cores if states.all_on else np.where(states.is_on | states.is_off, self._cores.free, 0)

    @cached_property
    def textual_rank(self) -> npt.NDArray[np.float64]:
        """Return the position of each node when their names are sorted as text."""
        rank = np.empty(self.platform.node_count)
        rank[np.argsort(np.array(self.platform.node_names()), kind="stable")] = np.arange(self.platform.node_count)
        return _read_only(rank)[0]

    @cached_property
    def node_gflops(self) -> npt.NDArray[np.float64]:
        """Return the peak rate per core of each node, averaged over its processors, 1e9 operations/s."""
        return self._by_type(lambda node: sum(p.gflops for p in node.processors) / len(node.processors))

    @cached_property
    def node_max_watts(self) -> npt.NDArray[np.float64]:
        """Return the most that each node can draw: all its cores busy, W."""

        def most(node: NodeType) -> float:
            units = sum(each.count * (each.idle_w + each.busy_w) for each in node.resources.values())
            return sum(self._machine.power.max_watts(p) for p in node.processors) + units

        return self._by_type(most)

    @cached_property
    def node_bandwidth(self) -> npt.NDArray[np.float64]:
        """Return the bandwidth that each node serves before tasks slow each other, MB/s; inf where they never do."""
        return self._by_type(lambda node: sum(self._machine.models.contention.on(p).threshold for p in node.processors))

    def _by_type(self, figure: Callable[[NodeType], float]) -> npt.NDArray[np.float64]:
        figures = np.array([figure(node_type) for node_type in self.platform.node_types], np.float64)
        return _read_only(figures[self.platform.type_of_node])[0]

    def node_watts(self) -> npt.NDArray[np.float64]:
        """Return what each node draws now, W."""
        return np.array([node.watts for node in self.nodes()])

    def current_gflops(self) -> npt.NDArray[np.float64]:
        """Return the rate that the running tasks of each node reach now, summed over tasks, 1e9 operations/s."""
        return np.array([sum(self._machine.achieved_gflops(p.index) for p in node.processors) for node in self.nodes()])

    @property
    def boot_delays(self) -> npt.NDArray[np.float64] | None:
        """Return how long each node should boot for a job that gets it, s, shape (nodes,); None if no node has to.

        0 of a node that is on, or will be when it can be had; of one that is OFF, or will be, the mean time of its boot,
        withheld or not.
        """
        return None if self._states.all_on else self._machine.switching.boot_delays()
