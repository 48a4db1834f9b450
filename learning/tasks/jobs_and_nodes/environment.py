"""JobsAndNodes: one agent starts jobs and says how many idle nodes stay on."""

from __future__ import annotations

from cluster_sim.run.simulation import Simulation
from learning.tasks.built_in_cases import built_in_day
from learning.tasks.environment import (
    CostSpec,
    Episodes,
    Flat,
    ObservationSpec,
    RenderMode,
    RewardSpec,
    SchedulingEnv,
    names_options,
)
from learning.tasks.episodes import Episode, platform_of
from learning.tasks.jobs_and_nodes.decision_maker import FirstAge, NodeOrderName, StartableJobs, StartsAndSleeps
from learning.tasks.jobs_and_nodes.rewards import joint_rewards
from learning.tasks.waiting_jobs import LATE, LateFrom, SharePatience
from learning.tasks.waste_meter import Metered
from schedulers.policy.policy import PowerPolicy


class JobsAndNodes(SchedulingEnv):
    """Scheduler and power policy in one agent: in each instant it starts jobs one by one, then puts idle nodes to sleep.

    =============== ================================== ======================================================
    action          Discrete(num_jobs + G + 1)         i: start the i-th oldest waiting job;
                                                       num_jobs + k: end the instant, k idle nodes stay on
    ``actions``     (num_jobs + G + 1, 27)             a row for each, 0 … 1; observations.StartOrRest
    ``state``       (16,)                              queue and machine, 0 … 1; observations.QueueAndNodes
    ``action_mask`` (num_jobs + G + 1,) int8           1: the job fits now; so many nodes are idle
    reward          scalar                             ``energy-and-wait``, ``waste-and-stretch``, ``mean-stretch``:
                                                       :mod:`learning.tasks.jobs_and_nodes.rewards`
    =============== ================================== ======================================================

    A job that is placed on a node that is OFF has it booted. The options are those of
    :class:`~learning.tasks.jobs_and_nodes.decision_maker.StartsAndSleeps`. ``cost`` is one of the rewards, too. Without
    ``episodes``, a small built-in day is run.
    """

    @names_options
    def __init__(
        self,
        episodes: Episodes = None,
        observation: ObservationSpec = "default",
        reward: RewardSpec = "energy-and-wait",
        *,
        num_jobs: StartableJobs = 32,
        nodes: NodeOrderName = "first",
        step_s: FirstAge = 300.0,
        patience: SharePatience = 1.0,
        tau: LateFrom = LATE,
        cost: CostSpec = None,
        flat: Flat = False,
        render_mode: RenderMode = None,
    ):
        if episodes is None:
            episodes = built_in_day()
        maker = StartsAndSleeps(platform_of(episodes), num_jobs, nodes, observation, step_s, patience, tau)
        limited = None if cost is None else joint_rewards.make(cost)
        super().__init__(maker, episodes, joint_rewards.make(reward), flat=flat, cost=limited, render_mode=render_mode)

    def make_simulation(self, episode: Episode) -> Simulation:
        """Make the run of an episode, with a decision when it begins: nodes are idle before the first job comes."""
        simulation = super().make_simulation(episode)
        simulation.request_pass()
        return simulation

    def _power_policy(self) -> PowerPolicy:
        return Metered(self.maker)  # type: ignore[arg-type]
