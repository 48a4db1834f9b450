"""NodeShutdown: an agent in the power policy's place, its waste by hand, and what no actions can break."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, PowerTransitions, Simulation, Workload, make_scheduler
from cluster_sim.errors import SimulationError, SpecError
from cluster_sim.run import View
from cluster_sim.run.decisions import Offer, SwitchOff, WakeAt, Withhold
from cluster_sim.run.policies import Steered
from learning.tasks.built_in_cases import built_in_day
from learning.tasks.episodes import Whole
from learning.tasks.node_shutdown.decision_maker import Reservations
from learning.tasks.node_shutdown.environment import NodeShutdown
from learning.tasks.node_shutdown.foresight import ROW
from learning.tasks.waste_meter import Metered

PUBLISHED: dict[str, Any] = {
    "observation": "as-published",
    "reward": "as-published",
    "skip": False,
    "patience": math.inf,
    "idle": "stay",
}
COSTS = PowerTransitions(switch_on_s=60.0, switch_on_w=125.0, switch_off_s=180.0, switch_off_w=101.0)


def platform(nodes: int = 2, cores: int = 1) -> Platform:
    """Nodes that draw 95 W idle and as much again for each busy core; all are on at first."""
    power = {"static_w": 95.0, "dynamic_w": 95.0, "min_power": 1.0}
    return Platform.homogeneous(nodes=nodes, cores=cores, power=power, transitions=COSTS)


def jobs(*rows: tuple[float, int, float, float]) -> Workload:
    """Jobs of (submission, cores, requested time, run time)."""
    names = ("submit_time", "requested_cores", "requested_time", "recorded_run_time")
    return Workload({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})


def stepped(simulation: Simulation) -> View:
    """The view at the next power decision."""
    view = simulation.step_to_power_decision()
    assert view is not None
    return view


def play(env: NodeShutdown, choose: Callable[..., Any], seed: int = 0) -> tuple[list[float], dict[str, float]]:
    """An episode's rewards and metrics."""
    observation, info = env.reset(seed=seed)
    rewards, over = [], False
    while not over:
        observation, reward, terminated, truncated, info = env.step(choose(env.action_masks(), observation))
        rewards.append(reward)
        over = terminated or truncated
    return rewards, info["metrics"]


def test_steering_stops_before_the_scheduler() -> None:
    """At 60 s a job comes; the steered policy sees it wait, withholds one node, and the scheduler uses the other."""
    simulation = Simulation(platform(), jobs((60.0, 1, 100.0, 100.0)), make_scheduler("fcfs"), Steered())
    assert stepped(simulation).now == 0.0
    view = stepped(simulation)
    assert (view.now, view.pending_count, view.running_count) == (60.0, 1, 0)
    simulation.decide_power(Withhold(0), SwitchOff(0), WakeAt(90.0))
    view = stepped(simulation)
    assert (view.now, view.running_count) == (90.0, 1)
    assert list(view.running[0].placement.nodes) == [1]
    while simulation.step_to_power_decision() is not None:
        pass
    assert simulation.result().jobs["finish_time"].tolist() == [160.0]


def test_an_offer_is_for_the_pass_that_follows() -> None:
    """What is offered in the steered slot starts the job in the same instant, and the slot does not come again in it."""
    simulation = Simulation(platform(1), jobs((0.0, 1, 100.0, 100.0)), make_scheduler("fcfs"), Steered())
    simulation.step_to_power_decision()
    simulation.decide_power(Withhold(0), WakeAt(30.0))
    assert stepped(simulation).now == 30.0
    simulation.decide_power(Offer(0))
    assert stepped(simulation).now == 130.0  # the job's end
    assert simulation.step_to_power_decision() is None
    assert simulation.result().jobs["start_time"].tolist() == [30.0]


def test_stepping_needs_a_scheduler_and_a_steered_policy() -> None:
    """Anything else is refused in one line."""
    with pytest.raises(SimulationError, match="Steered"):
        Simulation(platform(), jobs((0.0, 1, 1.0, 1.0)), make_scheduler("fcfs")).step_to_power_decision()


def test_the_published_reward_by_hand() -> None:
    """One node, all reserved at 0 s and offered at 300 s, a job of 1 core and 400 s requested: minutes by hand.

    Reserved, the node shuts down for 180 s at 101 W: minutes 1 to 3 waste 101 W·min each. It is OFF in minutes 4 and 5.
    The job came at 60 s; its wait reaches half of 400 s at 260 s, so it is late at the decision at 300 s: 1 core more. At
    300 s the node is offered, boots for 60 s at 125 W (the job is no longer in the queue), and computes.
    """
    env = NodeShutdown(Whole(platform(1), jobs((60.0, 1, 400.0, 120.0))), **PUBLISHED)
    env.reset(seed=0)
    rewards = [env.step(action)[1] for action in (1, 1, 1, 1, 1, 0, 0, 0)]
    assert rewards == pytest.approx([-101.0, -101.0, -101.0, 0.0, -1.0, -125.0, 0.0, 0.0])
    assert env.result().summary()["energy_waste_wmin"] == pytest.approx(428.0)


def test_the_default_reward_adds_up() -> None:
    """The rewards add up to -scale · (waste in cycles + 5 · summed stretch + 0.2 · late jobs) of the run's own records."""
    env = NodeShutdown(Whole(platform(3), jobs(*[(90.0 * i, 1 + i % 3, 600.0, 130.0) for i in range(12)])))
    rng = np.random.default_rng(2)
    rewards, metrics = play(env, lambda mask, _: rng.choice(np.flatnonzero(mask)))
    result = env.result()
    cycle_j = 125.0 * 60.0 + 101.0 * 180.0
    table = result.jobs
    cost = metrics["energy_waste_by_core_j"] / cycle_j + 5.0 * table["stretch"].sum() + 0.2 * metrics["jobs_delayed"]
    assert metrics["jobs_unfinished"] == 0
    assert sum(rewards) == pytest.approx(-0.05 * cost, rel=1e-9)


def test_a_cost_adds_up_beside_the_reward() -> None:
    """The costs add up to the run's mean stretch, the rewards to minus its waste, and neither knows of the other."""
    episode = Whole(platform(3), jobs(*[(90.0 * i, 1 + i % 3, 600.0, 130.0) for i in range(12)]))
    env = NodeShutdown(episode, reward="default:stretch=0,late=0,by=node,scale=1", cost="mean-stretch")
    rng = np.random.default_rng(2)
    env.reset(seed=0)
    rewards, costs, over = [], [], False
    while not over:
        _, reward, over, _, info = env.step(rng.choice(np.flatnonzero(env.action_masks())))
        rewards.append(reward)
        costs.append(info["cost"])
    assert sum(costs) == pytest.approx(info["metrics"]["mean_stretch"], rel=1e-9)
    assert sum(rewards) == pytest.approx(-info["metrics"]["energy_waste_j"] / (125.0 * 60.0 + 101.0 * 180.0), rel=1e-9)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), idle=st.sampled_from(["stay", "sleep", "choose"]), skip=st.booleans())
def test_random_actions_lose_no_job(seed: int, idle: str, skip: bool) -> None:
    """Whatever is reserved, every job ends, and the meter has what the records say is wasted, by node and by core."""
    rng = np.random.default_rng(seed)
    rows = [
        (60.0 * int(rng.integers(0, 90)), int(rng.integers(1, 7)), 600.0, float(rng.integers(1, 900)))
        for _ in range(15)
    ]
    power = {"static_w": 2 * 95.0, "dynamic_w": 95.0, "min_power": 1.0}
    machine = Platform.homogeneous(nodes=3, cores=2, power=power, transitions=COSTS)
    env = NodeShutdown(Whole(machine, jobs(*sorted(rows))), idle=idle, skip=skip)
    _, metrics = play(env, lambda mask, _: rng.choice(np.flatnonzero(mask)))
    assert metrics["jobs_completed"] == 15
    assert env.simulation is not None
    policy = env.simulation.power_policy
    assert isinstance(policy, Metered)
    assert policy.meter is not None
    joules = policy.meter.joules(env.simulation.env.now)
    assert joules[0] == pytest.approx(metrics["energy_waste_j"], rel=1e-9)
    assert joules[1] == pytest.approx(metrics["energy_waste_by_core_j"], rel=1e-9)


@pytest.mark.parametrize("kind", ["default", "as-published"])
def test_a_request_of_no_seconds_counts_as_a_minute(kind: str) -> None:
    """As it is planned: the job waits behind another, and all that is seen and paid for that is finite."""
    workload = jobs((0.0, 2, 100.0, 100.0), (10.0, 1, 0.0, 5.0), (20.0, 1, 50.0, 5.0))
    env = NodeShutdown(Whole(platform(), workload), observation=kind, reward=kind)
    observation, _ = env.reset(seed=0)
    rng, over = np.random.default_rng(0), False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(rng.choice(env.action_masks().nonzero()[0]))
        assert np.isfinite(reward)
        assert all(np.isfinite(part).all() for part in observation.values())
        over = terminated or truncated


def test_a_published_day_has_1440_steps() -> None:
    """Every minute is a decision, and the seed decides everything."""
    env = NodeShutdown(built_in_day(), **PUBLISHED)
    runs = []
    for _ in range(2):
        rng = np.random.default_rng(1)
        runs.append(play(env, lambda mask, _, rng=rng: rng.choice(np.flatnonzero(mask)), seed=3))
    assert len(runs[0][0]) == 1440
    assert runs[0] == runs[1]


def test_skipping_leaves_out_only_what_decides_nothing() -> None:
    """Reserving the same number throughout, the run is the same with and without skipped minutes."""
    runs = []
    for skip in (False, True):
        env = NodeShutdown(built_in_day(), skip=skip, idle="sleep", patience=math.inf)
        _, metrics = play(env, lambda mask, _: 2, seed=5)
        runs.append(metrics)
    assert runs[0] == runs[1]


def test_rows_of_an_empty_machine() -> None:
    """Two of three OFF nodes offered, two jobs wait: both start, two nodes boot; none offered, none does."""
    costs = PowerTransitions(switch_on_s=60.0, switch_off_s=180.0)
    machine = Platform.homogeneous(nodes=3, cores=4, transitions=costs)
    env = NodeShutdown(
        Whole(machine, jobs((600.0, 4, 1200.0, 60.0), (600.0, 3, 1200.0, 60.0))), idle="sleep", skip=False
    )
    observation, _ = env.reset(seed=0)
    for _ in range(10):
        observation, *_ = env.step(3)
    two_offered, none_offered = (dict(zip(ROW, observation["actions"][a].tolist(), strict=True)) for a in (1, 3))
    assert (two_offered["jobs started"], none_offered["jobs started"]) == (1.0, 0.0)
    assert two_offered["nodes booted"] == pytest.approx(2 / 3)
    assert two_offered["cores left idle beside jobs"] == pytest.approx(1 / 12)
    assert none_offered["most stretched job fits"] == 0.0


def test_patience_ends_a_reservation() -> None:
    """After its requested time a job of one node has all masked but what offers a node beyond those in use."""
    env = NodeShutdown(Whole(platform(3), jobs((0.0, 1, 120.0, 60.0))), idle="stay")
    env.reset(seed=0)
    for _ in range(2):
        assert env.action_masks().all()
        env.step(3)
    assert env.action_masks().tolist() == [True, True, True, False]


def test_bad_options_are_named() -> None:
    """One line each."""
    for options in ({"step_s": 0.0}, {"idle": "doze"}, {"observation": "all"}):
        with pytest.raises(SpecError):
            Reservations(platform(), **options)


@pytest.mark.parametrize("options", [{}, PUBLISHED, {"flat": True}])
def test_gymnasium_has_nothing_to_say(options: dict[str, object]) -> None:
    """check_env is silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(NodeShutdown(**options), skip_render_check=True)  # type: ignore[arg-type]
