"""JobChoice: the agent chooses the next job, the scheduler commits to it and backfills behind it (Zhang et al. 2020)."""

from __future__ import annotations

from learning.tasks.built_in_cases import job_choice_case
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
from learning.tasks.episode_metrics import KEYS
from learning.tasks.episodes import platform_of
from learning.tasks.job_choice.decision_maker import ChoosableJobs, JobChoices, TakesExtra
from learning.tasks.job_choice.rewards import choice_rewards


class JobChoice(SchedulingEnv):
    """RLScheduler (Zhang et al., SC 2020): the agent chooses the next job, for which the scheduler then waits.

    Meanwhile other jobs are backfilled behind it, as by ``easy:backfill=fcfs,commit=yes,extra=no`` (``extra``: as there).

    ============== ============================== ======================================================
    action         Discrete(num_jobs)             the i-th oldest of the waiting jobs
    ``actions``    (num_jobs, 15)                 a row for each, 0 … 1; choice_observations.ChoiceRow;
                                                  without-ranks: 9 of its columns, rlscheduler: 4, PublishedRow
    ``state``      (7,)                           queue and machine, 0 … 1; ChoiceState
    ``action_mask`` (num_jobs,) int8              1: there is such a job
    reward         ``bounded-slowdown``, ``wait`` of the jobs as they start: :mod:`learning.tasks.job_choice.rewards`
    ============== ============================== ======================================================

    ``cost`` is one of the rewards, too: a limit on the mean wait, say, beside a slowdown that the agent could make
    small by never letting long jobs run. Without ``episodes``, a small built-in case is run.
    """

    metric_names = KEYS

    @names_options
    def __init__(
        self,
        episodes: Episodes = None,
        observation: ObservationSpec = "default",
        reward: RewardSpec = "bounded-slowdown",
        *,
        num_jobs: ChoosableJobs = 128,
        extra: TakesExtra = False,
        cost: CostSpec = None,
        power: PowerSpec = None,
        flat: Flat = False,
        render_mode: RenderMode = None,
    ):
        if episodes is None:
            episodes = job_choice_case()
        limited = None if cost is None else choice_rewards.make(cost)
        super().__init__(
            JobChoices(platform_of(episodes), num_jobs, extra, observation),
            episodes,
            choice_rewards.make(reward),
            flat=flat,
            power=power,
            cost=limited,
            render_mode=render_mode,
        )
