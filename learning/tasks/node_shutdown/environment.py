"""NodeShutdown: an agent says how many nodes are kept off, beside an ordinary scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from typing_extensions import Doc

from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from learning.tasks.built_in_cases import built_in_day
from learning.tasks.environment import (
    CostSpec,
    Episodes,
    Flat,
    ObservationSpec,
    RenderMode,
    RewardSpec,
    SchedulingEnv,
    models_of,
    names_options,
)
from learning.tasks.episodes import Episode, platform_of
from learning.tasks.node_shutdown.decision_maker import (
    Head,
    Idle,
    Reservations,
    Skips,
    StepTime,
)
from learning.tasks.node_shutdown.rewards import shutdown_rewards
from learning.tasks.waiting_jobs import LATE, LateFrom, SharePatience
from learning.tasks.waste_meter import Metered
from schedulers.policy.policy import make_scheduler


class NodeShutdown(SchedulingEnv):
    """Casagrande et al. (2022): in every minute the agent reserves 0 … G nodes, which are kept off.

    A reserved node is out of the scheduler's reach and switched off as soon as it is idle. The agent acts before the
    ``scheduler``, which starts jobs on the other nodes and boots those of them that it needs. Nodes that are neither
    reserved nor used stay as they are. Without ``episodes``, a small built-in day is run.

    ======================= ==================== =======================================================
    observation             shape                values
    ======================= ==================== =======================================================
    ``default``: actions    (2 (G + 1), 23)      what each action would mean now, 0 … 1; see foresight.ActionRow
    \\            state      (33,)                cluster and queue, −1 … 1; shutdown_observations.State
    ``as-published``        (20, 48)             the last 20 minutes, 0 … (shares and days)
    ``action_mask``         (2 (G + 1),) int8    1: allowed; half as many actions unless idle=choose
    ======================= ==================== =======================================================

    Action a: reserve a nodes; see :func:`~learning.tasks.node_shutdown.decision_maker.offer_order` for which. Rewards:
    :mod:`learning.tasks.node_shutdown.rewards`. ``skip``, ``patience``, ``tau``, ``head`` and ``step_s`` are those of
    :class:`~learning.tasks.node_shutdown.decision_maker.Reservations`; ``NodeShutdown(observation="as-published",
    reward="as-published", skip=False, patience=math.inf)`` is the published form, on days with ``until=86400`` and
    ``enforce_walltime``. What the authors' public program does is ``observation="as-published:features=as-run"``,
    ``reward="as-run"``, ``head="waits-for-jobs"``. ``cost`` is one of the rewards, too: minus it stands in ``info["cost"]``, for
    what is to be kept within a limit.
    """

    @names_options
    def __init__(
        self,
        episodes: Episodes = None,
        observation: ObservationSpec = "default",
        reward: RewardSpec = "default",
        *,
        scheduler: Annotated[str, Doc("scheduler of the jobs")] = "saf-easy",
        step_s: StepTime = 60.0,
        skip: Skips = True,
        patience: SharePatience = 1.0,
        tau: LateFrom = LATE,
        idle: Idle = "choose",
        head: Head = "waits",
        cost: CostSpec = None,
        flat: Flat = False,
        render_mode: RenderMode = None,
    ):
        if episodes is None:
            episodes = built_in_day()
        maker = Reservations(platform_of(episodes), observation, step_s, skip, patience, tau, idle, head)
        limited = None if cost is None else shutdown_rewards.make(cost)
        super().__init__(
            maker, episodes, shutdown_rewards.make(reward), flat=flat, cost=limited, render_mode=render_mode
        )
        self.scheduler = scheduler
        make_scheduler(scheduler)  # a wrong spec is better found now

    def make_simulation(self, episode: Episode) -> Simulation:
        """Make the run of an episode: the scheduler, and the agent in the place of the power policy."""
        return Simulation(
            episode.platform,
            episode.workload,
            make_scheduler(self.scheduler),
            Metered(self.maker),  # type: ignore[arg-type]
            seed=episode.seed,
            **episode.rules(),
            models=models_of(episode.platform),
            network=self._network,
        )

    def next_pass(self) -> View | None:
        """Go on to the next instant in which something happened or a decision is due, before the scheduler's pass."""
        assert self.simulation is not None
        return self.simulation.step_to_power_decision()

    def carry_out(self, decisions: Sequence[Any]) -> None:
        """Carry out what has been decided."""
        assert self.simulation is not None
        self.simulation.decide_power(*decisions)
