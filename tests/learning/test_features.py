"""The default observation and the published one: bounds, what features say, and that they suffice for the greedy rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from learning.tasks.episodes import Whole
from learning.tasks.job_node.environment import JobNode
from learning.tasks.job_node.features import PAIR_FEATURES, STATE_FEATURES
from learning.tasks.job_node.observations import PUBLISHED
from tests.support.job_node_cases import at_random, cases, experiment, play
from tests.support.rows import workload_of

COLUMN = {name: i for i, name in enumerate(PAIR_FEATURES)}


@settings(max_examples=30)
@given(case=cases(), seed=st.integers(0, 9), observation=st.sampled_from(["default", "p2", "p3"]))
def test_observations_stay_in_their_space(case: Any, seed: int, observation: str) -> None:
    """On random machines, for random jobs: every value within its bounds, and rows that are not allowed are zeros."""
    choose = at_random(seed)
    env = JobNode(episodes=Whole(case.platform, Workload(case.jobs)), observation=observation, wait="event", num_jobs=4)

    def check(env: JobNode, seen: dict[str, np.ndarray], info: dict[str, Any]) -> int:
        assert env.observation_space.contains(seen)
        rows = seen["actions" if observation == "default" else "observation"]
        assert not rows[seen["action_mask"] == 0].any()
        return choose(env, seen, info)

    observed, info = env.reset(seed=seed)
    while not env._is_over:
        observed, *_, info = env.step(check(env, observed, info))


@pytest.mark.parametrize(
    ("name", "greedy", "order", "estimate"),
    [
        ("2", "contention-aware:metric=delay,placements=one", "smallest_rank", "least_delay"),
        ("2", "contention-aware:metric=energy,placements=one", "smallest_rank", "least_energy"),
        ("2", "contention-aware:metric=edp,placements=one", "smallest_rank", "least_edp"),
        ("3", "contention-aware:metric=delay,placements=one", "smallest_rank", "least_delay"),
        ("2", "contention-aware:metric=delay,order=first,placements=one", "oldest_rank", "least_delay"),
        ("2", "contention-aware:metric=delay,order=shortest,placements=one", "shortest_rank", "least_delay"),
    ],
)
def test_weighted_features_are_the_contention_aware_greedy(name: str, greedy: str, order: str, estimate: str) -> None:
    """A scorer that adds up two features takes every decision as the scheduler: the predictions are the same."""
    source = experiment(name)
    expected = Simulation(source.platform, source.workload, make_scheduler(greedy)).run()

    def scored(env: JobNode, observation: dict[str, np.ndarray], info: dict[str, Any]) -> int:
        rows = observation["actions"]
        score = rows[:, COLUMN[estimate]] - 1e3 * rows[:, COLUMN[order]]
        return int(np.where(observation["action_mask"], score, -np.inf).argmax())

    env = JobNode(episodes=source, reward="energy:scaled=no,shaped=no")
    play(env, scored)
    columns = ["job_id", "start_time", "finish_time"]
    assert env.result().jobs[columns].equals(expected.jobs[columns])


def test_waiting_is_told_what_it_could_gain() -> None:
    """The fast node is busy for 10 s more; on the slow one a job takes twice its least time."""
    from .test_job_node_actions import jobs, machine

    env = JobNode(machine(), jobs([8, 4]), placements="all", wait="event")
    observation, _ = env.reset()
    wait = observation["actions"][-1]
    assert wait[COLUMN["wait"]] == 1.0
    assert wait[COLUMN["gain_delay"]] == 0.0  # both could have their least time now
    observation, *_ = env.step(2)  # the eight cores of the fast node
    assert observation["actions"][-1][COLUMN["gain_delay"]] == pytest.approx(0.5)
    # 10 s requested on the slowest are 5 s on the fast node; so is the mean least time of who waits.
    assert observation["actions"][-1][COLUMN["next_end"]] == pytest.approx(0.5)


def test_contention_is_seen() -> None:
    """Two memory-bound jobs on one processor slow each other, on two they do not."""
    contention = {"b": -1.85e-05, "c": 21000.0, "da": 1.0, "db": 150.0, "dc": 25000.0, "dd": 20.0}
    platform = Platform.homogeneous(nodes=2, cores=8, contention=contention)
    table = {"submit_time": [0.0, 0.0], "requested_cores": [1, 1], "recorded_run_time": [10.0, 10.0]}
    jobs = Workload(table | {"requested_time": [10.0, 10.0], "mem_vol": [2e5, 2e5]})  # 20 000 MB/s each
    env = JobNode(platform, jobs, placements="all")
    env.reset()
    observation, *_ = env.step(0)
    beside, alone = observation["actions"][:2]
    assert (beside[COLUMN["contended"]], alone[COLUMN["contended"]]) == (1.0, 0.0)
    assert min(beside[COLUMN["slowed"]], beside[COLUMN["others"]]) > 0.0
    assert alone[COLUMN["slowed"]] == alone[COLUMN["others"]] == 0.0
    assert alone[COLUMN["least_delay"]] == 1.0


def test_published_features_by_hand() -> None:
    """p3 in its own units, of one job on a node with another job on it, 2 s after its submission."""
    platform = Platform.homogeneous(
        nodes=1, cores=8, ghz=2.0, power={"static_w": 30.0, "dynamic_w": 2.0, "min_power": 0.5}
    )
    jobs = workload_of((0.0, 2, 10.0, 12.0), (1.0, 4, 10.0, 15.0), (3.0, 1, 10.0, 9.0))
    env = JobNode(platform, jobs, observation="p3:norm=none", wait="event", placements="all", num_jobs=2)
    env.reset()
    env.step(0)  # job 0 starts at 0
    observation, *_ = env.step(2)  # job 1 waits at 1, until job 2 comes at 3
    expected = [2.0, 15.0, 1.0, 4.0, 6 / 8, 30.0, 2 * 2.0, 2.0, 15.0 * (30.0 / 2 + 4 * 2.0), 1.0]
    assert dict(zip(PUBLISHED, observation["observation"][0].tolist(), strict=True)) == pytest.approx(
        dict(zip(PUBLISHED, expected, strict=True))
    )
    normalised = JobNode(platform, jobs, observation="p2", num_jobs=2).reset()[0]["observation"]
    assert np.linalg.norm(normalised) == pytest.approx(1.0)
    assert normalised.shape == (2, 9)
    by_sum = JobNode(platform, jobs, observation="p2:norm=sum", num_jobs=2).reset()[0]["observation"]
    assert by_sum.sum() == pytest.approx(1.0)
    assert by_sum * normalised.sum() == pytest.approx(normalised)


def test_features_can_be_left_out() -> None:
    """Any subset, in the order of the tables: P2's ablation without energy, and parts of the default."""
    without_energy = "+".join(name for name in PUBLISHED[:9] if "power" not in name and "energy" not in name)
    env = JobNode(observation=f"p2:features={without_energy}")
    assert env.observation_space["observation"].shape[1] == 6  # type: ignore[index]
    env = JobNode(observation="default:features=free+edp_regret+cores")
    assert env.observation_space["actions"].shape[1] == 2  # type: ignore[index]
    assert env.observation_space["state"].shape == (1,)  # type: ignore[index]
    assert not set(PAIR_FEATURES) & set(STATE_FEATURES)
