"""Environments whose jobs ask for GPUs: what does not fit is masked, and every job runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cluster_sim import Platform, Workload
from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType, Resource
from learning import JobNode
from learning.tasks.episodes import Whole
from learning.tasks.job_choice.environment import JobChoice
from tests.support.contract.checks import rows_of
from tests.support.contract.resources import check_never_more_than_there_is

CPU = ProcessorType("cpu", 8, 3.0, power={})
PLATFORM = Platform(
    (
        Cluster(
            "c",
            (
                NodeGroup(NodeType("plain", (CPU,)), 2),
                NodeGroup(NodeType("gpu", (CPU,), resources={"gpu": Resource(2)}), 2),
            ),
        ),
    )
)


def jobs(seed: int) -> Workload:
    """Jobs of which most ask for GPUs, some for shares."""
    random = np.random.default_rng(seed)
    count = 30
    return Workload(
        {
            "submit_time": np.sort(random.integers(0, 20, count)).astype(float),
            "requested_cores": random.integers(1, 5, count),
            "recorded_run_time": random.integers(1, 9, count).astype(float),
            "requested_time": np.full(count, 10.0),
            "gpus": random.choice([0, 1, 1, 2], count),
            "gpu_share": random.choice([1.0, 1.0, 0.5], count),
        }
    )


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("kind", [JobNode, JobChoice])
def test_random_play_gives_every_job_what_it_asks_for(kind: Any, merge: bool) -> None:
    """No action that is offered is refused, no unit is held twice, and all jobs complete."""
    for seed in range(3):
        options = {"merge_equal": merge} if kind is JobNode else {}
        env = kind(episodes=Whole(PLATFORM, jobs(seed)), **options)
        random = np.random.default_rng(seed)
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            action = int(random.choice(np.flatnonzero(observation["action_mask"])))
            observation, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
        result = env.result()
        assert set(result.jobs["state"]) == {"completed"}
        held = rows_of(result.resource_holds)
        assert held
        check_never_more_than_there_is(PLATFORM, held)
