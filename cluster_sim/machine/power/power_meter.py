"""What the processors and nodes of the machine draw, and the energy that it comes to.

Watts follow the cores that tasks load, or, under some power models, how fast the tasks run. Their sum over the machine is
kept, and entered in the ledger, whenever it changes.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from operator import itemgetter, sub
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.models.processor_step import ProcessorModels, loads_of
from cluster_sim.platform.node_state import NodeState

if TYPE_CHECKING:
    from cluster_sim.machine.allocation import Allocation
    from cluster_sim.machine.cores import Cores
    from cluster_sim.machine.ledger import Ledger
    from cluster_sim.machine.memory_channel import MemoryChannel
    from cluster_sim.platform.hardware import ProcessorType


WATTS_FALL = 1e-4
"""Fraction of its former draw at which the machine's sum of watts is made anew from what each node draws.

Each addition to the sum may lose 2⁻⁵³ of the most that it has come to, which is nothing beside a like sum, and much beside
a small one. A sum of less than 1 W is left as it is, unless it has come to more than 10 kW: the loss is below 1e-12 W.
"""


class PowerMeter:
    """Columns of loaded cores and of what is drawn, and the few operations that change them.

    ``type_of`` are the processors' types with the clocks that they have now; ``channels`` say where watts follow the speeds
    of tasks how fast these are.
    """

    def __init__(
        self,
        cores: Cores,
        models: ProcessorModels,
        type_of: list[ProcessorType],
        channels: dict[int, MemoryChannel],
        ledger: Ledger,
        quirks: frozenset[str],
    ):
        self._env = cores.env
        self._cores = cores
        self._nodes = cores.nodes
        self._models = models
        self._channels = channels
        self._ledger = ledger
        platform = cores.platform
        # By number, not by looking types up: hashing one for each of 100,000 processors takes longer than all the rest.
        tables = list(map(models.watts, platform.processor_types))
        self.type_of = type_of
        self.table_of: list[tuple[float, ...]] = [tables[i] for i in platform.type_of_processor.tolist()]
        self._none_busy = array("i", [0]) * platform.processor_count
        self.busy = self._none_busy[:]  #: Busy cores of each processor.
        self._draws_w = [0.0] * platform.node_count  # what each node draws when not on
        self._one_processor_a_node = platform.processor_count == platform.node_count
        idle_w = [kind.idle_resource_w for kind in platform.node_types]
        #: What the idle counted resources of each node draw; empty: nothing.
        self._idle_units_w = [idle_w[i] for i in platform.type_of_node.tolist()] if any(idle_w) else []
        self._busy_units_w: dict[int, float] = {}  # what busy ones draw more, by node
        #: True if watts follow the tasks' speeds.
        self.follows_rates = bool(getattr(models.power, "follows_rates", False))
        self._rate_watts: dict[int, float] = {}
        unused_draw_nothing = "unused-processors-draw-nothing" in quirks
        self._never_used = bytearray(b"\1") * platform.processor_count if unused_draw_nothing else None
        self.watts = 0.0  #: What the whole machine draws now.
        self._least_w = self._most_w = 0.0  # between these the sum is exact enough
        self._energy_j = 0.0
        self._since = 0.0
        self._power_times, self._power_watts = ledger.power_times, ledger.power_watts
        self._loading_watts: list[float] | None = None
        if self._never_used is None:
            self._add_watts(float(np.sum(list(map(itemgetter(0), self.table_of)))))
        if self._idle_units_w:
            self._add_watts(math.fsum(self._idle_units_w))

    @property
    def loading_watts(self) -> list[float]:
        """Return prefix sums over processors of what loading all of an idle processor's cores adds."""
        if self._loading_watts is None:
            loaded, idle = map(itemgetter(-1), self.table_of), map(itemgetter(0), self.table_of)
            self._loading_watts = [0.0, *np.cumsum(list(map(sub, loaded, idle))).tolist()]
        return self._loading_watts

    # ------------------------------------------------------------------ watts and energy

    @property
    def energy_j(self) -> float:
        """Return the energy since the start, J."""
        return self._energy_j + self.watts * (self._env.now - self._since)

    def _add_watts(self, watts: float) -> None:
        now = self._env.now
        if now > self._since:
            self._energy_j += self.watts * (now - self._since)
            self._since = now
            self._power_times.append(now)
            self._power_watts.append(self.watts)
        self.watts = total = self.watts + watts
        if total < self._least_w if watts < 0.0 else total > self._most_w:
            # Make the sum anew if it has fallen far, and set the bounds within which it is exact enough.
            if total < self._least_w:
                self.watts = total = math.fsum(map(self.node_watts, range(len(self._draws_w))))
            self._most_w = 2.0 * total
            self._least_w = max(WATTS_FALL * total - 1.0, 0.0)  # below 0 it is rounding alone
        self._power_watts[-1] = total

    def idle_watts(self, node: int) -> float:
        """Return what a node draws with no busy core."""
        if self._never_used is None and self._one_processor_a_node and not self._idle_units_w:
            return self.table_of[node][0]
        idle = sum(self.table_of[p][0] for p in self._cores.processors_of(node) if not self.is_unused(p))
        return idle + (self._idle_units_w[node] if self._idle_units_w else 0.0)

    def idle_watts_of(self, nodes: Sequence[int]) -> list[float]:
        """Return what each of some nodes draws with no busy core."""
        if self._never_used is None and self._one_processor_a_node and not self._idle_units_w:
            tables = self.table_of
            return [tables[node][0] for node in nodes]
        return [self.idle_watts(node) for node in nodes]

    def measure(self, processor: int) -> None:
        """Set what a processor draws by how fast its tasks run now, where watts follow that."""
        if not self._nodes.powered_on[self._cores.node_of(processor)]:
            return
        kind, channel = self.type_of[processor], self._channels[processor]
        owners = [group.owner for group in (*channel.users, *channel.ended_groups)]
        waiting = [group.tasks for group in channel.ended_groups]
        idle = self.table_of[processor][0]
        shared, own = self._models.of(kind).draw(loads_of(channel.users, waiting))
        before = self._rate_watts.get(processor, 0.0 if self.is_unused(processor) else idle)
        if self._never_used is not None:
            self._never_used[processor] = 0
        self._rate_watts[processor] = shared + sum(own)
        of_owner = dict(zip(owners, own, strict=True))
        if len(of_owner) < len(own):  # a guest may have several groups here
            of_owner = dict.fromkeys(owners, 0.0)
            for owner, watts in zip(owners, own, strict=True):
                of_owner[owner] += watts
        self._ledger.rated_watts.append((self._env.now, processor, shared, of_owner))
        self._add_watts(self._rate_watts[processor] - before)

    def processor_watts(self, processor: int) -> float:
        """Return what a processor of a node that is on draws now."""
        if processor in self._rate_watts:
            return self._rate_watts[processor]
        # Where watts follow the speeds, a processor is idle until its channel has said how fast its tasks run.
        busy = 0 if self.follows_rates else self.busy[processor]
        return 0.0 if self.is_unused(processor) else self.table_of[processor][busy]

    def max_watts(self, kind: ProcessorType) -> float:
        """Return what a processor of that type draws with all its cores busy."""
        return self._models.watts(kind)[-1]

    def is_unused(self, processor: int) -> bool:
        """Return whether a processor has never run a task and so draws nothing (a quirk)."""
        return self._never_used is not None and bool(self._never_used[processor])

    def node_watts(self, node: int) -> float:
        """Return what a node draws now."""
        if self._nodes.state[node] is NodeState.IDLE:
            drawn = sum(self.processor_watts(processor) for processor in self._cores.processors_of(node))
            return drawn + self.unit_watts(node)
        return self._draws_w[node]

    def unit_watts(self, node: int) -> float:
        """Return what the counted resources of a node that is on draw now."""
        if not self._idle_units_w and not self._busy_units_w:
            return 0.0
        return (self._idle_units_w[node] if self._idle_units_w else 0.0) + self._busy_units_w.get(node, 0.0)

    def _load_units(self, allocation: Allocation, sign: int) -> None:
        """Have the counted resources of an allocation draw what busy ones do, or no longer."""
        watts = self._cores.resources.busy_watts(allocation.units)
        for node, more in watts.items():
            self._busy_units_w[node] = self._busy_units_w.get(node, 0.0) + sign * more
        self._add_watts(sign * sum(watts.values()))

    def enter(self, nodes: Sequence[int], state: NodeState, draws_w: Sequence[float]) -> None:
        """Have nodes, all of which were in one state, draw what they draw in another: ``draws_w``, each W when not on."""
        states, draws = self._nodes.state, self._draws_w
        if states[nodes[0]] is not NodeState.IDLE:
            drew_w: Sequence[float] = [draws[node] for node in nodes]
        elif not self._rate_watts:
            drew_w = self.idle_watts_of(nodes)
        else:
            drew_w = [self.node_watts(node) for node in nodes]
            for node in nodes:
                for processor in self._cores.processors_of(node):
                    # Nothing runs there; what it draws when it is on again depends on its clock then.
                    self._rate_watts.pop(processor, None)
        for node, draw in zip(nodes, draws_w, strict=True):
            states[node] = state
            draws[node] = draw
        self._add_watts(sum(map(sub, draws_w, drew_w)))

    def change_clock(self, processor: int, kind: ProcessorType) -> None:
        """Have a processor draw what ``kind`` does from now on."""
        before = self.table_of[processor]
        busy = self.busy[processor]
        self.type_of[processor], self.table_of[processor] = kind, self._models.watts(kind)
        self._loading_watts = None
        if (
            self._nodes.powered_on[self._cores.node_of(processor)]
            and not self.is_unused(processor)
            and processor not in self._rate_watts
        ):
            self._add_watts(self.table_of[processor][busy] - before[busy])

    # ------------------------------------------------------------------ loading cores

    def load(self, allocation: Allocation) -> None:
        """Make the cores of an allocation busy."""
        self._ledger.loaded_from[allocation.hold] = self._env.now
        if allocation.units:
            self._load_units(allocation, 1)
        if self.follows_rates:
            self._count_busy(allocation, 1)
            return
        added = 0.0
        for _, processor, _, count in allocation.pieces:
            added += self._load_on(processor, count)
        for _, _, begin, end in allocation.spans:
            if self._never_used is not None:
                added += sum(self._load_on(p, self._cores.of_processor[p]) for p in range(begin, end))
            else:
                self.busy[begin:end] = self._cores.of_processor[begin:end]
                loading = self._loading_watts or self.loading_watts
                added += loading[end] - loading[begin]
        self._add_watts(added)

    def load_cores(self, processor: int, cores: int) -> None:
        """Make some cores of a processor busy; their group on the channel follows."""
        if self.follows_rates:
            self.busy[processor] += cores
        else:
            self._add_watts(self._load_on(processor, cores))

    def unload_cores(self, processor: int, cores: int) -> None:
        """Make some cores of a processor idle; their group has left the channel."""
        busy, table = self.busy[processor], self.table_of[processor]
        self.busy[processor] = busy - cores
        if self.follows_rates:
            self.measure(processor)
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
        """Count busy cores where the channels say what they draw."""
        for processor, count in self._cores.cores_by_processor(allocation):
            self.busy[processor] += sign * count
            if sign < 0:
                self.measure(processor)

    def unload(self, allocation: Allocation) -> None:
        """Make the cores of an allocation idle; their tasks have left the channels."""
        if allocation.units:
            self._load_units(allocation, -1)
        if self.follows_rates:
            self._count_busy(allocation, -1)
            return
        added = 0.0
        for _, processor, _, count in allocation.pieces:
            table, busy = self.table_of[processor], self.busy[processor]
            self.busy[processor] = busy - count
            added += table[busy - count] - table[busy]
        for _, _, begin, end in allocation.spans:
            self.busy[begin:end] = self._none_busy[begin:end]
            loading = self._loading_watts or self.loading_watts
            added -= loading[end] - loading[begin]
        self._add_watts(added)
