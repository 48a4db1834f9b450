"""The running machine: its cores, nodes, power, guests and ledger, put together on one SimPy environment.

State is kept in columns over nodes and processors, in platform order, because a run may have 100,000 of them and a job
thousands; :class:`Node` and :class:`Processor` are handles on one row, made when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.machine.cores import Cores
from cluster_sim.machine.eligibility import Eligibility
from cluster_sim.machine.guest_requests import Guests
from cluster_sim.machine.hub import Hub
from cluster_sim.machine.ledger import Ledger
from cluster_sim.machine.memory_channel import MemoryChannel
from cluster_sim.machine.node import Node, Processor
from cluster_sim.machine.node_states import NodeStates
from cluster_sim.machine.power.power_budget import UNLIMITED, Budget
from cluster_sim.machine.power.power_meter import PowerMeter
from cluster_sim.machine.switching import Switching
from cluster_sim.models.processor_step import ProcessorModels
from cluster_sim.platform.hardware import check_count

if TYPE_CHECKING:
    from cluster_sim.engine import Environment
    from cluster_sim.platform.platform import Platform, ProcessorType


class Machine:
    """The parts of a machine, and what concerns several of them.

    A job *holds* cores from its allocation to its release and *loads* them (they draw power) while its tasks run.
    """

    def __init__(
        self,
        env: Environment,
        platform: Platform,
        models: ProcessorModels,
        hub: Hub | None = None,
        quirks: frozenset[str] = frozenset(),
        rng: np.random.Generator | None = None,
        eligibility: Eligibility | None = None,
    ):
        self.env = env
        self.platform = platform
        self.models = models
        self.ledger = Ledger()
        self.nodes = NodeStates(platform)
        self.hub = hub or Hub()  #: Who hears of what happens on it.
        self.cores = Cores(env, platform, self.nodes, self.ledger, self.hub, eligibility or Eligibility(platform))
        #: Of each processor, with the clock that it has now.
        self.type_of: list[ProcessorType] = list(
            map(platform.processor_types.__getitem__, platform.type_of_processor.tolist())
        )
        self.channels: dict[int, MemoryChannel] = {}  #: By processor; made for the first task group.
        self.demand = np.zeros(platform.node_count)  #: MB/s that the tasks on each node ask for.
        self.power = PowerMeter(self.cores, models, self.type_of, self.channels, self.ledger, quirks)
        self.switching = Switching(self.cores, self.power, self.ledger.transitions, self.hub, self.node, rng)
        self.guests = Guests(self.cores, self.power, self.ledger, self.hub, self.channel)
        self._nodes: dict[int, Node] = {}
        self._processors: dict[int, Processor] = {}
        self._at_job_boundaries = "contention-at-job-boundaries" in quirks
        self.budget: Budget = UNLIMITED  #: What it may draw.

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
            channels, power, of_node = self.channels, self.power, self.cores.processors_of
            node = self.cores.node_of(processor)
            alone = len(of_node(node)) == 1

            def follow() -> None:
                if power.follows_rates:
                    power.measure(processor)
                if alone:
                    self.demand[node] = channels[processor].demand
                else:
                    self.demand[node] = sum(channels[p].demand for p in of_node(node) if p in channels)

            contention = self.models.of(self.type_of[processor]).contention
            channel = channels[processor] = MemoryChannel(self.env, contention, self._at_job_boundaries, follow)
        return channel

    def achieved_gflops(self, processor: int) -> float:
        """Return the rate that the tasks on a processor reach now, summed over tasks, 1e9 operations/s."""
        peak = self.type_of[processor].gflops
        if processor not in self.channels:
            return peak * self.power.busy[processor]
        return peak * sum(group.tasks * group.speed for group in self.channels[processor].users)

    def set_clock(self, processor: int, kind: ProcessorType) -> None:
        """Give a processor the clock and watts of ``kind``; the number of its cores stays."""
        for prepare in self.hub.clock_changes:
            prepare()
        ratio = kind.ops_per_s / self.type_of[processor].ops_per_s
        self.power.change_clock(processor, kind)
        list.append(self.ledger.clock_changes, (self.env.now, processor, kind))
        if processor in self.channels:
            self.channels[processor].change_rate(ratio)
