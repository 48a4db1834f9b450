"""Rewards: returns are minus the metrics of the run; shaping adds a constant of the start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError, SpecError
from learning.tasks.environment import SchedulingEnv
from learning.tasks.episodes import Whole
from learning.tasks.job_node.environment import JobNode
from learning.tasks.job_node.rewards import rewards
from learning.tasks.job_node.teachers import SchedulerTeacher
from learning.tasks.policy_selection.decision_maker import PolicyChoice
from tests.support.job_node_cases import at_random, experiment, play, small_workloads

SMALL = Platform.homogeneous(nodes=3, cores=8)
METRICS = {
    "energy": "energy_j",
    "edp": "edp_js",
    "makespan": "makespan_s",
    "wait": "mean_wait_s",
    "bounded-slowdown": "mean_bounded_slowdown",
}


@settings(max_examples=20)
@given(small_workloads(), st.integers(0, 9), st.sampled_from(sorted(METRICS)), st.sampled_from(["no", "event"]))
def test_returns_are_the_metrics(workload: Workload, seed: int, name: str, wait: str) -> None:
    """Unscaled and unshaped, rewards add up to minus the metric that they are named after."""
    env = JobNode(SMALL, workload, reward=f"{name}:scaled=no,shaped=no", wait=wait)
    got, info = play(env, at_random(seed))
    assert sum(got) == pytest.approx(-info["metrics"][METRICS[name]], rel=1e-9, abs=1e-9)


@settings(max_examples=10)
@given(small_workloads(), st.integers(0, 9))
def test_a_price_of_waiting_is_added_to_the_energy(workload: Workload, seed: int) -> None:
    """The return is that of the energy, and of the mean wait times price and jobs."""
    env = JobNode(SMALL, workload, reward="energy-and-wait:price=3,scaled=no,shaped=no", wait="event")
    got, info = play(env, at_random(seed))
    expected = info["metrics"]["energy_j"] + 3.0 * len(workload) * info["metrics"]["mean_wait_s"]
    assert sum(got) == pytest.approx(-expected, rel=1e-9)


@settings(max_examples=15)
@given(small_workloads(), st.sampled_from([*sorted(METRICS), "energy-and-wait"]), st.sampled_from([1.0, 0.9]))
def test_shaping_adds_a_constant_of_the_start(workload: Workload, name: str, gamma: float) -> None:
    """Whatever a policy does, the discounted returns with and without shaping differ by the potential at the start."""
    differences = []
    for seed in range(3):
        returns = {}
        for shaped in ("yes", "no"):
            env = JobNode(SMALL, workload, reward=f"{name}:scaled=no,shaped={shaped},gamma={gamma}", wait="event")
            got, _ = play(env, at_random(seed))
            returns[shaped] = float(np.array(got) @ gamma ** np.arange(len(got)))
        differences.append(returns["yes"] - returns["no"])
    scale = 1.0 + abs(differences[0])
    assert differences == pytest.approx([differences[0]] * 3, rel=1e-6, abs=1e-6 * scale)


def test_published_rewards_by_hand() -> None:
    """-ΔE and -ΔE·Δt of two jobs one after the other on one core: 10 W while busy, 5 s and 3 s."""
    one = Platform.homogeneous(nodes=1, cores=1, power={"static_w": 4.0, "dynamic_w": 6.0, "min_power": 0.5})
    jobs = Workload({"submit_time": [0.0, 0.0], "requested_cores": [1, 1], "recorded_run_time": [5.0, 3.0]})
    for reward, expected in (
        ("energy:scaled=no,shaped=no", [-50.0, -30.0]),
        ("edp:scaled=no,shaped=no", [-250.0, -(80.0 * 8.0 - 250.0)]),
        ("edp-as-published", [-250.0, -90.0]),
        ("makespan:scaled=no,shaped=no", [-5.0, -3.0]),
        ("wait:scaled=no,shaped=no", [-2.5, 0.0]),
        ("energy-and-wait:price=2,scaled=no,shaped=no", [-50.0 - 2.0 * 5.0, -30.0]),
        ("bounded-slowdown:scaled=no,shaped=no", [-0.5, -0.5]),
    ):
        got, _ = play(JobNode(one, jobs, reward=reward, merge_equal=False), lambda env, observation, info: _first(info))
        assert got == pytest.approx(expected), reward


def _first(info: dict[str, np.ndarray]) -> int:
    return int(info["action_mask"].argmax())


@pytest.mark.parametrize("name", ["energy", "edp"])
def test_scaled_returns_are_around_minus_one(name: str) -> None:
    """Over the expected cost at the start: near 1 on a machine of four nodes and on one of forty, if jobs are well placed."""
    teacher = SchedulerTeacher("contention-aware:metric=delay,placements=one")
    for number in ("2", "3"):
        env = JobNode(episodes=experiment(number), reward=f"{name}:shaped=no")
        got, _ = play(env, lambda env, observation, info: teacher(env))
        assert -5.0 < sum(got) < -1.0


@pytest.mark.parametrize("shaped", ["yes", "no"])
def test_against_a_rule_its_own_return_is_minus_one(shaped: str) -> None:
    """On any jobs, bound by memory or not; who needs less of what can be saved has that share of it."""
    rule, other = "list:first/high_gflops", "list:first/high_cores"
    machine = experiment("4-mem").platform
    for memory in ("0", "0.5", "1"):
        jobs = Workload.read(f"lopez-mixed:jobs=40,memory={memory}")
        reward = f"energy:against={rule},shaped={shaped}"
        returns, energies = {}, {}
        for spec in (rule, other):
            returns[spec], energies[spec] = _return_of(spec, JobNode(machine, jobs, reward=reward, placements="all"))
        assert energies[rule] == pytest.approx(_energy(machine, jobs, rule))
        assert returns[rule] == pytest.approx(-1.0)
        assert (returns[other] > -1.0) == (energies[other] < energies[rule])


def test_against_a_rule_that_nobody_can_beat_returns_stay_small() -> None:
    """Jobs that fill a node one after the other: all do as well, and what rounding leaves is no scale."""
    for seed in range(3):
        times = np.random.default_rng(seed).uniform(10.0, 90.0, 6)
        table = {
            "submit_time": [0.0] * 6,
            "requested_cores": [2] * 6,
            "requested_time": times,
            "recorded_run_time": times,
        }
        env = JobNode(Platform.homogeneous(nodes=1, cores=2), Workload(table), reward="energy:against=list:first/first")
        for rule in ("list:first/first", "list:ljf/first"):
            assert _return_of(rule, env)[0] == pytest.approx(0.0, abs=1e-6)


def test_what_it_is_held_against_is_a_scale() -> None:
    """So there has to be one."""
    with pytest.raises(SpecError, match="scaled=yes"):
        rewards.make("energy:against=fcfs,scaled=no")


def test_a_rule_that_there_is_not_is_refused() -> None:
    """When the reward is made, not in the first episode."""
    with pytest.raises(SpecError, match="nobody"):
        rewards.make("energy:against=nobody")


def test_beside_another_decision_maker_nothing_is_foreseen() -> None:
    """Only JobNode's foresees anything: beside others plain rewards are minus the metric, and the rest is refused in one line."""
    jobs = Workload({"submit_time": [0, 0], "requested_cores": [4, 4], "recorded_run_time": [10, 20]})

    def made(spec: str) -> SchedulingEnv:
        return SchedulingEnv(PolicyChoice(SMALL, policies="first/high_cores"), Whole(SMALL, jobs), rewards.make(spec))

    for spec in ("energy", "wait:scaled=no", "makespan:shaped=no", "bounded-slowdown:clairvoyant=yes"):
        with pytest.raises(InputError, match=rf"reward '{spec}': expected scaled=no,shaped=no, .* found PolicyChoice"):
            made(spec).reset(seed=0)
    got, _ = play(made("makespan:scaled=no,shaped=no"), lambda env, observation, info: 0)  # type: ignore[arg-type]
    assert sum(got) == -20.0


def _return_of(spec: str, env: JobNode) -> tuple[float, float]:
    """The sum of the rewards when a scheduler decides, and the energy of the run, J."""
    teacher = SchedulerTeacher(spec)
    got, info = play(env, lambda env, observation, info: teacher(env))
    return sum(got), float(info["metrics"]["energy_j"])


def _energy(machine: Platform, jobs: Workload, scheduler: str) -> float:
    return float(Simulation(machine, jobs, make_scheduler(scheduler)).run().summary()["energy_j"])


def test_the_expected_cost_is_a_lower_bound_where_nothing_contends() -> None:
    """Without contention no run has less energy than what is expected of it at the start."""
    jobs = Workload(
        {
            "submit_time": np.arange(12.0),
            "requested_cores": np.arange(12) % 8 + 1,
            "recorded_run_time": np.full(12, 20.0),
            "requested_time": np.full(12, 20.0),
        }
    )
    for seed in range(5):
        env = JobNode(SMALL, jobs, reward="energy:shaped=no")
        got, _ = play(env, at_random(seed))
        assert sum(got) <= -1.0 + 1e-12


def test_every_reward_has_a_name_and_help() -> None:
    """As they are listed."""
    assert {*METRICS, "edp-as-published"} <= set(rewards)
    assert all(rewards.help(name) for name in rewards)
