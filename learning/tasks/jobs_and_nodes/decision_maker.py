"""Decision-maker of :class:`~learning.tasks.jobs_and_nodes.environment.JobsAndNodes`: starts jobs, then nodes go to sleep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Unit
from gymnasium import spaces
from typing_extensions import Doc

from cluster_sim.errors import SpecError, naming
from cluster_sim.machine.placement import Placement
from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.run.decisions import Decision, PowerDecision, Start, SwitchOff, WakeAt
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.decision_maker import MOST_JOBS
from learning.tasks.environment import ObservationSpec
from learning.tasks.jobs_and_nodes.observations import QueueAndNodes, StartOrRest, observed
from learning.tasks.waiting_jobs import LATE, LateFrom, SharePatience, WaitingJobs
from schedulers.backfilling.node_choice import NodeChoice
from schedulers.power.idle_timeout import idle_nodes
from schedulers.queue.orders import node_orders

StartableJobs = Annotated[int, Ge(1), Le(MOST_JOBS), Unit("jobs"), Doc("oldest waiting jobs that can be started")]
NodeOrderName = Annotated[str, Doc("order in which nodes are taken: the name of a node order")]
FirstAge = Annotated[
    float,
    Gt(0),
    Unit("s"),
    Doc("idle time of a node at which there is a decision; again at twice, four times … as much"),
]


class StartsAndSleeps:
    """Decision-maker that starts one job after the other, then says how many idle nodes stay on.

    Action i starts the i-th oldest waiting job, on nodes as a backfilling scheduler takes them in the order ``nodes``.
    Action ``num_jobs`` + k ends the instant: k of the idle nodes stay on, those that fell idle last; the others go to
    sleep. Jobs that could start and were not started wait on.

    There is a decision in every instant in which something happened, if a job can start or a node is idle. Others come
    when a node has been idle for ``step_s``, twice, four times … as long, and ``step_s`` after a job was held back that
    could have started. ``patience`` is a share of the requested time (of a day, if there is none): once the oldest
    waiting job has waited that long and can start, the instant cannot be ended before a job is started. With
    ``patience=inf`` an agent can make jobs wait for ever: give the episode an end.

    A job is late (``tau``) as for :class:`~learning.tasks.node_shutdown.decision_maker.Reservations`.
    """

    kind: Literal["scheduler", "power", "both"] = "both"
    memory = False
    feature_names: Mapping[str, Sequence[str]] = {"actions": StartOrRest.names, "state": QueueAndNodes.names}

    @checked
    def __init__(
        self,
        platform: Platform,
        num_jobs: StartableJobs = 32,
        nodes: NodeOrderName = "first",
        observation: ObservationSpec = "default",
        step_s: FirstAge = 300.0,
        patience: SharePatience = 1.0,
        tau: LateFrom = LATE,
    ):
        if observation != "default":
            raise SpecError("observation of jobs-and-nodes", "default, the only one", observation)
        self.num_jobs = num_jobs
        self.step_s = step_s
        self.tau = tau
        self._patience = patience
        with naming("nodes"):
            self._node_order = node_orders.make(nodes)
        actions = num_jobs + platform.node_count + 1
        self.action_space = spaces.Discrete(actions)
        self.observation_space = spaces.Dict(
            {
                "actions": spaces.Box(0.0, 1.0, (actions, StartOrRest.size), np.float32),
                "state": spaces.Box(0.0, 1.0, (QueueAndNodes.size,), np.float32),
                "action_mask": spaces.Box(0, 1, (actions,), np.int8),
            }
        )

    def begin(self, view: View) -> None:
        """Begin a run in which idle nodes have been idle since now."""
        self._where = NodeChoice(view, self._node_order, False)
        self._ends_instant = False
        self._to_sleep: list[int] = []
        self._wakes_at = -math.inf
        self._looked_at: tuple[object, object] = (None, None)
        self._placements: dict[int, Placement] = {}
        self._waiting = WaitingJobs((), self.tau)
        self.idle_since: dict[int, float] = {}  #: Since when each idle node has been idle, s.
        self.submissions: list[float] = []  #: Times of the jobs that were submitted so far, s.
        self._note_idle(view)

    # ------------------------------------------------------------------ what is there

    def waiting(self, view: View) -> WaitingJobs:
        """Return the queue as columns, computed once for a queue."""
        pending = view.pending
        if pending != self._waiting.jobs:
            self._waiting = WaitingJobs(pending, self.tau)
        return self._waiting

    def visible(self, view: View) -> Sequence[Job]:
        """Return the jobs that an action can name, the oldest first: action i is the i-th of them."""
        return view.pending[: self.num_jobs]

    def placements(self, view: View) -> Mapping[int, Placement]:
        """Return the places of the visible jobs that can start now, by action."""
        looked_at = view.machine.version, view.pending
        if looked_at[0] is self._looked_at[0] and looked_at[1] == self._looked_at[1]:
            return self._placements
        self._looked_at, self._placements = looked_at, {}
        alike: dict[int, Placement | None] = {}
        for action, job in enumerate(self.visible(view)):
            placement = alike.get(job.requested_cores)
            if placement is None and job.requested_cores not in alike:
                placement = self._where.now(job)
                if self._where.treats_alike:
                    alike[job.requested_cores] = placement
            if placement is not None:
                self._placements[action] = placement
        return self._placements

    def idle_nodes(self, view: View) -> list[int]:
        """Return the idle nodes, the last to fall idle first; ties are in platform order."""
        return sorted(self.idle_since, key=lambda node: (-self.idle_since[node], node))

    def _note_idle(self, view: View) -> None:
        idle = idle_nodes(view).nonzero()[0].tolist()
        self.idle_since = {node: self.idle_since.get(node, view.now) for node in idle}

    # ------------------------------------------------------------------ when

    def attend(self, view: View) -> list[Decision | PowerDecision]:
        """Begin a pass: note which nodes are idle and which jobs came."""
        self._ends_instant, self._to_sleep = False, []
        self._note_idle(view)
        self.submissions += [job.submit_time for job in view.submitted]
        return []

    def goes_on(self, view: View) -> bool:
        """Return whether a job can start or a node is idle, and the instant has not been ended."""
        return not self._ends_instant and (bool(self.idle_since) or bool(self.placements(view)))

    # ------------------------------------------------------------------ what

    def observe(self, view: View) -> dict[str, np.ndarray]:
        """Return the observation: a row for each start and each number of nodes that stay on, and the state."""
        rows, state = observed(view, self)
        return {"actions": rows, "state": state, "action_mask": self.mask(view)}

    def mask(self, view: View) -> np.ndarray:
        """Return which actions are allowed now, shape (actions,)."""
        mask = np.zeros(int(self.action_space.n), np.int8)
        placements = self.placements(view)
        mask[list(placements)] = 1
        if 0 not in placements or not self.waiting(view).have_waited(view.now, self._patience)[0]:
            mask[self.num_jobs : self.num_jobs + len(self.idle_since) + 1] = 1
        return mask

    def decisions(self, view: View, action: int) -> list[Decision | PowerDecision]:
        """Return the start of a job, or end the instant and plan the next decision."""
        if action < self.num_jobs:
            placement = self.placements(view)[action]
            for node in placement.nodes:
                self.idle_since.pop(node, None)
            return [Start(view.pending[action], placement)]
        idle, stay = self.idle_nodes(view), action - self.num_jobs
        self._ends_instant, self._to_sleep = True, idle[stay:]
        ages = [self._next_age(view.now, self.idle_since[node]) for node in idle[:stay]]
        if self.placements(view):
            ages.append(view.now + self.step_s)
        wake = min(ages, default=math.inf)
        if wake == math.inf or view.now < self._wakes_at <= wake:
            return []
        self._wakes_at = wake
        return [WakeAt(wake)]

    def _next_age(self, now: float, since: float) -> float:
        """Return when a node that is idle since then is next asked about, s."""
        age = self.step_s
        while since + age <= now:
            age *= 2.0
        return since + age

    def settle(self, view: View) -> list[PowerDecision]:
        """Return, after the pass, the decision about nodes with which the instant was ended."""
        nodes, self._to_sleep = self._to_sleep, []
        return [SwitchOff(nodes)] if nodes else []
