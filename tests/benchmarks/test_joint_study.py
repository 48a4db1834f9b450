"""The study of agents that start jobs and put nodes to sleep: who is tested on what, and what a row says."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from learning.training.agent import Agent
from learning.training.configuration import Config, read_config
from learning.training.inputs import environment_on, training_episodes
from learning.training.training import untrained
from learning.training.validation import as_many, source_of
from studies.joint_study import (
    CONFIG,
    COST,
    METRICS,
    REFERENCE,
    cheapest,
    draws_to_test,
    front,
    line,
    measured,
    ratios,
    run_rules,
    table,
)


def small() -> Config:
    """The case of the trainings, with few jobs and two validation episodes."""
    keys = {
        "kind": "jobs-and-nodes",
        "platform": "machine:taurus",
        "workload": "lublin:jobs=12,nodes=128",
        "fresh": True,
    }
    jobs = {"workload": "lublin:jobs=12,nodes=128", "fresh": True, "episodes": 2}
    return Config(environment=keys, validation=jobs, objective="reward", network="scorer:hidden=4")


def test_a_row_by_hand() -> None:
    """5 J wasted and 3 jobs that waited 2 s on average, at 95 W; half of what the reference costs."""
    metrics = dict.fromkeys(METRICS, 0.0) | {"energy_waste_by_core_j": 5.0, "mean_wait_s": 2.0}
    row = measured(metrics, 3)
    assert row[COST] == 5.0 + 95.0 * 6.0
    twice = row | {COST: 2.0 * row[COST], "energy_j": 4e6}
    assert ratios([row, twice], [twice, twice]).tolist() == [0.5, 1.0]
    assert line("who", [[row], [twice]], [twice]) == "| who | 0.750 (0.500 to 1.000) | 2.0 | 0.00 | 2 | 0.000 | 0.0 |"


def test_the_tested_draws_are_nobody_elses() -> None:
    """The configuration that ships learns from, chooses by and is tested on other draws; its scale is the study's reference."""
    config = read_config(str(CONFIG))
    assert f"against={REFERENCE}" in str(config.environment.reward)
    assert "price=95" in str(config.environment.reward)
    env = environment_on(config.environment, training_episodes(config.environment))
    chosen_by = {each.workload.columns["submit_time"].tobytes() for each in as_many(source_of(config, env), 5)}
    on = {each.workload.columns["submit_time"].tobytes() for each in draws_to_test(config, 5)}
    assert len(chosen_by) == len(on) == 5
    assert not chosen_by & on


def test_the_best_rule_is_the_cheapest() -> None:
    """Of two rules the one that leaves no node on for nothing; neither beats the other in waste and wait."""
    config = small()
    env = environment_on(config.environment, training_episodes(config.environment))
    episodes = as_many(source_of(config, env), 2)
    found = run_rules(("easy + always-on", "easy + timeout:0"), episodes)
    assert cheapest(found, found["easy + always-on"])[0] == "easy + timeout:0"
    assert front(found) == ["easy + timeout:0", "easy + always-on"]
    assert found["easy + always-on"][0]["node_switches"] == 0.0


def test_a_rule_that_another_beats_is_not_on_the_front() -> None:
    """Waste and wait by hand: the third rule wastes more than the first and waits longer than the second."""
    rows = [
        {"energy_waste_by_core_j": waste, "mean_wait_s": wait} for waste, wait in ((1.0, 9.0), (3.0, 2.0), (4.0, 3.0))
    ]
    assert front({"a": rows[:1], "b": rows[1:2], "c": rows[2:]}) == ["a", "b"]


def test_the_table_has_everybody(tmp_path: Path) -> None:
    """Rules, the chosen one, random play, untrained agents, and the agents of a folder: here an untrained one."""
    config = small()
    agent = untrained(config)
    Agent(agent.environment, agent.network, agent.weights, agent.facts).save(tmp_path / "best")
    lines = table(config, [str(tmp_path)], 2, 1, ("easy + timeout:0",))
    names = [each.split(" | ")[0].strip("| ") for each in lines if each.startswith("| ")]
    assert names[0] == "who"
    assert names[-5:-1] == [
        "best of 1 rules, `easy + timeout:0`",
        "at random",
        "untrained",
        f"agents of {tmp_path.name}",
    ]
    assert lines[2].startswith(f"| `{REFERENCE}` | 1.000 |")
    assert "against easy + timeout:0" in lines[-1]
