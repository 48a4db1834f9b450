"""The running machine: which cores are free, what every processor draws, which nodes are on.

State is kept in columns over nodes and processors, in platform order, because a run may have 100,000 of them and a job
thousands; :class:`Node` and :class:`Processor` are handles on one row, made when they are asked for. The free cores
are booked in :mod:`cluster_sim.machine.bookings`, and which nodes can be used stands in
:mod:`cluster_sim.machine.availability`; power, channels and clocks are added here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cluster_sim.machine.allocation import Allocation
from cluster_sim.machine.bookings import Bookings
from cluster_sim.machine.guest_requests import Guests, Request
from cluster_sim.machine.memory_channel import MemoryChannel
from cluster_sim.machine.node import Node, NodeState
from cluster_sim.machine.processor import Processor
from cluster_sim.machine.switching import Switching
from cluster_sim.models.processor_step import ProcessorModels, loads_of
from cluster_sim.platform.boot_times import boot_times

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.engine import Environment
    from cluster_sim.machine.power_budget import PowerBudget
    from cluster_sim.platform.platform import Platform, PowerTransitions, ProcessorType
    from cluster_sim.workload.jobs import Job


WATTS_FALL = 1e-4
"""When what the machine draws falls to this part of what it has drawn, its sum is made anew from what each node draws.

Each addition to the sum may lose 2⁻⁵³ of the most that it has come to, which is nothing beside a like sum, and much beside
a small one. A sum of less than 1 W is left as it is, unless it has come to more than 10 kW: the loss is below 1e-12 W.
"""


class Observer(Protocol):
    """What the machine tells and asks the simulation that runs jobs on it."""

    def nodes_changed(self, nodes: Sequence[int], state: NodeState) -> None:
        """Nodes have entered a state."""
        ...

    def kill_jobs_on(self, node: int, reason: str) -> int:
        """Kill the jobs that hold cores of a node; how many there are."""
        ...

    def job_on_core(self, processor: int, core: int) -> Job | None:
        """The job that holds a core."""
        ...

    def guest_left(self, guest: Request) -> None:
        """A guest has given its cores back."""
        ...

    def traffic_on(self, processor: int) -> None:
        """A guest is about to move memory there: its jobs have to be on the channel."""
        ...

    def rates_will_change(self) -> None:
        """A clock is about to change: work in progress has to be on the channels."""
        ...


class Machine(Bookings):
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
        super().__init__(env, platform)
        self.observer = observer
        self.models = models
        self.contention = models.contention
        self.power = models.power
        types = platform.processor_types
        # By number, not by looking types up: hashing one for each of 100,000 processors takes longer than all the rest.
        numbers = platform.type_of_processor.tolist()
        tables = [self.table(kind) for kind in types]
        self.type_of: list[ProcessorType] = [types[i] for i in numbers]
        self.table_of: list[list[float]] = [tables[i] for i in numbers]
        self.busy = [0] * platform.processor_count  #: Busy cores of each processor.
        self.demand = np.zeros(platform.node_count)  #: MB/s that the tasks on each node ask for.
        self.node_states = [NodeState.IDLE] * platform.node_count  #: IDLE also while a node computes.
        self._draws_w = [0.0] * platform.node_count  # what each draws when not on
        self._one_processor_a_node = platform.processor_count == platform.node_count
        self.switching = Switching(self)
        self.guests = Guests(self)
        self._nodes: dict[int, Node] = {}
        self._processors: dict[int, Processor] = {}
        #: Whether watts follow the tasks' speeds.
        self.follows_rates = bool(getattr(self.power, "follows_rates", False))
        self._rate_watts: dict[int, float] = {}
        self.channels: dict[int, MemoryChannel] = {}  #: By processor; made for the first task group.
        self._at_job_boundaries = "contention-at-job-boundaries" in quirks
        unused_draw_nothing = "unused-processors-draw-nothing" in quirks
        self._never_used = bytearray(b"\1") * platform.processor_count if unused_draw_nothing else None
        self.watts = 0.0  #: What the whole machine draws now.
        self._least_w = self._most_w = 0.0  # between these the sum is exact enough
        self.budget: PowerBudget | None = None  #: What it may draw, when a power policy has set a limit.
        self.rng: np.random.Generator | None = None  #: Draws boot times; None: every boot takes the mean time.
        self._energy_j = 0.0
        self._since = 0.0
        self._power_times, self._power_watts = self.ledger.power_times, self.ledger.power_watts
        self._loading_watts: list[float] | None = None
        self._power_on_at_start()

    @property
    def loading_watts(self) -> list[float]:
        """Prefix sums over processors of what loading all of an idle processor's cores adds."""
        if self._loading_watts is None:
            self._loading_watts = [0.0, *np.cumsum([table[-1] - table[0] for table in self.table_of]).tolist()]
        return self._loading_watts

    def table(self, kind: ProcessorType) -> list[float]:
        """Watts of a processor for 0, 1, … all of its cores busy."""
        return self.models.watts(kind)

    def _power_on_at_start(self) -> None:
        off = np.array([t.initially_off for t in self.platform.node_types])[self.platform.type_of_node]
        if self._never_used is None:
            self._add_watts(float(np.sum([table[0] for table in self.table_of])))
        for node in np.flatnonzero(off).tolist():
            kind = self.platform.node_types[self.platform.type_of_node[node]]
            self._book((node,), NodeState.OFF, (kind.transitions.off_w,))  # booked only: no run is there yet to be told

    # ------------------------------------------------------------------ handles

    def node(self, index: int) -> Node:
        """The handle of one node."""
        node = self._nodes.get(index)
        if node is None:
            if not 0 <= index < self.platform.node_count:
                raise IndexError(f"node {index} of a machine with {self.platform.node_count} nodes")
            node = self._nodes[index] = Node(self, index)
        return node

    def processor(self, index: int) -> Processor:
        """The handle of one processor, by its index in the platform."""
        processor = self._processors.get(index)
        if processor is None:
            processor = self._processors[index] = Processor(self, index)
        return processor

    def channel(self, processor: int) -> MemoryChannel:
        """The memory channel of a processor."""
        channel = self.channels.get(processor)
        if channel is None:
            node = self.node_of(processor)
            channel = self.channels[processor] = MemoryChannel(
                self.env,
                self.contention.on(self.type_of[processor]),
                self._at_job_boundaries,
                lambda: self._channel_changed(processor, node),
            )
        return channel

    def _channel_changed(self, processor: int, node: int) -> None:
        channels = self.channels
        if self.follows_rates:
            self._update_rate_watts(processor)
        if self._one_processor_a_node:
            self.demand[node] = channels[processor].demand
            return
        self.demand[node] = sum(channels[p].demand for p in self.processors_of(node) if p in channels)

    def kill_jobs_on(self, node: int, reason: str) -> int:
        """Kill the jobs that hold cores of a node; how many there are."""
        return self.observer.kill_jobs_on(node, reason)

    def job_on_core(self, processor: int, core: int) -> Job | None:
        """The job that holds a core."""
        return self.observer.job_on_core(processor, core)

    # ------------------------------------------------------------------ power and energy

    @property
    def energy_j(self) -> float:
        """Energy since the start, J."""
        return self._energy_j + self.watts * (self.env.now - self._since)

    def _add_watts(self, watts: float) -> None:
        now = self.env.now
        if now > self._since:
            self._energy_j += self.watts * (now - self._since)
            self._since = now
            self._power_times.append(now)
            self._power_watts.append(self.watts)
        self.watts = total = self.watts + watts
        if total < self._least_w if watts < 0.0 else total > self._most_w:
            self.watts = total = self._settle_watts(total)
        self._power_watts[-1] = total

    def _settle_watts(self, total: float) -> float:
        """The sum of watts, made anew if it has fallen far; and between what it may move until it is looked at again."""
        if total < self._least_w:
            total = math.fsum(map(self.node_watts, range(self.platform.node_count)))
        self._most_w = 2.0 * total
        self._least_w = WATTS_FALL * total - 1.0
        return total

    def idle_watts(self, node: int) -> float:
        """What a node draws with no busy core."""
        if self._never_used is None and self._one_processor_a_node:
            return self.table_of[node][0]
        return sum(self.table_of[p][0] for p in self.processors_of(node) if not self.is_unused(p))

    def idle_watts_of(self, nodes: Sequence[int]) -> list[float]:
        """What each of some nodes draws with no busy core."""
        if self._never_used is None and self._one_processor_a_node:
            tables = self.table_of
            return [tables[node][0] for node in nodes]
        return [self.idle_watts(node) for node in nodes]

    def _update_rate_watts(self, processor: int) -> None:
        """What a processor draws, by how fast its tasks run now."""
        if not self.powered_on[self.node_of(processor)]:
            return
        kind, channel = self.type_of[processor], self.channels[processor]
        owners = [group.owner for group in (*channel.groups, *channel.ended_groups)]
        waiting = [group.tasks for group in channel.ended_groups]
        idle = self.table_of[processor][0]
        shared, own = self.models.of(kind).draw(loads_of(channel.groups, waiting))
        before = self._rate_watts.get(processor, 0.0 if self.is_unused(processor) else idle)
        if self._never_used is not None:
            self._never_used[processor] = 0
        self._rate_watts[processor] = shared + sum(own)
        of_owner = dict(zip(owners, own, strict=True))
        if len(of_owner) < len(own):  # a guest may have several groups here
            of_owner = dict.fromkeys(owners, 0.0)
            for owner, watts in zip(owners, own, strict=True):
                of_owner[owner] += watts
        self.ledger.rated_watts.append((self.env.now, processor, shared, of_owner))
        self._add_watts(self._rate_watts[processor] - before)

    def processor_watts(self, processor: int) -> float:
        """What a processor of a node that is on draws now."""
        if processor in self._rate_watts:
            return self._rate_watts[processor]
        # Where watts follow the speeds, a processor is idle until its channel has said how fast its tasks run.
        busy = 0 if self.follows_rates else self.busy[processor]
        return 0.0 if self.is_unused(processor) else self.table_of[processor][busy]

    def max_watts(self, kind: ProcessorType) -> float:
        """What a processor of that type draws with all its cores busy."""
        return self.table(kind)[-1]

    def achieved_gflops(self, processor: int) -> float:
        """Rate that the tasks on a processor reach now, summed over tasks, 1e9 operations/s."""
        peak = self.type_of[processor].gflops
        if processor not in self.channels:
            return peak * self.busy[processor]
        return peak * sum(group.tasks * group.speed for group in self.channels[processor].groups)

    def is_unused(self, processor: int) -> bool:
        """Whether it has never run a task and draws nothing for that (a quirk)."""
        return self._never_used is not None and bool(self._never_used[processor])

    # ------------------------------------------------------------------ holding and loading cores

    def take_back(self, allocation: Allocation) -> None:
        """Give back the cores of the last allocation, made in this instant, as if it had not been."""
        self.release(allocation)
        self.ledger.take_back(allocation.hold)

    def load(self, allocation: Allocation) -> None:
        """The cores of an allocation become busy."""
        self.ledger.loaded_from[allocation.hold] = self.env.now
        if self.follows_rates:
            self._count_busy(allocation, 1)
            return
        added = 0.0
        for _, processor, _, count in allocation.pieces:
            added += self._load_on(processor, count)
        loading = self._loading_watts or self.loading_watts
        for _, _, begin, end in allocation.spans:
            if self._never_used is not None:
                added += sum(self._load_on(p, self._cores_of[p]) for p in range(begin, end))
            else:
                self.busy[begin:end] = self._cores_of[begin:end]
                added += loading[end] - loading[begin]
        self._add_watts(added)

    def load_cores(self, processor: int, cores: int) -> None:
        """Some cores of a processor become busy, whose group on the channel follows."""
        if self.follows_rates:
            self.busy[processor] += cores
        else:
            self._add_watts(self._load_on(processor, cores))

    def unload_cores(self, processor: int, cores: int) -> None:
        """Some cores of a processor stop being busy; their group has left the channel."""
        busy, table = self.busy[processor], self.table_of[processor]
        self.busy[processor] = busy - cores
        if self.follows_rates:
            self._update_rate_watts(processor)
        else:
            self._add_watts(table[busy - cores] - table[busy])

    def _load_on(self, processor: int, cores: int) -> float:
        table, busy = self.table_of[processor], self.busy[processor]
        self.busy[processor] = busy + cores
        before = table[busy]
        if self._never_used is not None and self._never_used[processor]:
            self._never_used[processor] = 0
            before = 0.0
        return table[busy + cores] - before

    def _count_busy(self, allocation: Allocation, sign: int) -> None:
        """Busy cores where the channels say what they draw."""
        for processor, count in self.cores_by_processor(allocation):
            self.busy[processor] += sign * count
            if sign < 0:
                self._update_rate_watts(processor)

    def unload(self, allocation: Allocation) -> None:
        """The cores of an allocation stop being busy; their tasks have left the channels."""
        if self.follows_rates:
            self._count_busy(allocation, -1)
            return
        added = 0.0
        for _, processor, _, count in allocation.pieces:
            table, busy = self.table_of[processor], self.busy[processor]
            self.busy[processor] = busy - count
            added += table[busy - count] - table[busy]
        loading = self._loading_watts or self.loading_watts
        for _, _, begin, end in allocation.spans:
            self.busy[begin:end] = [0] * (end - begin)
            added -= loading[end] - loading[begin]
        self._add_watts(added)

    # ------------------------------------------------------------------ states and clocks

    def node_watts(self, node: int) -> float:
        """What a node draws now."""
        if self.node_states[node] is NodeState.IDLE:
            return sum(self.processor_watts(processor) for processor in self.processors_of(node))
        return self._draws_w[node]

    def enter(self, nodes: Sequence[int], state: NodeState, draws_w: Sequence[float]) -> None:
        """Nodes change their state, none of them running anything; ``draws_w`` is what each draws in the new one.

        Only :mod:`cluster_sim.machine.switching` calls this.
        """
        self._book(nodes, state, draws_w)
        self.observer.nodes_changed(nodes, state)

    def _book(self, nodes: Sequence[int], state: NodeState, draws_w: Sequence[float]) -> None:
        states, draws, added = self.node_states, self._draws_w, 0.0
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
        for draw, drew in zip(draws_w, drew_w, strict=True):
            added += draw - drew
        first, stop = nodes[0], nodes[0] + len(nodes)
        if nodes[-1] == stop - 1 and len(nodes) > 1 and list(nodes) == list(range(first, stop)):
            states[first:stop] = [state] * len(nodes)
            draws[first:stop] = draws_w
        else:
            for node, draw in zip(nodes, draws_w, strict=True):
                states[node] = state
                draws[node] = draw
        self.enter_states(nodes, on=state is NodeState.IDLE, off=state is NodeState.OFF)
        self._add_watts(added)

    def boot_seconds(self, costs: PowerTransitions) -> float:
        """How long a boot that begins now takes: drawn anew for each, if its time is random."""
        if costs.switch_on_distribution and self.rng is not None:
            return boot_times(costs.switch_on_distribution).draw(self.rng)
        return costs.switch_on_s

    def boot_delays(self) -> npt.NDArray[np.float64] | None:
        """How long each node has to boot for a job that gets it, s, see ``View.boot_delays``."""
        if self.all_on:
            return None
        off, states, switching = self.powered_off.copy(), self.node_states, self.switching
        for node in self.transition_ends:
            off[node] = states[node] is NodeState.SWITCHING_OFF and not switching.boots_afterwards(node)
        seconds = np.array([kind.transitions.switch_on_s for kind in self.platform.node_types])
        delays: npt.NDArray[np.float64] = np.where(off, seconds[self.platform.type_of_node], 0.0)
        return delays if delays.any() else None

    def set_clock(self, processor: int, kind: ProcessorType) -> None:
        """A processor's clock and watts become those of ``kind``; the number of its cores stays."""
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
