"""Decision-maker that chooses how many nodes are reserved, that is, kept off.

Casagrande et al. (2022), §4.1: an agent reserves 0 … G nodes; they are out of the scheduler's reach, and switched off as
soon as they are idle. The scheduler decides after it, on the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Gt, Unit
from gymnasium import spaces
from typing_extensions import Doc

from cluster_sim.machine.node import NodeState
from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.run.decisions import Offer, PowerDecision, SwitchOff, WakeAt, Withhold
from cluster_sim.run.view import View
from learning.tasks.environment import ObservationSpec
from learning.tasks.node_shutdown.observations import shutdown_observations
from learning.tasks.waiting_jobs import LATE, LateFrom, SharePatience, WaitingJobs
from learning.tasks.waste_meter import state_of
from schedulers.power.idle_timeout import idle_nodes, unused_nodes


def offer_order(view: View, idle_since: Sequence[float]) -> list[int]:
    """Return the nodes in the order in which the scheduler is offered them, by position; the last are reserved first.

    First come nodes in use, the fullest first, so that a small offer packs; then idle nodes, the last one to fall idle
    first; nodes that boot for no job; OFF nodes; and last nodes that are shutting down, which cannot be used yet. Ties
    are in platform order. ``idle_since`` (s) counts for idle nodes.
    """
    free, cores, on, off = (
        a.tolist()
        for a in (view.free_cores, view.platform.node_cores, view.machine.powered_on, view.machine.powered_off)
    )

    def key(node: int) -> tuple[int, float]:
        if free[node] < cores[node]:
            return 0, free[node]
        if on[node]:
            return 1, -idle_since[node]
        if off[node]:
            return 3, 0
        return (2 if view.machine.node(node).state is NodeState.SWITCHING_ON else 4), 0

    return sorted(range(len(free)), key=key)


StepTime = Annotated[float, Gt(0), Unit("s"), Doc("time between two decisions")]
Skips = Annotated[bool, Doc("no decision while no job waits and no node is idle")]
Head = Annotated[
    Literal["waits", "waits-for-jobs", "starts"], Doc("what a reservation may do to the head of the queue")
]
Idle = Annotated[Literal["stay", "sleep", "choose"], Doc("what becomes of nodes that the scheduler leaves idle")]


class Reservations:
    """Decision-maker of :class:`~learning.tasks.node_shutdown.environment.NodeShutdown`: how many nodes are reserved.

    There is a decision every ``step_s`` (s), the first when the run begins. With ``skip`` a decision is left out if no
    job waits and no node is idle; the published form decides in every minute, 1440 times a day. When a job has waited
    ``patience`` times its requested time (a day, if it requested none), actions are masked that offer too few nodes for
    it and the jobs before it. With ``patience=inf``, as published, nothing is masked. An agent that reserves everything
    then makes jobs wait for ever: give the episode an end.

    ``idle`` is for nodes that are not reserved and that the scheduler leaves idle. They ``stay`` on, as published; or
    they are reserved and put to ``sleep`` right after its pass, by :meth:`settle`; or the agent may ``choose``: then
    there are twice as many actions. Action G + 1 + a is to reserve a nodes and put all of those to sleep; action a
    spares nodes that have fallen idle since the last decision: they are offered once more before they sleep. (If there
    is no such node, the first G + 1 actions are masked, since the others do the same.) The number of reserved nodes
    alone saves little: the agent cannot know which nodes the scheduler will leave idle, and each costs the idle watts
    of a whole step.

    A reservation may be larger than the head of the queue can bear. With ``head=waits`` that job waits, as in the paper.
    With ``waits-for-jobs``, as in the authors' program (GridGym, ``off_reservation_env.py``, ``step``), the reservation
    shrinks to what lets the head start if nothing runs on the nodes that are offered. With ``starts`` it shrinks whenever the
    head could start without it.

    ``observation`` is a name of
    :data:`~learning.tasks.node_shutdown.observations.shutdown_observations`; ``tau`` is the share of its requested time
    that a job may wait before it is late. Raises SpecError for a number that is not above 0.
    """

    kind: Literal["scheduler", "power", "both"] = "power"
    memory = False

    @checked
    def __init__(
        self,
        platform: Platform,
        observation: ObservationSpec = "default",
        step_s: StepTime = 60.0,
        skip: Skips = True,
        patience: SharePatience = 1.0,
        tau: LateFrom = LATE,
        idle: Idle = "choose",
        head: Head = "waits",
    ):
        self.platform = platform
        self.tau = tau
        self.step_s = step_s
        self._skip = skip
        self._patience = patience
        self.idle: str = idle
        self._head = head
        self._numbers = platform.node_count + 1
        actions = self._numbers * (2 if idle == "choose" else 1)
        self._everything = np.ones(actions, np.int8)
        self._observation = shutdown_observations.make(observation)
        mask = spaces.Box(0, 1, (actions,), np.int8)
        self.action_space = spaces.Discrete(actions)
        self.feature_names: Mapping[str, Sequence[str]] = getattr(self._observation, "names", {})
        self.observation_space = spaces.Dict({**self._observation.spaces(self), "action_mask": mask})

    def begin(self, view: View) -> None:
        """Begin a run without reserved nodes, with a decision due."""
        self.reserved = 0  #: How many nodes are reserved.
        self._sleeps = self.idle == "sleep"  # whether what the scheduler leaves idle is reserved, too
        self._spared_after = math.inf  # except nodes that fell idle after that time
        self._decided = -math.inf
        self._idle_since = [-math.inf] * view.platform.node_count
        self._idle: list[int] = []
        self._due = view.now
        self._wakes_at = -math.inf
        self._state: object = None
        self._order: list[int] = []
        self._version: object = None
        self._idle_now: list[int] = []
        self._waiting = WaitingJobs((), self.tau)
        self._observation.begin(view)

    def order(self, view: View) -> list[int]:
        """Return :func:`offer_order`, computed once for a state of the machine."""
        state = state_of(view)
        if state != self._state:
            self._state, self._order = state, offer_order(view, self._idle_since)
        return self._order

    def waiting(self, view: View) -> WaitingJobs:
        """Return the queue as columns, computed once for a queue."""
        pending = view.pending
        if pending != self._waiting.jobs:
            self._waiting = WaitingJobs(pending, self.tau)
        return self._waiting

    def idle_nodes(self, view: View) -> list[int]:
        """Return :func:`~schedulers.power.idle_timeout.idle_nodes`, computed once for a state of the machine."""
        if view.machine.version is not self._version:
            self._version, self._idle_now = view.machine.version, idle_nodes(view).nonzero()[0].tolist()
        return self._idle_now

    def fresh(self) -> list[int]:
        """Return the nodes that have fallen idle since the last decision, if ``idle`` depends on them."""
        return [node for node in self._idle if self._idle_since[node] > self._decided]

    def _note_idle(self, view: View, idle: list[int]) -> None:
        """Keep since when nodes are idle, where that is of any concern."""
        if self.idle == "choose" and idle is not self._idle:
            since, before = self._idle_since, set(self._idle)
            for node in idle:
                if node not in before:
                    since[node] = view.now
            self._idle = idle

    # ------------------------------------------------------------------ when

    def attend(self, view: View) -> list[PowerDecision]:
        """Switch off reserved nodes that have fallen idle; plan a wake-up for a decision that is not due yet."""
        decisions: list[PowerDecision] = []
        idle = self.idle_nodes(view)
        self._note_idle(view, idle)
        if view.machine.withheld_count and idle and (left := [node for node in idle if view.machine.withheld[node]]):
            decisions.append(SwitchOff(left))
        if view.now < self._due:
            decisions += self._wake(view)
        return decisions

    def goes_on(self, view: View) -> bool:
        """Return whether it is time to decide; once in a step."""
        return view.now >= self._due and (not self._skip or self._can_matter(view))

    def _can_matter(self, view: View) -> bool:
        return bool(view.pending_count) or bool(self.idle_nodes(view))

    def _wake(self, view: View) -> list[PowerDecision]:
        if self._wakes_at == self._due or (self._skip and not self._can_matter(view)):
            return []
        self._wakes_at = self._due
        return [WakeAt(self._due)]

    # ------------------------------------------------------------------ what

    def observe(self, view: View) -> dict[str, npt.NDArray[Any]]:
        """Return the observation of this step."""
        return {**self._observation.observe(view), "action_mask": self.mask(view)}

    def mask(self, view: View) -> npt.NDArray[np.int8]:
        """Return which actions are allowed now, shape (actions,)."""
        mask = self._everything.copy()
        if self.idle == "choose" and not self.fresh():
            mask[: self._numbers] = 0
        if not view.pending_count or self._patience == math.inf:
            return mask
        # Cores of the jobs up to the last one that has lost its patience.
        waiting = self.waiting(view)
        impatient = waiting.have_waited(view.now, self._patience).nonzero()[0]
        needed = int(waiting.cores[: impatient[-1] + 1].sum()) if len(impatient) else 0
        if needed:
            in_use = int((~unused_nodes(view)).sum())
            nodes = math.ceil(needed / view.platform.node_cores.min())
            most = max(view.platform.node_count - in_use - nodes, 0)
            for first in range(0, len(mask), self._numbers):
                mask[first + most + 1 : first + self._numbers] = 0
        return mask

    def decisions(self, view: View, action: int) -> list[PowerDecision]:
        """Reserve so many nodes, switch off those of them that are idle, and decide again after a step."""
        decisions: list[PowerDecision] = []
        action, again = int(action) % self._numbers, int(action) // self._numbers
        self._sleeps = self.idle != "stay"
        self._spared_after = math.inf if again else self._decided
        self._decided = view.now
        if action and self._head != "waits" and view.pending_count:
            action = self._shrunk(view, action)
        if action or view.machine.withheld_count:
            order, withheld = self.order(view), view.machine.withheld.tolist()
            offered, reserved = order[: len(order) - action], order[len(order) - action :]
            if back := [node for node in offered if withheld[node]]:
                decisions.append(Offer(back))
            if away := [node for node in reserved if not withheld[node]]:
                decisions.append(Withhold(away))
            idle = set(self.idle_nodes(view))
            if idle and (left := [node for node in reserved if node in idle]):
                decisions.append(SwitchOff(left))
        self.reserved = action
        self._due = view.now + self.step_s
        return decisions + self._wake(view)

    def _shrunk(self, view: View, action: int) -> int:
        """Return how many of ``action`` nodes may be reserved if the head of the queue is to start."""
        wanted, order = view.pending[0].requested_cores, self.order(view)
        cores, free = view.platform.node_cores, view.free_cores
        offered = order[: len(order) - action]
        if self._head == "waits-for-jobs" and any(free[node] < cores[node] for node in offered):
            return action
        for more in range(action + 1):
            if sum(int(free[node]) for node in order[: len(offered) + more]) >= wanted:
                return action - more
        return action

    def settle(self, view: View) -> list[PowerDecision]:
        """Reserve, after the scheduler's pass, the nodes that it left idle; switch them off if that was decided."""
        if not self._sleeps:
            return []
        idle = self.idle_nodes(view)
        self._note_idle(view, idle)
        left = [node for node in idle if self._idle_since[node] <= self._spared_after]
        if not left:
            return []
        fresh = [node for node in left if not view.machine.withheld[node]]
        self.reserved += len(fresh)
        return [Withhold(fresh), SwitchOff(left)] if fresh else [SwitchOff(left)]
