"""Agents that come with the toolkit: they run by name, on any machine, and say what they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.cli import main
from cluster_sim.errors import InputError
from learning.tasks.built_in_cases import built_in_day
from learning.training.agent import READY, Agent, find_agents, ready_agents
from learning.training.evaluation import cases_of
from learning.training.familiarity import Familiarity
from schedulers import make_power_policy, make_scheduler
from tests.support.untrained import untrained


def waste_under(policy: str, platform: Platform, workload: Workload) -> float:
    """J of idle nodes and switches beside saf-easy."""
    run = Simulation(platform, workload, make_scheduler("saf-easy"), make_power_policy(policy)).run()
    assert (run.jobs["state"] == "completed").all()
    return float(run.summary()["energy_waste_j"])


@pytest.mark.parametrize("name", ready_agents())
def test_each_has_a_card_and_tells_what_it_saw(name: str) -> None:
    """The card has a title and its limits; the file knows its environment without a machine or jobs of somebody's own."""
    card = (READY / name / "README.md").read_text()
    assert ready_agents()[name] in CliRunner().invoke(main, ["list", "agents"]).output
    for part in ("**Learned from**", "**Tested on**", "**Not tried**", "**Made by**", f"learned:{name}"):
        assert part in card
    agent = Agent.load(name)
    assert Familiarity(agent.seen).count > 5_000
    assert not {"workload", "platform"} & set(agent.environment)


def test_it_is_named_where_it_belongs() -> None:
    """In the place of a scheduler the refusal says where it goes; without a machine an evaluation asks for one."""
    with pytest.raises(
        InputError, match=r"expected an agent that starts jobs, found .*, a power policy \(--power-policy\)"
    ):
        make_scheduler("learned:taurus-sleep")
    with pytest.raises(InputError, match=r"expected --platform P, for the agent names no machine"):
        cases_of("taurus-sleep", "lublin:jobs=10,nodes=8")


def test_it_wastes_less_than_nodes_that_sleep_at_once() -> None:
    """On days of another machine, none of which it has seen."""
    days = built_in_day().all()
    wasted = [
        sum(waste_under(policy, day.platform, day.workload) for day in days)
        for policy in ("learned:taurus-sleep", "learned:taurus-sleep-one-limit", "timeout:0", "timeout:300")
    ]
    assert max(wasted[:2]) < min(wasted[2:])


def test_it_needs_less_energy_than_greedy() -> None:
    """On draws that it has not seen, where half of the jobs are bound by memory; its card tells of more draws."""
    nodes = Platform.read("machine:energy-scheduler-4")
    draws = [
        Workload.read(f"lopez-mixed:jobs=100,parts=drawn,memory=0.5,seed={seed}") for seed in (90001, 90002, 90003)
    ]
    needed = [
        sum(Simulation(nodes, jobs, make_scheduler(name)).run().summary()["energy_j"] for jobs in draws)
        for name in (
            "learned:lopez-energy",
            "contention-aware:metric=edp,placements=one",
            "contention-aware:metric=edp,order=shortest,placements=one,weight=0.99",
            "list:first/high_gflops",
        )
    ]
    assert needed[0] < min(needed[1:])


def test_validate_takes_its_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As evaluate does, with and without prefixes; a file of that name comes first."""
    monkeypatch.chdir(tmp_path)
    for name in ("taurus-sleep", "learned:taurus-sleep", "ready:taurus-sleep", "learned:ready:taurus-sleep"):
        assert find_agents(name) == [READY / "taurus-sleep"]
        assert f"{name}: agent, valid" in CliRunner().invoke(main, ["validate", name]).output
    end = CliRunner().invoke(main, ["validate", "ready:taurus-slep"])
    assert end.exit_code == 2
    assert "or a ready agent (lopez-energy, taurus-sleep, taurus-sleep-one-limit), found no such folder" in end.output
    Path("taurus-sleep").write_text("no agent")
    assert "agent, valid" not in CliRunner().invoke(main, ["validate", "taurus-sleep"]).output


def test_a_folder_of_the_users_own_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is looked for among folders, then among ready agents; what is neither is told with the names that there are."""
    monkeypatch.chdir(tmp_path)
    assert find_agents("taurus-sleep") == [READY / "taurus-sleep"]
    untrained(tmp_path / "taurus-sleep")
    assert Agent.load("taurus-sleep").kind == "job-node"
    assert find_agents("learned:ready:taurus-sleep") == find_agents("ready:taurus-sleep") == [READY / "taurus-sleep"]
    with pytest.raises(
        InputError,
        match=r"or a ready agent \(lopez-energy, taurus-sleep, taurus-sleep-one-limit\), found no such folder",
    ):
        find_agents("nobody")
