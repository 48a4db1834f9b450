"""PolicySelection: an agent chooses which classic policy schedules the queue now."""

from __future__ import annotations

from learning.tasks.built_in_cases import job_node_case
from learning.tasks.environment import (
    CostSpec,
    Episodes,
    Flat,
    ObservationSpec,
    PowerSpec,
    RenderMode,
    RewardSpec,
    SchedulingEnv,
    names_options,
)
from learning.tasks.episodes import platform_of
from learning.tasks.policy_selection.decision_maker import Asked, Policies, PolicyChoice
from learning.tasks.policy_selection.rewards import selection_rewards
from schedulers.queue.list_scheduling import Blocking
from schedulers.queue.orders import Memory


class PolicySelection(SchedulingEnv):
    """Herrera et al. (2021): when resources are released, or a job comes to an empty queue, the agent chooses a policy.

    ======================= ======================= ==========================================================
    observation             shape                   values
    ======================= ======================= ==========================================================
    ``default``: actions    (policies, features)    each policy, its first job and node, 0 … 1
    ``default``: state      (26,)                   queue and machine, 0 … 1
    ``as-published:normal`` (nodes + 3 cores + 21,) memory, cores, queue, 0 … 1; also ``small``, ``minimal``
    ``action_mask``         (policies,) int8        1: may be chosen
    ======================= ======================= ==========================================================

    Action i: apply the i-th of ``policies`` to the queue; see
    :class:`~learning.tasks.policy_selection.decision_maker.PolicyChoice`, also for void. ``policies`` is "all" (36 pairs and
    void), "table-2", names joined by + or a sequence of names. Rewards: :mod:`learning.tasks.policy_selection.rewards`, of
    which ``cost`` may name another, whose negative stands in ``info["cost"]``. Without ``episodes``, a small built-in case is
    run.
    """

    @names_options
    def __init__(
        self,
        episodes: Episodes = None,
        observation: ObservationSpec = "default",
        reward: RewardSpec = "metric:energy",
        *,
        policies: Policies = "all",
        blocking: Blocking = True,
        memory: Memory = False,
        asked: Asked = "released",
        power: PowerSpec = None,
        cost: CostSpec = None,
        flat: Flat = False,
        render_mode: RenderMode = None,
    ):
        if episodes is None:
            episodes = job_node_case()
        maker = PolicyChoice(platform_of(episodes), observation, policies, blocking, memory, asked)
        reward_object = selection_rewards.make(reward)
        limited = None if cost is None else selection_rewards.make(cost)
        super().__init__(maker, episodes, reward_object, flat=flat, power=power, cost=limited, render_mode=render_mode)
