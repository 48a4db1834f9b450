"""Agents for real logs: rewards that know true run times, parts of a log to test on, and the configurations that ship."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Workload
from cluster_sim.errors import InputError
from learning.tasks.job_node.environment import JobNode
from learning.training.configuration import read_config
from tests.support.job_node_cases import at_random, play, small_workloads
from tests.support.rows import workload_of

CONFIGURATIONS = Path(__file__).resolve().parents[2] / "examples" / "training"
SMALL = Platform.homogeneous(nodes=3, cores=8)


@settings(max_examples=25)
@given(small_workloads(), st.sampled_from(["energy", "bounded-slowdown"]))
def test_clairvoyant_shaping_adds_a_constant_of_the_start(workload: Workload, name: str) -> None:
    """Whatever a policy does, returns with and without the clairvoyant potential differ by that at the start."""
    differences = []
    for seed in range(3):
        returns = []
        for options in ("shaped=yes,clairvoyant=yes", "shaped=no"):
            env = JobNode(SMALL, workload, reward=f"{name}:scaled=no,{options}", wait="event")
            returns.append(sum(play(env, at_random(seed))[0]))
        differences.append(returns[0] - returns[1])
    assert differences == pytest.approx([differences[0]] * 3, rel=1e-6, abs=1e-6 * (1.0 + abs(differences[0])))


def test_what_a_wait_costs_is_known_at_once() -> None:
    """Two jobs of 20 s that asked for 1000 s, one core: the second starts 20 s late, so its slowdown is 2 and the mean 1.5.

    The start of the first costs nothing but that wait: (40 - 20) s / 20 s / 2 jobs = 0.5. The second then costs nothing.
    """
    one = Platform.homogeneous(nodes=1, cores=1)
    jobs = workload_of((0.0, 1, 20.0, 1000.0), (0.0, 1, 20.0, 1000.0))
    env = JobNode(one, jobs, reward="bounded-slowdown:scaled=no,clairvoyant=yes", merge_equal=False)
    got, info = play(env, lambda env, observation, info: int(info["action_mask"].argmax()))
    assert info["metrics"]["mean_bounded_slowdown"] == pytest.approx(1.5)
    assert got == pytest.approx([-0.5, 0.0])


def test_energy_is_foreseen_by_true_run_times() -> None:
    """Nothing can be done better or worse on one core, so with the true potential every reward is 0 but for the start."""
    one = Platform.homogeneous(nodes=1, cores=1, power={"static_w": 4.0, "dynamic_w": 6.0, "min_power": 0.5})
    jobs = workload_of((0.0, 1, 5.0, 1000.0), (0.0, 1, 3.0, 10.0))
    env = JobNode(one, jobs, reward="energy:scaled=no,clairvoyant=yes", merge_equal=False)
    got, info = play(env, lambda env, observation, info: int(info["action_mask"].argmax()))
    assert info["metrics"]["energy_j"] == pytest.approx(80.0)
    assert np.array(got) == pytest.approx([0.0, 0.0], abs=1e-9)


def test_npb_batches_are_those_of_the_paper() -> None:
    """One core each, within two minutes, of the seven benchmarks; ep.C takes 80.94e10 / 1.16 / 3.4e9 s at 3.4 GHz."""
    jobs = Workload.read("npb:jobs=200,seed=1").jobs
    assert set(jobs["profile"]) == {f"{name}.C" for name in ("bt", "cg", "ep", "is", "lu", "sp", "ua")}
    assert set(jobs["requested_cores"]) == {1}
    assert jobs["submit_time"].is_monotonic_increasing
    assert jobs["submit_time"].iloc[-1] < 120.0
    assert jobs[jobs["profile"] == "ep.C"]["requested_time"].to_numpy() == pytest.approx(205.22, abs=0.01)
    burst = Workload.read("npb:jobs=200,at_once=150,seed=1").jobs
    assert (burst["submit_time"] == 0.0).sum() == 150
    assert burst["profile"].tolist() == jobs["profile"].tolist()
    for wrong in ("jobs=0", "jobs=9,at_once=10", "at_once=-1"):
        with pytest.raises(InputError, match="npb"):
            Workload.read(f"npb:{wrong}")


@pytest.mark.parametrize("path", sorted(CONFIGURATIONS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_configurations_that_ship_are_read(path: Path) -> None:
    """Every key exists, and the machine is named."""
    assert read_config(path).environment.platform
