"""Plays of agents and of what they are held against; and what follows from them about learning."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from analysis.reproduce import ineps, paper_of, plays
from analysis.reproduce.controls import RANDOM_PLAY, TEACHER, UNTRAINED, leave
from analysis.reproduce.energy_scheduler import experiment_1 as energy_scheduler_1
from analysis.reproduce.energy_scheduler import experiment_2 as energy_scheduler_2
from analysis.reproduce.energy_scheduler import experiment_4 as energy_scheduler_4
from analysis.reproduce.energy_scheduler import lopez
from analysis.reproduce.learned import HEADINGS, lines, said
from analysis.reproduce.paper import IN_SAMPLE, OUT_OF_SAMPLE, AgentRow
from analysis.reproduce.plays import RANDOM_SEEDS, Played, reached_by, reductions_of
from analysis.reproduce.trainings import FILES, AgentTraining, configuration
from learning.training.inputs import training_episodes

CONFIG = AgentTraining(str(FILES / "experiment1-as-published.yaml"), {}, False)


def test_what_was_played_once_is_not_played_again(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same weights in the same case, whatever reward they were trained with; more runs are played anew."""
    leave(RANDOM_PLAY, configuration(CONFIG, shared), tmp_path / "energy")
    other = AgentTraining(CONFIG.file, {"reward": "edp-as-published"}, False)
    leave(RANDOM_PLAY, configuration(other, shared), tmp_path / "edp")
    case = energy_scheduler_1.episode(shared, "1")
    kept = str(tmp_path / "plays")
    [first] = plays.plays(tmp_path / "energy", case, "made", 3, kept)
    assert len(first.sampled) == 3
    again = "learning.training.evaluation.evaluate"
    monkeypatch.setattr(again, lambda *given, **options: pytest.fail("played again"))
    assert plays.plays(tmp_path / "edp", case, "made", 3, kept) == [first]
    with pytest.raises(pytest.fail.Exception, match="played again"):
        plays.plays(tmp_path / "edp", case, "made", 4, kept)


def test_who_draws_at_random_is_worth_the_mean_of_many_runs(shared: Path) -> None:
    """One run of it may be half as dear as another."""
    case = energy_scheduler_1.episode(shared, "1")
    each = [lopez.run("1", "list:random/random", seed).summary()["energy_j"] for seed in range(RANDOM_SEEDS)]
    assert max(each) > 1.1 * min(each)
    assert reached_by("list:random/random", case)["energy_j"] == pytest.approx(mean(each), rel=1e-12)


def test_reductions_by_hand() -> None:
    """min is of consumption: the greatest reduction of an agent's runs."""
    one = Played(
        [{"energy_j": 50.0, "edp_js": 10.0}, {"energy_j": 90.0, "edp_js": 30.0}], {"energy_j": 60.0, "edp_js": 5.0}
    )
    found = reductions_of("a", [one], {"x": {"energy_j": 100.0, "edp_js": 20.0}})
    assert {name: values for name, values in found.items() if "EDP" not in name} == {
        "a/x/energy/min": [50.0],
        "a/x/energy/avg": [30.0],
        "a/x/energy/max": [pytest.approx(10.0)],
        "a/x/energy/greedy": [pytest.approx(40.0)],
    }
    assert found["a/x/EDP/max"] == [-50.0]


@pytest.mark.parametrize(
    ("greedy", "drawn", "controls", "out_of_sample", "expected"),
    [
        ([20.0], [15.0], {"search": [20.0]}, False, "best of 9, learned by heart: as many random tries find as much"),
        (
            [20.0],
            [15.0],
            {"search": [12.0]},
            False,
            "learned by heart; 8.00 points more than the best of 9 random tries",
        ),
        ([2.0], [15.0], {"search": [17.0]}, False, "2.00 points less than the best of 9 random tries"),
        ([5.0], [4.0], {"search": [9.0], "teacher": [5.0]}, True, "plays as its teacher; 3.00 points more than"),
        (
            [5.0],
            [1.0],
            {"search": [0.0], "rule": [6.0]},
            True,
            "no more than those who have learned nothing; less than the",
        ),
    ],
)
def test_what_is_said_of_learning(
    greedy: list[float], drawn: list[float], controls: dict[str, list[float]], out_of_sample: bool, expected: str
) -> None:
    """By whom it is compared with: random search on the jobs of the training, untrained agents on others."""
    reached = {"greedy": greedy, "avg": drawn, "min": drawn}
    nothing: dict[str, list[float]] = {"untrained": [1.0], "random": [0.5], "teacher": [], "rule": []}
    assert said(reached, nothing | controls, 9, out_of_sample).startswith(expected)


def test_a_line_for_each_case_that_was_measured() -> None:
    """It names random search's episodes, and has a dash where there is no teacher."""
    row = energy_scheduler_1.ROWS[0]
    start = f"{row.name}/1/{row.against[0]}/energy"
    values = {f"agent/{start}/{name}": [10.0, 12.0] for name in ("greedy", "avg", "min")}
    values |= {
        f"control/{start}/{name}": [3.0] for name in (f"avg/{UNTRAINED}", f"avg/{RANDOM_PLAY}", f"min/{RANDOM_PLAY}")
    }
    values |= {f"control/{start}/avg/{TEACHER}": []}
    assert list(lines([row], values)) == []
    told = {f"control/{row.name}/metric": "energy", f"control/{row.name}/episodes": 768}
    [line] = lines([row], values | told)
    cells = dict(zip(HEADINGS, line, strict=True))
    assert cells["jobs of the test"] == "the same (in-sample)"
    assert cells["likeliest actions"] == "11.00 (10.00 to 12.00)"
    assert (cells["random search"], cells["teacher"], cells["greedy rule"]) == ("3.00 in 768", "–", "–")


@pytest.mark.parametrize(
    "row", [*energy_scheduler_1.ROWS, *energy_scheduler_4.ROWS, *ineps.ROWS], ids=lambda row: row.name
)
def test_in_sample_is_what_the_training_has_seen(row: AgentRow, shared: Path) -> None:
    """A row says so if and only if its training is on the jobs of its cases, and the heads of its claims say it."""
    training = AgentTraining(str(FILES / f"{row.file or row.training}.yaml"), row.environment, False)
    seen = getattr(training_episodes(configuration(training, shared).environment), "workload", None)
    for case in row.cases:
        jobs = lopez.experiment(case)[1].jobs
        same = seen is not None and seen.jobs["submit_time"].tolist() == jobs["submit_time"].tolist()
        assert same is not row.out_of_sample
    assert (OUT_OF_SAMPLE if row.out_of_sample else IN_SAMPLE) in row.group


def test_the_ten_features_are_judged_on_both_platforms(shared: Path) -> None:
    """InEPS's own agent has Table 7 on 30 + 4 nodes and on the text's 10 + 2, and trains on what it is tested on."""
    claims = [
        claim
        for claim in paper_of("ineps").claims()
        if "ten features" in claim.what and claim.source.endswith("Table 7")
    ]
    assert len(claims) == 2 * 18
    small = configuration(
        AgentTraining(str(FILES / "experiment4-as-published.yaml"), ineps.ADAPTABILITY_12.environment, False), shared
    )
    episodes = training_episodes(small.environment)
    assert episodes is not None
    assert episodes.platform.node_count == lopez.experiment("12-mem")[0].node_count == 12
    assert [*episodes.platform.processor_types] == [*lopez.experiment("12-mem")[0].processor_types]
    assert small.environment.observation == "p3"


def test_the_schedule_of_the_text_has_the_figures_of_the_table() -> None:
    """Fig. 4.14 (López 2023): 23743 J, 26.01 % and 48.59 % below 32 090.88 J and 5 071 504.8 J·s, all jobs run once."""
    found = energy_scheduler_2.described(Path(), "Fig. 4.14", "as described").values
    assert found["described/least"] < 23743 < found["described/greatest"]
    assert 100 * (1 - found["described/energy"] / 32090.88) == pytest.approx(26.01, abs=0.05)
    assert 100 * (1 - found["described/EDP"] / 5071504.8) == pytest.approx(48.59, abs=0.05)
    assert found["exchanged/J15"] < found["described/J15"]
    assert sorted(energy_scheduler_2.DESCRIBED) == sorted(energy_scheduler_2.EXCHANGED) == list(range(18))
