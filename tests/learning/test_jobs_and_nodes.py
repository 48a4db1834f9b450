"""JobsAndNodes: whoever plays a scheduler and a timeout is both; rewards by hand, and what no actions can break."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.errors import InputError, SpecError
from cluster_sim.platform.hardware import PowerTransitions
from learning.networks.building import make_network
from learning.tasks.episodes import Whole
from learning.tasks.jobs_and_nodes.environment import JobsAndNodes
from learning.tasks.jobs_and_nodes.observations import StartOrRest
from learning.tasks.jobs_and_nodes.teachers import SchedulerAndTimeout
from learning.training.agent import Agent
from learning.training.configuration import Config, EnvironmentKeys, ValidationKeys, WarmStartKeys
from learning.training.evaluation import evaluate
from learning.training.heuristics import JOINT
from learning.training.inputs import environment_on
from learning.training.training_seeds import train
from schedulers.policy.policy import make_pair
from tests.support.contract import full
from tests.support.contract.runs import Case, cases
from tests.support.rows import workload_of

Chooser = Callable[[JobsAndNodes, Any], int]


def machine(nodes: int = 2, cores: int = 1) -> Platform:
    """Nodes that idle at 100 W, compute at 200 W, boot for 60 s at 150 W, shut down for 30 s at 120 W, and draw 5 W OFF."""
    power = {"static_w": 100.0, "dynamic_w": 100.0 / cores, "min_power": 1.0}
    costs = PowerTransitions(off_w=5.0, switch_on_s=60.0, switch_on_w=150.0, switch_off_s=30.0, switch_off_w=120.0)
    return Platform.homogeneous(nodes=nodes, cores=cores, power=power, transitions=costs)


def play(env: JobsAndNodes, choose: Chooser, seed: int = 0) -> tuple[list[float], dict[str, Any]]:
    """An episode's rewards and metrics."""
    observation, info = env.reset(seed=seed)
    rewards, over = [], False
    while not over:
        observation, reward, terminated, truncated, info = env.step(choose(env, observation))
        assert "action_refused" not in info
        rewards.append(reward)
        over = terminated or truncated
    return rewards, info["metrics"]


def at_random(seed: int) -> Chooser:
    """Any allowed action, each as likely."""
    rng = np.random.default_rng(seed)
    return lambda env, _: int(rng.choice(np.flatnonzero(env.action_masks())))


def lublin(seed: int, jobs: int = 40) -> Workload:
    """A load of the model of Lublin and Feitelson, for 128 cores."""
    return Workload.read(f"lublin:jobs={jobs},nodes=128,estimates=tsafrir,seed={seed}")


@pytest.mark.parametrize(
    "rule",
    [
        "easy + timeout:300",
        "easy:order=saf + timeout:0",
        "saf-easy + timeout:600",
        "easy:order=sjf,nodes=low_power + timeout:1200",
        "easy + always-on",
        "fcfs + timeout:300",
        "list:saf/first,blocking=no + timeout:0",
    ],
)
def test_who_plays_a_rule_is_the_rule(rule: str) -> None:
    """The same jobs, nodes and joules as the scheduler beside the power policy; the return is minus the cost of its run."""
    platform = Platform.read("machine:taurus")
    for seed in range(3):
        jobs = lublin(seed)
        options: dict[str, Any] = {"nodes": "low_power"} if "low_power" in rule else {}
        env = JobsAndNodes(
            Whole(platform, jobs), reward="energy-and-wait:price=7,against=", cost="waste-and-stretch:stretch=0,late=0",
            patience=math.inf, num_jobs=128, **options,
        )  # fmt: skip
        rewards, metrics = play(env, SchedulerAndTimeout(rule))
        scheduler, power = make_pair(rule)
        run = Simulation(platform, jobs, scheduler, power).run(warn=False)
        assert env.result().jobs.equals(run.jobs)
        assert env.result().node_states.equals(run.node_states)
        assert metrics["energy_j"] == run.metrics["energy_j"]
        waited = run.jobs["wait_time"].sum()
        assert -sum(rewards) == pytest.approx(run.metrics["energy_j"] + 7.0 * waited, rel=1e-9)


def test_against_a_rule_its_own_return_is_minus_one() -> None:
    """Of energy and of waste; whoever costs less has that share of it."""
    platform, jobs = Platform.read("machine:taurus"), lublin(1)
    for of, metric in (("energy", "energy_j"), ("waste", "energy_waste_by_core_j")):
        returns, costs = {}, {}
        for rule in ("easy + timeout:300", "easy:order=saf + timeout:0"):
            env = JobsAndNodes(
                Whole(platform, jobs), reward=f"energy-and-wait:price=9,of={of},against=easy + timeout:300",
                patience=math.inf, num_jobs=128,
            )  # fmt: skip
            rewards, metrics = play(env, SchedulerAndTimeout(rule))
            returns[rule] = sum(rewards)
            costs[rule] = metrics[metric] + 9.0 * len(jobs) * metrics["mean_wait_s"]
        first, second = returns
        assert returns[first] == pytest.approx(-1.0, rel=1e-9)
        assert returns[second] == pytest.approx(-costs[second] / costs[first], rel=1e-9)
        assert returns[second] != pytest.approx(-1.0, rel=1e-3)


def test_shaped_rewards_are_what_the_rule_cost_more_in_the_same_time() -> None:
    """The rule itself is paid nothing at any step; another one the same in all, plus 1."""
    platform, jobs = Platform.read("machine:taurus"), lublin(2)
    returns = {}
    for rule in ("easy + timeout:300", "easy:order=saf + timeout:0"):
        for of in ("energy", "waste"):
            for shaped in ("yes", "no"):
                reward = f"energy-and-wait:of={of},shaped={shaped}"
                env = JobsAndNodes(Whole(platform, jobs), reward=reward, patience=math.inf, num_jobs=128)
                rewards, _ = play(env, SchedulerAndTimeout(rule))
                returns[rule, of, shaped] = sum(rewards)
                if of == "energy" and shaped == "yes" and rule == "easy + timeout:300":
                    assert rewards == pytest.approx([0.0] * len(rewards), abs=1e-9)
            assert returns[rule, of, "yes"] == pytest.approx(returns[rule, of, "no"] + 1.0, abs=1e-9)
    assert returns["easy:order=saf + timeout:0", "waste", "yes"] > 0.01
    with pytest.raises(SpecError, match="option shaped"):
        JobsAndNodes(reward="energy-and-wait:against=,shaped=yes")


def test_nodes_that_are_idle_before_the_first_job_go_to_sleep() -> None:
    """The first job comes at 1000 s: with a timeout of 300 s both nodes are OFF then, and one boots for it."""
    env = JobsAndNodes(Whole(machine(), workload_of((1000.0, 1, 50.0, 50.0))), patience=math.inf)
    play(env, SchedulerAndTimeout("easy + timeout:300"))
    run = Simulation(machine(), workload_of((1000.0, 1, 50.0, 50.0)), "easy", "timeout:300").run()
    assert env.result().node_states.equals(run.node_states)
    assert env.result().jobs["start_time"].tolist() == [1060.0]


def test_a_job_that_is_held_back_by_hand() -> None:
    """Two nodes, two jobs of 100 s at 0 and 40 s. The second waits for the first one's node while the other one sleeps.

    At 0 s the first starts, and the other node goes to sleep: 30 s at 120 W, then 5 W. At 40 s the second is held back,
    and the question comes again after 50 s, at 90 s, and at 100 s, when the first ends: it starts there, on a warm node.
    200 W for 200 s, 120 W for 30 s and 5 W for 170 s are 44 450 J; it has waited 60 s, at 3 J each.
    """
    jobs = workload_of((0.0, 1, 100.0, 100.0), (40.0, 1, 100.0, 100.0))
    env = JobsAndNodes(Whole(machine(), jobs), reward="energy-and-wait:price=3,against=", num_jobs=2, step_s=50.0)
    start, none_stay = 0, 2
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 0, 1, 1, 1]
    rewards, times = [], []
    for action in (start, none_stay, none_stay, none_stay, start, none_stay):
        assert env.simulation is not None
        times.append(env.simulation.env.now)
        rewards.append(env.step(action)[1])
    assert times == [0.0, 0.0, 40.0, 90.0, 100.0, 200.0]
    assert env.result().jobs["start_time"].tolist() == [0.0, 100.0]
    assert env.result().metrics["energy_j"] == pytest.approx(44_450.0)
    assert sum(rewards) == pytest.approx(-(44_450.0 + 3.0 * 60.0))
    at_40 = 40.0 * 200.0 + 30.0 * 120.0 + 10.0 * 5.0
    assert rewards[:2] == pytest.approx([0.0, -at_40])
    assert rewards[2] == pytest.approx(-(50.0 * 205.0 + 3.0 * 50.0))


def test_a_job_waits_while_its_node_boots() -> None:
    """Both nodes sleep; the job that comes at 200 s boots one, and waits for 60 s."""
    jobs = workload_of((200.0, 1, 100.0, 100.0))
    env = JobsAndNodes(Whole(machine(), jobs), reward="energy-and-wait:price=1000,against=", num_jobs=2)
    rewards, metrics = play(env, SchedulerAndTimeout("easy + timeout:0"))
    assert metrics["mean_wait_s"] == 60.0
    assert sum(rewards) == pytest.approx(-(metrics["energy_j"] + 1000.0 * 60.0))


def test_the_oldest_job_is_not_held_back_for_ever() -> None:
    """Who always ends the instant starts a job when it has waited as long as it asked to run, asked every 300 s."""
    jobs = workload_of((0.0, 1, 100.0, 1000.0), (0.0, 1, 100.0, 1000.0))

    def hold(env: JobsAndNodes, _: Any) -> int:
        allowed = np.flatnonzero(env.action_masks())
        return int(allowed[-1])

    env = JobsAndNodes(Whole(machine(), jobs), num_jobs=4)
    play(env, hold)
    assert env.result().jobs["start_time"].tolist() == [1200.0, 1200.0]
    play(JobsAndNodes(Whole(machine(), jobs), num_jobs=4, patience=0.25), hold)


def test_rows_say_who_would_be_delayed_and_what_boots() -> None:
    """Three nodes, one in use until 100 s, one asleep. The oldest job and the smallest one wait for the first: a job that ends
    before that delays none of them.
    """
    jobs = workload_of(
        (0.0, 1, 100.0, 100.0), (10.0, 3, 50.0, 50.0), (20.0, 1, 60.0, 60.0), (20.0, 1, 600.0, 600.0), (20.0, 2, 9.0, 9.0)
    )  # fmt: skip
    env = JobsAndNodes(Whole(machine(3), jobs), num_jobs=8, step_s=30.0)
    env.reset(seed=0)
    env.step(0)
    env.step(8 + 1)  # one of two idle nodes stays on
    observation, _, _, _, info = env.step(8 + 1)  # at 10 s nothing can start
    rows = observation["actions"]
    assert info["action_mask"][:8].tolist() == [0, 1, 1, 0, 0, 0, 0, 0]  # the node that shuts down cannot be used yet
    assert rows[[1, 2], StartOrRest.delays_oldest].tolist() == [0.0, 1.0]
    assert rows[[1, 2], StartOrRest.delays_smallest].tolist() == [0.0, 1.0]  # the one of 9 s, on two cores
    assert rows[[1, 2], StartOrRest.boots].tolist() == [0.0, 0.0]
    observation, *_ = env.step(8 + 1)
    while env.simulation is not None and env.simulation.env.now < 40.0:
        observation, *_ = env.step(8 + 1)
    assert observation["actions"][[1, 3], StartOrRest.booted] == pytest.approx([0.0, 1 / 3])


@settings(max_examples=12)
@given(case=cases(), seed=st.integers(0, 9), patience=st.sampled_from([0.5, 2.0]))
def test_whatever_an_agent_does_the_contract_holds(case: Case, seed: int, patience: float) -> None:
    """Random actions on random machines and jobs: no core twice, no job lost, energies add up; the same seed, the same run."""
    source = Whole(case.platform, Workload(case.jobs))
    tables = []
    for _ in range(2):
        env = JobsAndNodes(source, num_jobs=5, patience=patience, reward="energy-and-wait:against=")
        play(env, at_random(seed), seed)
        result = env.result()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            full.check_result(replace(case, options={"enforce_walltime": False, "quirks": ()}, scheduler=""), result)
        tables.append(result.jobs)
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("options", [{}, {"flat": True}, {"reward": "waste-and-stretch", "cost": "mean-stretch"}])
def test_gymnasium_has_nothing_to_say(options: dict[str, Any]) -> None:
    """check_env is silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(JobsAndNodes(**options), skip_render_check=True)


def untrained(folder: Path, **options: Any) -> EnvironmentKeys:
    """Leave an agent with random weights in a folder."""
    keys = EnvironmentKeys(kind="jobs-and-nodes", options=options)
    environment = environment_on(keys, None)
    actions = int(environment.maker.action_space.n)
    network = make_network("scorer:hidden=8", environment.observation_space, actions, seed=3)
    facts = {"seed": 0, "score": 1.0, "objective": "reward"}
    Agent(keys.model_dump(mode="json", exclude_none=True), "scorer:hidden=8", network.weights(), facts).save(folder)
    return keys


def test_the_run_is_the_episode(tmp_path: Path) -> None:
    """As the scheduler of a simulation the agent starts the jobs and switches the nodes as in its episode, twice over."""
    environment = environment_on(untrained(tmp_path), None)
    agent = Agent.load(tmp_path)
    network = agent.build(environment.maker)
    scheduler = make_scheduler(f"learned:{tmp_path}")
    for episode in environment.episodes.all()[:2]:
        observation, _ = environment.reset(options={"episode": episode})
        over = False
        while not over:
            action, _ = network.decide(observation)
            observation, _, terminated, truncated, _ = environment.step(action)
            over = terminated or truncated
        run = Simulation(episode.platform, episode.workload, scheduler, seed=episode.seed, **episode.rules()).run()
        assert run.metrics["node_switches"] > 0
        assert run.jobs.equals(environment.result().jobs)
        assert run.node_states.equals(environment.result().node_states)
        assert run.meta["power_policy"] == run.meta["scheduler"] == f"learned:{tmp_path}"


def test_no_other_policy_switches_nodes_beside_it(tmp_path: Path) -> None:
    """always-on gives way; another policy is refused, and so is the agent as a power policy."""
    untrained(tmp_path)
    jobs, spec = workload_of((0.0, 1, 10.0, 10.0)), f"learned:{tmp_path}"
    assert Simulation(machine(), jobs, spec, "always-on").run(warn=False).metrics["jobs_completed"] == 1
    for other in ("timeout:0", "power-cap:400"):
        with pytest.raises(InputError, match=rf"expected always-on, or none, beside learned:.*, found {other}"):
            Simulation(machine(), jobs, spec, other)
    with pytest.raises(
        InputError, match=r"found one of kind jobs-and-nodes, a scheduler \(--scheduler\) that needs no"
    ):
        make_power_policy(spec)


def test_wrong_specs_end_in_one_line() -> None:
    """A rule without a power policy, one that cannot be played, and an observation that there is not."""
    with pytest.raises(
        SpecError, match=r"'easy': expected a scheduler and a power policy, such as 'easy \+ timeout:300'"
    ):
        SchedulerAndTimeout("easy")
    for rule in ("conservative + timeout:0", "easy + summed-stretch", "easy:order=saf,commit=yes + timeout:0"):
        with pytest.raises(SpecError, match="expected EASY or a list scheduler"):
            SchedulerAndTimeout(rule)
    with pytest.raises(InputError, match="observation of jobs-and-nodes: expected default"):
        JobsAndNodes(observation="p2")


def test_an_agent_learns_a_rule_and_is_compared_with_rules(tmp_path: Path) -> None:
    """A warm start agrees with its teacher in nearly all decisions; validation and evaluation run scheduler and timeout."""
    config = Config(
        environment=EnvironmentKeys(
            kind="jobs-and-nodes", platform="machine:taurus", workload="lublin:jobs=20,nodes=128,estimates=tsafrir", fresh=True
        ),
        objective="energy_j",
        iterations=1,
        episodes=2,
        network="scorer:hidden=16",
        baselines=["easy + timeout:300", "saf-easy + summed-stretch"],
        validation=ValidationKeys(episodes=2),
        warm_start=WarmStartKeys(teacher="fcfs + timeout:0", episodes=8, options={"epochs": 60, "actor_lr": 0.01}),
        workers=1,
    )  # fmt: skip
    [summary] = train(config, tmp_path / "agent")
    assert set(summary.baselines) == set(config.baselines)
    metrics = np.genfromtxt(tmp_path / "agent" / "metrics.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    assert metrics["warm_startagreement"][0] > 0.9
    episodes = [Whole(Platform.read("machine:taurus"), lublin(5, 20)).all()[0]]
    found = evaluate(tmp_path / "agent", episodes, heuristics=JOINT[:2], runs=1, workers=1)
    assert set(found.heuristics["heuristic"]) == set(JOINT[:2])
    assert {"energy_j", "mean_wait_s", "node_switches"} <= set(found.runs)
