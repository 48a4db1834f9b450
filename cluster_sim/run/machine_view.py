"""What a policy sees of the machine, read-only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.machine.node import NodeView
from cluster_sim.platform.hardware import check_count

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.power.power_budget import PowerBudget
    from cluster_sim.machine.transition_log import TransitionLog
    from cluster_sim.models.contention import ContentionModel
    from cluster_sim.models.power import PowerModel
    from cluster_sim.models.processor_step import ProcessorModels
    from cluster_sim.platform.platform import NodeType, Platform, ProcessorType


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view of the same numbers that cannot be written to; it changes as the machine does."""
    glass = array.view()
    glass.flags.writeable = False
    return glass


class MachineView:
    """The nodes of a run, what is free on them and what they draw, as policies may see them. It is live.

    Arrays have one entry per node, in platform order; they cannot be written to, nor can nodes be told anything here.
    """

    def __init__(self, machine: Machine):
        self._machine = machine
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

    @property
    def now(self) -> float:
        """Return the time on the run's clock, s."""
        return self._machine.env.now

    @property
    def version(self) -> object:
        """Return an object that is another one after every change of what is free.

        While it is the same, nothing started, ended or switched.
        """
        return self._machine.version

    @property
    def platform(self) -> Platform:
        """Return the hardware."""
        return self._machine.platform

    def node(self, index: int) -> NodeView:
        """Return a node, by its position in the platform, to look at. Decisions and ``simulation.node`` change it.

        Raises InputError for a position that the machine does not have.
        """
        view = self._nodes.get(index)
        if view is None:
            index = check_count("node", index, self.platform.node_count - 1, least=0)
            view = self._nodes[index] = NodeView(self._machine, index)
        return view

    def nodes(self) -> Iterator[NodeView]:
        """Return all nodes; for a large platform use the arrays."""
        return (self.node(i) for i in range(self.platform.node_count))

    @property
    def contention(self) -> ContentionModel:
        """Return how tasks on one processor slow each other; it answers for processors that do not exist, too."""
        return self._machine.contention

    @property
    def processor_models(self) -> ProcessorModels:
        """Return types of processors with both models applied to them."""
        return self._machine.models

    @property
    def power_model(self) -> PowerModel:
        """Return what processors draw; it answers for processors that do not exist, too."""
        return self._machine.power

    def processors_of(self, node: int) -> range:
        """Return the processors of a node, by their positions in the platform."""
        return self._machine.processors_of(node)

    def node_of(self, processor: int) -> int:
        """Return the node that a processor is in, both by their positions in the platform."""
        return self._machine.node_of(processor)

    @property
    def clock_changes(self) -> Sequence[tuple[float, int, ProcessorType]]:
        """Return every change of a processor's clock so far: time (s), processor by position, its type from then on."""
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
        """Return how many nodes the power policy keeps from the scheduler."""
        return self._machine.withheld_count

    @property
    def offered_cores(self) -> int:
        """Return the cores, free or not, of the nodes that are not withheld: nobody can be promised more."""
        return self._machine.offered_cores

    @property
    def transition_ends(self) -> Mapping[int, float]:
        """Return when nodes in transition should be on, or OFF, s, by node; one that takes longer stays."""
        return self._machine.transition_ends

    @property
    def state_changes(self) -> TransitionLog:
        """Return every change of a node's state so far: time (s), node, state, W drawn when not on."""
        return self._machine.ledger.transitions

    @cached_property
    def textual_rank(self) -> npt.NDArray[np.float64]:
        """Return the position of each node when their names are sorted as text."""
        rank = np.empty(self.platform.node_count)
        rank[np.argsort(np.array(self.platform.node_names()), kind="stable")] = np.arange(self.platform.node_count)
        return rank

    @cached_property
    def node_gflops(self) -> npt.NDArray[np.float64]:
        """Return the peak rate per core of each node, averaged over its processors, 1e9 operations/s."""
        return self._by_type(lambda node: sum(p.gflops for p in node.processors) / len(node.processors))

    @cached_property
    def node_max_watts(self) -> npt.NDArray[np.float64]:
        """Return the most that each node can draw: all its cores busy, W."""
        return self._by_type(lambda node: sum(self._machine.max_watts(p) for p in node.processors))

    @cached_property
    def node_bandwidth(self) -> npt.NDArray[np.float64]:
        """Return the bandwidth that each node serves before tasks slow each other, MB/s; inf where they never do."""
        return self._by_type(lambda node: sum(self._machine.contention.on(p).threshold for p in node.processors))

    def _by_type(self, figure: Callable[[NodeType], float]) -> npt.NDArray[np.float64]:
        figures = np.array([figure(node_type) for node_type in self.platform.node_types], np.float64)
        return figures[self.platform.type_of_node]

    def node_watts(self) -> npt.NDArray[np.float64]:
        """Return what each node draws now, W."""
        return np.array([node.watts for node in self.nodes()])

    def current_gflops(self) -> npt.NDArray[np.float64]:
        """Return the rate that the running tasks of each node reach now, summed over tasks, 1e9 operations/s."""
        return np.array([sum(self._machine.achieved_gflops(p.index) for p in node.processors) for node in self.nodes()])

    @property
    def watts(self) -> float:
        """Return what the machine draws now, W."""
        return self._machine.watts

    @property
    def energy_j(self) -> float:
        """Return the energy since the start of the run, J."""
        return self._machine.energy_j

    @property
    def power_budget(self) -> PowerBudget | None:
        """Return the limit that a power policy has set to what the machine may draw."""
        return self._machine.budget

    @property
    def capacity_changes(self) -> int:
        """Return how often a node has become usable or ceased to be, or is to be usable later than was known."""
        return self._machine.capacity_changes

    @property
    def boot_delays(self) -> npt.NDArray[np.float64] | None:
        """Return how long each node should boot for a job that gets it, s, shape (nodes,); None if no node has to.

        0 of a node that is on, or will be when it can be had; of one that is OFF, or will be, the mean time of its boot,
        withheld or not.
        """
        return self._machine.boot_delays()
