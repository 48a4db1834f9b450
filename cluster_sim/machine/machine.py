"""The running machine: which cores are free, what every processor draws, which nodes are on.

State is kept in columns over nodes and processors, in platform order, because a run may have 100,000 of them and a job
thousands; :class:`Node` and :class:`Processor` are handles on one row, made when they are asked for. The free cores
are booked in :mod:`cluster_sim.machine.bookings`, which nodes can be used stands in :mod:`cluster_sim.machine.availability`,
and what is drawn in :mod:`cluster_sim.machine.power.power_meter`; handles, channels, states and clocks are added here.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import sub
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cluster_sim.machine.guest_requests import Guests, Request
from cluster_sim.machine.memory_channel import MemoryChannel
from cluster_sim.machine.node import Node, NodeState
from cluster_sim.machine.power.power_meter import PowerMeter
from cluster_sim.machine.processor import Processor
from cluster_sim.machine.switching import Switching
from cluster_sim.models.processor_step import ProcessorModels
from cluster_sim.platform.boot_times import boot_times
from cluster_sim.platform.hardware import check_count

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.engine import Environment
    from cluster_sim.machine.power.power_budget import PowerBudget
    from cluster_sim.machine.running import Running
    from cluster_sim.platform.platform import Platform, PowerTransitions, ProcessorType


class Observer(Protocol):
    """The simulation that runs jobs on the machine, as far as the machine tells and asks it."""

    def nodes_changed(self, nodes: Sequence[int], state: NodeState) -> None:
        """Hear that nodes have entered a state."""
        ...

    def kill_jobs_on(self, node: int, reason: str) -> int:
        """Kill the jobs that hold cores of a node; how many there are."""
        ...

    def jobs_on(self, first: int, stop: int) -> list[Running]:
        """Return the running jobs that hold any of the platform's cores ``first`` to ``stop`` - 1."""
        ...

    def guest_left(self, guest: Request) -> None:
        """Hear that a guest has given its cores back."""
        ...

    def traffic_on(self, processor: int) -> None:
        """Hear that a guest is about to move memory there: its jobs have to be on the channel."""
        ...

    def rates_will_change(self) -> None:
        """Hear that a clock is about to change: work in progress has to be on the channels."""
        ...


class Machine(PowerMeter):
    """Columns of the machine's state, and the few operations that change them.

    A job *holds* cores from its allocation to its release and *loads* them (they draw power) while its tasks run.
    """

    def __init__(
        self,
        env: Environment,
        platform: Platform,
        models: ProcessorModels,
        observer: Observer,
        quirks: frozenset[str] = frozenset(),
    ):
        super().__init__(env, platform, models, quirks)
        self.observer = observer
        self.demand = np.zeros(platform.node_count)  #: MB/s that the tasks on each node ask for.
        self.switching = Switching(self)
        self.guests = Guests(self)
        self._nodes: dict[int, Node] = {}
        self._processors: dict[int, Processor] = {}
        self._at_job_boundaries = "contention-at-job-boundaries" in quirks
        self.budget: PowerBudget | None = None  #: What it may draw, when a power policy has set a limit.
        self.rng: np.random.Generator | None = None  #: Draws boot times; None: every boot takes the mean time.
        off = np.array([t.initially_off for t in self.platform.node_types])[self.platform.type_of_node]
        if self._never_used is None:
            self._add_watts(float(np.sum([table[0] for table in self.table_of])))
        for node in np.flatnonzero(off).tolist():
            kind = self.platform.node_types[self.platform.type_of_node[node]]
            self._book((node,), NodeState.OFF, (kind.transitions.off_w,))  # booked only: no run is there yet to be told

    # ------------------------------------------------------------------ handles

    def node(self, index: int) -> Node:
        """Return the handle of one node. Raises InputError for a position that the machine does not have."""
        node = self._nodes.get(index)
        if node is None:
            index = check_count("node", index, self.platform.node_count - 1, least=0)
            node = self._nodes[index] = Node(self, index)
        return node

    def processor(self, index: int) -> Processor:
        """Return the handle of one processor, by its index in the platform."""
        processor = self._processors.get(index)
        if processor is None:
            processor = self._processors[index] = Processor(self, index)
        return processor

    def channel(self, processor: int) -> MemoryChannel:
        """Return the memory channel of a processor."""
        channel = self.channels.get(processor)
        if channel is None:
            channels, node = self.channels, self.node_of(processor)

            def follow() -> None:
                if self.follows_rates:
                    self._update_rate_watts(processor)
                if self._one_processor_a_node:
                    self.demand[node] = channels[processor].demand
                else:
                    self.demand[node] = sum(channels[p].demand for p in self.processors_of(node) if p in channels)

            contention = self.models.of(self.type_of[processor]).contention
            channel = channels[processor] = MemoryChannel(self.env, contention, self._at_job_boundaries, follow)
        return channel

    def kill_jobs_on(self, node: int, reason: str) -> int:
        """Kill the jobs that hold cores of a node; how many there are."""
        return self.observer.kill_jobs_on(node, reason)

    def achieved_gflops(self, processor: int) -> float:
        """Return the rate that the tasks on a processor reach now, summed over tasks, 1e9 operations/s."""
        peak = self.type_of[processor].gflops
        if processor not in self.channels:
            return peak * self.busy[processor]
        return peak * sum(group.tasks * group.speed for group in self.channels[processor].users)

    # ------------------------------------------------------------------ states and clocks

    def enter(self, nodes: Sequence[int], state: NodeState, draws_w: Sequence[float]) -> None:
        """Have nodes, none of which runs anything, enter a state; ``draws_w`` is what each draws in it.

        Only :mod:`cluster_sim.machine.switching` calls this.
        """
        self._book(nodes, state, draws_w)
        self.switching.end_rests(nodes)
        self.observer.nodes_changed(nodes, state)

    def _book(self, nodes: Sequence[int], state: NodeState, draws_w: Sequence[float]) -> None:
        states, draws = self.node_states, self._draws_w
        self.ledger.transitions.add(self.env.now, nodes, state, draws_w)
        if states[nodes[0]] is not NodeState.IDLE:
            drew_w: Sequence[float] = [draws[node] for node in nodes]
        elif not self._rate_watts:
            drew_w = self.idle_watts_of(nodes)
        else:
            drew_w = [self.node_watts(node) for node in nodes]
            for node in nodes:
                for processor in self.processors_of(node):
                    # Nothing runs there; what it draws when it is on again depends on its clock then.
                    self._rate_watts.pop(processor, None)
        first, stop = nodes[0], nodes[0] + len(nodes)
        if nodes[-1] == stop - 1 and len(nodes) > 1 and list(nodes) == list(range(first, stop)):
            states[first:stop] = [state] * len(nodes)
            draws[first:stop] = draws_w
        else:
            for node, draw in zip(nodes, draws_w, strict=True):
                states[node] = state
                draws[node] = draw
        self.enter_states(nodes, on=state is NodeState.IDLE, off=state is NodeState.OFF)
        self._add_watts(sum(map(sub, draws_w, drew_w)))

    def boot_seconds(self, costs: PowerTransitions) -> float:
        """Return how long a boot that begins now takes: drawn anew for each, if its time is random."""
        if costs.switch_on_distribution and self.rng is not None:
            return boot_times(costs.switch_on_distribution).draw(self.rng)
        return costs.switch_on_s

    def boot_delays(self) -> npt.NDArray[np.float64] | None:
        """Return how long each node has to boot for a job that gets it, s, see ``View.boot_delays``."""
        if self.all_on:
            return None
        off, states, switching = self.powered_off.copy(), self.node_states, self.switching
        for node in self.transition_ends:
            off[node] = states[node] is NodeState.SWITCHING_OFF and not switching.boots_afterwards(node)
        seconds = np.array([kind.transitions.switch_on_s for kind in self.platform.node_types])
        delays: npt.NDArray[np.float64] = np.where(off, seconds[self.platform.type_of_node], 0.0)
        return delays if delays.any() else None

    def set_clock(self, processor: int, kind: ProcessorType) -> None:
        """Give a processor the clock and watts of ``kind``; the number of its cores stays."""
        self.observer.rates_will_change()
        ratio = kind.ops_per_s / self.type_of[processor].ops_per_s
        before = self.table_of[processor]
        busy = self.busy[processor]
        self.type_of[processor], self.table_of[processor] = kind, self.table(kind)
        self._loading_watts = None
        self.ledger.clock_changes.append((self.env.now, processor, kind))
        if (
            self.powered_on[self.node_of(processor)]
            and not self.is_unused(processor)
            and processor not in self._rate_watts
        ):
            self._add_watts(self.table_of[processor][busy] - before[busy])
        if processor in self.channels:
            self.channels[processor].change_rate(ratio)
