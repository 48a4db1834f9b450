"""The papers' tables: reductions by hand, runs as ordinary runs, and the same whatever the processes."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.errors import InputError, ModelWarning
from learning.tasks.built_in_cases import mixed_jobs, small_cluster
from learning.tasks.episodes import Days, Episode, Trajectories, Whole
from learning.training.agent import find_agents
from learning.training.evaluation import Evaluation, cases_of, evaluate
from learning.training.heuristics import LIST_HEURISTICS, of_other_jobs, run_on, switches_nodes
from learning.training.heuristics import ended as ended_jobs
from learning.training.inputs import split_days
from schedulers import make_scheduler
from tests.support.untrained import untrained


def by_hand() -> Evaluation:
    """Two training seeds on one case, in which one heuristic needs 200 J, another 100 J."""
    runs = [
        {"training_seed": seed, "case": 0, "mode": mode, "seed": i, "energy_j": joules}
        for seed, mode, values in (
            (0, "greedy", [80.0]),
            (0, "sampled", [80.0, 100.0]),
            (1, "greedy", [90.0]),
            (1, "sampled", [120.0, 120.0]),
        )
        for i, joules in enumerate(values)
    ]
    heuristics = [
        {"heuristic": "list:first/high_gflops", "case": 0, "energy_j": 200.0},
        {"heuristic": "list:smallest/high_gflops", "case": 0, "energy_j": 100.0},
        {"heuristic": "easy", "case": 0, "energy_j": 50.0},
    ]
    return Evaluation(pd.DataFrame(runs), pd.DataFrame(heuristics), ("energy_j",))


def test_reductions_by_hand() -> None:
    """Against 100 J the sampled runs reduce by 20, 0, -20 and -20 %, seeds on average by 10 and -20; greedy by 20 and 10."""
    row = by_hand().table().set_index("against").loc["list:smallest/high_gflops"]
    assert row[["value", "min", "mean", "max"]].tolist() == pytest.approx([100.0, -20.0, -5.0, 20.0])
    assert row["spread"] == pytest.approx(np.std([10.0, -20.0], ddof=1))
    assert row[["greedy_min", "greedy_mean", "greedy_max"]].tolist() == pytest.approx([10.0, 15.0, 20.0])
    assert row["greedy_spread"] == pytest.approx(np.std([20.0, 10.0], ddof=1))


def test_the_best_heuristics_come_first() -> None:
    """The best list heuristic, as the papers', the best of all, and then all in order."""
    assert by_hand().table()["against"].tolist() == [
        "the best of López's list heuristics: list:smallest/high_gflops",
        "the best heuristic: easy",
        "easy",
        "list:smallest/high_gflops",
        "list:first/high_gflops",
    ]


def test_the_agents_own_means_stand_beside_the_heuristics() -> None:
    """Greedy 80 and 90 J, sampled 80, 100, 120 and 120 J: a line each, in the column of the heuristics' values."""
    evaluation = by_hand()
    assert (evaluation.value("energy_j"), evaluation.value("energy_j", "sampled")) == (85.0, 105.0)
    lines = {line[:20].strip(): line.split() for line in evaluation.text().splitlines()}
    assert lines["the agent, greedy"][-1] == "85"
    assert lines["the agent, sampled"][-1] == "105"


def test_the_best_list_heuristic_is_a_published_one() -> None:
    """An order of our own may be the best of all, but the papers compare with the orders that they have."""
    evaluation = by_hand()
    own = {"heuristic": "list:saf/first", "case": 0, "energy_j": 40.0}
    evaluation.heuristics = pd.concat([evaluation.heuristics, pd.DataFrame([own])], ignore_index=True)
    assert evaluation.best_heuristic("energy_j") == "list:saf/first"
    assert evaluation.best_heuristic("energy_j", classic=True) == "list:smallest/high_gflops"


def test_several_cases_also_have_a_best_of_each() -> None:
    """One heuristic is best in one case, the other in the other: 50 J and 80 J; the agent needs 40 J in both."""
    runs = pd.DataFrame(
        [{"training_seed": 0, "case": c, "mode": "greedy", "seed": 0, "energy_j": 40.0} for c in (0, 1)]
        + [{"training_seed": 0, "case": c, "mode": "sampled", "seed": 0, "energy_j": 40.0} for c in (0, 1)]
    )
    values = {"fcfs": (50.0, 100.0), "sjf": (100.0, 80.0)}
    heuristics = pd.DataFrame(
        [{"heuristic": name, "case": c, "energy_j": pair[c]} for c in (0, 1) for name, pair in values.items()]
    )
    table = Evaluation(runs, heuristics, ("energy_j",)).table().set_index("against")
    assert table.loc["the best heuristic of each case", "mean"] == pytest.approx((20.0 + 50.0) / 2)
    assert table.loc["the best heuristic: fcfs", "mean"] == pytest.approx((20.0 + 60.0) / 2)
    assert table.loc["fcfs", "change"] == pytest.approx(-100 * 35 / 75)
    assert math.isnan(table.loc["fcfs", "change_around"])  # of two cases
    assert table.loc["fcfs", "verdict"] == "values only"


def five_cases() -> Evaluation:
    """Five cases: one heuristic is above the agent by 10 J in each, a second its equal, a third now above, now below."""
    agent = (90.0, 91.0, 92.0, 93.0, 94.0)
    runs = [
        {"training_seed": 0, "case": c, "mode": mode, "seed": 0, "energy_j": joules}
        for c, joules in enumerate(agent)
        for mode in ("greedy", "sampled")
    ]
    swing = (3.0, -3.0, 2.0, -2.0, 0.0)
    heuristics = [
        {"heuristic": name, "case": c, "energy_j": joules + apart[c]}
        for c, joules in enumerate(agent)
        for name, apart in (
            ("fcfs", (10.0, 12.0, 10.0, 8.0, 10.0)),
            ("first", (10.0, 12.0, 10.0, 8.0, 10.0)),
            ("sjf", swing),
        )
    ]
    return Evaluation(pd.DataFrame(runs), pd.DataFrame(heuristics), ("energy_j",))


def test_verdicts_ties_and_equals() -> None:
    """By hand: 10 J less of 102 with s = √2, times 2.776 / √5: 1.76 J; against sjf 0 ± 3.17 J of 92."""
    evaluation = five_cases()
    table = evaluation.table().set_index("against")
    assert table.loc["fcfs", "change"] == pytest.approx(-100 * 10 / 102)
    assert table.loc["fcfs", "change_around"] == pytest.approx(100 * 2.77645 * math.sqrt(2 / 5) / 102, rel=1e-5)
    assert table.loc[["fcfs", "sjf"], "verdict"].tolist() == ["less", "no difference shown"]
    assert evaluation.comparison.sentences == (
        "What differs: who decides (the agent, fcfs, first, sjf).",
        "Energy under the agent, greedy, 92 J: less than under fcfs = first (−9.8 ± 1.7 %); no difference shown from sjf "
        "(0 ± 3.4 %) (over 5 cases, 95 % intervals).",
    )
    lines = evaluation.text().splitlines()
    assert lines[1:3] == list(evaluation.comparison.sentences)
    assert sum(line.startswith(("fcfs", "first")) for line in lines) == 1
    assert "equal in every case: fcfs = first" in lines
    (heading,) = (line for line in lines if line.startswith("against"))
    assert "value [J]" in heading
    (row,) = (line for line in lines if line.startswith("fcfs"))
    assert row.endswith("-9.80 ±    1.72    less")


def test_a_best_heuristic_that_is_not_told_apart_is_told_so() -> None:
    """Neither of two heuristics that differ by 3, -3, 2, -2 and 1 J is best."""
    evaluation = five_cases()
    swing = np.array([3.0, -3.0, 2.0, -2.0, 1.0])
    first = evaluation.heuristics.query("heuristic == 'sjf'")
    other = first.assign(heuristic="saf", energy_j=first["energy_j"].to_numpy() + swing)
    evaluation.heuristics = pd.concat([evaluation.heuristics, other], ignore_index=True)
    sentence = "Energy does not tell the best heuristic, sjf, from saf in these cases."
    assert sentence in evaluation.comparison.sentences
    assert sentence in evaluation.text().splitlines()
    assert not any("best heuristic" in each for each in five_cases().comparison.sentences)


def test_one_case_says_nothing_of_others() -> None:
    """A change of seeds' means, 85 J for 100 J, without an interval: a dash."""
    row = by_hand().table().set_index("against").loc["list:smallest/high_gflops"]
    assert row["change"] == pytest.approx(-15.0)
    assert math.isnan(row["change_around"])
    assert by_hand().text().splitlines()[-1].split()[-6:] == ["-57.50", "±", "-", "too", "few", "cases"]


def test_one_training_seed_has_no_spread(tmp_path: Path) -> None:
    """One seed, one case, one greedy and two sampled runs: singular where it is one, a dash for the spread, null in JSON."""
    evaluation = by_hand()
    evaluation.runs = evaluation.runs[evaluation.runs["training_seed"] == 0]
    lines = evaluation.text().splitlines()
    assert lines[0] == "1 training seed, 1 case, 2 test runs with sampled actions, 1 greedy"
    assert [lines[-1].split()[i] for i in (5, 9)] == ["-", "-"]
    evaluation.save(tmp_path)
    assert json.loads((tmp_path / "evaluation.json").read_text())["table"][0]["greedy_spread"] is None


def test_a_case_in_which_no_job_runs_is_named(agents: Path) -> None:
    """All four jobs are wider than the machine: one line, and not a list of metrics."""
    columns = {"submit_time": np.arange(4.0), "requested_cores": np.full(4, 9), "recorded_run_time": np.full(4, 60.0)}
    wide = Workload(columns)
    case = Episode(Platform.homogeneous(nodes=1, cores=8), wide, name="wide")
    with pytest.raises(
        InputError, match=r"^wide: metric mean_wait_s: expected a job that ran, found 4 submitted, 4 rejected$"
    ):
        evaluate(agents, [case], ["mean_wait_s"], heuristics=["fcfs"], workers=1)


def test_what_is_no_number_is_null(tmp_path: Path) -> None:
    """Against a heuristic that needs nothing there is no reduction: null in JSON, a dash in the text."""
    evaluation = by_hand()
    evaluation.heuristics["energy_j"] = 0.0
    evaluation.save(tmp_path)
    document = json.loads((tmp_path / "evaluation.json").read_text(), parse_constant=pytest.fail)
    assert document["table"][0]["mean"] is None
    (row,) = (line for line in (tmp_path / "evaluation.txt").read_text().splitlines() if line.startswith("list:first"))
    assert row.split()[4:7] == ["0", "-", "-"]  # behind the heuristic's name "+ 2 equal", and its value


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two training seeds."""
    folder = tmp_path_factory.mktemp("agents")
    for seed in (0, 1):
        untrained(folder / f"seed-{seed}", seed)
    return folder


def test_every_run_is_an_ordinary_run(agents: Path, tmp_path: Path) -> None:
    """Both seeds and all heuristics on every case, each value what a simulation with that seed gives."""
    jobs = mixed_jobs(np.random.default_rng(3), 12)
    cases = [Episode(small_cluster(), part) for part in jobs.split(2)]
    evaluation = evaluate(
        agents, cases, ["energy_j", "mean_wait_s"], ["fcfs", "list:smallest/high_gflops"], runs=4, seed=7, workers=1
    )
    runs = evaluation.runs
    assert runs.groupby(["training_seed", "mode"]).size().to_dict() == {
        (seed, mode): count for seed in (0, 1) for mode, count in (("greedy", 2), ("sampled", 4))
    }
    for row in runs[runs["mode"] == "sampled"].itertuples():
        scheduler = make_scheduler(f"learned:{agents}/seed-{row.training_seed},sample=yes")
        case = cases[row.case]
        summary = Simulation(case.platform, case.workload, scheduler, seed=row.seed).run().summary()
        assert (row.energy_j, row.mean_wait_s) == (summary["energy_j"], summary["mean_wait_s"])
    for row in evaluation.heuristics.itertuples():
        case = cases[row.case]
        assert (
            row.energy_j
            == Simulation(case.platform, case.workload, make_scheduler(row.heuristic)).run().summary()["energy_j"]
        )
    evaluation.save(tmp_path)
    assert pd.read_csv(tmp_path / "evaluation.csv")["against"].tolist() == evaluation.table()["against"].tolist()
    assert json.loads((tmp_path / "evaluation.json").read_text())["metrics"] == ["energy_j", "mean_wait_s"]
    assert (tmp_path / "evaluation.txt").read_text().startswith("2 training seeds, 2 cases, 8 test runs")


def test_agents_may_stand_alone(agents: Path, tmp_path: Path) -> None:
    """Without a heuristic: their own values, in the text and in tables that have their columns."""
    case = Episode(small_cluster(), mixed_jobs(np.random.default_rng(3), 4))
    evaluation = evaluate(agents, [case], ["energy_j", "mean_wait_s"], heuristics=(), runs=1, workers=1)
    greedy = [line.split()[-1] for line in evaluation.text().splitlines() if line.startswith("the agent, greedy")]
    assert greedy == [f"{evaluation.value(metric):.6g}" for metric in ("energy_j", "mean_wait_s")]
    evaluation.save(tmp_path)
    assert json.loads((tmp_path / "evaluation.json").read_text())["best_heuristic"] == {
        "energy_j": "",
        "mean_wait_s": "",
    }
    assert pd.read_csv(tmp_path / "evaluation.csv").columns.tolist() == by_hand().table().columns.tolist()
    assert pd.read_csv(tmp_path / "heuristics.csv").columns[:3].tolist() == ["heuristic", "case", "energy_j"]


def test_what_rounds_to_nothing_has_no_minus() -> None:
    """100.002 J instead of 100 J: a reduction of -0.002 %, and a reward of -0."""
    evaluation = by_hand()
    evaluation.runs["energy_j"] = 100.002
    row = evaluation.text().splitlines()[-2].split()
    assert row[:1] + row[2:5] == ["list:smallest/high_gflops", "0.00", "0.00", "0.00"]
    evaluation.runs["energy_j"] = -0.0
    assert "-0" not in evaluation.text()


def test_by_default_all_list_heuristics_are_met(agents: Path) -> None:
    """The 25 of López 2023, Table 4.1, with both readings of high_mem, contention-aware greedy, and backfilling."""
    cases = [Episode(small_cluster(), mixed_jobs(np.random.default_rng(3), 4))]
    evaluation = evaluate(agents, cases, runs=1, workers=1)
    met = set(evaluation.heuristics["heuristic"])
    assert len(LIST_HEURISTICS) == 30
    assert met >= set(LIST_HEURISTICS)
    assert any(name.startswith("contention-aware") for name in met)
    assert met >= {"easy", "conservative", "easy:order=sjf", "saf-easy", "list:shortest/high_gflops", "list:saf/first"}


def test_cases_from_a_file(agents: Path, tmp_path: Path) -> None:
    """The whole of a workload, or every piece of it; an agent of the built-in case has to be told the machine."""
    mixed_jobs(np.random.default_rng(3), 10).write(tmp_path / "jobs.csv")
    with pytest.raises(InputError, match="--platform P"):
        cases_of(agents, str(tmp_path / "jobs.csv"))
    machine = "homogeneous:nodes=2,cores=48"
    assert [len(case.workload) for case in cases_of(agents, str(tmp_path / "jobs.csv"), machine)] == [10]
    with pytest.warns(
        ModelWarning, match=r"jobs\.csv: the last 2 jobs of 8 left out, too few for a piece of 3"
    ) as told:
        cases = cases_of(agents, str(tmp_path / "jobs.csv"), machine, first=8, length=3)
    assert [len(case.workload) for case in cases] == [3, 3]
    assert len(told) == 1
    with pytest.raises(InputError, match=r"jobs\.csv: trajectories, length: expected .* from 1 to 10, found 11"):
        cases_of(agents, str(tmp_path / "jobs.csv"), machine, length=11)


def test_pieces_that_nothing_is_left_of_are_not_warned_of(agents: Path, tmp_path: Path) -> None:
    """Say nothing where the pieces are all jobs, or where some were asked for, which leaves out jobs anyway."""
    mixed_jobs(np.random.default_rng(3), 10).write(tmp_path / "jobs.csv")
    jobs, machine = str(tmp_path / "jobs.csv"), "homogeneous:nodes=2,cores=48"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(cases_of(agents, jobs, machine, first=9, length=3)) == 3
        assert [case.name for case in cases_of(agents, jobs, machine, length=4, count=1)] == ["mixed[0:4]"]


def test_what_is_wrong_ends_in_a_line(agents: Path, tmp_path: Path) -> None:
    """No agent, no metric of that name, no case."""
    case = Episode(small_cluster(), mixed_jobs(np.random.default_rng(3), 2))
    for arguments, told in (
        ((tmp_path, [case]), "expected a folder in which cluster-sim train has left an agent"),
        ((agents, [case], ["speed"]), "evaluate, metric: expected a key of summary.json, found speed"),
        ((agents, [case], ["mean_wiat_s"]), r"expected a key of summary.json \(the nearest is mean_wait_s\), found"),
        ((agents, [case], ["energy_j", "utilisation"]), "evaluate, metric: expected a metric of which less is better"),
        ((agents, []), "evaluate, cases: expected at least one"),
        ((agents, Whole(case.platform, case.workload)), "evaluate, cases: expected at least one"),
        ((agents, [case.workload]), "evaluate, cases: expected at least one"),
        ((agents, [case], ["energy_j"], ["fcfs"], -1), "evaluate, runs: expected a whole number, 0 or more"),
    ):
        with pytest.raises(InputError, match=told):
            evaluate(*arguments)  # type: ignore[arg-type]


def test_every_day_is_tested_once() -> None:
    """In five folds: no day is trained on and tested, and the test days of all folds are all days."""
    days = mixed_jobs(np.random.default_rng(1), 48).split(12)
    tested = []
    for fold in range(5):
        train, test = split_days(days, fold, 5)
        assert not set(map(id, train)) & set(map(id, test))
        assert len(train) + len(test) == 12
        tested += test
    assert sorted(map(id, tested)) == sorted(map(id, days))
    with pytest.raises(InputError, match="days: expected at least 5"):
        split_days(days[:1], 0, 5)


def test_windows_and_days_are_cases_like_any_other(agents: Path) -> None:
    """Every episode of a source can be tested on."""
    jobs = mixed_jobs(np.random.default_rng(3), 6)
    for source in (Trajectories(small_cluster(), jobs, 3), Days(small_cluster(), jobs.split(3))):
        evaluation = evaluate(agents, source.all(), heuristics=["fcfs"], runs=1, workers=1)
        assert evaluation.runs["case"].nunique() == len(source.all())


def test_runs_that_complete_other_jobs_are_told(agents: Path) -> None:
    """Cut off before all is done, an agent that starts hardly anything needs little energy; the table and a warning say why."""
    jobs = Workload({"submit_time": [0.0] * 8, "requested_cores": [2] * 8, "recorded_run_time": [50.0] * 8})
    machine = small_cluster()
    whole, cut = (Episode(machine, jobs, until=until) for until in (None, 60.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*learned from")
        assert evaluate(agents, [whole], ["energy_j"], ["easy"], runs=1, workers=1).unlike() == ""
    with pytest.warns(ModelWarning, match=r"in \d of 4 runs the agent ended other jobs .*, easy 8 and 0\)"):
        found = evaluate(agents, [cut], ["energy_j"], ["easy"], runs=1, workers=1)
    assert found.unlike()[1:] in found.text()


def ended(*runs: tuple[int, str, int, int, int], easy: tuple[int, int] = (8, 0)) -> Evaluation:
    """Runs as training seed, mode, case, jobs completed and jobs killed, beside ``easy`` in two cases."""
    columns = ("training_seed", "mode", "case", "jobs_completed", "jobs_killed")
    rows = [dict(zip(columns, run, strict=True)) | {"seed": 0, "energy_j": 1.0} for run in runs]
    completed, killed = easy
    of_easy = {"heuristic": "easy", "energy_j": 1.0, "jobs_completed": completed, "jobs_killed": killed}
    others = [of_easy | {"case": case} for case in (0, 1)]
    return Evaluation(pd.DataFrame(rows), pd.DataFrame(others), ("energy_j",))


def test_every_run_is_compared_in_its_case() -> None:
    """One job more in one run and one less in another are none on average, and are told; so are sampled runs and killed jobs."""
    assert ended((0, "greedy", 0, 8, 0), (0, "greedy", 1, 8, 0), (0, "sampled", 0, 8, 0)).unlike() == ""
    over_seeds = ended((0, "greedy", 0, 9, 0), (1, "greedy", 0, 6, 0), (2, "greedy", 0, 9, 0))
    assert over_seeds.unlike().startswith("in 3 of 3 runs the agent ended other jobs")
    assert "case 0, greedy, training seed 1, seed 0, with 6 completed and 0 killed, easy 8 and 0" in over_seeds.unlike()
    assert "in 1 of 2 runs" in ended((0, "greedy", 0, 8, 0), (0, "sampled", 1, 7, 0)).unlike()
    killed = ended((0, "greedy", 0, 8, 0), (0, "greedy", 1, 8, 2))
    assert "case 1, greedy, training seed 0, seed 0, with 8 completed and 2 killed" in killed.unlike()


def test_as_many_jobs_may_be_others(agents: Path, tmp_path: Path) -> None:
    """Until 60 s one of two jobs fits, the long or the short one: heuristics that each end one tell the agent apart from one."""
    times = {"recorded_run_time": [50.0, 40.0], "requested_time": [50.0, 40.0]}
    jobs = Workload({"submit_time": [0.0] * 2, "requested_cores": [2] * 2} | times)
    case = Episode(Platform.homogeneous(nodes=1, cores=2), jobs, until=60.0)
    one, other = (run_on(case, make_scheduler(spec)) for spec in ("fcfs", "sjf"))
    assert (one["jobs_completed"], other["jobs_completed"]) == (1, 1)
    assert ended_jobs(one) != ended_jobs(other)
    assert ended_jobs(one) == ended_jobs(run_on(case, make_scheduler("easy")))
    with pytest.warns(ModelWarning, match="1 and 0, as many, but not the same ones"):
        found = evaluate(agents, [case], ["energy_j"], ["fcfs", "sjf"], runs=1, workers=1)
    assert found.runs["jobs_ended_crc"].isin([int(one["jobs_ended_crc"]), int(other["jobs_ended_crc"])]).all()
    found.save(tmp_path)
    for table in ("runs", "heuristics"):
        columns = pd.read_csv(tmp_path / f"{table}.csv", dtype=str)[["jobs_completed", "jobs_killed", "jobs_ended_crc"]]
        assert columns.map(str.isdigit).all(axis=None)


def test_jobs_of_which_nothing_is_known_are_compared_by_their_number() -> None:
    """A rollout in an environment of another kind does not say which jobs ended, nor does a table of an earlier version."""
    numbers = {"jobs_completed": 1.0, "jobs_killed": 0.0}
    first, second, unknown = (ended_jobs(numbers | {"jobs_ended_crc": which}) for which in (7, 0, None))
    assert unknown == ended_jobs(numbers) == ended_jobs(numbers | {"jobs_ended_crc": math.nan}) == (1, 0, None)
    assert of_other_jobs([("a", unknown, {"fcfs": first}), ("b", first, {"fcfs": unknown})], "run") == ""
    assert of_other_jobs([("a", unknown, {"fcfs": (2, 0, 7)})], "run").startswith("in 1 of 1 run")
    assert "as many, but not the same ones" in of_other_jobs([("a", first, {"fcfs": second})], "run")
    told = of_other_jobs([("a", (9, 3, 7), {"fcfs": (10, 3, 8), "easy": (9, 0, 9)})], "run")
    assert "(most apart in a, with 9 completed and 3 killed, easy 9 and 0)" in told  # three killed are more than one


@pytest.mark.parametrize(
    ("kind", "power", "switches"),
    [
        ("scheduler", None, False),
        ("scheduler", "always-on", False),
        ("scheduler", "timeout:60", True),
        ("power", None, True),
    ],
)
def test_who_switches_nodes(kind: str, power: str | None, switches: bool) -> None:
    """The agent itself, or the power policy beside it, if it is one that does."""
    assert switches_nodes(kind, power) is switches


def test_heuristics_are_played_with_the_same_seed(agents: Path) -> None:
    """``seed`` is that of the agent's greedy run, and of the heuristics that it stands beside."""
    case = Episode(small_cluster(), mixed_jobs(np.random.default_rng(3), 12))
    values = [
        evaluate(agents, [case], ["energy_j"], ["list:random/random"], runs=1, seed=seed, workers=1).heuristics
        for seed in (0, 5)
    ]
    runs = [
        Simulation(case.platform, case.workload, make_scheduler("list:random/random"), seed=seed).run()
        for seed in (0, 5)
    ]
    expected = [run.summary()["energy_j"] for run in runs]
    assert [table["energy_j"].item() for table in values] == expected
    assert expected[0] != expected[1]


def test_names_of_agents_may_have_their_prefix(agents: Path) -> None:
    """As ``train`` prints them, and as schedulers are named."""
    assert find_agents(f"learned:{agents}") == find_agents(agents)
    assert find_agents("learned:taurus-sleep") == find_agents("taurus-sleep")


def test_a_wrong_name_is_refused_before_anything_is_played(agents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A misspelt heuristic, the last of all: with a long log its turn would come late."""
    case = Episode(small_cluster(), mixed_jobs(np.random.default_rng(0), jobs=4))
    monkeypatch.setattr("learning.training.evaluation.map_in_order", lambda *_: pytest.fail("something was played"))
    with pytest.raises(InputError, match=r"scheduler: expected one of .*the nearest is easy.*, found esay"):
        evaluate(agents, [case], ["energy_j"], also=["esay"])


def test_what_a_heuristics_file_says_is_told_once(agents: Path, tmp_path: Path) -> None:
    """Not again in the runs of each case."""
    conf = tmp_path / "slurm.conf"
    conf.write_text("NodeName=n[1-2] CPUs=8\nPartitionName=p Nodes=ALL Default=YES\nFancy=1\n")
    cases = [
        Episode(Platform.homogeneous(nodes=2, cores=8), mixed_jobs(np.random.default_rng(day), 4)) for day in (0, 1)
    ]
    with pytest.warns(ModelWarning, match="not known: Fancy") as told:
        evaluate(agents, cases, ["energy_j"], ["fcfs", f"slurm:conf={conf}"], runs=1, workers=1)
    assert sum("not known: Fancy" in str(each.message) for each in told) == 1


def test_options_that_would_be_ignored_are_refused(agents: Path) -> None:
    """A number of cases where there is but one; a slice in which there is no job."""
    workload, machine = "lublin:jobs=20,nodes=8,seed=1", "homogeneous:nodes=2,cores=4"
    with pytest.raises(InputError, match=r"evaluate, cases: expected --trajectories N with it, .*, found 3"):
        cases_of(agents, workload, machine, count=3)
    with pytest.raises(InputError, match="slice: expected times between which jobs are submitted: 0 to"):
        cases_of(agents, workload, machine, between=(1e9, 2e9))
