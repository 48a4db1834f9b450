"""What the machine may come to draw: what it draws now, and what has been set off and costs more later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cluster_sim.machine.node import MachineParts, NodeState

if TYPE_CHECKING:
    from cluster_sim.machine.allocation import Allocation
    from cluster_sim.machine.job_clocks import JobClocks
    from cluster_sim.machine.running import Running
    from cluster_sim.platform.platform import ProcessorType


class Holder(Protocol):
    """A job that holds cores."""

    @property
    def running(self) -> Running:
        """Return what policies see of it."""
        ...

    @property
    def allocation(self) -> Allocation:
        """Return its cores."""
        ...


class DrawBound:
    """The most that a machine may draw when all that has been decided has come true, W, and more cores were busy.

    Nodes that boot for a job will compute, a node that boots will idle, a processor that runs slower for one job goes back
    to its clock. ``running`` are the jobs that have their cores; :meth:`start` has to be told of every one that gets some.
    """

    def __init__(self, machine: MachineParts, clocks: JobClocks, holders: Iterable[Holder] = ()):
        self._machine = machine
        self._table = machine.models.watts
        self._clocks = clocks
        self._booting = list(holders)  # of them, those that wait for their nodes

    def start(self, holder: Holder) -> None:
        """Count in a job that has been allocated its cores."""
        if not self._machine.nodes.all_on:
            self._booting.append(holder)

    def _bound(
        self,
        extra: Mapping[int, int],
        p_state: int | None = None,
        kinds: Mapping[int, ProcessorType] | None = None,
    ) -> float:
        """Return W that the machine may come to draw with ``extra`` cores busy, if ``kinds`` run at other clocks."""
        machine = self._machine
        cores = self._pledged()
        nodes = {
            machine.cores.node_of(processor) for processor in (*cores, *extra, *self._clocks.before, *(kinds or ()))
        }
        if not machine.nodes.all_on:
            nodes.update(np.flatnonzero(~(machine.nodes.powered_on | machine.nodes.powered_off)).tolist())
        if machine.power.follows_rates:
            nodes.update(machine.cores.node_of(processor) for processor in machine.channels)
        for processor, count in extra.items():
            cores[processor] = cores.get(processor, 0) + count
        total = machine.power.watts + sum(
            sum(machine.cores.resources.busy_watts(holder.allocation.units).values()) for holder in self._booting
        )
        for node in sorted(nodes):
            total += self._node_bound(node, cores, extra, p_state, kinds or {}) - machine.node(node).watts
        return total

    def _pledged(self) -> dict[int, int]:
        """Return cores of processors that will be busy when nodes have booted."""
        self._booting = [
            holder
            for holder in self._booting
            if holder.running.start_time == float("inf") and not holder.running.has_ended
        ]
        cores: dict[int, int] = {}
        for holder in self._booting:
            for processor, count in self._machine.cores.cores_by_processor(holder.allocation):
                cores[processor] = cores.get(processor, 0) + count
        return cores

    def _node_bound(
        self,
        number: int,
        cores: Mapping[int, int],
        extra: Mapping[int, int],
        p_state: int | None,
        kinds: Mapping[int, ProcessorType],
    ) -> float:
        """Return W that a node may come to draw with so many more ``cores`` of its processors busy."""
        machine, node = self._machine, self._machine.node(number)
        if node.state is NodeState.FAILED:  # one that was OFF is so again, and its watts are not lent out meanwhile
            off = machine.switching.failed_off(number)
            return max(node.watts, node.type.transitions.off_w) if off else node.watts
        loaded, wanted = 0.0, False
        for processor in machine.cores.processors_of(number):
            kind = kinds.get(processor, machine.type_of[processor])
            more = cores.get(processor, 0)
            wanted = wanted or more > 0
            loaded += self._processor_bound(processor, kind, more, p_state if processor in extra else None)
        loaded += machine.power.unit_watts(number)
        if machine.nodes.powered_on[number]:
            return loaded
        costs = node.type.transitions
        booting = machine.power.idle_watts(number) if costs.switch_on_w is None else costs.switch_on_w
        match node.state:
            case NodeState.SWITCHING_ON:
                return max(node.watts, loaded)
            case NodeState.SWITCHING_OFF:
                resting = max(node.watts, costs.off_w)
                boots = wanted or machine.switching.boots_afterwards(number)
                return max(resting, booting, loaded) if boots else resting
            case _:
                return max(booting, loaded) if wanted else node.watts

    def _processor_bound(self, processor: int, kind: ProcessorType, more: int, p_state: int | None) -> float:
        """Return the most W of a processor with ``more`` cores busy, also before and after a job in a p-state."""
        busy = self._machine.power.busy[processor] + more
        if not busy and self._machine.power.is_unused(processor):
            return 0.0
        most = self._table(kind)[busy]
        if p_state is not None:
            most = max(most, self._table(kind.in_p_state(p_state))[busy])
        before = self._clocks.before.get(processor)
        if before is not None:
            chosen = before.in_p_state(self._clocks.chosen[processor])
            most = max(most, self._table(before)[0], self._table(chosen)[busy])
        return most
