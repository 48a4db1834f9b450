"""The study of how far trainings lie apart: what stands on a line, and who plays beside the agents."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from cluster_sim import Platform
from cluster_sim.errors import InputError
from learning.training.agent import Agent
from learning.training.configuration import Config
from learning.training.training import untrained
from studies.seeds_study import Cases, Reductions, agents_line, draws_of, kept, table
from tests.support.rows import workload_of


def test_a_line_by_hand() -> None:
    """Two agents that save 10 and 30 %, and with drawn actions 20 and 0, -10 and -30 %."""
    line = agents_line("two", [Reductions([20.0, 0.0], 10.0), Reductions([-10.0, -30.0], 30.0)])
    assert line == "| two | 10.00, 30.00 | 20.00 ± 14.14 | 10.00, -20.00 | -5.00 |"


def test_random_search_and_untrained_agents_stand_beside_a_rule(tmp_path: Path) -> None:
    """One job on one node: whoever plays needs what the heuristic needs, in as many episodes as the training would have."""
    config = one_job(tmp_path)
    lines = table(config, Cases(config, str(config.environment.workload), "fcfs", "energy_j"), [], ["easy"], 1)
    assert cells(lines) == [
        ["untrained", "0.00, 0.00", "0.00 ± 0.00", "0.00, 0.00", "0.00"],
        ["random search, best of 6", "0.00", "", "", "0.00"],
        ["`easy`", "0.00", "", "", ""],
    ]


def test_validation_keeps_one_of_every_two(tmp_path: Path) -> None:
    """Of seeds 9 and 10 the one with the lesser score, of 11 and 12 the other; a line of their own beside that of all four."""
    config = one_job(tmp_path)
    for seed, score in ((9, 0.8), (10, 0.9), (11, 1.2), (12, 1.1)):
        agent = untrained(config.model_copy(update={"seed": seed}))
        Agent(agent.environment, agent.network, agent.weights, agent.facts | {"score": score}).save(
            tmp_path / "agents" / f"seed-{seed}" / "best"
        )
    folder = str(tmp_path / "agents")
    assert kept(folder, 2) == [0, 3]
    assert kept(folder, 4) == [0]
    with pytest.raises(InputError, match="multiple of 3"):
        kept(folder, 3)
    cases = Cases(config, str(config.environment.workload), "fcfs", "energy_j")
    first, second, *_ = cells(table(config, cases, [folder], [], 1, of=2))
    assert [first[0], second[0]] == [folder, f"{folder}, one kept of 2"]
    assert [len(line[1].split(", ")) for line in (first, second)] == [4, 2]


def test_of_several_draws_the_means_are_told() -> None:
    """Two draws of a generator: the mean of what a rule saves on each, of what agents do, and no best of random episodes."""
    jobs = {"workload": "lopez-mixed:jobs=8,gap_s=1", "fresh": True}
    config = Config(environment={"platform": "homogeneous:nodes=3,cores=8"} | jobs, iterations=1, episodes=2, seeds=2)
    spec = "lopez-mixed:jobs=8,gap_s=1,seed=3..4"
    assert draws_of(spec) == ["lopez-mixed:jobs=8,gap_s=1,seed=3", "lopez-mixed:jobs=8,gap_s=1,seed=4"]
    assert draws_of("jobs-seed=3.json") == ["jobs-seed=3.json"]
    both, *each = (Cases(config, name, "list:first/high_gflops", "energy_j") for name in (spec, *draws_of(spec)))
    rule = "list:shortest/first"
    assert both.of_rule(rule) == pytest.approx(sum(one.of_rule(rule) for one in each) / 2)
    lines = cells(table(config, both, [], [], 2))
    assert [line[0] for line in lines] == ["untrained"]
    parts = [[float(number) for number in cells(table(config, one, [], [], 2))[0][1].split(", ")] for one in each]
    assert [float(number) for number in lines[0][1].split(", ")] == pytest.approx(
        [sum(pair) / 2 for pair in zip(*parts, strict=True)], abs=0.011
    )


def one_job(folder: Path) -> Config:
    """A training on one job for the one core of a machine."""
    Platform.homogeneous(nodes=1, cores=1).write(folder / "platform.json")
    workload_of((0.0, 1, 60.0, 60.0)).write(folder / "workload.json")
    files = {"platform": str(folder / "platform.json"), "workload": str(folder / "workload.json")}
    return Config(environment=files, iterations=2, episodes=3, seeds=2)


def cells(lines: list[str]) -> list[list[str]]:
    """The rows of a table."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[3:]]
