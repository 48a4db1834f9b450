"""PolicySelection: what it asks when, and that a constant choice is the list scheduler of that name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import SpecError
from learning.tasks.built_in_cases import job_node_case
from learning.tasks.episodes import Whole
from learning.tasks.policy_selection.decision_maker import SETS, VOID, named_policies
from learning.tasks.policy_selection.environment import PolicySelection
from learning.tasks.policy_selection.rewards import selection_rewards
from tests.support.rows import workload_of


def play(env: PolicySelection, choose: Callable[..., Any], seed: int = 0) -> tuple[float, dict[str, float], int]:
    """An episode's return, metrics and number of steps."""
    env.reset(seed=seed)
    total, steps, over = 0.0, 0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(choose(env.action_masks()))
        total, steps, over = total + reward, steps + 1, terminated or truncated
    return total, info["metrics"], steps


def case() -> Whole:
    """The built-in jobs, the same every time."""
    source = job_node_case()
    return Whole(source.platform, source.all()[0].workload)


def test_there_are_37_policies() -> None:
    """36 pairs and void, in both tables; subsets by name."""
    assert {len(set(names)) for names in SETS.values()} == {37}
    assert named_policies("first/high_cores+void") == ("first/high_cores", "void")
    for wrong in ("first", "void", "first/first+first/first", "first/nowhere"):
        with pytest.raises(SpecError):
            named_policies(wrong)


@pytest.mark.parametrize("policy", ["first/high_gflops", "smallest/high_mem_bw", "shortest/low_power"])
def test_one_policy_is_its_list_scheduler_when_all_jobs_are_there(policy: str) -> None:
    """With all jobs submitted at once, always the same policy gives the schedule of list:policy."""
    source = case()
    table = source.workload.jobs.assign(submit_time=0.0)
    together = Whole(source.platform, Workload(table))
    env = PolicySelection(together, policies=[policy, VOID])
    play(env, lambda mask: 0)
    expected = Simulation(together.platform, together.workload, make_scheduler(f"list:{policy}")).run()
    result = env.result()
    assert result.jobs.equals(expected.jobs)
    assert result.allocations.equals(expected.allocations)


def test_when_the_agent_is_asked() -> None:
    """At 0 s (empty queue), at 10 s the queue is not empty: no question; at 100 s the first job ends: the next question."""
    workload = workload_of((0.0, 3, 100.0, 100.0), (5.0, 4, 100.0, 100.0), (10.0, 1, 100.0, 100.0))
    env = PolicySelection(Whole(Platform.homogeneous(nodes=1, cores=4), workload), policies="first/first+void")
    env.reset(seed=0)
    assert env.simulation is not None
    times = [env.simulation.view.now]
    assert env.action_masks().tolist() == [True, False]  # nothing runs: void could wait for ever
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step(0)
        over = terminated or truncated
        times += [] if over else [env.simulation.view.now]
    # At 5 s a job comes to an empty queue and one core is free; it does not fit, and the one at 10 s waits behind it.
    assert times == [0.0, 5.0, 100.0, 200.0]
    assert env.result().jobs["start_time"].tolist() == [0.0, 100.0, 200.0]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("released", [0.0, 100.0, 200.0]),
        ("waiting", [0.0, 5.0, 10.0, 100.0, 200.0]),
        ("always", [0.0, 5.0, 10.0, 100.0, 200.0, 250.0, 270.0]),
    ],
)
def test_the_public_program_asks_more_often(asked: str, expected: list[float]) -> None:
    """As published: at releases while jobs wait. Else also at submissions that nothing can follow, or when nothing waits."""
    workload = workload_of((0.0, 4, 100.0, 100.0), (5.0, 4, 100.0, 100.0), (10.0, 2, 50.0, 50.0), (10.0, 2, 70.0, 70.0))
    env = PolicySelection(Whole(Platform.homogeneous(nodes=1, cores=4), workload), policies="first/first", asked=asked)
    env.reset(seed=0)
    assert env.simulation is not None
    times, over = [env.simulation.view.now], False
    while not over:
        _, _, over, _, _ = env.step(0)
        times += [] if over else [env.simulation.view.now]
    assert times == expected


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_random_policies_and_void_end(seed: int) -> None:
    """Void cannot stall: whatever is chosen, every job ends."""
    rng = np.random.default_rng(seed)
    env = PolicySelection(observation="as-published:small")

    def often_void(mask: np.ndarray) -> int:
        return len(mask) - 1 if mask[-1] and rng.random() < 0.7 else int(rng.choice(np.flatnonzero(mask)))

    _, metrics, _ = play(env, often_void, seed)
    assert metrics["jobs_completed"] == metrics["jobs_submitted"] == 24


@pytest.mark.parametrize(
    ("objective", "key"),
    [
        ("energy", "energy_j"),
        ("makespan", "makespan_s"),
        ("edp", "edp_js"),
        ("slowdown", "mean_slowdown"),
        ("bounded-slowdown", "mean_bounded_slowdown"),
        ("wait", "mean_wait_s"),
    ],
)
def test_the_return_is_minus_the_metric(objective: str, key: str) -> None:
    """With scale 1, of any choices."""
    rng = np.random.default_rng(4)
    env = PolicySelection(reward=f"metric:{objective},scale=1")
    total, metrics, _ = play(env, lambda mask: int(rng.choice(np.flatnonzero(mask))))
    assert total == pytest.approx(-metrics[key], rel=1e-9)


def test_the_published_rewards_by_hand() -> None:
    """One job of 2 cores, 10 s: the last step pays the rate of nobody, or -watts · 10 (· 10) with the machine idle again."""
    power = {"static_w": 20.0, "dynamic_w": 5.0, "min_power": 0.5}
    machine = Platform.homogeneous(nodes=1, cores=4, power=power)
    workload = workload_of((0.0, 2, 10.0, 10.0))
    values = {}
    for objective in ("makespan", "energy", "edp"):
        env = PolicySelection(Whole(machine, workload), policies="first/first", reward=f"as-published:{objective}")
        values[objective] = play(env, lambda mask: 0)[0]
    assert values == {"makespan": 0.0, "energy": -100.0, "edp": -1000.0}


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        ("energy", [-300.0, -200.0]),  # 10 s of 30 W; 10 s of 20 W
        ("edp", [-3000.0, -2000.0]),
        ("energy,program=2023", [0.0, -300.0]),
        ("edp,program=2023", [0.0, 3000.0]),
    ],
)
def test_the_rewards_as_run_by_hand(reward: str, expected: list[float]) -> None:
    """Job after job on a machine of 10 W and 10 W a core: 2 cores for 10 s, then one of two in the queue, 1 core for 10 s."""
    machine = Platform.homogeneous(nodes=1, cores=2, power={"static_w": 10.0, "dynamic_w": 10.0, "min_power": 1.0})
    workload = workload_of((0.0, 2, 10.0, 10.0), (0.0, 1, 10.0, 10.0))
    env = PolicySelection(Whole(machine, workload), policies="first/first", reward=f"as-run:{reward}", asked="waiting")
    env.reset(seed=0)
    paid, over = [], False
    while not over:
        _, value, over, _, _ = env.step(0)
        paid.append(value)
    assert paid == pytest.approx(expected)


def test_the_rewards_as_run_are_of_two_programs() -> None:
    """There was none in another year; the line says what may stand there."""
    where = "reward of policy-selection 'as-run:program=2020', option program"
    with pytest.raises(SpecError, match=f"^{where}: expected 2021 or 2023, found 2020$"):
        selection_rewards.make("as-run:program=2020")


@pytest.mark.parametrize(("level", "size"), [("normal", 4 + 3 * 104 + 21), ("small", 4 + 21), ("minimal", 21)])
def test_sizes_of_the_published_levels(level: str, size: int) -> None:
    """Nodes + 3 per core + 20 statistics + 1 ratio; the built-in machine has 4 nodes and 104 cores."""
    env = PolicySelection(observation=f"as-published:{level}")
    observation, _ = env.reset(seed=0)
    assert observation["observation"].shape == (size,)


@pytest.mark.parametrize("options", [{}, {"observation": "as-published:normal", "policies": "table-2"}, {"flat": True}])
def test_gymnasium_has_nothing_to_say(options: dict[str, object]) -> None:
    """check_env is silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(PolicySelection(**options), skip_render_check=True)  # type: ignore[arg-type]
