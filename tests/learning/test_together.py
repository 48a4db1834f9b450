"""Several environments stepped together: each goes on as if it were alone, to the last bit."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from cluster_sim import View
from learning.algorithms.rollouts import collect, rare_collections
from learning.networks.building import make_network
from learning.tasks.decision_maker import Observation
from learning.tasks.environment import SchedulingEnv, observes_together
from learning.tasks.job_choice.environment import JobChoice
from learning.tasks.job_node.environment import JobNode
from learning.tasks.job_node.features import PairFeatures
from learning.tasks.job_node.pairs import Pairs
from learning.tasks.jobs_and_nodes.environment import JobsAndNodes
from learning.tasks.node_shutdown.environment import NodeShutdown
from tests.support.job_node_cases import experiment


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
    "jobs and nodes": JobsAndNodes,
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


class Blind(PairFeatures):
    """Sees no pair."""

    def observe(self, view: View, pairs: Pairs) -> Observation:
        """Nothing of what there is to choose from."""
        seen = super().observe(view, pairs)
        seen["actions"][:] = 0.0
        return seen


def test_a_class_that_observes_in_its_own_way_is_asked_one_by_one() -> None:
    """What it inherits for several at once is another's."""
    environments = [job_node(), job_node()]
    for env in environments:
        env.maker.observation.__class__ = Blind  # type: ignore[attr-defined]
    assert observes_together(job_node().maker.observation)  # type: ignore[attr-defined]
    assert not observes_together(environments[0].maker.observation)  # type: ignore[attr-defined]
    found = SchedulingEnv.reset_together(environments, [0, 1], [None, None])
    assert [float(abs(seen["actions"]).sum()) for seen, _ in found] == [0.0, 0.0]


def test_environments_that_are_not_alike_are_asked_one_by_one() -> None:
    """Another machine, and more jobs to choose from."""
    cases = (("2", 4), ("3", 4), ("2", 8))
    together, alone = (
        [JobNode(episodes=experiment(number), num_jobs=jobs) for number, jobs in cases] for _ in range(2)
    )
    begun = SchedulingEnv.reset_together(together, range(3), [None] * 3)
    assert all(same(one, env.reset(seed=seed)) for seed, (one, env) in enumerate(zip(begun, alone, strict=True)))


class Anew(JobNode):
    """Begins in its own way."""

    resets = 0

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Counted."""
        Anew.resets += 1
        return super().reset(**options)


def anew() -> SchedulingEnv:
    """For rollouts."""
    return Anew(episodes=experiment("2"))


def test_an_environment_with_a_reset_of_its_own_is_reset_by_it() -> None:
    """In rollouts, too."""
    env = anew()
    before = Anew.resets
    collect(anew, make_network("scorer:hidden=4", env.observation_space, int(env.action_space.n), 0), range(3), group=3)  # type: ignore[attr-defined]
    assert Anew.resets - before == 3


def test_the_threshold_of_collections_is_what_it_was_after_rollouts_in_several_threads() -> None:
    """Whoever comes and goes first."""
    before = gc.get_threshold()
    one, other = rare_collections(), rare_collections()
    one.__enter__()
    other.__enter__()
    assert gc.get_threshold()[0] > before[0]
    one.__exit__(None, None, None)
    assert gc.get_threshold()[0] > before[0]
    other.__exit__(None, None, None)
    assert gc.get_threshold() == before
