"""Agents of the papers' rows: found where ``train`` left them, or trained from the files in examples/training."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from analysis.reproduce.agents import agent_parts, trained
from analysis.reproduce.claims import HOLDS, Claim, ClaimVerdict, Kind, judge, points
from analysis.reproduce.controls import CONTROLS, RANDOM_PLAY, TEACHER, UNSEEN, UNTRAINED, leave
from analysis.reproduce.energy_scheduler import experiment_3
from analysis.reproduce.energy_scheduler.experiment_1 import ROWS
from analysis.reproduce.paper import OUR_AGENTS, PUBLISHED_AGENTS, AgentRow, ReproductionSetting
from analysis.reproduce.runner import compute
from analysis.reproduce.trainings import FILES, QUICK, AgentTraining, configuration, train_first, training_of
from learning.training.agent import Agent
from learning.training.inputs import MakeEnvironment

ROW = AgentRow("row", "an agent", ("1",), (), "a-training")
EPISODES = "analysis.reproduce.energy_scheduler.experiment_1:episode"


@pytest.mark.parametrize(
    "place", ["paper/row/best", "a-training/best", "a-training/seed-3/best", "a-training/fold-1/seed-0/best"]
)
def test_where_agents_are_looked_for(place: str, tmp_path: Path) -> None:
    """Under the paper and row, or under the training's name: of one training, of seeds, of folds."""
    assert trained("paper", ROW, ReproductionSetting(True, tmp_path, tmp_path)) is None
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "agent.json").write_text("{}")
    found = trained("paper", ROW, ReproductionSetting(True, tmp_path, tmp_path))
    assert found == tmp_path / Path(*Path(place).parts[: 2 if place.startswith("paper") else 1])


def test_every_row_has_a_file_to_train_it_from() -> None:
    """Of all papers with agents; a row whose training nobody wrote down could never be filled by one command."""
    from analysis.reproduce import ineps
    from analysis.reproduce.deepshutdown import paper as deepshutdown
    from analysis.reproduce.energy_scheduler import experiment_2 as energy_scheduler_2
    from analysis.reproduce.energy_scheduler import experiment_3 as energy_scheduler_3
    from analysis.reproduce.irmasim import agents as irmasim_agents

    for row in (
        *ROWS,
        *energy_scheduler_2.ROWS,
        *energy_scheduler_3.ROWS,
        *ineps.ROWS,
        *irmasim_agents.ROWS,
        deepshutdown.ROW,
    ):
        assert (FILES / f"{row.file or row.training}.yaml").is_file(), row.name


@pytest.mark.parametrize(
    "name", ["energy-scheduler-1", "energy-scheduler-2", "energy-scheduler-3", "energy-scheduler-4", "ineps"]
)
def test_agents_as_published_are_held_against_the_same_numbers(name: str) -> None:
    """Each claim of a default agent's row has a twin of the published agent's, in a group of its own; only that one counts."""
    from analysis.reproduce import paper_of

    claims = {claim.key: claim for claim in paper_of(name).claims() if claim.controls}
    ours = {key: claim for key, claim in claims.items() if claim.group.startswith(OUR_AGENTS)}
    assert 0 < 2 * len(ours) <= len(claims)
    for key, claim in ours.items():
        row, _, rest = key.partition("/")
        twin = claims[f"{row}-as-published/{rest}"]
        assert twin.published == claim.published
        assert twin.group == claim.group.replace(OUR_AGENTS, PUBLISHED_AGENTS)
        assert (twin.kind, claim.kind) == (Kind.PAPER, Kind.OUR_AGENT)
        assert twin.tolerance.kind == "runs"
        assert set(twin.controls) == set(claim.controls) == set(CONTROLS)
        assert twin.measure == str(claim.measure).replace(f"agent/{row}/", f"agent/{row}-as-published/")


def test_inputs_are_taken_from_the_folder_of_inputs(tmp_path: Path) -> None:
    """Whatever folder a configuration names: the files are those of --inputs, and a part needs them."""
    setting = ReproductionSetting(True, tmp_path, trainings=tmp_path / "agents")
    found = training_of("experiment1-edp-waiting", {"reward": "energy"}, setting)
    assert found is not None
    folder = "cases/irmasim/experiment1"
    assert found.needs == (f"{folder}/platform.json", f"{folder}/workload.json")
    config = configuration(found, tmp_path)
    assert config.environment.platform == str(tmp_path / folder / "platform.json")
    assert (config.environment.reward, config.environment.options["wait"]) == ("energy", "event")
    assert (config.iterations, config.seeds) == (QUICK["iterations"], 1)
    assert training_of("no-such-file", {}, setting) is None


def test_without_trainings_only_fresh_actors_are_played(tmp_path: Path) -> None:
    """Actors that nobody trains need no folder for trainings."""
    names = [part.name for part in experiment_3.parts(ReproductionSetting(True, tmp_path))]
    assert [name for name in names if name.startswith(("agent", "as run"))] == ["as run 3"]


def test_a_full_training_is_that_of_the_file(tmp_path: Path) -> None:
    """Nothing but the place of the inputs is changed; unless less of something is asked for."""
    config = configuration(AgentTraining(str(FILES / "experiment4.yaml"), {}, False), tmp_path)
    assert (config.iterations, config.seeds, config.episodes) == (4, 5, 12)
    assert config.environment.workload == "lopez-mixed:jobs=100"
    fewer = configuration(
        AgentTraining(str(FILES / "experiment4.yaml"), {}, False, most={"seeds": 3, "iterations": 9}), tmp_path
    )
    assert (fewer.iterations, fewer.seeds, fewer.episodes) == (4, 3, 12)


def test_fewer_seeds_may_be_asked_for(tmp_path: Path) -> None:
    """The lower of what is asked for and of what the row takes at most; the file's where neither says anything."""
    for asked, row, expected in ((None, None, 10), (2, None, 2), (7, 3, 3), (2, 3, 2), (50, None, 10)):
        setting = ReproductionSetting(False, tmp_path, trainings=tmp_path / "agents", seeds=asked)
        found = training_of("experiment3-as-published", {}, setting, {"seeds": row} if row else None)
        assert found is not None
        assert configuration(found, tmp_path).seeds == expected


def test_what_was_cut_short_proves_nothing_against_a_paper() -> None:
    """Neither a value that misses nor one that agrees, whether it is named or computed from."""
    said = {"agent/": "two iterations"}
    values = {"agent/row/energy": 10.0, "agent/row/cheapest": False, "other": 1.0}

    def verdict(published: str, measure: object, tolerance: object = points(0.5)) -> tuple[ClaimVerdict, str]:
        judged = judge(Claim("k", "w", published, "%", "T", measure, tolerance), values, {}, said)  # type: ignore[arg-type]
        return judged.verdict, judged.why

    assert verdict("20", "agent/row/energy") == (ClaimVerdict.NOT_RUN, "two iterations")
    assert verdict("yes", lambda v: v["agent/row/cheapest"], HOLDS) == (ClaimVerdict.NOT_RUN, "two iterations")
    assert verdict("10", "agent/row/energy") == (ClaimVerdict.NOT_RUN, "two iterations")
    assert verdict("20", "other")[0] is ClaimVerdict.NOT_REPRODUCED


def test_a_row_is_trained_and_tested(shared: Path, tmp_path: Path) -> None:
    """Without an agent the quick part trains one for two iterations, keeps it, and says that it is not a full one."""
    setting = ReproductionSetting(True, shared, trainings=tmp_path)
    [part] = agent_parts("energy-scheduler-1", ROWS[:1], setting, EPISODES)
    part.arguments["runs"] = 2  # type: ignore[index]
    record = compute(part, shared)
    assert "2 iterations" in record["curtailed"]["agent/no-wait/"]
    quick = tmp_path / "quick" / "experiment1-energy"
    assert (quick / "seed-0" / "best" / "agent.json").is_file()
    again = AgentTraining(str(FILES / "experiment1-energy.yaml"), {}, True)
    assert train_first(
        "agent/no-wait/", shared.resolve(), str(quick), again
    ).curtailed  # one seed is asked for, and there is one
    start = "no-wait/1/list:low_mem_ops/high_mem_bw/energy"
    three = [record["values"][f"agent/{start}/{name}"][0] for name in ("min", "avg", "max")]
    assert three == sorted(three, reverse=True)
    assert three[0] <= 20.21  # the optimum without waiting, of the paper and proven
    for control, count in ((UNTRAINED, 5), (RANDOM_PLAY, 1), (TEACHER, 0), (UNSEEN, 5)):
        assert len(record["values"][f"control/{start}/avg/{control}"]) == count


def test_random_play_takes_every_action_alike(shared: Path, tmp_path: Path) -> None:
    """Its first decision is each of those that can be taken, about equally often in 2,000 tries."""
    config = configuration(AgentTraining(str(FILES / "experiment1-as-published.yaml"), {}, False), shared)
    leave(RANDOM_PLAY, config, tmp_path)
    agent = Agent.load(tmp_path)
    environment = MakeEnvironment.of(config.environment)()
    network = agent.build(environment.maker)
    observation, _ = environment.reset(seed=0)
    rng = np.random.default_rng(0)
    counts = Counter(int(network.decide(observation, None, rng)[0]) for _ in range(2000))
    choices = np.flatnonzero(observation["action_mask"])
    assert sorted(counts) == choices.tolist()
    expected = 2000 / len(choices)
    assert sum((n - expected) ** 2 / expected for n in counts.values()) < 20.0  # chi-squared, far beyond 99.9 %
