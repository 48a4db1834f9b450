"""What the tests of JobNode share: the papers' experiments, random cases, and ways to play an episode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from cluster_sim import Platform, Workload
from learning.tasks.episodes import Whole
from learning.tasks.job_node.environment import JobNode
from tests.support.contract.runs import cases

__all__ = ["at_random", "cases", "experiment", "play", "small_workloads"]

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases" / "irmasim"

Choose = Callable[[JobNode, Any, dict[str, Any]], int]


def experiment(name: str) -> Whole:
    """An experiment of López (2023)."""
    folder = CASES / f"experiment{name}"
    if not folder.is_dir():
        pytest.skip("the papers' experiments are not there: ../shared/cases/irmasim")
    return Whole(Platform.read(folder / "platform.json"), Workload.read(folder / "workload.json"))


def at_random(seed: int) -> Choose:
    """A policy that takes any allowed action."""
    rng = np.random.default_rng(seed)
    return lambda env, observation, info: int(rng.choice(np.flatnonzero(info["action_mask"])))


def play(env: JobNode, choose: Choose, **reset: Any) -> tuple[list[float], dict[str, Any]]:
    """One episode: the rewards, and the info of the last step."""
    observation, info = env.reset(**reset)
    rewards: list[float] = []
    while True:
        assert info["action_mask"].any()
        observation, reward, terminated, truncated, info = env.step(choose(env, observation, info))
        rewards.append(reward)
        if terminated or truncated:
            return rewards, info


@st.composite
def small_workloads(draw: st.DrawFn, widest: int = 8) -> Workload:
    """Up to ten jobs, many of them equal and at equal times; some ask for no time, some move much memory."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 5).map(float),
                st.integers(1, widest),
                st.sampled_from([1.0, 1.0, 2.0, 4.5]),
                st.sampled_from([float("inf"), 1.0, 2.0, 5.0]),
                st.sampled_from([0.0, 10.0, 1e5]),
            ),
            min_size=1,
            max_size=10,
        )
    )
    rows.sort(key=lambda row: row[0])
    names = ("submit_time", "requested_cores", "recorded_run_time", "requested_time", "mem_vol")
    return Workload({name: np.array([row[i] for row in rows]) for i, name in enumerate(names)})
