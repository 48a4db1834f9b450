"""Warm starts of whole trainings: they reach their teacher, learning goes on from there, and the examples can be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

import torch

from cluster_sim import Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError
from learning.algorithms.optimisers import Adam
from learning.training.configuration import Config, read_config
from learning.training.inputs import FreshWorkloads, MakeEnvironment, training_episodes
from learning.training.training import Training
from tests.support.job_node_cases import CASES, experiment

TEACHER = "contention-aware:metric=delay,placements=one"
EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "training").glob("*.yaml"))


def training(folder: Path, **keys: object) -> Training:
    """A training with a warm start."""
    given = {"warm_start": {"teacher": TEACHER}, "episodes": 4, "workers": 1}
    return Training(Config.model_validate(given | keys), folder)


def test_the_warm_start_reaches_its_teacher(tmp_path: Path) -> None:
    """On Experiment 2 of López (2023) the agent's greedy episode is the teacher's schedule, whatever the seed."""
    source = experiment("2")
    files = {name: str(CASES / "experiment2" / f"{name}.json") for name in ("platform", "workload")}
    expected = Simulation(source.platform, source.workload, make_scheduler(TEACHER)).run().summary()["energy_j"]
    for seed in range(3):
        begun = training(tmp_path, environment=files | {"options": {"placements": "one", "num_jobs": 18}}, seed=seed)
        assert begun.config.warm_start is not None
        numbers = begun.imitate(begun.config.warm_start)
        assert numbers["warm_start/agreement"] == 1.0
        [value] = begun.validation.of(begun.network, begun.make_environment, None).values
        assert value == pytest.approx(expected, rel=1e-12)


def test_learning_goes_on_after_the_warm_start(tmp_path: Path) -> None:
    """Updates change the network that was taught, not a copy of it as it was before."""
    begun = training(tmp_path)
    assert begun.config.warm_start is not None
    begun.imitate(begun.config.warm_start)
    taught = begun.network.weights()
    numbers = begun.step()
    learned = begun.network.weights()
    assert numbers["train/approx_kl"] > 0.0
    for part in ("actor", "critic"):
        assert any(not np.array_equal(taught[name], learned[name]) for name in taught if name.startswith(part))


def test_days_that_were_shown_are_the_same_for_the_next_seed(tmp_path: Path) -> None:
    """What a pupil plays in rounds of correction is added to its own lessons, not to those that are kept."""
    keys = {
        "environment": {
            "kind": "node-shutdown",
            "platform": "homogeneous:nodes=4,cores=4",
            "workload": "lublin:jobs=20,nodes=16,seed=3,estimates=tsafrir",
            "days": True,
        },
        "network": "scorer:hidden=8",
        "warm_start": {"teacher": "summed-stretch", "episodes": 2, "rounds": 1, "options": {"epochs": 2}},
    }
    taught = []
    for _ in range(2):
        begun = training(tmp_path, **keys)
        assert begun.config.warm_start is not None
        begun.imitate(begun.config.warm_start)
        taught.append(begun.network.weights())
    for name, weights in taught[0].items():
        np.testing.assert_array_equal(weights, taught[1][name])


def test_optimisers_take_turns() -> None:
    """A step of the first after one of the second starts from where the second has left the weight.

    Adam's first step is lr · g / (|g| + ε), with g = 1 from weight 0: to -0.1 by the second, to -0.1 - 0.01 by the first.
    """
    weight = torch.nn.Parameter(torch.zeros(1))
    first, second = Adam([weight], 0.01, eps=0.0), Adam([weight], 0.1, eps=0.0)
    for optimiser, expected in ((second, -0.1), (first, -0.11)):
        optimiser.zero_grad()
        torch.autograd.backward(weight.sum())
        optimiser.step()
        assert weight.item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_can_be_read(path: Path) -> None:
    """Keys of an example are known; where the inputs are there, its environment begins an episode."""
    config = read_config(path)
    if not CASES.is_dir():
        pytest.skip("the papers' experiments are not there: ../shared/cases")
    environment = MakeEnvironment.of(config.environment)()
    environment.reset(seed=0)


def test_every_draw_is_fresh() -> None:
    """Each has a seed of its own, drawn with the generator that is handed in; ten of them stand for all."""
    keys = Config.model_validate(
        {"environment": {"platform": "homogeneous:nodes=2,cores=8", "workload": "lopez-mixed:jobs=12", "fresh": True}}
    ).environment
    source = training_episodes(keys)
    assert source is not None
    rng = np.random.default_rng(1)
    orders = {tuple(source.draw(rng).workload.jobs["profile"]) for _ in range(5)}
    assert len(orders) == 5
    assert len(source.all()) == 10
    again = FreshWorkloads.of("lopez-mixed")(np.random.default_rng(3))
    assert again.jobs.equals(FreshWorkloads.of("lopez-mixed")(np.random.default_rng(3)).jobs)


@pytest.mark.parametrize("spec", ["jobs.json", "lopez-mixed:jobs=12,seed=3", "maze:jobs=3"])
def test_what_cannot_be_drawn_afresh_is_refused(spec: str) -> None:
    """Files, unknown generators, and specs that fix the seed."""
    with pytest.raises(InputError, match="a generator's spec without a seed"):
        FreshWorkloads.of(spec)


@pytest.mark.parametrize("part", ["mem", "comp"])
def test_mixed_jobs_are_those_of_the_tests(part: str) -> None:
    """A profile of the mix is that of the test workload's job of the same letter, in all that a scheduler or a run sees."""
    columns = ["requested_cores", "requested_time", "operations", "mem_vol", "ipc"]
    mix = Workload.read("lopez-mixed:jobs=60,seed=5").jobs
    assert set(mix["profile"].value_counts()) == {10}
    tested = experiment(f"4-{part}").workload.jobs
    for letter in "ABC":
        ours = mix[mix["profile"] == letter + ("1" if part == "mem" else "2")][columns].drop_duplicates()
        theirs = tested[tested["profile"] == letter][columns].drop_duplicates()
        assert ours.to_numpy().tolist() == theirs.to_numpy().tolist()
