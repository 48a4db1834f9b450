"""What an agent saw while it learned, and the warning where a run shows it something else."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from cluster_sim import Simulation
from cluster_sim.errors import FormatError, ModelWarning, UnfamiliarWarning
from learning.tasks.built_in_cases import mixed_jobs, small_cluster
from learning.tasks.episodes import Episode
from learning.training import familiarity as seen
from learning.training.agent import Agent
from learning.training.evaluation import evaluate
from learning.training.familiarity import Familiarity
from schedulers import make_scheduler
from tests.support.untrained import untrained


def observations(rng: np.random.Generator, count: int, mean: float) -> list[dict[str, np.ndarray]]:
    """Rows of two columns and a state of three, of which the last has that mean and the others 0.5; and a mask."""
    return [
        {
            "actions": rng.normal(0.5, 0.1, (4, 2)).astype(np.float32),
            "state": rng.normal([0.5, 0.5, mean], 0.1).astype(np.float32),
            "action_mask": np.ones(4, bool),
        }
        for _ in range(count)
    ]


@pytest.mark.parametrize(("mean", "is_far"), [(0.5, False), (0.6, False), (0.8, True), (0.2, True)])
def test_the_number_that_lies_far_is_found(mean: float, is_far: bool) -> None:
    """Within two standard deviations of training, on average, nothing is strange; the mean of training is the true one."""
    rng = np.random.default_rng(1)
    training, run = Familiarity(), Familiarity()
    training.note(observations(rng, 2000, 0.5))
    run.note(observations(rng, 500, mean))
    found = run.strangest(training)
    assert (found is not None) == is_far
    if found is not None:
        assert (found.part, found.place) == ("state", 2)
        assert (found.mean, found.trained, found.deviation) == pytest.approx((mean, 0.5, 0.1), abs=0.02)


def test_sums_go_on_from_what_was_saved() -> None:
    """What a checkpoint holds leads to the same sums, to the last bit."""
    rng = np.random.default_rng(2)
    some = observations(rng, 30, 0.5)
    whole, first = Familiarity(), Familiarity()
    whole.note(some)
    first.note(some[:10])
    later = Familiarity(first.facts())
    later.note(some[10:])
    assert later.count == whole.count == 30
    assert all((later.facts()["sums"][part] == sums).all() for part, sums in whole.facts()["sums"].items())


def learned_from(folder: Path, jobs: int) -> None:
    """An agent that remembers the queues of a run of its own with so many jobs at once."""
    agent = untrained(folder)
    scheduler = make_scheduler(f"learned:{folder}")
    player = scheduler._player  # type: ignore[attr-defined]
    player.agent.seen = {"count": 0, "sums": {}}
    noted = Familiarity()
    player._look = lambda _, kept: noted.note([kept])
    Simulation(small_cluster(), mixed_jobs(np.random.default_rng(5), jobs), scheduler).run()
    Agent(agent.environment, agent.network, agent.weights, agent.facts, noted.facts()).save(folder / "best")


def test_a_run_unlike_training_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run that it knows passes in silence; with fifty times the jobs one line names what is different, and both means."""
    monkeypatch.setattr(seen, "FIRST_LOOK", 8)
    monkeypatch.setattr("learning.training.agent.FIRST_LOOK", 8)
    learned_from(tmp_path, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Simulation(
            small_cluster(), mixed_jobs(np.random.default_rng(5), 12), make_scheduler(f"learned:{tmp_path}")
        ).run()
    with pytest.warns(ModelWarning) as told:
        Simulation(
            small_cluster(), mixed_jobs(np.random.default_rng(5), 200), make_scheduler(f"learned:{tmp_path}")
        ).run()
    [one] = [one for one in told if "far from" in str(one.message)]
    assert one.filename == __file__
    line = str(one.message)
    assert f"learned:{tmp_path}: this run is far from what the agent learned from: " in line
    assert " in training; " in line


@pytest.mark.usefixtures("forked_workers")
def test_an_evaluation_tells_it_once(tmp_path: Path) -> None:
    """Two cases, several runs of the agent in each, in two processes: one line."""
    learned_from(tmp_path, 12)
    cases = [Episode(small_cluster(), mixed_jobs(np.random.default_rng(seed), 280)) for seed in (5, 6)]
    with pytest.warns(UnfamiliarWarning) as told:
        evaluate(tmp_path, cases, heuristics=["fcfs"], runs=2, workers=2)
    [line] = [str(one.message) for one in told if one.category is UnfamiliarWarning]
    assert f"learned:{tmp_path}/best: this run is far from what the agent learned from: " in line


def test_a_sweep_tells_it_once_of_each_log(tmp_path: Path) -> None:
    """Four runs of the agent on two workloads: two lines, which name them."""
    pytest.importorskip("pyarrow")
    from analysis.sweep import Grid, sweep

    learned_from(tmp_path, 12)
    logs = [f"lublin:jobs=280,nodes=4,seed={seed}" for seed in (1, 2)]
    factors = {
        "platform": "homogeneous:nodes=2,cores=4",
        "workload": [{"source": log} for log in logs],
        "scheduler": ["fcfs", f"learned:{tmp_path}"],
    }
    with pytest.warns(UnfamiliarWarning) as told:
        rows = sweep(Grid.of({"factors": factors, "replications": 2}), workers=1).runs()
    lines = [str(one.message) for one in told if one.category is UnfamiliarWarning]
    assert [line.partition(": learned:")[0] for line in lines] == logs
    assert len(rows) == 8
    assert "unfamiliar" not in rows


def test_what_is_damaged_is_refused(tmp_path: Path) -> None:
    """Sums of another shape are told by their name."""
    agent = untrained(tmp_path)
    wrong = {"count": 3, "sums": {"state": np.zeros(4)}}
    Agent(agent.environment, agent.network, agent.weights, agent.facts, wrong).save(tmp_path / "best")
    with pytest.raises(FormatError, match=r"seen\.sums\.state: expected sums and sums of squares, found shape \(4,\)"):
        Agent.load(tmp_path)
