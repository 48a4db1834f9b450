"""Carries out what a power policy decides: nodes are switched and withheld, clocks set, the machine's power limited."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING

from cluster_sim.errors import InputError, ModelWarning, NodeStateError, warn_user
from cluster_sim.machine.power.power_budget import PowerBudget
from cluster_sim.platform.hardware import is_count
from cluster_sim.run.decisions import (
    NodeDecision,
    Offer,
    SetPState,
    SwitchOff,
    SwitchOn,
    Withhold,
)

if TYPE_CHECKING:
    from cluster_sim.machine.job_clocks import JobClocks
    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.node import Node
    from cluster_sim.run.jobs.admission import Admission
    from cluster_sim.run.jobs.attempt import Attempt
    from cluster_sim.run.jobs.live_jobs import LiveJobs


class PowerControl:
    """The executor of a power policy's decisions: it checks each, and refuses what the state of a node forbids.

    Nodes with suspended jobs in their memory stay on and on offer: decisions to switch them off or withhold them pass over them.
    """

    def __init__(
        self,
        machine: Machine,
        live: LiveJobs[Attempt],
        admission: Admission,
        job_clocks: JobClocks,
        request_pass: Callable[[], None],
        policy: str,
    ):
        self._env = machine.env
        self._machine = machine
        self._platform = machine.platform
        self._live = live
        self._admission = admission
        self._job_clocks = job_clocks
        self._request_pass = request_pass
        self._policy = policy  # what it is called in messages
        self._has_refused = False  # whether a decision has been refused, and said so

    def apply(self, decision: NodeDecision) -> None:
        """Carry out a power policy's decision on the machine. Raises InputError when it cannot be."""
        if isinstance(decision, SwitchOff):
            nodes, machine = self._without_suspended(self._nodes_of(decision)), self._machine
            each_once = len(set(nodes)) == len(nodes)
            if nodes and each_once and machine.cores.are_idle(nodes):
                machine.switching.switch_off(nodes)
            else:
                for node in nodes:
                    self._switch(machine.node(node), on=False)
        elif isinstance(decision, SwitchOn):
            self._switch(self._machine.node(self._position(decision, decision.node)), on=True)
        elif isinstance(decision, (Withhold, Offer)):
            nodes, withheld = self._nodes_of(decision), isinstance(decision, Withhold)
            changed = self._machine.cores.withhold(self._without_suspended(nodes) if withheld else nodes, withheld)
            if changed and isinstance(decision, Offer):
                self._request_pass()  # one that comes after the scheduler's pass has another follow
        elif isinstance(decision, SetPState):
            last = self._platform.processor_count - 1
            if not is_count(decision.processor, last, 0):
                raise _wrong(
                    decision, "processor", f"a processor by its position, from 0 to {last}", decision.processor
                )
            self._machine.processor(decision.processor).set_p_state(decision.p_state)
        else:
            if not (isinstance(decision.watts, Real) and decision.watts >= 0.0):
                raise _wrong(decision, "watts", "W, 0 or more, inf for no limit", decision.watts)
            if not isinstance(decision.slow, bool):
                raise _wrong(decision, "slow", "True or False", decision.slow)
            machine, holders = self._machine, self._live.holders.values()
            budget = PowerBudget(machine, self._job_clocks, decision.watts, decision.slow, holders, machine.budget)
            is_other = not machine.budget.is_set or decision.watts != machine.budget.limit_w
            machine.budget = budget
            # Jobs that can never fit under the budget are refused.
            for job in list(self._live.pending.values()):
                if reason := budget.why_never(job):
                    self._admission.reject(job, reason)
            if is_other:
                self._request_pass()

    def _nodes_of(self, decision: SwitchOff | Withhold | Offer) -> list[int]:
        """Return positions of the nodes that a decision names."""
        nodes = decision.node if isinstance(decision.node, list) else [decision.node]
        # Of thousands of nodes at once none is looked at in Python.
        if set(map(type, nodes)) == {int} and min(nodes) >= 0 and max(nodes) < self._platform.node_count:
            return nodes
        return [self._position(decision, node) for node in nodes]

    def _without_suspended(self, nodes: list[int]) -> list[int]:
        """Return the nodes on which no suspended job keeps its memory."""
        suspended = self._live.suspended
        if not suspended:
            return nodes
        kept = {node for one in suspended.values() for node in one.placement.nodes}
        return [node for node in nodes if node not in kept]

    def _position(self, decision: SwitchOn | SwitchOff | Withhold | Offer, node: object) -> int:
        """Return the position of a node that a decision names, also by its name."""
        last = self._platform.node_count - 1
        if isinstance(node, str):
            return self._platform.node_index(node)
        if not is_count(node, last, 0):
            several = "" if isinstance(decision, SwitchOn) else ", or a list of nodes"
            raise _wrong(decision, "node", f"a node by its position, from 0 to {last}, or its name{several}", node)
        return int(node)

    def _switch(self, node: Node, on: bool) -> None:
        """Switch a node for the power policy; what its state does not allow is refused, and the first time said so."""
        try:
            if on:
                node.switch_on()
            else:
                node.switch_off()
        except NodeStateError as error:
            if not self._has_refused:
                self._has_refused = True
                message = f"{self._policy}, at {self._env.now:g} s: {error}; the decision is refused, as all such are"
                warn_user(ModelWarning(message))


def _wrong(decision: NodeDecision, name: str, expected: str, found: object) -> InputError:
    return InputError(f"{type(decision).__name__}, {name}", expected, "None" if found is None else found)
