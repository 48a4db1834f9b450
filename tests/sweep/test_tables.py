"""What is read out of a sweep: means with intervals, who is best, paired differences, figures; and agents among the runs."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from analysis.sweep import Grid, sweep
from analysis.sweep.alternatives import alternatives, compare_sweep
from analysis.sweep.charts import factor_heatmap, factor_plot
from analysis.sweep.checks import check
from analysis.sweep.report import write_sweep_page
from analysis.sweep.runs_table import (
    best_table,
    deciders,
    factors_of,
    heuristics,
    paired_table,
    ranking,
    read_sweep,
    shared,
    sweep_table,
    table_text,
)
from analysis.tables.run_metrics import replication_table
from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.cli import main
from cluster_sim.errors import InputError

from .conftest import SMALL

# Student's t for 95 %, two-sided, 4 degrees of freedom (Abramowitz and Stegun, Table 26.10).
T4 = 2.776
DEVIATION = math.sqrt(2.5)  # of 0, 1, 2, 3, 4


def made_up() -> pd.DataFrame:
    """Two loads, three schedulers, five replications; b is 1 below a in every replication, c 10 above."""
    rows = [
        {
            "replication": r,
            "load": load,
            "scheduler": name,
            "power_policy": "always-on",
            "energy_j": 100 * load + r + shift - 1,
        }
        for r in range(5)
        for load in (1.0, 2.0)
        for name, shift in (("a", 0.0), ("b", -1.0), ("c", 10.0))
    ]
    return pd.DataFrame(rows)


def test_means_and_intervals() -> None:
    """Mean ± t·s/√n of 0 to 4: s = √2.5; over another factor the mean is taken first, within each replication."""
    table = sweep_table(made_up(), ["energy_j"])
    assert list(table.columns) == ["load", "scheduler", "runs", "energy_j", "energy_j ±"]
    assert table[["load", "scheduler", "runs", "energy_j"]].values.tolist()[:2] == [
        [1.0, "a", 5, 101.0],
        [1.0, "b", 5, 100.0],
    ]
    assert table["energy_j ±"].to_numpy() == pytest.approx(T4 * DEVIATION / math.sqrt(5), rel=1e-3)
    overall = sweep_table(made_up(), ["energy_j"], by=["scheduler"])
    assert overall["energy_j"].tolist() == [151.0, 150.0, 161.0]
    assert overall["runs"].tolist() == [5, 5, 5]
    for few in (1, 2, 4):
        one = made_up()[lambda frame, few=few: frame["replication"] < few]
        assert sweep_table(one, ["energy_j"])["energy_j ±"].isna().all()
    with pytest.raises(InputError, match="a column of the runs, found watts"):
        sweep_table(one, ["watts"])


def test_differences_are_paired() -> None:
    """The difference is the same in every replication, so its interval is nothing, whatever the spread of each."""
    table = paired_table(made_up(), "energy_j")
    assert table[["load", "scheduler", "pairs", "difference"]].values.tolist() == [
        [1.0, "b", 5, -1.0],
        [1.0, "c", 5, 10.0],
        [2.0, "b", 5, -1.0],
        [2.0, "c", 5, 10.0],
    ]
    assert table["difference ±"].to_numpy() == pytest.approx(0.0, abs=1e-12)
    assert table["difference, %"].tolist() == pytest.approx([-100 / 101, 1000 / 101, -100 / 201, 1000 / 201])
    assert set(paired_table(made_up(), "energy_j", reference="c")["difference"]) == {-10.0, -11.0}
    with pytest.raises(InputError, match="one of a, b, c, found d"):
        paired_table(made_up(), "energy_j", reference="d")


def test_agents_are_compared_with_a_heuristic() -> None:
    """It has no training settings; each of theirs is a row, a failed run no pair, and long settings stay apart."""
    made = made_up().query("load == 1")
    seeds = made["scheduler"].map({"b": 1234567.0, "c": 1234568.0})
    runs = made.assign(scheduler=made["scheduler"].where(made["scheduler"] == "a", "trained"), **{"train.seed": seeds})
    runs.loc[(runs["train.seed"] == 1234567) & (runs["replication"] == 2), "energy_j"] = np.nan
    table = paired_table(runs, "energy_j", reference="a")
    assert table[["train.seed", "pairs", "difference"]].values.tolist() == [[1234567, 4, -1.0], [1234568, 5, 10.0]]
    assert table["difference, %"].tolist() == pytest.approx([-100 / 101, 1000 / 101])
    assert set(deciders(runs)) == {"a", "trained + seed=1234567", "trained + seed=1234568"}


def test_who_is_best() -> None:
    """b in each case, by 1 of 100 or 200 over a; with a larger-is-best metric it is c."""
    best = best_table(made_up(), "energy_j")
    assert best[["load", "best", "mean", "next"]].values.tolist() == [[1.0, "b", 100.0, "a"], [2.0, "b", 200.0, "a"]]
    assert best["next vs best, %"].tolist() == pytest.approx([1.0, 0.5])
    assert best["next vs best, % ±"].to_numpy() == pytest.approx(0.0, abs=1e-12)
    assert best["tied"].tolist() == ["", ""]
    swing = made_up()["replication"].map({0: 3.0, 1: -3.0}).fillna(0.0)  # b is as often above a as below
    unsure = made_up().assign(energy_j=lambda frame: frame["energy_j"] + swing.where(frame["scheduler"] == "b", 0.0))
    assert best_table(unsure, "energy_j")["tied"].tolist() == ["a", "a"]
    order = ranking(made_up(), "energy_j")
    assert order["who"].tolist() == ["b", "a", "c"]
    assert order["ratio"].tolist() == pytest.approx([1.0, (1.01 + 1.005) / 2, (1.11 + 1.055) / 2])
    assert order["wins"].tolist() == [2, 0, 0]
    assert ranking(made_up().rename(columns={"energy_j": "utilisation"}), "utilisation")["who"].tolist() == [
        "c",
        "a",
        "b",
    ]


def hard_for_c() -> pd.DataFrame:
    """Waits grow with the replication, by b 20 s, by a 10; c, with 15, fails in the two hardest of load 2 and in all of 3."""
    rows = [
        {"replication": r, "load": load, "scheduler": name, "mean_wait_s": 1000.0 * r * r + shift}
        for r in range(3)
        for load in (1.0, 2.0, 3.0)
        for name, shift in (("a", 10.0), ("b", 20.0), ("c", 15.0))
        if name != "c" or load == 1.0 or (load == 2.0 and r == 0)
    ]
    return pd.DataFrame(rows)


def test_who_fails_where_it_is_hard_is_not_best_for_that() -> None:
    """Who is best is told from the replications that all have; who has no result in a case is best over all of none."""
    runs = hard_for_c()
    assert len(shared(runs, "mean_wait_s")) == 9 + 3 + 6
    best = best_table(runs, "mean_wait_s")
    assert best[["load", "best", "next"]].values.tolist() == [[1.0, "a", "c"], [2.0, "a", "c"], [3.0, "a", "b"]]
    assert best["mean"].tolist() == pytest.approx([5000 / 3 + 10, 10, 5000 / 3 + 10])
    order = ranking(runs, "mean_wait_s")
    assert order["who"].tolist() == ["a", "b", "c"]
    assert order["ratio"].isna().tolist() == [False, False, True]
    assert order["ratio"][0] == 1.0


def test_the_page_compares_the_same_jobs(tmp_path: Path) -> None:
    """So do its table, its figures and its first lines; how many runs failed, and were left out with them, is told."""
    page = write_sweep_page(hard_for_c(), ["mean_wait_s"], tmp_path / "page.html", failed=5).read_text()
    text = " ".join(re.sub(r"<[^>]*>", " ", page.partition("<body>")[2].partition("<figure>")[0]).split())
    assert "at most 3 of each combination" in text
    assert "5 runs failed. Left out: 4 runs of replications in which others have no result" in text
    assert "with load 2, least under a, 10 s; next c, +50 %, in this one workload" in text
    assert alternatives(hard_for_c(), ["mean_wait_s"]).order("mean_wait_s")[-1] == "c"


def of_waits(waits: dict[tuple[int, str, str], float]) -> pd.DataFrame:
    """Runs by (replication, workload, scheduler), with their mean waits, s."""
    rows = [
        {"replication": r, "workload": jobs, "scheduler": who, "power_policy": "always-on"} for r, jobs, who in waits
    ]
    return pd.DataFrame(rows).assign(mean_wait_s=list(waits.values()))


def test_a_mean_over_fewer_cases_is_none(tmp_path: Path) -> None:
    """Of fourteen workloads, over which the page takes means, one breaks b, which has more over the others."""
    waits = {(0, f"w{i:02}", who): wait for i in range(14) for who, wait in (("a", 100.0), ("b", 110.0))}
    del waits[0, "w13", "b"]
    runs = of_waits(waits | {(0, "w13", "a"): 1000.0})
    assert alternatives(runs, ["mean_wait_s"]).order("mean_wait_s") == ["a", "b"]
    text = write_sweep_page(runs, ["mean_wait_s"], tmp_path / "page.html", failed=1).read_text()
    assert "1.83 min" not in text


@pytest.mark.parametrize(
    ("waits", "sentences"),
    [
        (  # the agent has played the first replication alone, and so all are compared by that
            {(0, "", "a"): 10, (1, "", "a"): 1, (0, "", "b"): 5, (1, "", "b"): 20, (0, "", "learned:x"): 7},
            ["Mean wait: least under b, 5 s; next learned:x, +40 %, in this one workload.",
             "Mean wait, heuristics alone: least under b, 5 s; next a, +100 %, in this one workload.",
             "Left out: 2 runs of replications in which others have no result, so that means are of the same jobs."],
        ),
        ({(0, "", "a"): 1, (1, "", "b"): 3}, ["No replication has results of all alternatives: means are of different jobs."]),
        (
            {(0, "v", "a"): 1, (0, "w", "b"): 3},
            ["Without a result in all of these runs, and so not compared there: b with v and a with w."],
        ),
    ],
    ids=["an agent once", "nothing shared", "none everywhere"],
)  # fmt: skip
def test_the_sentences_compare_the_same_jobs(waits: dict[tuple[int, str, str], float], sentences: list[str]) -> None:
    """Heuristics by themselves, too; and where nothing can be compared that is said."""
    assert list(compare_sweep(of_waits(waits), ["mean_wait_s"]).sentences[1:]) == sentences


def test_equal_replications_have_their_value() -> None:
    """As in the table of replications: 0.35 five times is 0.35, and its interval 0."""
    runs = of_waits({(r, "", who): wait for r in range(5) for who, wait in (("a", 0.35), ("b", 0.1))})
    table = sweep_table(runs, ["mean_wait_s"])
    assert table[["mean_wait_s", "mean_wait_s ±"]].to_numpy().tolist() == [[0.35, 0.0], [0.1, 0.0]]
    assert paired_table(runs, "mean_wait_s")["difference ±"].tolist() == [0.0]


FAILS = """
from schedulers import EasyBackfilling

class Fails(EasyBackfilling):
    "EASY that breaks on the smaller of two platforms."
    def schedule(self, view):
        if len(view.pending) > 2:
            raise RuntimeError("too many wait")
        yield from super().schedule(view)
"""


def test_the_command_tells_of_failed_runs(tmp_path: Path) -> None:
    """A scheduler that failed in a case is not best over all, whatever it had where it ran; the page counts the failure."""
    (tmp_path / "fails.py").write_text(FAILS)
    rows = ["submit_time,requested_cores,recorded_run_time", *(f"{i},1,10" for i in range(6))]
    (tmp_path / "log.csv").write_text("\n".join(rows))
    platforms = [f"homogeneous:nodes={nodes},cores=1" for nodes in (1, 8)]
    factors = {"platform": platforms, "workload": "log.csv", "scheduler": ["fails.py:Fails", "fcfs"]}
    (tmp_path / "grid.json").write_text(json.dumps({"factors": factors, "metrics": ["mean_wait_s"]}))
    words = ["sweep", str(tmp_path / "grid.json"), "--out", str(tmp_path / "out"), "--workers", "1", "--report"]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 1
    small, large = platforms
    assert done.stdout.splitlines()[1:4] == [
        f"Mean wait: with {large}, the same under fails.py:Fails and fcfs, 0 s.",
        "1 run failed.",
        f"Without a result in all of these runs, and so not compared there: fails.py:Fails with {small}.",
    ]
    assert "1 run failed." in (tmp_path / "out" / "report.html").read_text()


def test_equal_are_those_with_the_same_values() -> None:
    """Two that are as far behind on the mean, each best in a case, are not equal; nor where both wait and the other does not."""
    values = {(1.0, "a"): 0.0, (1.0, "b"): 1.0, (2.0, "a"): 1.0, (2.0, "b"): 0.0, (1.0, "c"): 1.0, (2.0, "c"): 0.0}
    rows = [{"replication": 0, "load": load, "scheduler": name} for load, name in values]
    runs = pd.DataFrame(rows).assign(mean_wait_s=list(values.values()))
    order = ranking(runs, "mean_wait_s").set_index("who")
    assert order.loc[["a", "b", "c"], "equals"].tolist() == [0, 1, 1]
    assert np.isinf(order["ratio"]).all()


def test_the_same_figures_as_compare() -> None:
    """A sweep's intervals and paired differences are those of the table of replications, worked out another way."""
    grid = Grid.of(SMALL | {"replications": 5})
    runs = sweep(grid, workers=1).runs()
    platform, summaries = Platform.read("homogeneous:nodes=4,cores=2"), {"fcfs": [], "easy": []}
    for r in range(5):
        workload = Workload.read(f"lublin:jobs=10,nodes=8,seed={grid.seed(0, r)}")
        for name, several in summaries.items():
            simulation = Simulation(platform, workload, make_scheduler(name), seed=grid.seed(1, r))
            several.append(simulation.run().summary())
    known = replication_table(summaries)
    for metric in ("mean_wait_s", "energy_j", "edp_js"):
        table = sweep_table(runs, [metric]).set_index("scheduler")
        for name in summaries:
            assert table.loc[name, metric] == pytest.approx(known.loc[metric, name])
            assert table.loc[name, f"{metric} ±"] == pytest.approx(known.loc[metric, f"{name} ±"])
        pair = paired_table(runs, metric).iloc[0]
        assert pair["difference, %"] == pytest.approx(known.loc[metric, "easy vs first, %"])
        assert pair["difference, % ±"] == pytest.approx(known.loc[metric, "easy vs first, % ±"])


def test_figures() -> None:
    """A line for each scheduler with its intervals; of a heatmap the best pair is 0 % from the best."""
    figure = factor_plot(made_up(), "energy_j", "load", "scheduler")
    assert [trace.name for trace in figure.data] == ["a", "b", "c"]
    assert list(figure.data[1].y) == [100.0, 200.0]
    assert list(figure.data[1].error_y.array) == pytest.approx([T4 * DEVIATION / math.sqrt(5)] * 2, rel=1e-3)
    assert figure.data[0].mode == "lines+markers"
    assert factor_plot(made_up(), "energy_j", "scheduler").data[0].mode == "markers"
    names = {"a": "list:first/<b>", "b": "list:smallest/first", "c": "easy"}
    runs = made_up().assign(scheduler=lambda frame: frame["scheduler"].map(names))
    heat = factor_heatmap(runs, "energy_j", "job_order", "node_order").data[0]
    assert list(heat.x) == ["&lt;b&gt;", "first"]
    assert np.array(heat.z)[1][1] == 0.0
    assert np.isnan(np.array(heat.z)[0][1])
    with pytest.raises(InputError, match=r"runs of list:JOB/NODE, found none"):
        factor_heatmap(made_up(), "energy_j", "job_order", "node_order")


def test_text_of_a_table() -> None:
    """Means in units for people, to the digit of their intervals, huge ones in powers of ten; what is too long is counted."""
    table = sweep_table(made_up(), ["energy_j"])
    lines = table_text(table, most=2).splitlines()
    assert lines[0].split() == ["load", "scheduler", "runs", "energy", "[J]"]
    assert lines[2].endswith("101.0 ± 2.0")
    assert lines[-1] == "… and 4 more"
    large = table_text(table.assign(**{"energy_j": 1.01e12, "energy_j ±": 2.5e10})).splitlines()
    assert large[0].endswith("energy [MWh]")
    assert large[2].endswith("280.6 ± 6.9")  # 3.6e9 J each
    assert "(1.010 ± 0.025)e12" in table_text(table.assign(**{"energy_j": 3.636e21, "energy_j ±": 9e19}))


def test_the_command_and_its_files(tmp_path: Path) -> None:
    """Tables, a page of figures, charts and Gantts of small cells, jobs; all in the folder, and the best is named."""
    outputs = {"jobs": True, "gantt": 10, "charts": True}
    factors = {**SMALL["factors"], "load": 50.0}
    document = {"factors": factors, "replications": 1, "outputs": outputs, "metrics": ["mean_wait_s"]}
    (tmp_path / "grid.json").write_text(json.dumps(document))
    out = tmp_path / "out"
    done = CliRunner().invoke(
        main,
        ["sweep", str(tmp_path / "grid.json"), "--out", str(out), "--workers", "1", "--report"],
        catch_exceptions=False,
    )
    assert done.exit_code == 0
    assert "2 of 2 runs done (2 now)" in done.stdout
    runs = read_sweep(out)
    assert factors_of(runs) == ["scheduler"]
    assert done.stdout.splitlines()[:2] == list(compare_sweep(runs, ["mean_wait_s"]).sentences)
    assert pd.read_csv(out / "results.csv")["mean_wait_s"].tolist() == runs["mean_wait_s"].tolist()
    assert len(pd.read_csv(out / "table.csv")) == 2
    assert "plotly" in (out / "report.html").read_text()
    for folder in ("gantt", "charts", "jobs"):
        assert sorted(int(path.stem) for path in (out / folder).iterdir()) == [0, 1]
    jobs = pd.read_parquet(out / "jobs" / "0000001.parquet")
    assert jobs["wait_time"].mean() == pytest.approx(runs["mean_wait_s"][1])


@pytest.mark.parametrize(("workload", "is_told"), [("log.csv", True), ("lublin:jobs=10,nodes=8", False)])
def test_equal_replications_are_told(tmp_path: Path, workload: str, is_told: bool) -> None:
    """A log does not change with the seed; a generated workload does, also where the metrics asked for do not show it."""
    (tmp_path / "log.csv").write_text("submit_time,requested_cores,recorded_run_time\n0,8,10\n1,8,10\n")
    factors = SMALL["factors"] | {"workload": workload}
    (tmp_path / "grid.json").write_text(
        json.dumps({"factors": factors, "replications": 2, "metrics": ["jobs_completed"]})
    )
    words = ["sweep", str(tmp_path / "grid.json"), "--out", str(tmp_path / "out"), "--workers", "1"]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    assert ("replications: all 2 are equal, for the seed changes nothing" in done.stderr) == is_told


def test_agents_are_trained_in_the_sweep(tmp_path: Path) -> None:
    """Settings of a training are factors; one is trained for each of them and replication, and plays all its cells."""
    pytest.importorskip("torch")
    pytest.importorskip("gymnasium")
    (tmp_path / "train.yaml").write_text(
        "{network: 'scorer:hidden=4', iterations: 1, episodes: 1, group: 1, validation: {every: 1, episodes: 1}}"
    )
    factors = {**SMALL["factors"], "scheduler": ["easy", "trained"], "load": [1.0, 2.0]}
    train = {"config": "train.yaml", "settings": {"network": ["scorer:hidden=4", "scorer:hidden=8"]}}
    grid = Grid.of({"factors": factors, "train": train}, tmp_path)
    trained = [grid.training(i) for i in range(len(grid))]
    assert [entry is not None for entry in trained] == [False, True, True] * 2
    assert trained[1] == trained[4] != trained[2]
    assert trained[1][1]["seed"] == np.random.SeedSequence(0, spawn_key=(2, 0)).generate_state(1)[0]
    grid = Grid.of({"factors": factors, "train": train | {"settings": {"network": ["scorer:hidden=4"]}}}, tmp_path)
    outcome = sweep(grid, tmp_path / "out", workers=1)
    assert outcome.done == 4, outcome.failures()["error"].tolist()
    assert [path.name for path in (tmp_path / "out" / "agents").iterdir()] == [trained[1][0]]
    runs = outcome.runs()
    assert deciders(runs).tolist()[:2] == ["easy", "trained + network=scorer:hidden=4"]
    assert heuristics(runs)["scheduler"].tolist() == ["easy", "easy"]
    agent = make_scheduler(f"learned:{tmp_path / 'out' / 'agents' / trained[1][0]}")
    workload = Workload.read(f"lublin:jobs=10,nodes=8,seed={grid.seed(0, 0)}")
    alone = Simulation(Platform.read("homogeneous:nodes=4,cores=2"), workload, agent, seed=grid.seed(1, 0)).run()
    assert alone.summary()["energy_j"] == runs["energy_j"][1]
    wrong = factors | {"scheduler": ["trained", "easy"], "contention_model": ["none", "some"]}
    with pytest.raises(InputError, match="contention model: expected one of"):
        check(Grid.of({"factors": wrong, "train": train}, tmp_path))
    with pytest.raises(InputError, match="an agent of kind job-node: expected 'trained' as a scheduler"):
        Grid.of({"factors": factors | {"power_policy": "trained"}, "train": train}, tmp_path)
    both = train | {"settings": {"environment.kind": ["jobs-and-nodes"]}}
    with pytest.raises(InputError, match=r"of kind jobs-and-nodes: expected always-on alone .*, found timeout:300"):
        Grid.of({"factors": factors | {"power_policy": ["always-on", "timeout:300"]}, "train": both}, tmp_path)
    with pytest.raises(InputError, match=r"train\.yaml with iteration=1.*iterations"):
        Grid.of({"factors": factors, "train": train | {"settings": {"iteration": [1]}}}, tmp_path)


def test_a_training_that_fails_fails_its_cells(tmp_path: Path) -> None:
    """They are rows with the training's traceback; the heuristics beside them are done."""
    pytest.importorskip("torch")
    (tmp_path / "train.yaml").write_text("{network: 'nothing', iterations: 1, episodes: 1, group: 1}")
    factors = {**SMALL["factors"], "scheduler": ["easy", "trained"]}
    outcome = sweep(
        Grid.of({"factors": factors, "train": {"config": "train.yaml"}}, tmp_path), tmp_path / "out", workers=1
    )
    assert (outcome.done, outcome.failed) == (1, 1)
    error = outcome.failures()["error"].iloc[0]
    assert error.startswith("Its agent could not be trained.\nTraceback")
    assert "nothing" in error


def test_a_page_without_values(tmp_path: Path) -> None:
    """Metrics that no run has a value of are left out of the page."""
    runs = made_up().assign(mean_wait_s=np.nan)
    text = write_sweep_page(runs, ["mean_wait_s", "energy_j"], tmp_path / "page.html").read_text()
    assert 'id="figure0"' in text
    assert 'id="figure1"' not in text
