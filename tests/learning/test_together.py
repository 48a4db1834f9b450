"""Several environments stepped together: each goes on as if it were alone, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from learning.environments.base import SchedulingEnv
from learning.environments.job_choice import JobChoice
from learning.environments.job_node import JobNode
from learning.environments.node_shutdown import NodeShutdown

from .cases_for_job_node import experiment


def job_node(**options: Any) -> SchedulingEnv:
    """López' second experiment: four nodes, on which tasks slow each other."""
    return JobNode(episodes=experiment("2"), **options)


MAKERS = {
    "default": job_node,
    "waiting": lambda: job_node(wait="event", placements="all", reward="edp", cost="wait"),
    "some columns, flat": lambda: job_node(
        observation="default:features=energy+wait+finish+pending", flat=True, wait="completion"
    ),
    "equal pairs": lambda: job_node(merge_equal=False, num_jobs=5),
    "published": lambda: job_node(observation="p2"),
    "choice": JobChoice,
    "shutdown": NodeShutdown,
}


def same(one: Any, other: Any) -> bool:
    """Whether two answers of an environment are equal, arrays bit by bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("name", MAKERS)
def test_each_goes_on_as_if_alone(name: str) -> None:
    """Random actions in six episodes, until the last of them ends: the same steps as one by one."""
    make, rng = MAKERS[name], np.random.default_rng(5)
    pairs = [(make(), make()) for _ in range(6)]
    begun = SchedulingEnv.reset_together([together for together, _ in pairs], range(6), [None] * 6)
    assert all(same(one, env.reset(seed=seed)) for seed, (one, (_, env)) in enumerate(zip(begun, pairs, strict=True)))
    steps = 0
    while pairs:
        actions = [int(rng.choice(np.flatnonzero(together.action_masks()))) for together, _ in pairs]
        found = SchedulingEnv.step_together([together for together, _ in pairs], actions)
        alone = [env.step(action) for (_, env), action in zip(pairs, actions, strict=True)]
        assert all(map(same, found, alone))
        pairs = [pair for pair, step in zip(pairs, found, strict=True) if not (step[2] or step[3])]
        steps += len(found)
    assert steps > 60
