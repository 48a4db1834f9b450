"""Switching nodes off and on: a process for each transition, sleep and outage of nodes that are switched together.

A timeout switches off all nodes of a job that ended, a wide job boots hundreds: nodes that get the same order in the same
instant, and take the same time for it, are one process, as the tasks of one job are. So what a transition costs grows
with their number only where it has to: in the books.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.engine import EagerProcess, Environment
from cluster_sim.errors import NodeStateError
from cluster_sim.platform.boot_times import boot_times
from cluster_sim.platform.node_state import NodeState

if TYPE_CHECKING:
    import numpy.typing as npt
    from simpy.events import Event, Process

    from cluster_sim.machine.cores import Cores
    from cluster_sim.machine.hub import Hub
    from cluster_sim.machine.power.power_meter import PowerMeter
    from cluster_sim.machine.transition_log import TransitionLog
    from cluster_sim.platform.hardware import PowerTransitions


class NodeProcess(EagerProcess):
    """A process of what nodes do while they are not on. Others wait for it; nobody interrupts it."""

    def interrupt(self, cause: object = None) -> None:
        """Raise NodeStateError: who interrupts a process means that its node fails or is switched, and says so."""
        raise NodeStateError(
            "the process of a node's transition, sleep or outage cannot be interrupted: use node.fail(), "
            "node.repair(), node.switch_on() or node.switch_off()"
        )


class Transition(NodeProcess):
    """The process of nodes that shut down or boot together. It ends, as an event, when they are OFF, or on."""

    def __init__(self, switching: Switching, nodes: Sequence[int], off: bool, seconds: float):
        self.nodes = nodes
        self.off = off  #: True if they shut down, False if they boot.
        env = switching.env
        super().__init__(env, switching.course(self, env.now + seconds))


class Rest(NodeProcess):
    """The process of a node that is OFF or broken. It ends when the node boots, breaks down, or is OFF again."""

    def __init__(self, env: Environment):
        self.over = env.event()
        super().__init__(env, self._wait())

    def _wait(self) -> Generator[Event, Any, None]:
        yield self.over


class Switching:
    """The nodes in transition, until when, and what follows. Nodes are given by their positions in the platform."""

    def __init__(
        self,
        cores: Cores,
        power: PowerMeter,
        transitions: TransitionLog,
        hub: Hub,
        handle: Callable[[int], Any],
        rng: np.random.Generator | None = None,
    ):
        self._cores = cores
        self._power = power
        self._transitions = transitions
        self._handle = handle  # of a node, for those who wait for it
        self._hub = hub
        self._rng = rng
        self.nodes = cores.nodes
        self.env = cores.env
        self._underway: dict[int, Transition] = {}  # of each node in transition
        self._resting: dict[int, Rest] = {}  # of nodes that are OFF or broken, and have been asked for their process
        self._wake_afterwards: set[int] = set()
        self._failed_off: set[int] = set()  # nodes that broke down and are to be OFF when they are repaired
        self._ready: dict[int, Event] = {}  # events that were asked for and have not happened
        self._off: dict[int, Event] = {}  # the same for nodes that shut down
        platform = cores.platform
        self._costs: list[PowerTransitions] = [kind.transitions for kind in platform.node_types]
        self._type_of: list[int] = platform.type_of_node.tolist()
        initially_off = [kind.initially_off for kind in platform.node_types]
        for node, kind in enumerate(self._type_of) if any(initially_off) else ():
            if initially_off[kind]:
                self.enter((node,), NodeState.OFF, (self._costs[kind].off_w,))

    def enter(self, nodes: Sequence[int], state: NodeState, draws_w: Sequence[float]) -> None:
        """Have nodes, none of which runs anything, enter a state; ``draws_w`` is what each draws in it."""
        self._transitions._add(self.env.now, nodes, state, draws_w)
        self._power.enter(nodes, state, draws_w)
        self._cores.enter(nodes, on=state is NodeState.IDLE, off=state is NodeState.OFF)
        for node in self._resting.keys() & nodes if self._resting else ():
            self._resting.pop(node).over.succeed()
        for hear in self._hub.nodes_changed:
            hear(nodes, state)

    def boot_delays(self) -> npt.NDArray[np.float64] | None:
        """Return how long each node has to boot for a job that gets it, s, see ``View.boot_delays``."""
        nodes = self.nodes
        off = nodes.powered_off.copy()
        for node in nodes.transition_ends:
            off[node] = nodes.state[node] is NodeState.SWITCHING_OFF and not self.boots_afterwards(node)
        seconds = np.array([costs.switch_on_s for costs in self._costs])
        delays: npt.NDArray[np.float64] = np.where(off, seconds[self._cores.platform.type_of_node], 0.0)
        return delays if delays.any() else None

    def costs(self, node: int) -> PowerTransitions:
        """Return what it costs to switch a node."""
        return self._costs[self._type_of[node]]

    def switch_off(self, nodes: Sequence[int]) -> None:
        """Begin to shut down nodes that are idle."""
        for costs, alike in self._by_costs(nodes):
            self._begin(alike, NodeState.SWITCHING_OFF, costs.switch_off_w, costs.switch_off_s, costs.switch_off_s)

    def switch_on(self, nodes: Sequence[int]) -> None:
        """Begin to boot nodes; those that are shutting down follow afterwards, those on or booting are left alone."""
        states, off = self.nodes.state, []
        for node in nodes:
            if states[node] is NodeState.OFF:
                off.append(node)
            elif states[node] is NodeState.SWITCHING_OFF and node not in self._wake_afterwards:
                self._wake_afterwards.add(node)
                self.nodes.transition_ends[node] += self.costs(node).switch_on_s
                self.nodes.changes += 1  # it could have been had, to boot, when it is OFF
        if off:
            self.boot(off)

    def boot(self, nodes: Sequence[int]) -> None:
        """Begin to boot nodes that are OFF, or have been repaired after they broke down while on."""
        for costs, alike in self._by_costs(nodes):
            together: dict[float, list[int]] = defaultdict(list)
            if costs.switch_on_distribution:
                for node in alike:
                    together[self._draw_boot_time(costs)].append(node)
            else:
                together[costs.switch_on_s] = list(alike)
            for seconds, some in together.items():
                self._begin(some, NodeState.SWITCHING_ON, costs.switch_on_w, seconds, costs.switch_on_s)

    def _draw_boot_time(self, costs: PowerTransitions) -> float:
        """Return how long a boot that begins now takes, s: drawn anew for each."""
        if costs.switch_on_distribution and self._rng is not None:
            return boot_times(costs.switch_on_distribution).draw(self._rng)
        return costs.switch_on_s

    def _by_costs(self, nodes: Sequence[int]) -> list[tuple[PowerTransitions, Sequence[int]]]:
        if len(self._costs) == 1 or len(nodes) == 1:
            return [(self.costs(nodes[0]), nodes)]
        by_type: dict[int, list[int]] = defaultdict(list)
        for node in nodes:
            by_type[self._type_of[node]].append(node)
        return [(self._costs[kind], some) for kind, some in by_type.items()]

    def _begin(
        self, nodes: Sequence[int], state: NodeState, watts: float | None, seconds: float, expected_s: float
    ) -> None:
        """Enter a transition at once, and stay in it for ``seconds``; schedulers know the expected time."""
        draws = self._power.idle_watts_of(nodes) if watts is None else [watts] * len(nodes)
        self.enter(nodes, state, draws)
        self.nodes.transition_ends.update(dict.fromkeys(nodes, self.env.now + expected_s))
        transition = Transition(self, nodes, state is NodeState.SWITCHING_OFF, seconds)
        self._underway.update(dict.fromkeys(nodes, transition))

    def process(self, node: int) -> Process | None:
        """Return the process of a node's transition, sleep or outage; None while it is on.

        That of a sleep or an outage is made when it is asked for: it only waits.
        """
        process: Process | None = self._underway.get(node, self._resting.get(node))
        if process is None and self.nodes.state[node] is not NodeState.IDLE:
            process = self._resting[node] = Rest(self.env)
        return process

    def course(self, transition: Transition, end: float) -> Generator[Event, Any, None]:
        """Make the process of a transition: its time passes, and the nodes that have not broken down are OFF, or on."""
        yield self.env.at(end)
        underway = self._underway
        intact = [node for node in transition.nodes if underway.get(node) is transition]
        if not intact:
            return
        for node in intact:
            del underway[node]
        if not transition.off:
            self.enter(intact, NodeState.IDLE, self._power.idle_watts_of(intact))
            self._tell(self._ready, intact)
            return
        self.enter(intact, NodeState.OFF, [self.costs(intact[0]).off_w] * len(intact))  # they are alike
        self._tell(self._off, intact)
        if woken := [node for node in intact if node in self._wake_afterwards] if self._wake_afterwards else []:
            self._wake_afterwards.difference_update(woken)
            self.boot(woken)

    # ------------------------------------------------------------------ waiting

    def boots_afterwards(self, node: int) -> bool:
        """Return whether a node that is shutting down has been told to boot as soon as it is OFF."""
        return node in self._wake_afterwards

    def failed_off(self, node: int) -> bool:
        """Return whether a node that has broken down was OFF, or about to be, and is OFF again when it is repaired."""
        return node in self._failed_off

    def ready(self, node: int) -> Event:
        """Return an event that happens when a node is on; at once if it is."""
        event = self._ready.get(node)
        if event is None:
            event = self.env.event()
            if self.nodes.state[node] is NodeState.IDLE:
                event.succeed(self._handle(node))
            else:
                self._ready[node] = event
        return event

    def off(self, node: int) -> Event:
        """Return an event for when a node that shuts down is OFF; it fails with NodeStateError on a breakdown."""
        event = self._off.get(node)
        if event is None:
            event = self._off[node] = self.env.event()
        return event

    def _tell(self, waiting: dict[int, Event], nodes: Iterable[int]) -> None:
        for node in nodes if waiting else ():
            if node in waiting:
                waiting.pop(node).succeed(self._handle(node))

    def wait_for(self, nodes: Sequence[int]) -> Generator[Event, Any, None]:
        """Wait until all of the nodes, which have been told to boot, are on; none of them breaks down."""
        powered_on = self.nodes.powered_on
        for node in nodes:
            while not powered_on[node]:
                yield self._underway[node]

    def fail(self, node: int) -> None:
        """Break a node down: its transition, if it is in one, ends here."""
        state = self.nodes.state[node]
        if state is NodeState.OFF or (state is NodeState.SWITCHING_OFF and not self.boots_afterwards(node)):
            self._failed_off.add(node)
        self._underway.pop(node, None)
        self._wake_afterwards.discard(node)
        if node in self._off:
            name = self._cores.platform.node_name(node)
            event = self._off.pop(node).fail(NodeStateError(f"{name}: it failed before it was OFF"))
            event.defused = True  # it need not be waited for
        self.enter((node,), NodeState.FAILED, (self.costs(node).failed_w,))

    def repair(self, node: int) -> Event:
        """Repair a node: it is OFF if it was OFF or shutting down, else it boots. Return the event of the end."""
        if not self.failed_off(node):
            self.boot((node,))
            return self.ready(node)
        self._failed_off.remove(node)
        self.enter((node,), NodeState.OFF, (self.costs(node).off_w,))
        return self.env.event().succeed(self._handle(node))
