"""IRMaSim's Figs. 9 to 11: one batch with a queue, policies that group jobs, and agents judged by how they end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis.reproduce.claims import ClaimVerdict, judge
from analysis.reproduce.energy_scheduler import selector
from analysis.reproduce.irmasim import as_run, grouping_alone, policies
from analysis.reproduce.irmasim import cluster as irmasim_cluster
from analysis.reproduce.irmasim import paper as irmasim
from analysis.reproduce.irmasim.agents import AGENTS, FIGURE_ROWS, ROWS, SelectionCase, converged, until_half_way, way
from analysis.reproduce.irmasim.favourites import at_least_by_chance, favourites, until_settled
from analysis.reproduce.trainings import FILES
from cluster_sim import Simulation, Workload
from learning.training.configuration import read_config
from learning.training.training import untrained
from learning.training.training_seeds import train
from schedulers.queue.list_scheduling import ListScheduler


def test_figs_9_to_11_are_about_one_batch() -> None:
    """What the agents are trained on is what Fig. 9 runs."""
    for file in AGENTS.values():
        assert read_config(FILES / f"{file}.yaml").environment.workload == policies.BATCH


@pytest.mark.parametrize("model", irmasim_cluster.MODELS)
def test_the_queue_is_never_empty(model: str) -> None:
    """From the first submission up to the last, under every policy of Table II that differs on this batch."""
    workload = Workload.read(policies.BATCH)
    platform = irmasim_cluster.cluster(irmasim_cluster.CLUSTERS["heterogeneous"], model)
    last = workload.jobs["submit_time"].max()
    assert 60.0 < last <= irmasim_cluster.SUBMITTED_WITHIN_S
    for job in policies.DIFFERENT_JOBS:
        for node in policies.NODES:
            jobs = irmasim_cluster.run(platform, workload, f"list:{job}/{node}").jobs
            submits, starts = jobs["submit_time"].to_numpy(), jobs["start_time"].to_numpy()
            times = np.concatenate([submits, starts])
            for time in times[(times >= submits.min()) & (times < last)]:
                assert ((submits <= time) & (starts > time)).any(), (job, node, time)


def test_a_policy_by_itself_is_the_same_for_agents_and_fig_9() -> None:
    """Every decision by one policy: the energy of that policy as a scheduler."""
    config = read_config(FILES / "irmasim-selection.yaml")
    case = SelectionCase(config, untrained(config))
    platform = irmasim_cluster.cluster(irmasim_cluster.CLUSTERS["heterogeneous"], "contention")
    names = str(config.environment.options["policies"]).split("+")
    for name, energy in zip(names, case.alone, strict=True):
        summary = irmasim_cluster.run(platform, Workload.read(policies.BATCH), f"list:{name}").summary()
        assert energy == pytest.approx(float(summary["energy_j"]), rel=1e-12)
    assert [names[best] for best in case.best] == [min(zip(case.alone, names, strict=True))[1]]


@pytest.mark.parametrize(("nodes", "together"), [("first", 4.0), ("high_cores", 2.0)])
def test_how_jobs_are_grouped(nodes: str, together: float) -> None:
    """Four equal jobs on two quad-core nodes: all on the first, or two on each."""
    platform = irmasim_cluster.cluster({3.4: 2}, "baseline")
    result = irmasim_cluster.run(platform, irmasim_cluster.of_profiles([(0.0, "ep.C")] * 4), f"list:first/{nodes}")
    assert policies.grouped(result) == pytest.approx(together)


def test_the_way_to_the_best_policy() -> None:
    """Alone the policies reach 10, 20 and 30: 20 is no way, 10 is all of it, and 15 half."""
    alone = [10.0, 20.0, 30.0]
    assert [way(value, alone) for value in (30.0, 20.0, 15.0, 10.0)] == [-100.0, 0.0, 50.0, 100.0]
    assert until_half_way([20.0, 12.0, 16.0, 14.0, 12.0], alone) == 4  # the second was not for good
    assert until_half_way([12.0, 12.0], alone) == 1
    assert until_half_way([12.0, 12.0, 20.0], alone) == 3  # never: all of them


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trainings of two short rollouts on ten jobs."""
    config = read_config(FILES / "irmasim-selection.yaml")
    environment = config.environment.model_copy(
        update={"platform": "mixed:1x4@3.4,1x4@1.7", "workload": "npb:jobs=20,at_once=12"}
    )
    update = {"environment": environment, "iterations": 2, "episodes": 2, "seeds": 2, "workers": 1}
    folder = tmp_path_factory.mktemp("agents")
    train(config.model_copy(update=update), folder)
    return folder


def test_the_last_policies_and_rollouts_are_judged(made_up: Path) -> None:
    """A number for each training, and one for each of as many untrained agents, whatever validation has kept."""
    for kept in made_up.glob("seed-*/best/*"):
        kept.unlink()
    row = FIGURE_ROWS[0].name
    values = converged(Path(), row, {}, str(made_up), 0, None).values
    assert len(values[f"agent/{row}/way"]) == len(values[f"control/{row}/way/untrained"]) == 2
    assert [len(curve) for curve in values[f"agent/{row}/curve"]] == [2, 2]
    assert all(episodes in (2, 4) for episodes in values[f"agent/{row}/episodes"])
    claims = {claim.key: claim for claim in irmasim.PAPER.claims()}
    for key in ("fig-10/reinforce/favours", "fig-10/reinforce/least", f"way/{row}"):
        assert judge(claims[key], values).verdict is not ClaimVerdict.NOT_RUN


@pytest.mark.parametrize(
    ("agent", "untrained", "expected"),
    [
        (True, False, ClaimVerdict.REPRODUCED),
        (True, True, ClaimVerdict.NOT_DISCRIMINATING),
        (False, False, ClaimVerdict.NOT_REPRODUCED),
    ],
)
def test_a_statement_on_an_agent_has_controls(agent: bool, untrained: bool, expected: ClaimVerdict) -> None:
    """The same statement about untrained agents takes the verdict away where it is true of them."""
    row, name = "contention reinforce", "best favoured"
    values = {
        f"agent/{row}/{name}": agent,
        f"control/{row}/{name}/untrained": untrained,
        f"control/{row}/{name}/random play": False,
    }
    claim = next(claim for claim in irmasim.PAPER.claims() if claim.key == "fig-11/reinforce/least")
    assert judge(claim, values).verdict is expected


@pytest.mark.parametrize(
    ("baseline", "model", "expected"),
    [
        ([24, 36, 36], [12, 24, 24], ClaimVerdict.REPRODUCED),
        ([24, 24, 36], [24, 36, 36], ClaimVerdict.NOT_REPRODUCED),
        ([24, 48, 48], [12, 24, 24], ClaimVerdict.NOT_REPRODUCED),  # most never get there: later than what?
    ],
)
def test_who_never_gets_there_is_not_late(baseline: list[int], model: list[int], expected: ClaimVerdict) -> None:
    """More episodes with the baseline are those of trainings that get there; four rollouts of twelve are all there are."""
    row = "baseline actor-critic"
    values = {
        f"agent/{row}/episodes": baseline,
        "agent/contention actor-critic/episodes": model,
        f"agent/{row}/per rollout": 12,
        f"agent/{row}/curve": [[1.0] * 4] * 3,
    }
    claim = next(claim for claim in irmasim.PAPER.claims() if claim.key == "fig-10-11/actor-critic")
    assert judge(claim, values).verdict is expected


def test_every_agent_reward_and_level_has_a_row() -> None:
    """Two agents under two models, and both by three rewards at three levels of observation."""
    assert len(ROWS) == 4 + 18
    assert len({row.training for row in ROWS}) == len(ROWS)


def test_settled_is_when_one_policy_is_more_probable_than_all_others() -> None:
    """Below ln 2 = 0.693 for good after the third update; at once; never."""
    assert until_settled([0.9, 0.6, 0.7, 0.6, 0.5]) == 4
    assert until_settled([0.6, 0.5]) == 1
    assert until_settled([0.5, 0.7]) == 2


def test_as_many_by_chance() -> None:
    """Two or more heads of three: 4 of 8 cases; none or more: all."""
    assert at_least_by_chance(2, 3, 0.5) == pytest.approx(0.5)
    assert at_least_by_chance(0, 20, 0.2) == pytest.approx(1.0)
    assert at_least_by_chance(20, 20, 0.2) == pytest.approx(0.2**20)


def test_favourites_of_a_training(made_up: Path) -> None:
    """Two trainings and two untrained agents; their probabilities, and what the favourite needs above the least."""
    row = as_run.FIGURE_ROWS[0]
    values = favourites(Path(), row.name, {}, str(made_up), 0, None).values
    agent, control = f"agent/{row.name}", f"control/{row.name}"
    for start, end in ((agent, ""), (control, "/untrained")):
        chosen, above = values[f"{start}/favourite{end}"], values[f"{start}/above{end}"]
        assert len(chosen) == len(above) == 2
        assert all(100.0 / 6.0 <= first <= 100.0 for first in values[f"{start}/first{end}"])
        cheapest = [100.0 * (value <= 0.01) for value in above]
        assert values[f"{start}/cheapest{end}"] == sum(cheapest) / 2.0
    assert set(values[f"{agent}/settled"]) <= {2, 4}
    assert 16.6 < values[f"{control}/cheapest/chance"] <= 100.0
    claims = {claim.key: claim for claim in irmasim.PAPER.claims()}
    for end in ("favours", "least", "chance"):
        assert judge(claims[f"{row.name}/{end}"], values).verdict is not ClaimVerdict.NOT_RUN


def test_the_selector_chooses_among_the_pairs_of_the_program() -> None:
    """The file's policies are those by which its favourites are named."""
    options = read_config(FILES / "experiment1-selector-as-run.yaml").environment.options
    assert tuple(options["policies"]) == selector.POLICIES
    assert len(set(selector.POLICIES)) == 36


@pytest.mark.parametrize(
    ("preference", "packs", "nodes"),
    [
        ("any clock", True, [0, 0, 0, 0]),
        ("any clock", False, [0, 1, 2, 0]),
        ("fast first", True, [0, 0, 0, 0]),
        ("fast first", False, [0, 1, 0, 1]),
        ("slow first", True, [2, 2, 2, 2]),
        ("slow first", False, [2, 2, 2, 2]),  # there is one slow node, which has room for all
    ],
)
def test_orders_of_one_preference_differ_in_grouping_alone(preference: str, packs: bool, nodes: list[int]) -> None:
    """Four jobs of one core on two fast nodes and a slow one, four cores each."""
    platform = irmasim_cluster.cluster({3.4: 2, 1.7: 1}, "baseline")
    workload = irmasim_cluster.of_profiles([(0.0, "ep.C")] * 4)
    order = grouping_alone.node_order(grouping_alone.PREFERENCES[preference], packs)
    result = Simulation(platform, workload, ListScheduler("first", order)).run()
    assert result.allocations.sort_values("job_id")["node"].tolist() == [f"cluster0.node{node}" for node in nodes]
