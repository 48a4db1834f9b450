"""Waiting jobs of NodeShutdown: one rule for how long a job may run, in rows, states, masks and rewards alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cluster_sim import Platform, PowerTransitions, Workload
from learning.tasks.episodes import Whole
from learning.tasks.node_shutdown.environment import NodeShutdown
from learning.tasks.node_shutdown.foresight import ROW
from learning.tasks.node_shutdown.observations import STATE
from learning.tasks.waiting_jobs import HALF_STRETCH

DAY_S = 86400.0
STRETCH = "their stretch, summed"


def first_step(requested_s: float, waited_s: float, **options: Any) -> tuple[NodeShutdown, float]:
    """A job has waited so long for the one node, which was reserved from the start: the environment, and the reward."""
    platform = Platform.homogeneous(
        nodes=1, cores=1, transitions=PowerTransitions(switch_on_s=60.0, switch_off_s=180.0), power={"static_w": 0.0}
    )
    job = {"submit_time": [0.0], "requested_cores": [1], "requested_time": [requested_s], "recorded_run_time": [60.0]}
    options = {"idle": "stay", "skip": False, "patience": math.inf, **options}
    env = NodeShutdown(Whole(platform, Workload(job), until=2e6), step_s=waited_s, **options)
    env.reset(seed=0)
    return env, float(env.step(1)[1])


def waiting(requested_s: float, waited_s: float, **options: Any) -> tuple[NodeShutdown, dict[str, np.ndarray]]:
    """The same with what is observed then."""
    env, _ = first_step(requested_s, waited_s, **options)
    return env, env.maker.observe(env.simulation.view)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("requested_s", "counted_s"), [(0.5 * DAY_S, 0.5 * DAY_S), (2.0 * DAY_S, 2.0 * DAY_S), (math.inf, DAY_S)]
)
def test_a_request_counts_as_it_is(requested_s: float, counted_s: float) -> None:
    """A job of two days counts as two days, one without a limit as one: in rows of actions as in the state."""
    _, observed = waiting(requested_s, 8640.0)
    offered = dict(zip(ROW, observed["actions"][0].tolist(), strict=True))
    state = dict(zip(STATE, observed["state"].tolist(), strict=True))
    stretch = 8640.0 / counted_s
    assert offered["stretch relieved"] == pytest.approx(stretch / (stretch + HALF_STRETCH))
    assert state[STRETCH] == pytest.approx(stretch / (stretch + HALF_STRETCH))
    assert state["growth of the summed stretch"] == pytest.approx(stretch / (stretch + 0.1))


@pytest.mark.parametrize("requested_s", [2.0 * DAY_S, math.inf])
def test_all_agree_on_when_a_job_is_late(requested_s: float) -> None:
    """Late from half of what counts as requested on, and out of patience from all of it on: just before, and just after."""
    counted_s = requested_s if requested_s < math.inf else DAY_S
    for share, is_late in ((0.49, False), (0.51, True)):
        env, observed = waiting(requested_s, share * counted_s)
        assert (observed["actions"][0][ROW.index("late cores started")] > 0.0) == is_late
        assert (observed["state"][STATE.index("cores of late jobs")] > 0.0) == is_late
        _, reward = first_step(requested_s, share * counted_s, observation="as-published", reward="as-published")
        assert reward == (-1.0 if is_late else 0.0)
    for share, is_patient in ((0.99, True), (1.01, False)):
        env, _ = waiting(requested_s, share * counted_s, patience=1.0)
        assert bool(env.action_masks()[1]) == is_patient


@pytest.mark.parametrize(("requested_s", "counted_s"), [(2.0 * DAY_S, 2.0 * DAY_S), (math.inf, DAY_S)])
def test_the_published_observation_and_the_default_reward_count_alike(requested_s: float, counted_s: float) -> None:
    """Requested days and stretch of the first job; 5 for a stretch of 1, times 0.05, paid as it grows."""
    _, observed = waiting(requested_s, 8640.0, observation="as-published")
    _, days, stretch, _ = observed["observation"][-1, 8:12]
    assert (days, stretch) == pytest.approx((counted_s / DAY_S, 8640.0 / counted_s))
    _, reward = first_step(requested_s, 8640.0)
    assert reward == pytest.approx(-0.05 * 5.0 * 8640.0 / counted_s)
