"""Agents that switch nodes: teachers by hand, warm start, limits, and `learned:DIR` against the environment."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from cluster_sim import Simulation, make_power_policy, make_scheduler
from cluster_sim.errors import InputError, ModelWarning, SpecError, UnfamiliarWarning
from cluster_sim.machine.node import NodeState
from learning.tasks.built_in_cases import built_in_day
from learning.tasks.episodes import Whole
from learning.tasks.node_shutdown.environment import NodeShutdown
from learning.tasks.node_shutdown.teachers import make_shutdown_teacher
from learning.training import cross_validation
from learning.training.agent import Agent
from learning.training.configuration import AlsoKeys, Config, EnvironmentKeys, ValidationKeys, WarmStartKeys
from learning.training.cross_validation import by_seed, cross_validate, main
from learning.training.inputs import MakeEnvironment
from learning.training.training import Training, train_one

from .test_node_shutdown import jobs, platform

METRICS = ("energy_waste_by_core_j", "node_switches", "mean_stretch")


def taught(env: NodeShutdown, spec: str) -> dict[str, Any]:
    """What an episode under a teacher leaves: start times and when nodes went to sleep."""
    teacher = make_shutdown_teacher(spec)
    observation, _ = env.reset(seed=0)
    over = False
    while not over:
        observation, _, terminated, truncated, _ = env.step(teacher(env, observation))
        over = terminated or truncated
    assert env.simulation is not None
    changes = [tuple(change) for change in env.simulation.view.machine.state_changes]
    return {
        "starts": env.result().jobs["start_time"].tolist(),
        "sleeps": [time for time, _, state, _ in changes if state is NodeState.SWITCHING_OFF],
    }


def test_a_rule_boots_when_enough_stretch_has_gathered() -> None:
    """One job of 1000 s requested on two sleeping nodes: 0.2 of stretch at 200 s, so at the decision at 240 s it boots.

    The nodes fall asleep at 0 s (180 s), the job comes at 300 s; from then on minutes count: at 540 s 0.24 ≥ 0.2. The
    node boots for 60 s.
    """
    found = taught(NodeShutdown(Whole(platform(), jobs((300.0, 1, 1000.0, 60.0)))), "summed-stretch:soft=0.2,linger=0")
    assert found["starts"] == [600.0]


def test_a_node_that_falls_idle_is_offered_once_more() -> None:
    """A job of 60 s, the next one comes a minute after its end: with linger=300 on the same node, without both sleep.

    The first comes at 0 s, when both nodes are on. It ends at 60 s; the second comes at 120 s. Spared at 60 s, its node is
    offered at 120 s, and sleeps at 180 s with the episode's end.
    """
    two = jobs((0.0, 1, 600.0, 60.0), (120.0, 1, 600.0, 60.0))
    assert taught(NodeShutdown(Whole(platform(), two)), "summed-stretch:linger=300")["starts"] == [0.0, 120.0]
    found = taught(NodeShutdown(Whole(platform(), two)), "summed-stretch:linger=0")
    assert found["sleeps"][:2] == [0.0, 60.0]
    assert found["starts"][1] > 240.0  # its node shuts down until then


def test_sparing_is_offered_only_where_it_means_something() -> None:
    """At 0 s all nodes are newly idle; at 60 s none is, and the first half of the actions is masked."""
    env = NodeShutdown(Whole(platform(3), jobs((600.0, 1, 600.0, 60.0))))
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1] * 8
    *_, info = env.step(0)
    assert env.simulation is not None
    assert env.simulation.view.now == 60.0
    assert info["action_mask"].tolist() == [0] * 4 + [1] * 4


def test_bad_teachers_are_named() -> None:
    """Numbers below 0, and observations that the rule cannot read."""
    with pytest.raises(SpecError, match="soft"):
        make_shutdown_teacher("summed-stretch:soft=-1")
    with pytest.raises(InputError, match="default observation"):
        make_shutdown_teacher("summed-stretch")(None, {"observation": np.zeros(3)})


def test_prices_of_mean_stretch_and_of_switches() -> None:
    """The rewards add up to -scale · (cycles wasted + 100 · mean stretch + 2 · nodes put to sleep), by the run's records."""
    rows = [(90.0 * i, 1 + i % 3, 600.0, 130.0) for i in range(12)]
    source = Whole(platform(3), jobs(*rows))
    env = NodeShutdown(source, reward="default:stretch=0,late=0,mean_stretch=100,switches=2")
    env.reset(seed=0)
    rng, total, over = np.random.default_rng(3), 0.0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(rng.choice(np.flatnonzero(env.action_masks())))
        total += reward
        over = terminated or truncated
    metrics, nodes = info["metrics"], env.result().nodes
    assert metrics["jobs_unfinished"] == 0
    cycles = metrics["energy_waste_by_core_j"] / (125.0 * 60.0 + 101.0 * 180.0)
    expected = cycles + 100.0 * metrics["mean_stretch"] + 2.0 * float(nodes["switches_off"].sum())
    assert total == pytest.approx(-0.05 * expected, rel=1e-9)


def small(**more: object) -> Config:
    """A training of one iteration on the built-in days."""
    return Config(
        environment=EnvironmentKeys(kind="node-shutdown"),
        network="scorer:hidden=8",
        iterations=1,
        episodes=2,
        workers=1,
        validation=ValidationKeys(every=1, episodes=2),
        **more,  # type: ignore[arg-type]
    )


def test_the_best_agent_keeps_its_limits(tmp_path: Path) -> None:
    """An agent's score is its worst share of a limit: here of a stretch of 0.001, and of half of timeout:0's switches."""
    training = Training(small(limits={"mean_stretch": 0.001, "node_switches": "0.5 of timeout:0"}), tmp_path)
    found = training.validation.of(training.network, training.make_environment, None)
    episodes = training.validation.episodes
    agent = [dict(run) for run in _runs(training)]
    reference = []
    for episode in episodes:
        run = Simulation(
            episode.platform, episode.workload, make_scheduler("saf-easy"), make_power_policy("timeout:0"),
            enforce_walltime=True, until=episode.until,
        )  # fmt: skip
        reference.append(run.run().summary()["node_switches"])
    shares = (
        np.mean([run["mean_stretch"] for run in agent]) / 0.001,
        np.mean([run["node_switches"] for run in agent]) / (0.5 * np.mean(reference)),
    )
    assert found.score == pytest.approx(max(shares))
    with pytest.raises(InputError, match="limits"):
        Training(small(limits={"happiness": 1.0}), tmp_path)


def _runs(training: Training) -> list[dict[str, float]]:
    """Metrics of the greedy agent on the validation episodes, step by step in the environment."""
    runs = []
    for episode in training.validation.episodes:
        env = training.make_environment()
        observation, _ = env.reset(seed=0, options={"episode": episode})
        over = False
        while not over:
            action, _ = training.network.decide(observation)
            observation, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
        runs.append(info["metrics"])
    return runs


def test_a_learned_power_policy_is_the_environments_run(tmp_path: Path) -> None:
    """Warm-started and trained, `learned:DIR` beside saf-easy leaves the records of the environment's greedy episode."""
    warm = WarmStartKeys(teacher="summed-stretch", episodes=2, options={"epochs": 4, "minibatch": 64})
    train_one(small(warm_start=warm), tmp_path)
    agent = Agent.load(tmp_path)
    assert agent.decides == "power"
    env = NodeShutdown()
    network = agent.build(env.maker)
    for day in built_in_day().all()[:1]:
        observation, _ = env.reset(seed=0, options={"episode": day})
        over = False
        while not over:
            action, _ = network.decide(observation)
            observation, _, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
        policy = make_power_policy(f"learned:{tmp_path}")
        run = Simulation(
            day.platform, day.workload, make_scheduler("saf-easy"), policy, enforce_walltime=True, until=day.until
        ).run()
        for table in ("jobs", "nodes"):
            assert getattr(run, table).equals(getattr(env.result(), table))


def test_every_day_is_played_by_who_has_not_seen_it(tmp_path: Path) -> None:
    """Three days in three folds: a row for each, in the fold that leaves it out; and a mean for the seed."""
    rng = np.random.default_rng(5)
    folder = tmp_path / "days"
    folder.mkdir()
    for day in range(3):
        submit = np.sort(rng.integers(0, 20, 4)) * 60.0
        jobs(*[(float(at), 1, 600.0, 60.0) for at in submit]).write(folder / f"{day}.csv")
    keys = EnvironmentKeys(
        kind="node-shutdown", platform="homogeneous:nodes=2,cores=1", workload=str(folder), days=True, fold=(0, 3),
        until=3600.0,
    )  # fmt: skip
    table = cross_validate(small().model_copy(update={"environment": keys}), tmp_path / "out")
    assert table["day"].tolist() == [0, 1, 2]
    assert table["fold"].tolist() == [0, 1, 2]
    assert by_seed(table)["mean_stretch"].iloc[0] == pytest.approx(table["mean_stretch"].mean())
    assert (tmp_path / "out" / "seeds.csv").is_file()
    with pytest.raises(InputError, match="fold"):
        cross_validate(small(), tmp_path / "none")
    several = keys.model_copy(update={"also": [AlsoKeys(workload=str(folder))]})
    with pytest.raises(InputError, match=r"^environment\.also: expected one log, for cross-validation, found 2 logs"):
        cross_validate(small().model_copy(update={"environment": several}), tmp_path / "none")
    (tmp_path / "config.yaml").write_text("{}")
    end = CliRunner().invoke(main, [str(tmp_path / "config.yaml"), "--out", str(tmp_path / "none")])
    assert end.exit_code == 2
    assert "environment, fold: expected" in end.output


def test_cross_validation_tells_of_an_agent_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it warns of are lines as of any command, without places in the code: of each agent and log the first."""

    def warned(*_: object) -> pd.DataFrame:
        for day in range(3):
            warnings.warn(UnfamiliarWarning(f"day {day} is far off", "fold-0", "log.swf"), stacklevel=1)
            warnings.warn("1 job dropped", ModelWarning, stacklevel=1)
        return pd.DataFrame({"fold": [0], "day": [0], "seed": [0], "mean_stretch": [0.5]})

    monkeypatch.setattr(cross_validation, "cross_validate", warned)
    (tmp_path / "config.yaml").write_text("{}")
    end = CliRunner().invoke(main, [str(tmp_path / "config.yaml"), "--out", str(tmp_path / "out")])
    told = ["cluster-sim: warning: day 0 is far off", "cluster-sim: warning: 1 job dropped"]
    assert (end.exit_code, end.stderr.splitlines()) == (0, told)


def test_patience_may_be_without_end() -> None:
    """`inf` is a word in a configuration; it arrives as a number in any process: nothing is masked however long jobs wait."""
    keys = EnvironmentKeys(kind="node-shutdown", options={"patience": "inf", "idle": "stay", "skip": False})
    env = MakeEnvironment.of(keys)()
    env.reset(seed=0)
    for _ in range(1000):
        _, _, _, _, info = env.step(4)  # all four nodes stay reserved
    assert info["action_mask"].all()
