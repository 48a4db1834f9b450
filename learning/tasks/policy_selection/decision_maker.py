"""Choosing a classic policy for the queue as it stands: the decision-maker of PolicySelection (Herrera et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from typing_extensions import Doc

from cluster_sim.errors import SpecError
from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.run.decisions import Decision, Start
from cluster_sim.run.view import View
from learning.tasks.decision_maker import OneByOne
from learning.tasks.environment import ObservationSpec
from learning.tasks.policy_selection.observations import selection_observations
from schedulers.queue.list_scheduling import Blocking
from schedulers.queue.orders import Memory, job_orders, node_orders, order_in

JOBS = ("random", "first", "shortest", "smallest", "low_mem", "low_mem_ops")
NODES = ("random", "high_gflops", "high_cores", "high_mem", "high_mem_bw", "low_power")
"""The policies of López (2023), Table 4.1, with the names of the schedulers here: ``list:JOB/NODE``."""
P1_JOBS = ("random", "first", "shortest", "smallest", "low_mem", "low_mem_bw")
P1_NODES = ("random", "current_gflops", "high_cores", "total_mem", "free_mem_bw", "current_watts")
"""Policies of Herrera et al. (2021), Table II, with its words."""
VOID = "void"

SETS = {
    "all": (*(f"{job}/{node}" for job in JOBS for node in NODES), VOID),
    "table-2": (*(f"{job}/{node}" for job in P1_JOBS for node in P1_NODES), VOID),
}
"""Sets of policies by name, 37 each: ``table-2`` is that of the paper's Table II, word by word."""


def named_policies(policies: str | Sequence[str]) -> tuple[str, ...]:
    """Return the policies of a name in :data:`SETS`, of names joined by +, or of a sequence of names.

    Raises SpecError for a name that is neither JOB/NODE nor void, for one that comes twice, and for void alone.
    """
    if isinstance(policies, str):
        names = SETS.get(policies) or tuple(policies.split("+"))
    else:
        names = tuple(policies) if isinstance(policies, Sequence) else (policies,)
    for name in names:
        if not isinstance(name, str):
            raise SpecError("policy-selection, policies", f"names such as JOB/NODE, {VOID}, or {', '.join(SETS)}", name)
        job, slash, node = name.partition("/")
        if name != VOID and not (slash and job in job_orders and node in node_orders):
            raise SpecError("policy-selection, policies", f"JOB/NODE, {VOID}, or {', '.join(SETS)}", name)
    if len(set(names)) < len(names) or not set(names) - {VOID}:
        raise SpecError("policy-selection, policies", f"different policies, one of them not {VOID}", "+".join(names))
    return names


Policies = Annotated[str | Sequence[str], Doc("policies to choose from: all, table-2, or names joined by +")]
Asked = Annotated[
    Literal["released", "waiting", "always"],
    Doc(
        "when the agent is asked: as published (released), at every event while jobs wait (waiting), at every event (always)"
    ),
]


class PolicyChoice:
    """Decision-maker that applies the chosen policy to the queue at once: action i is the i-th of ``policies``.

    A policy starts the first job by its job order on the first node by its node order, again and again, until a job does
    not fit (with ``blocking=no``, those behind it are tried too). Void starts nothing. The agent is asked when a job
    comes to an empty queue and when resources are released (a job has ended, a node is on again), if cores are free.
    So a job that comes to others waits with them, as published; but if nothing runs, the agent is asked in every pass.
    The public program asks at every submission and completion: while jobs wait (``asked=waiting``, March 2021), or also
    when none does (``asked=always``, June 2023). What is chosen when nothing can start has no effect.

    Void is masked while nothing runs, since perhaps nothing would ever happen again. Otherwise it costs the machine's
    power and the jobs' waits until the next job ends. So an agent cannot stall.
    """

    kind: Literal["scheduler", "power", "both"] = "scheduler"

    @checked
    def __init__(
        self,
        platform: Platform,
        observation: ObservationSpec = "default",
        policies: Policies = "all",
        blocking: Blocking = True,
        memory: Memory = False,
        asked: Asked = "released",
    ):
        self.platform = platform
        self.policies = named_policies(policies)
        self.memory = memory
        self._blocking = blocking
        self._asked = asked
        self._observation = selection_observations.make(observation)
        self.action_space = spaces.Discrete(len(self.policies))
        mask = spaces.Box(0, 1, (len(self.policies),), np.int8)
        self.feature_names: Mapping[str, Sequence[str]] = getattr(self._observation, "names", {})
        self.observation_space = spaces.Dict({**self._observation.spaces(self), "action_mask": mask})
        self._mask = np.ones(len(self.policies), np.int8)
        self._void = self.policies.index(VOID) if VOID in self.policies else None

    def begin(self, view: View) -> None:
        names = [policy.partition("/") for policy in self.policies]
        self.orders: list[Any] = [
            None if job == VOID else (order_in(view, job_orders.make(job)), node_orders.make(node))
            for job, _, node in names
        ]
        self._waited = 0  # jobs in the queue after the last pass
        self._asks = False
        self._observation.begin(view)

    # ------------------------------------------------------------------ when

    def attend(self, view: View) -> list[Decision]:
        """Begin a pass, and note whether the agent is asked in it."""
        # Passes without jobs that came or ended are of nodes that are on again, or of what a power policy offers.
        released = bool(view.ended) or not view.submitted
        self._asks = self._asked != "released" or released or not self._waited or not view.running_count
        self._waited = view.pending_count
        return []

    def goes_on(self, view: View) -> bool:
        """Return whether a policy is to be chosen now; once in a pass."""
        if self._asked == "always":
            return self._asks
        return self._asks and bool(view.pending_count) and (self._asked == "waiting" or bool(view.free_total))

    # ------------------------------------------------------------------ what

    def observe(self, view: View) -> dict[str, npt.NDArray[Any]]:
        """Return the observation with the mask; void is allowed only while something runs."""
        mask = self._mask.copy()
        if self._void is not None and not view.running_count:
            mask[self._void] = 0
        return {**self._observation.observe(view), "action_mask": mask}

    def decisions(self, view: View, action: int) -> Sequence[Decision]:
        """Apply a policy to the queue; each start is to be carried out before the next is asked for."""
        self._asks = False
        chosen = self.orders[int(action)]
        return () if chosen is None else OneByOne(self._starts(view, *chosen))  # type: ignore[return-value]

    def _starts(self, view: View, job_order: Any, node_order: Any) -> Iterator[Decision]:
        now = view.now
        for job in sorted(view.pending, key=lambda job: (job_order(job, now), job.index)):
            fits = job.requested_cores <= view.free_total
            placement = view.place(job, node_order(view, job), self.memory) if fits else None
            if placement is not None:
                yield Start(job, placement)
                self._waited = view.pending_count
            elif self._blocking:
                return
