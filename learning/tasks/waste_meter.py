"""Meter of the energy that idle and switching nodes waste during a run, for the rewards of a power agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cluster_sim.machine.running import Running
from cluster_sim.run.decisions import PowerDecision
from cluster_sim.run.policies import Steered
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View


def state_of(view: View) -> tuple[int, tuple[Running, ...]]:
    """Return a key that stays equal until a node is switched or a job starts or ends; withheld nodes do not matter."""
    return len(view.machine.state_changes), view.running


class WasteMeter:
    """Joules wasted so far, by node and by core (``energy_waste_j`` and ``energy_waste_by_core_j`` of the results).

    A node wastes what it draws while it is idle, booting or shutting down (Casagrande et al. 2022, Eq. 4); by core, the
    idle cores of computing nodes waste their share of the idle watts too. :meth:`look` has to be called at the end of
    every instant in which the machine changed. Clocks that change are not followed.

    The law is that of :mod:`cluster_sim.records.node_table`, which knows the seconds of each processor at the end of a
    run. An agent is rewarded during the run, and sees free cores by node; so a node counts as a whole here. Both agree
    if the processors of a node are equal.
    """

    def __init__(self, view: View):
        self._idle_w = idle_node_watts(view)
        self._cores = view.platform.node_cores
        self._joules = (0.0, 0.0)
        self._watts = (0.0, 0.0)
        self._since = view.now
        self._state: object = None
        self.look(view)

    def look(self, view: View) -> None:
        """Take note of the machine as it is now."""
        state = state_of(view)
        if state == self._state and not self._boots:
            return
        self._joules = self.joules(view.now)
        self._since = view.now
        self._state = state
        busy = self._cores - view.free_cores
        self._boots = False
        for running in view.running:
            if running.start_time > view.now:
                self._boots = True
                for first, stop, cores in running.placement.spans:
                    busy[first:stop] -= cores
        switching = sum(view.machine.node(node).watts for node in view.machine.transition_ends)
        on = view.machine.powered_on
        by_node = float(np.add.reduce(self._idle_w[on & (busy == 0)]))
        by_core = float(np.add.reduce((self._idle_w * (1.0 - busy / self._cores))[on]))
        self._watts = switching + by_node, switching + by_core

    def joules(self, now: float) -> tuple[float, float]:
        """Return the J wasted up to now, by node and by core."""
        seconds = now - self._since
        return self._joules[0] + self._watts[0] * seconds, self._joules[1] + self._watts[1] * seconds

    _boots = True  # whether jobs hold cores and do not run yet: they begin without a further event


def idle_node_watts(view: View) -> npt.NDArray[np.float64]:
    """Return the watts of each node when it is on and idle, shape (nodes,)."""
    platform = view.platform
    idle = [sum(view.machine.power_model.idle_watts(p) for p in kind.processors) for kind in platform.node_types]
    watts: npt.NDArray[np.float64] = np.array(idle, np.float64)[platform.type_of_node]
    return watts


def cycle_joules(view: View) -> float:
    """Return the energy of switching one node off and on again, J, as a mean over nodes; 1 if transitions are free."""
    platform, idle_w = view.platform, idle_node_watts(view)
    joules = []
    for kind, watts in zip(platform.type_of_node.tolist(), idle_w.tolist(), strict=True):
        costs = platform.node_types[kind].transitions
        on_w = watts if costs.switch_on_w is None else costs.switch_on_w
        off_w = watts if costs.switch_off_w is None else costs.switch_off_w
        joules.append(on_w * costs.switch_on_s + off_w * costs.switch_off_s)
    return sum(joules) / len(joules) or 1.0


def most_watts(view: View) -> float:
    """Return the most that the machine can draw without jobs, W: all nodes idle or switching, what draws more."""
    platform, idle_w = view.platform, idle_node_watts(view).tolist()
    found = 0.0
    for kind, watts in zip(platform.type_of_node.tolist(), idle_w, strict=True):
        costs = platform.node_types[kind].transitions
        found += max(watts, costs.switch_on_w or 0.0, costs.switch_off_w or 0.0)
    return found


def metered(simulation: Simulation) -> WasteMeter:
    """Return the meter of a run whose power policy is :class:`Metered`; it is made at the first call."""
    assert isinstance(simulation.power_policy, Metered)
    if simulation.power_policy.meter is None:
        simulation.power_policy.meter = WasteMeter(simulation.view)
    return simulation.power_policy.meter


class Settling(Protocol):
    """Protocol of the agent's decision-maker, which decides about nodes that the scheduler left idle."""

    def settle(self, view: View) -> Iterable[PowerDecision]:
        """Return what follows from the scheduler's pass."""
        ...


class Metered(Steered):
    """Power policy that stands for an agent, with a meter that is read at the end of every instant."""

    def __init__(self, maker: Settling):
        self._maker = maker
        self.meter: WasteMeter | None = None
        self.at_the_end_of_instants: list[Callable[[View], None]] = []  #: Of a reward and of a cost.

    def react(self, view: View) -> Iterable[PowerDecision]:
        """Carry out, after the scheduler's pass, the agent's decision about idle nodes; then read the meter."""
        yield from self._maker.settle(view)
        if self.meter is not None:
            self.meter.look(view)
        for call in self.at_the_end_of_instants:
            call(view)
