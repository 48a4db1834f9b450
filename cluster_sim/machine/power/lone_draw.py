"""What the machine would draw if one job alone ran on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from cluster_sim.machine.node import MachineParts, NodeState

if TYPE_CHECKING:
    from cluster_sim.platform.platform import ProcessorType
    from cluster_sim.workload.jobs import Job

Added = list[float]
"""W that a node at rest draws in addition with 0, 1, … of its cores busy, booting it if need be."""


class LoneDraw:
    """The least that the machine draws while a job runs alone, nodes that are on staying on.

    ``table`` says the watts of a type of processor for 0, 1, … cores busy. For a job on one node the figure is exact;
    for a wider one it is a bound from below: every core is counted at the least that a core costs on its node.
    """

    def __init__(self, machine: MachineParts, table: Callable[[ProcessorType], tuple[float, ...]]):
        self._machine = machine
        self._table = table
        self._made_for = (-1, -1)
        self._rest_w = 0.0
        self._added: list[tuple[int, Added]] = []  # (how many nodes, what they cost)

    def watts(self, job: Job) -> float:
        """Return W with that job running and no other."""
        machine = self._machine
        if self._made_for != (len(machine.ledger.transitions), len(machine.ledger.clock_changes)):
            self._look()
        cores = job.requested_cores
        rest_w = self._rest_w + machine.cores.resources.least_watts(job)
        if cores <= machine.cores.widest and not job.is_shaped:
            return rest_w + min(added[cores] for _, added in self._added if len(added) > cores)
        total = rest_w
        by_cost = sorted(
            (min(added[n] / n for n in range(1, len(added))), count, added) for count, added in self._added
        )
        for each, count, added in by_cost:
            taken = min(cores, count * (len(added) - 1))
            total += taken * each
            cores -= taken
        return total

    def _look(self) -> None:
        """Sort the nodes by what they are, and whether they rest on or off."""
        machine = self._machine
        self._made_for = (len(machine.ledger.transitions), len(machine.ledger.clock_changes))
        self._rest_w = 0.0
        kinds: Counter[tuple[int, bool, tuple[ProcessorType, ...]]] = Counter()
        type_of_node = machine.platform.type_of_node.tolist()
        for node, number in enumerate(type_of_node):
            processors = tuple(machine.type_of[p] for p in machine.cores.processors_of(node))
            off = (
                machine.node(node).state in (NodeState.OFF, NodeState.SWITCHING_OFF)
                if not machine.nodes.all_on
                else False
            )
            kinds[number, off, processors] += 1
        self._added = []
        for (number, off, processors), count in kinds.items():
            node_type = machine.platform.node_types[number]
            # W of a node with 0, 1, … cores busy, processor by processor.
            loaded = [sum(self._table(kind)[0] for kind in processors) + node_type.idle_resource_w]
            for kind in processors:
                table = self._table(kind)
                before = loaded[-1]
                loaded += [before + watts - table[0] for watts in table[1:]]
            rest, floor = loaded[0], 0.0
            if off:
                costs = node_type.transitions
                rest, floor = costs.off_w, loaded[0] if costs.switch_on_w is None else costs.switch_on_w
            self._rest_w += rest * count
            self._added.append((count, [0.0, *(max(watts, floor) - rest for watts in loaded[1:])]))
