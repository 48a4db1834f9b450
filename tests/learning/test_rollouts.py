"""Rollouts: whole episodes, a function of weights and seeds alone."""

from __future__ import annotations

import gc
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from cluster_sim.errors import InputError
from learning.algorithms.rollouts import Trajectory, collect, episode_seeds, rare_collections
from learning.algorithms.samples import Samples
from learning.networks.building import make_network
from learning.tasks.job_node.environment import JobNode
from tests.support.toys import ROWS, CheapestRow, CutOff, Make, Recall, network_for


def told(trajectories: list[Trajectory]) -> list[Any]:
    """All that there is to say of trajectories, to be compared."""
    return [(t.seed, t.actions.tolist(), t.columns.tolist(), t.rewards.tolist(), t.metrics) for t in trajectories]


def test_episodes_are_whole_and_in_order() -> None:
    """Each has its seed, its first step and its last, however long the others of its group are."""
    seeds = [3, 0, 4, 1, 2]
    found = collect(Make(CutOff), network_for(Make(CutOff), "mlp"), seeds, group=2)
    assert [t.seed for t in found] == seeds
    assert [len(t) for t in found] == [1 + seed % 5 for seed in seeds]
    assert all(len(t.kept) == len(t.actions) == len(t.rewards) for t in found)


def test_the_last_situation_is_kept_of_what_was_cut_off() -> None:
    """Truncated episodes have one, to go on from; terminated ones have none."""
    found = collect(Make(CutOff), network_for(Make(CutOff), "mlp"), range(5))
    assert [t.last is not None for t in found] == [True, False, True, False, True]


@pytest.mark.parametrize("spec", ["mlp", "lstm:units=8,hidden=32"])
def test_what_follows_a_cut_is_worth_something(spec: str) -> None:
    """The critic's value of the last situation after a cut, exactly 0 after an end."""
    network = network_for(Make(CutOff), spec)
    trajectories = collect(Make(CutOff), network, range(4))
    after = Samples(network, trajectories).values_after()
    assert after[1] == after[3] == 0.0
    for trajectory, value in zip(trajectories[::2], after[::2], strict=True):
        assert trajectory.last is not None
        seen = [*trajectory.kept, trajectory.last]
        memory = None
        for kept in seen:
            _, values, memory = network(network.stack([kept]), memory)
        assert value == pytest.approx(values.item(), abs=1e-6)
        assert value != 0.0


@pytest.mark.parametrize(("make", "spec"), [(ROWS, "scorer:hidden=8"), (Make(Recall), "lstm:units=8,hidden=8")])
def test_the_same_again(make: Make, spec: str) -> None:
    """Equal weights and seeds, equal episodes; other seeds, others."""
    network = network_for(make, spec)
    seeds = episode_seeds(7, 0, 6)
    assert told(collect(make, network, seeds)) == told(collect(make, network, seeds))
    assert told(collect(make, network, episode_seeds(7, 1, 6))) != told(collect(make, network, seeds))


def test_the_group_does_not_mix_episodes() -> None:
    """An episode alone takes the same actions as in a group (up to rounding, which these do not come near)."""
    network = network_for(ROWS, "scorer:hidden=8")
    together = collect(ROWS, network, range(6), group=6)
    alone = [collect(ROWS, network, [seed])[0] for seed in range(6)]
    assert told(together) == told(alone)


def test_memories_are_not_mixed() -> None:
    """Nor do episodes of unequal length exchange what an LSTM remembers."""
    make = Make(CutOff)
    network = network_for(make, "lstm:units=4,hidden=4")
    together = collect(make, network, range(5), group=5)
    assert told(together) == told([collect(make, network, [seed])[0] for seed in range(5)])


def test_processes_do_not_matter() -> None:
    """In this process or in another: the same trajectories."""
    environment = JobNode()
    network = make_network("scorer:hidden=8", environment.observation_space, int(environment.action_space.n), seed=1)
    here = collect(JobNode, network, range(4), group=2)
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as executor:
        assert told(collect(JobNode, network, range(4), group=2, executor=executor)) == told(here)


def test_garbage_is_looked_for_less_often_meanwhile() -> None:
    """Not afterwards, also not after an error; who has turned the collector off keeps it so."""
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), rare_collections():
        assert gc.get_threshold() == (10_000, *before[1:])
        assert 1 / 0
    assert gc.get_threshold() == before
    gc.set_threshold(0)
    try:
        with rare_collections():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_greedy_takes_the_most_probable() -> None:
    """A scorer that only looks at the first number of a row, downwards, takes the least."""
    network = network_for(ROWS, "scorer:hidden=8")
    weights = {name: np.zeros_like(weight) for name, weight in network.weights().items()}
    weights["actor.linear.weight"][0, 0] = -1.0
    network.load_weights(weights)
    for trajectory in collect(ROWS, network, range(10), greedy=True):
        for kept, column in zip(trajectory.kept, trajectory.columns, strict=True):
            assert kept["actions"][column, 0] == kept["actions"][:, 0].min()


def test_only_allowed_rows_are_kept() -> None:
    """No dense arrays of all actions in a trajectory of the default network."""
    for trajectory in collect(ROWS, network_for(ROWS, "scorer:hidden=8"), range(4)):
        for kept, action in zip(trajectory.kept, trajectory.actions, strict=True):
            assert kept["actions"].shape == (len(kept["allowed"]), 3)
            assert action in kept["allowed"]


def test_metrics_of_the_end() -> None:
    """What the environment says at the end is kept."""
    assert collect(ROWS, network_for(ROWS, "scorer:hidden=8"), [1])[0].metrics == {"left": 0}


def test_options_reach_the_environment() -> None:
    """Each episode is reset with its own."""
    seen: list[Any] = []

    class Listening(CheapestRow):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            seen.append((seed, options))
            return super().reset(seed=seed, options=options)

    options = [{"episode": "a"}, None, {"episode": "c"}]
    collect(Make(Listening), network_for(ROWS, "scorer:hidden=8"), [1, 2, 3], options=options)
    assert seen == list(zip([1, 2, 3], options, strict=True))


def test_environments_are_made_once() -> None:
    """A process keeps them for the next iteration."""
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return CheapestRow()

    network = network_for(ROWS, "scorer:hidden=8")
    for iteration in range(3):
        collect(make, network, episode_seeds(0, iteration, 4), group=2)
    assert len(made) == 2


def test_any_executor_will_do() -> None:
    """Also one of threads; each task has a network of its own, and may not share environments: so one thread."""
    network = network_for(ROWS, "scorer:hidden=8")
    with ThreadPoolExecutor(1) as executor:
        found = collect(ROWS, network, range(4), group=2, executor=executor)
    assert told(found) == told(collect(ROWS, network, range(4), group=2))


def test_seeds_differ() -> None:
    """Iterations, episodes and trainings have seeds of their own."""
    seeds = [seed for training in range(3) for i in range(3) for seed in episode_seeds(training, i, 5)]
    assert len(set(seeds)) == len(seeds)
    assert episode_seeds(1, 2, 3) == episode_seeds(1, 2, 5)[:3]


def test_wrong_groups_and_options() -> None:
    """Told in a line."""
    network = network_for(ROWS, "scorer:hidden=8")
    with pytest.raises(InputError, match="a group of at least 1 episode, found 0"):
        collect(ROWS, network, [1], group=0)
    with pytest.raises(InputError, match="options for 2 episodes, found 1"):
        collect(ROWS, network, [1, 2], options=[None])
