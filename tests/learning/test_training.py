"""Trainings: the same for the same configuration, whatever dies in between and however many processes share the work."""

from __future__ import annotations

import csv
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from analysis.reports.training_report import write_training_report
from cluster_sim.cli.commands.train import _told as told
from cluster_sim.errors import FormatError, InputError, ModelWarning, SpecError
from cluster_sim.workload import Workload
from learning.algorithms.rollouts import collect
from learning.algorithms.workers import begin_worker
from learning.tasks.built_in_cases import mixed_jobs
from learning.tasks.episodes import Episode, spread
from learning.tasks.job_node.rewards import rewards
from learning.training import checkpoints
from learning.training.agent import Agent
from learning.training.configuration import Config, EnvironmentKeys, write_config
from learning.training.heuristics import run_on
from learning.training.inputs import MakeEnvironment, training_episodes
from learning.training.logs import read_metrics
from learning.training.training import Training, TrainingSummary, check, last, train_one
from learning.training.training_seeds import train
from learning.training.validation import OBJECTIVES, Validated, Validation
from schedulers import make_scheduler

ROOT = Path(__file__).resolve().parents[2]
SMALL: dict[str, Any] = {
    "iterations": 6,
    "episodes": 2,
    "group": 1,
    "workers": 1,
    "checkpoint_every": 2,
    "network": "scorer:hidden=8",
    "algorithm": {"options": {"epochs": 2, "swa": True, "swa_start": 0.5, "self_imitation": 2}},
    "validation": {"every": 3, "episodes": 2},
    "baselines": ["list:first/first", "list:smallest/high_gflops"],
}
UNTIMED = ("time/elapsed_s", "time/fps")


def small(**changes: Any) -> Config:
    """A training of seconds on the built-in case."""
    return Config.model_validate(SMALL | changes)


def state(folder: Path) -> dict[str, Any]:
    """The last checkpoint."""
    return checkpoints.load(folder / "checkpoint", "state")


def numbers(folder: Path) -> list[dict[str, float]]:
    """The log without what the clock decides."""
    return [{key: value for key, value in row.items() if key not in UNTIMED} for row in read_metrics(folder)]


def assert_same(one: Path, other: Path) -> None:
    """Weights, optimisers, the best agent and every logged number are equal, bit by bit."""
    _assert_equal(state(one), state(other))
    assert str(numbers(one)) == str(numbers(other))  # NaN is NaN
    _assert_equal(Agent.load(one).weights, Agent.load(other).weights)
    assert Agent.load(one).facts == Agent.load(other).facts


def _assert_equal(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            _assert_equal(one[key], other[key])
    elif isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training that nobody disturbed."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    train(small(), folder)
    return folder


def test_what_a_training_leaves(uninterrupted: Path) -> None:
    """Configuration, log, events, checkpoint and best agent, and no file half written."""
    names = sorted(path.name.split(".tfevents")[0] for path in uninterrupted.iterdir())
    assert names == ["best", "checkpoint", "config.yaml", "events.out", "metrics.csv"]
    rows = numbers(uninterrupted)
    assert [row["iteration"] for row in rows] == [0, 1, 2, 3, 4, 5, 6]
    assert [row["iteration"] for row in rows if "validation/objective_mean" in row] == [0, 3, 6]


def test_a_training_ends_when_validation_finds_no_better_agent(uninterrupted: Path, tmp_path: Path) -> None:
    """Without learning nothing becomes better: two validations after the first, it ends, also if it was resumed."""
    config = small(
        iterations=20,
        algorithm={"options": {"epochs": 1, "actor_lr": 1e-30, "critic_lr": 1e-30}},
        validation={"every": 2, "episodes": 2, "patience": 2},
    )
    assert train(config, tmp_path / "whole")[0].iterations == 4
    assert [row["iteration"] for row in numbers(tmp_path / "whole")] == [0, 1, 2, 3, 4]
    assert train(config, tmp_path / "whole", resume=True)[0].iterations == 4
    keeps_on = small(validation={"every": 3, "episodes": 2, "patience": 2})
    train(keeps_on, tmp_path / "patient")
    assert str(numbers(tmp_path / "patient")) == str(
        numbers(uninterrupted)
    )  # no reason to end before its last iteration


def test_another_seed_is_another_training(uninterrupted: Path, tmp_path: Path) -> None:
    """Equal seeds make equal trainings, as the tests of processes and of several seeds show."""
    train(small(seed=1, iterations=1), tmp_path / "other")
    assert numbers(tmp_path / "other")[1] != numbers(uninterrupted)[1]


def test_the_best_agent_is_the_best_validated(uninterrupted: Path) -> None:
    """The validation with the greatest reduction is kept; never worse than where the training began."""
    reductions = {
        r["iteration"]: r["validation/reduction_mean"] for r in numbers(uninterrupted) if "validation/best" in r
    }
    facts = Agent.load(uninterrupted).facts
    assert facts["reduction"] == max(reductions.values()) >= reductions[0]
    assert reductions[facts["iteration"]] == facts["reduction"]
    best = [row["validation/best"] for row in numbers(uninterrupted) if "validation/best" in row]
    assert best == [max(list(reductions.values())[: i + 1]) for i in range(len(best))]


def test_the_last_agent_may_be_kept_as_in_the_papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every later agent is worse here: of two iterations the first agent is the best, or the last one is kept."""
    for keep, iteration in (("best", 0), ("last", 2)):
        calls = iter(range(100))
        monkeypatch.setattr(Validation, "of", lambda *_, calls=calls: Validated((float(next(calls)),), (), "", 0.0))
        config = small(iterations=2, baselines=[], validation={"every": 1, "episodes": 2, "keep": keep})
        train(config, tmp_path / keep)
        assert Agent.load(tmp_path / keep).facts["iteration"] == iteration


def test_the_last_agent_is_that_of_the_checkpoint(uninterrupted: Path, tmp_path: Path) -> None:
    """Whatever validation has kept; where there is no training it is told in one line."""
    agent = last(uninterrupted)
    _assert_equal(agent.weights, state(uninterrupted)["weights"])
    assert agent.facts["iteration"] == 6
    assert agent.build(MakeEnvironment.of(small().environment)().maker).spec == agent.network
    with pytest.raises(FormatError, match=r"config\.yaml"):
        last(tmp_path)


def test_killed_and_resumed_is_as_if_nothing_had_happened(uninterrupted: Path, tmp_path: Path) -> None:
    """A process that dies of SIGKILL after its first checkpoint: resumed, the training ends with the same weights."""
    row = 3
    config, out = tmp_path / "training.yaml", tmp_path / "out"
    write_config(small(), config)
    command = [sys.executable, "-m", "cluster_sim", "train", str(config), "--out", str(out)]
    process = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while _rows(out / "metrics.csv") < row + 1 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert _rows(out / "metrics.csv") > row
    train(small(), out, resume=True)
    assert_same(uninterrupted, out)


def _rows(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open(newline="") as file:
        return sum(1 for _ in csv.reader(file)) - 1


def test_resumed_at_any_iteration(uninterrupted: Path, tmp_path: Path) -> None:
    """Also from a checkpoint inside the averaged part, with rows in the log that were written after it."""
    training = Training(small(), tmp_path)
    real, training.save = training.save, lambda: real() if training.iteration <= 4 else None  # type: ignore[method-assign]
    training.run()
    assert state(tmp_path)["iteration"] == 4
    train(small(), tmp_path, resume=True)
    assert_same(uninterrupted, tmp_path)


def test_processes_change_nothing(uninterrupted: Path, tmp_path: Path) -> None:
    """Episodes played elsewhere are the same episodes."""
    with ProcessPoolExecutor(1, get_context("spawn"), begin_worker) as pool:
        Training(small(), tmp_path, pool).run()
        write_config(small(), tmp_path / "config.yaml")
    assert_same(uninterrupted, tmp_path)


def test_several_seeds_are_the_trainings_they_would_be_alone(uninterrupted: Path, tmp_path: Path) -> None:
    """Seeds 0 and 1, each in its folder; the agent of the folder is the better one of the two."""
    summaries = train(small(seeds=2), tmp_path)
    assert [summary.seed for summary in summaries] == [0, 1]
    assert_same(uninterrupted, tmp_path / "seed-0")
    best = max(summaries, key=lambda summary: summary.reduction)
    assert Agent.load(tmp_path).facts["seed"] == best.seed


def test_a_reduction_is_that_of_the_means_beside_it() -> None:
    """By hand, two episodes: 10 and 100 against 20 and 104 are 11.29 % less on the mean, 26.9 % in the mean of the episodes."""
    found = Validated((10.0, 100.0), (20.0, 104.0), "fcfs", 62.0)
    assert found.reductions == pytest.approx([50.0, 3.846], abs=1e-3)
    facts = found.facts()
    summary = TrainingSummary("agent", 0, 1, 1, "mean_wait_s", facts["value"], "fcfs", 62.0, facts["reduction"])
    assert summary.reduction == pytest.approx(100 * (1 - 55 / 62))
    assert summary.reduction_by_episode == pytest.approx((50.0 + 3.846) / 2, abs=1e-3)
    assert told(summary) == (
        "seed 0: mean_wait_s 55 after 1 of 1 iterations, 11.29 % less than fcfs (62); "
        "mean over validation episodes, with the best baseline of each: 26.92 % less"
    )
    alone = TrainingSummary("agent", 0, 1, 1, "mean_wait_s", 30.0, "fcfs", 20.0, -50.0)
    assert told(alone) == "seed 0: mean_wait_s 30 after 1 of 1 iterations, 50.00 % more than fcfs (20)"


@pytest.mark.parametrize(
    ("keys", "kinds"),
    [
        ({"workload": "lublin:jobs=12,nodes=64,seed=1"}, ["requested time", "watts", "rejected"]),
        ({"workload": "lublin:jobs=12,nodes=4", "fresh": True}, ["requested time", "watts"]),
        (
            {"workload": "lublin:jobs=12,nodes=4,seed=1", "options": {"power": "timeout:300"}},
            ["requested time", "watts", "transitions"],
        ),
        (
            {"workload": "lublin:jobs=12,nodes=4,seed=1", "kind": "node-shutdown"},
            ["requested time", "watts", "transitions"],
        ),
    ],
)
def test_a_check_says_what_the_episodes_assume(keys: dict[str, Any], kinds: list[str]) -> None:
    """Jobs too wide, requested times and watts that stand in, nodes that switch for nothing: a line for each kind."""
    lines = check(Config(environment={"platform": "homogeneous:nodes=2,cores=2"} | keys))
    assert [line.partition(":")[0] for line in lines] == kinds


def test_the_log_of_a_fixed_problem_knows_its_reduction(uninterrupted: Path) -> None:
    """On fresh jobs every time there is no one figure to compare with, and none is logged."""
    assert all("rollout/reduction_mean" not in row for row in numbers(uninterrupted))


@pytest.mark.parametrize(
    ("asked", "lengths"), [({}, [3, 3]), ({"remainder": True}, [3, 3, 2]), ({"remainder": True, "episodes": 2}, [3, 3])]
)
def test_validation_plays_whole_pieces(tmp_path: Path, asked: dict[str, Any], lengths: list[int]) -> None:
    """Eight jobs in pieces of three: the two that remain are played where all are, if they are asked for."""
    mixed_jobs(np.random.default_rng(3), 8).write(tmp_path / "jobs.csv")
    environment = {
        "platform": "homogeneous:nodes=2,cores=48",
        "workload": str(tmp_path / "jobs.csv"),
        "trajectories": {"length": 3},
    }
    episodes = Training(Config(environment=environment, validation=asked), "unused").validation.episodes
    assert [len(episode.workload) for episode in episodes] == lengths


def test_validation_draws_as_many_workloads_as_it_is_asked_for() -> None:
    """Fresh draws have no end: twelve are twelve, the first ten stand for all, and two are two of these."""
    jobs = {"workload": "lopez-mixed:jobs=3", "fresh": True}
    environment = {"platform": "homogeneous:nodes=2,cores=8"} | jobs

    def orders(validation: dict[str, Any]) -> list[tuple[str, ...]]:
        episodes = Training(Config(environment=environment, validation=validation), "unused").validation.episodes
        return [tuple(episode.workload.jobs["profile"]) for episode in episodes]

    twelve = orders(jobs | {"episodes": 12})
    assert len(twelve) == 12
    assert orders({"episodes": 12}) == twelve
    assert orders(jobs | {"episodes": 10}) == twelve[:10]
    assert orders(jobs | {"episodes": 2}) == [twelve[0], twelve[5]]


def test_baselines_are_ordinary_runs() -> None:
    """The reference of each validation episode is the least of the baselines' metrics there."""
    training = Training(small(iterations=0), "unused")
    episodes: list[Episode] = training.validation.episodes
    assert len(episodes) == 2
    runs = [[float(run_on(e, make_scheduler(spec))["energy_j"]) for spec in SMALL["baselines"]] for e in episodes]
    found = training.validation.of(training.network, training.make_environment, None)
    assert found.references == tuple(min(pair) for pair in runs)
    assert found.reductions == [
        100 * (1 - value / least) for value, least in zip(found.values, found.references, strict=True)
    ]


def test_the_score_is_the_mean_ratio() -> None:
    """By hand: 90 of 100 and 60 of 50 are 0.9 and 1.2."""
    found = Validated((90.0, 60.0), (100.0, 50.0), "fcfs", 75.0)
    assert found.score == pytest.approx(1.05)
    assert found.reductions == pytest.approx([10.0, -20.0])
    assert Validated((90.0, 60.0), (), "", 0.0).score == 75.0
    assert Validated((0.0,), (0.0,), "fcfs", 0.0).reductions == [0.0]
    assert Validated((3.0,), (0.0,), "fcfs", 0.0).score == 4.0  # 1 + value, against nothing


def test_episodes_are_spread_evenly() -> None:
    """Ten of thirty are every third."""
    assert spread(list(range(30)), 10) == list(range(0, 30, 3))  # type: ignore[arg-type,comparison-overlap]
    assert spread([1, 2], 10) == [1, 2]  # type: ignore[list-item,comparison-overlap]


def test_every_reward_of_job_node_is_about_a_metric() -> None:
    """What the best agent is chosen by is known for each; of two things together it is the reward itself."""
    from learning.tasks.job_node.rewards import rewards

    assert set(rewards) - set(OBJECTIVES) == {"energy-and-wait"}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"algorithm": {"name": "dqn"}}, "algorithm, name: expected one of ppo"),
        ({"algorithm": {"options": {"clipping": 1}}}, "algorithm, options: expected one of clip"),
        ({"algorithm": {"options": {"actorlr": 1e-3}}}, "the nearest is actor_lr"),
        (
            {"algorithm": {"options": {"clip": "wide"}}},
            "algorithm, options, clip: expected a finite number above 0, found wide",
        ),
        ({"algorithm": {"options": {"epochs": 2.5}}}, "options, epochs: expected a whole number above 0, found 2.5"),
        ({"algorithm": {"options": {"epochs": "2"}}}, 'options, epochs: expected a whole number above 0, found "2"'),
        (
            {"environment": {"options": {"num_jobs": "2"}}},
            'num_jobs: expected a whole number of jobs, 1 or more, found "2"',
        ),
        ({"algorithm": {"options": {"swa": 1}}}, "options, swa: expected True or False, found 1"),
        ({"algorithm": {"published": "pcbe"}}, "algorithm, published: expected one of energy-scheduler"),
        ({"algorithm": {"options": {"gamma": 2.0}}}, "options, gamma: expected a number, 0 or more and at most 1"),
        ({"network": "brain"}, "network: expected one of"),
        ({"environment": {"reward": "fame"}}, "reward: expected one of"),
        ({"environment": {"observation": "all"}}, "observation: expected one of"),
        ({"environment": {"options": {"jobs": 5}}}, "environment, options: expected one of"),
        (
            {"environment": {"platform": "homogeneous:nodes=2,cores=2"}},
            "environment: expected both platform and workload",
        ),
        ({"objective": "fun"}, "objective: expected reward, or a key of summary.json"),
        ({"baselines": ["best"]}, "scheduler: expected one of"),
        ({"objective": "utilisation"}, "objective: expected a metric of which less is better"),
        ({"objective": "node_switches"}, r"objective: .* a key of summary.json that job-node tells \(energy_j, "),
        ({"limits": {"utilisation": 0.5}}, "limits: expected a metric of which less is better"),
        (
            {"limits": {"node_switches": 5.0}},
            r"limits: expected a key of summary.json that job-node tells \(energy_j, ",
        ),
        ({"limits": {"jobs_killed": "0.5 of fcfs"}}, "limits, jobs_killed: expected a limit above 0"),
        (
            {"environment": {"options": {"num_jobs": "many"}}},
            "num_jobs: expected a whole number of jobs, 1 or more, found many",
        ),
        (
            {"environment": {"options": {"patience": "soon"}}},
            "options, patience: expected seconds, 0 or more, found soon",
        ),
        ({"environment": {"options": {"power": 3}}}, "options, power: expected a text, found 3"),
        ({"environment": {"options": {"memory": "maybe"}}}, "options, memory: expected True or False, found maybe"),
        ({"environment": {"options": {"flat": True}}}, "environment, options: expected one of placements"),
        (
            {"algorithm": {"options": {"learning_masks": "last-decision"}}},
            r"options, learning_masks: expected acting, unless the last action waits \(.*\), found last-decision",
        ),
        (
            {
                "algorithm": {"options": {"learning_masks": "last-decision"}},
                "environment": {"options": {"wait": 1.0}},
                "network": "scorer",
            },
            "expected acting, unless the network has a column for each action, .* found last-decision with scorer",
        ),
    ],
)
def test_what_is_wrong_ends_in_a_line(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    """Names and options that do not exist."""
    with pytest.raises((InputError, SpecError), match=told) as error:
        train(small(**changes), tmp_path / "out")
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("workers", [1, 2])
def test_several_seeds_tell_what_the_files_of_baselines_say(workers: int, tmp_path: Path) -> None:
    """In processes of their own they cannot, so that is told before; and once, where Python tells each warning once."""
    conf = tmp_path / "slurm.conf"
    conf.write_text("NodeName=n[1-2] CPUs=8\nPartitionName=p Nodes=ALL Default=YES\nFancy=1\n")
    environment = {"platform": "homogeneous:nodes=2,cores=8", "workload": "lublin:jobs=6,nodes=16,seed=1"}
    keys = {"iterations": 0, "validation": {"episodes": 1}, "baselines": [f"slurm:conf={conf}"], "warm_start": None}
    config = small(environment=environment, seeds=2, workers=workers, **keys)
    with pytest.warns(ModelWarning, match="not known: Fancy"):
        train(config, tmp_path / "out")


def test_options_of_an_environment_may_be_words_or_numbers() -> None:
    """Seconds for a wait, YAML's truths for yes and no, and a word for what JSON has no number for."""
    for wait, expected in ((5, ("event", 5.0)), (False, ("no", None)), ("completion", ("completion", None))):
        environment = MakeEnvironment.of(EnvironmentKeys(options={"wait": wait, "patience": 2}))()
        assert (environment.maker.wait, environment.maker.timer) == expected
        assert environment.maker.patience == 2.0
    chosen = EnvironmentKeys(kind="policy-selection", options={"policies": ["first/first", "void"]})
    assert MakeEnvironment.of(chosen)().maker.policies == ("first/first", "void")


def test_a_baseline_of_nothing_can_be_compared_with(tmp_path: Path) -> None:
    """One job waits 0 s under any scheduler and agent: a ratio of 1, no reduction, and an agent is kept."""
    keys = {"platform": "homogeneous:nodes=1,cores=1", "workload": str(tmp_path / "jobs.csv")}
    Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]}).write(keys["workload"])
    config = small(environment=keys, objective="mean_wait_s", baselines=["fcfs"], iterations=0)
    [summary] = train(config, tmp_path / "out")
    assert (summary.value, summary.baseline_value, summary.reduction) == (0.0, 0.0, 0.0)


def test_a_training_is_not_overwritten(uninterrupted: Path, tmp_path: Path) -> None:
    """A folder that holds one is refused, unless it is to go on; and not with another configuration."""
    with pytest.raises(InputError, match="or --resume"):
        train(small(), uninterrupted)
    with pytest.raises(InputError, match="network"):
        train(small(network="scorer:hidden=4"), uninterrupted, resume=True)
    with pytest.raises(InputError, match=r"iterations: expected 6, .* a longer training is a new one, found 7"):
        train(small(iterations=7), uninterrupted, resume=True)
    (tmp_path / "seed-0").mkdir()
    checkpoints.save(tmp_path / "seed-0" / "checkpoint", "state", {})
    with pytest.raises(InputError, match="a single training, found trainings with several seeds"):
        train(small(), tmp_path)
    with pytest.raises(InputError, match="several seeds"):
        train(small(seeds=2), uninterrupted, resume=True)
    before = state(uninterrupted)
    assert train_one(small(), uninterrupted, resume=True).iterations == 6  # it is over: nothing happens
    _assert_equal(before, state(uninterrupted))


def test_an_unsuitable_teacher_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """One that keeps a memory of its own, and a kind of environment for which there is none."""
    for changes in (
        {"warm_start": {"teacher": "easy"}},
        {"warm_start": {"teacher": "fcfs"}, "environment": {"kind": "policy-selection"}, "baselines": []},
    ):
        with pytest.raises(InputError, match=r"teacher|warm_start"):
            train(small(**changes), tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_another_discount_than_that_of_a_shaped_reward_is_told(tmp_path: Path) -> None:
    """0.9 and 1, unless the reward says 0.9 too, or is not shaped."""
    algorithm = {"options": {"gamma": 0.9}}
    with pytest.warns(ModelWarning, match="shaped for gamma=1 and the algorithm learns with gamma=0.9"):
        Training(small(algorithm=algorithm), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        for reward in ("energy:gamma=0.9", "energy:shaped=no"):
            Training(small(algorithm=algorithm, environment={"reward": reward}), tmp_path)


@pytest.mark.parametrize("name", ["reinforce", "actor-critic", "ppo"])
def test_who_takes_the_cut_of_an_episode_for_its_end_is_told(tmp_path: Path, name: str) -> None:
    """Not ppo, whose critic says what to expect after it; and nobody where episodes are played to their end."""
    changes = {"algorithm": {"name": name}, "warm_start": None, "baselines": []}
    jobs = {"platform": "homogeneous:nodes=2,cores=4", "workload": "lublin:jobs=10,nodes=8,seed=1"}

    def told(**more: float) -> list[str]:
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            Training(small(**changes, environment=jobs | more), tmp_path)
        return [str(one.message) for one in noted if "takes that for their end" in str(one.message)]

    assert [line.split(",")[1].split()[1] for line in told(until=5000.0)] == ([] if name == "ppo" else [name])
    assert told() == []


class Endless:
    """A reward that is minus infinity at once."""

    def begin(self, simulation: Any, maker: Any) -> None:
        """Begin without notes."""

    leave = passed = lambda self, view: None

    def value(self, view: Any, terminated: bool) -> float:
        """Not a number to learn from."""
        return -math.inf


def test_a_training_ends_before_it_learns_from_infinity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, and what was kept before is still there."""
    monkeypatch.setitem(rewards._factories, "endless", Endless)
    training = Training(small(environment={"reward": "endless"}, baselines=[], warm_start=None), tmp_path)
    with pytest.raises(InputError, match=r"iteration 1, rewards of .*: expected finite numbers, .* found -inf"):
        training.step()
    assert all(np.isfinite(value).all() for value in training.network.weights().values())


def test_a_training_ends_before_it_keeps_weights_that_are_no_numbers(tmp_path: Path) -> None:
    """A learning rate of a billion: one line with the iteration; what is kept is what was there before, in log and files."""
    with pytest.raises(InputError, match=r"seed 0, iteration 1, .*: expected weights that are finite numbers; .* nan"):
        train(small(algorithm={"options": {"actor_lr": 1e9}}, baselines=[], warm_start=None), tmp_path)
    assert [row["iteration"] for row in read_metrics(tmp_path)] == [0]
    assert all(np.isfinite(weight).all() for weight in Agent.load(tmp_path).weights.values())
    assert last(tmp_path).facts["iteration"] == 0


def test_a_number_may_be_left_open_where_the_manual_says_so() -> None:
    """``entropy_end: null`` keeps the entropy's weight; other numbers are numbers."""
    check(small(algorithm={"options": {"entropy_end": None}}))
    for value in (None, 10**400):
        with pytest.raises(InputError, match="algorithm, options, actor_lr: expected a"):
            check(small(algorithm={"options": {"actor_lr": value}}))


def test_an_episode_in_which_no_job_ends_has_no_mean_wait(tmp_path: Path) -> None:
    """An episode cut off at 5 s has rewards to learn from; the objective of such episodes stays empty."""
    jobs = {"submit_time": [0.0, 1.0], "requested_cores": [1, 1], "recorded_run_time": [4.0, 50.0]}
    Workload(jobs).write(str(tmp_path / "jobs.csv"))
    keys = {"platform": "homogeneous:nodes=1,cores=1", "workload": str(tmp_path / "jobs.csv"), "until": 5.0}
    keys |= {"trajectories": {"length": 1}, "reward": "wait"}
    few = {"baselines": [], "validation": {"episodes": 1}, "episodes": 8}
    training = Training(small(environment=keys, objective="mean_turnaround_s", **few), tmp_path / "out")
    played = collect(training.make_environment, training.network, range(8))
    assert {training.validation.has_value(one) for one in played} == {True, False}
    numbers = training.step()
    assert numbers["rollout/objective_mean"] == 4.0
    assert math.isfinite(numbers["rollout/ep_rew_mean"])


def test_validation_tells_which_jobs_ended_by_episode(tmp_path: Path) -> None:
    """One job more in one episode and one less in the next make the same mean as the baseline's, and are told."""
    jobs = {"submit_time": [0.0] * 4, "requested_cores": [1] * 4, "recorded_run_time": [4.0] * 4}
    Workload(jobs).write(str(tmp_path / "jobs.csv"))
    keys = {"platform": "homogeneous:nodes=1,cores=2", "workload": str(tmp_path / "jobs.csv")}
    keys |= {"trajectories": {"length": 2}}
    config = small(environment=keys, baselines=["easy"], validation={"episodes": 2})
    training = Training(config, tmp_path / "out")
    found = training.validation.of(training.network, training.make_environment, None)
    assert (found.unlike, "unlike" in found.facts()) == ("", False)
    played = collect(training.make_environment, training.network, range(len(training.validation.episodes)))
    for episode, more in zip(played, (1, -1), strict=True):
        episode.metrics["jobs_completed"] += more
    told = training.validation.unlike(played)
    assert told.startswith("in 2 of 2 validation episodes the agent ended other jobs")
    assert "episode 0, with 3 completed and 0 killed, easy 2 and 0" in told
    assert replace(found, unlike=told).facts()["unlike"] == told
    for episode, more in zip(played, (-1, 1), strict=True):
        episode.metrics["jobs_completed"] += more
    assert training.validation.unlike(played) == ""
    played[1].ended += 1
    assert "in 1 of 2 validation episodes the agent ended other jobs" in training.validation.unlike(played)


def test_a_limit_that_the_best_agent_breaks_is_told(tmp_path: Path) -> None:
    """Two jobs of 4 s in turn wait 2 s on average, whatever is played: twice the limit; a limit that is kept is not named."""
    jobs = {"submit_time": [0.0] * 2, "requested_cores": [2] * 2, "recorded_run_time": [4.0] * 2}
    Workload(jobs).write(str(tmp_path / "jobs.csv"))
    keys = {"platform": "homogeneous:nodes=1,cores=2", "workload": str(tmp_path / "jobs.csv")}
    for limits, broken in (
        ({"mean_wait_s": 1.0, "makespan_s": 8.0}, "mean_wait_s is 2, 100 % above its limit of 1"),
        ({"mean_wait_s": 1.6, "makespan_s": "0.5 of easy"}, "mean_wait_s is 2, 25 % above its limit of 1.6, "
         "makespan_s is 8, 100 % above its limit of 4"),
        ({"mean_wait_s": 2.0}, ""),
    ):  # fmt: skip
        config = small(environment=keys, baselines=[], limits=limits, iterations=1)
        (summary,) = train(config, tmp_path / f"{limits}")
        assert summary.broken == broken
        assert (
            (f"; it breaks the limits: {broken}" in told(summary))
            == ("breaks the limits" in told(summary))
            == bool(broken)
        )
        page = write_training_report([summary], tmp_path / "report.html").read_text()
        assert ("Seed 0: the best agent breaks the limits: mean_wait_s is 2" in page) == bool(broken)


def test_an_untrained_agent_that_is_the_best_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every later one is worse here; not where a teacher had taught it, nor where there was no update to try."""
    calls = iter(range(100))
    monkeypatch.setattr(Validation, "of", lambda *_: Validated((float(next(calls)),), (), "", 0.0))
    taught = {"teacher": "list:first/first", "episodes": 1, "options": {"epochs": 1}}
    for name, iterations, warm_start, warned in (("plain", 2, None, 1), ("taught", 2, taught, 0), ("none", 0, None, 0)):
        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            config = small(iterations=iterations, warm_start=warm_start, seed=7, baselines=[])
            (summary,) = train(config, tmp_path / name)
        lines = [str(one.message) for one in noted if "untrained" in str(one.message)]
        assert (
            lines
            == [
                "seed 7: the best agent is the untrained one, as its weights were drawn; no update has made a better one"
            ]
            * warned
        )
        page = write_training_report([summary], tmp_path / "report.html").read_text()
        assert ("that the training began with, untrained, as its weights were drawn;" in page) == bool(warned)


@pytest.mark.parametrize("value", [math.inf, math.nan, -math.inf])
def test_options_are_finite(value: float) -> None:
    """``.inf`` and ``.nan`` of YAML are refused by the name of the option."""
    with pytest.raises(InputError, match="algorithm, options, actor_lr: expected a finite number"):
        check(small(algorithm={"options": {"actor_lr": value}}))


@pytest.mark.parametrize(
    ("jobs", "keys", "told", "seeds"),
    [
        (1, {}, "in none of 12 episodes was there a decision in which more than one action was allowed", 2),
        (6, {"trajectories": {"length": 1}}, "in none of 12 episodes was there a decision", 1),
        (6, {"trajectories": {"length": 6}}, "mean_bounded_slowdown was 1 in all 12 episodes, whatever was played", 1),
        (12, {}, "", 1),
    ],
)
def test_a_training_with_nothing_to_learn_says_so(
    tmp_path: Path, jobs: int, keys: dict[str, Any], told: str, seeds: int
) -> None:
    """A job alone, and six that last nothing, of which any order does; of twelve on eight cores there is something to learn."""
    seconds = 0.0 if "trajectories" in keys else 100.0
    columns = {
        "submit_time": np.zeros(jobs),
        "requested_cores": np.full(jobs, 4),
        "recorded_run_time": np.full(jobs, seconds),
    }
    if not told:
        columns["recorded_run_time"] = 100.0 * np.arange(1, jobs + 1)
    Workload(columns).write(tmp_path / "jobs.csv")
    environment = {
        "kind": "job-choice",
        "platform": "homogeneous:nodes=1,cores=8",
        "workload": str(tmp_path / "jobs.csv"),
        "reward": "bounded-slowdown",
    }
    config = small(environment=environment | keys, baselines=["easy"], warm_start=None, seeds=seeds)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        train(config, tmp_path / "agent")
    lines = [str(one.message) for one in noted if "nothing to learn" in str(one.message)]
    assert len(lines) == bool(told)
    assert all(f"nothing to learn: {told}" in line for line in lines)


def test_what_the_jobs_to_validate_on_lack_is_told() -> None:
    """Thirty jobs for 128 cores on the few of the built-in cluster's kind."""
    keys = {"platform": "homogeneous:nodes=2,cores=4", "workload": "lublin:jobs=30,nodes=8,seed=3"}
    validation = {"workload": "lublin:jobs=30,nodes=128,seed=1", "episodes": 1}
    lines = check(small(environment=keys, validation=validation, baselines=[], warm_start=None))
    assert any(line.startswith("rejected: ") for line in lines)
    assert not any(
        line.startswith("rejected: ") for line in check(small(environment=keys, baselines=[], warm_start=None))
    )


def test_days_of_which_jobs_are_left_out_are_told(tmp_path: Path) -> None:
    """One job of three days is too wide, and another day says no requested time; days without any leave no job."""
    hours = [0.0, 1.0, 24.0, 25.0, 48.0, 49.0]
    columns = {"submit_time": [3600.0 * hour for hour in hours], "requested_cores": [1, 99, 1, 1, 1, 1]}
    times = [600.0, 600.0, math.inf, math.inf, 600.0, 600.0]
    for name, requested in (("some", times), ("none", [math.inf] * 6)):
        Workload(columns | {"recorded_run_time": [300.0] * 6, "requested_time": requested}).write(
            tmp_path / f"{name}.csv"
        )
    keys = EnvironmentKeys(
        kind="job-choice", platform="homogeneous:nodes=2,cores=4", workload=str(tmp_path / "some.csv"), days=True
    )
    with pytest.warns(ModelWarning, match=r"days: 3 of 6 jobs left out: .*; 1 of 3 days are left without jobs"):
        source = training_episodes(keys)
    assert source is not None
    assert [len(episode.workload) for episode in source.all()] == [1, 0, 2]
    with pytest.raises(InputError, match="days: expected jobs that can be simulated, found none: all 6 are left out"):
        training_episodes(keys.model_copy(update={"workload": str(tmp_path / "none.csv")}))


def test_a_broken_checkpoint_ends_in_a_line(uninterrupted: Path, tmp_path: Path) -> None:
    """One that lacks what it should have."""
    tree = state(uninterrupted)
    del tree["weights"]
    checkpoints.save(tmp_path / "checkpoint", "state", tree)
    write_config(small(), tmp_path / "config.yaml")
    with pytest.raises(FormatError, match=r"state\.json: expected a checkpoint of this training"):
        train(small(), tmp_path, resume=True)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((60.0, 70.0, 50.0, 65.0, 55.0), "−40 ± 9.8 % over 5 validation episodes"),
        ((60.0, 70.0, 190.0, 65.0, 55.0), "no difference shown, −12 ± 71 % over 5 validation episodes"),
        ((60.0, 70.0), "too few validation episodes (2) for an interval"),
    ],
)
def test_a_reduction_says_how_sure_it_is(values: tuple[float, ...], told: str) -> None:
    """Student's interval of the paired differences: 2.776 · 7.906 / √5 around 60 against 100."""
    beside = (100.0,) * len(values)
    one = TrainingSummary("agent", 0, 5, 3, "energy_j", float(np.mean(values)), "fcfs", 100.0, 0.0)
    assert one.certainty == ""
    assert replace(one, values=values, baseline_values=beside).certainty == told
