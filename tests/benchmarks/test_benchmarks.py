"""The benchmarks run, in their quick form, and measure what they say. No figure of theirs is judged here."""

from __future__ import annotations

import gc
import io
import json
import pickle
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simpy
from click.testing import CliRunner

import cluster_sim
from benchmarks.instructions import OTHER, PART_OF, per_job
from cluster_sim import Simulation, make_scheduler

ROOT = Path(__file__).resolve().parents[2]
COSTS = ("fcfs", "jobs", "cores", "contention", "backfilling", "large", "power", "changing", "passes")
NAMES = (*COSTS, "figures", "profile")


@pytest.fixture(autouse=True)
def benchmarks_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package lies in the repository, and is not installed."""
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture(autouse=True)
def nothing_old_is_collected() -> None:
    """All that the tests have loaded is left out of the collections before each measured run, which took most of the time."""
    gc.freeze()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """``python -m benchmarks`` with these arguments."""
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def run_here(module: str, *arguments: str) -> tuple[int, str, str]:
    """Run a module in this process, which saves its imports; return exit status, stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", [module, *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module(module, run_name="__main__")
    return int(ended.value.code or 0), out.getvalue(), err.getvalue()


def sent(function: Callable[..., Any], *arguments: Any) -> Any:
    """``in_fresh_process`` in this one, which saves its start: what goes between processes is pickled all the same."""
    function, arguments = pickle.loads(pickle.dumps((function, arguments)))
    return pickle.loads(pickle.dumps(function(*arguments)))


@pytest.fixture
def measured(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, dict[str, Any]]:
    """What a quick run of one benchmark prints, and its JSON; ``fcfs`` stands for all as a program with its processes."""
    file = tmp_path / "figures.json"
    arguments = (request.param, "--quick", "--json", str(file))
    if request.param == "fcfs":
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout, json.loads(file.read_text(encoding="utf-8"))
    from benchmarks import __main__, cases

    for module in (__main__, cases):
        monkeypatch.setattr(module, "in_fresh_process", sent)
    result = CliRunner().invoke(__main__.main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout, json.loads(file.read_text(encoding="utf-8"))


def test_the_list_of_names_is_whole() -> None:
    """No benchmark is left untried below."""
    from benchmarks.__main__ import NAMES as REGISTERED

    assert REGISTERED == NAMES


@pytest.mark.parametrize(
    ("measured", "rows"),
    [
        ("fcfs", 2),
        ("jobs", 2),
        ("cores", 4),
        ("contention", 2),
        ("backfilling", 4),
        ("large", 3),
        ("power", 2),
        ("changing", 2),
        ("passes", 6),
        ("figures", 1),
    ],
    indirect=["measured"],
)
def test_a_benchmark_prints_a_table(measured: tuple[str, dict[str, Any]], rows: int) -> None:
    """One row a case, all cells there, the same rows in the JSON with every single run."""
    printed, figures = measured
    table = [line for line in printed.splitlines() if line.startswith("|")]
    assert len(table) == 2 + rows
    assert {line.count(" | ") for line in table} == {5}
    assert len(figures["rows"]) == rows
    costs = [row["cost"]["runs"] for row in figures["rows"] if "cost" in row]
    assert all(len(runs) == figures["repeat"] == 1 and runs[0] > 0.0 for runs in costs)
    assert all(row["peak_gb"] > 0.0 for row in figures["rows"] if "peak_gb" in row)


@pytest.mark.parametrize("measured", ["profile"], indirect=True)
def test_the_profile_says_where_the_time_goes(measured: tuple[str, dict[str, Any]]) -> None:
    """Every part of a run has its share; how large it is depends on the machine."""
    printed, figures = measured
    assert len(figures["profiles"]) == printed.count("### ") == 4
    for profile in figures["profiles"]:
        parts = profile["parts"]
        of_every_run = (
            "SimPy's loop and events|arrival and queue|the scheduler|finding cores|booking cores|power|the job's life"
        )
        assert set(of_every_run.split("|")) <= set(parts)
        assert set(profile["phases"]) == {"reading", "building", "run", "result.jobs"}


def test_instructions_of_a_job_are_counted_by_part() -> None:
    """Every module with a part exists, counts repeat, EASY costs more in the scheduler, and little belongs to no part."""
    there = {
        path.name for package in (cluster_sim, simpy) for path in Path(package.__file__ or "").parent.rglob("*.py")
    }
    assert set(PART_OF) <= there
    fcfs, easy, contention = (per_job(case, 20, 40) for case in ("fcfs", "easy", "contention"))
    assert fcfs == per_job("fcfs", 20, 40)
    assert easy["the scheduler"] > fcfs["the scheduler"]
    for parts in (fcfs, contention):
        assert parts[OTHER][0] < 0.05 * sum(instructions for instructions, _ in parts.values())


@pytest.mark.parametrize(("module", "rows"), [("environments", 8), ("training", 6), ("sweeps", 10)])
def test_a_benchmark_of_learning_prints_a_table(module: str, rows: int) -> None:
    """Benchmarks that are programs of their own print at least so many rows, each with a figure above 0."""
    status, out, err = run_here(f"benchmarks.{module}", "--quick")
    if module == "environments" and status == 2 and "are not there" in err:
        pytest.skip(err.strip())
    assert status == 0, err
    table = [line for line in out.splitlines() if line.startswith("|")][2:]
    assert len(table) >= rows
    column = 4 if module == "environments" else 2
    figures = [float(line.split("|")[column].split()[0].replace(",", "")) for line in table]
    assert min(figures) > 0.0


def test_random_simulations_are_counted_and_violations_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that keep the contract: exit status 0. With a check that fails: 1, and of each its seed and its case as Python."""
    from benchmarks import fuzz

    cases = {seed: fuzz.full.full_case(seed) for seed in range(3)}
    monkeypatch.setattr(fuzz.full, "full_case", lambda seed, _: replace(cases[seed], scheduler="fcfs", power=None))
    whole = CliRunner().invoke(fuzz.main, ["--runs", "3", "--seed", "0"])
    assert whole.exit_code == 0, whole.output
    assert re.search(r"3 random simulations from seed 0, \d+ ms each; 0 were refused .*; 0 violations", whole.output)

    def fail(*_: object) -> None:
        raise AssertionError("nothing is right")

    monkeypatch.setattr(fuzz.full, "check_result", fail)
    monkeypatch.setattr(fuzz.full, "reduced", lambda found, thoroughly, judge: found)
    broken = CliRunner().invoke(fuzz.main, ["--runs", "2", "--seed", "1"])
    assert broken.exit_code == 1
    assert re.findall(r"^seed (\d): AssertionError at", broken.output, re.MULTILINE) == ["1", "2"]
    assert broken.output.count("workload = Workload({") == 2
    assert broken.output.endswith("2 violations\n")


def test_random_simulations_of_some_schedulers() -> None:
    """With ``--scheduler``, what was drawn runs under one of these names; a name that there is not is refused."""
    from benchmarks import fuzz

    runs = ["--runs", "8", "--seed", "1", "--scheduler", "easy", "--scheduler", "conservative"]
    done = CliRunner().invoke(fuzz.main, runs)
    assert done.exit_code == 0, done.output
    assert set(re.findall(r"^ +\d+  scheduler (\S+)", done.output, re.MULTILINE)) == {"easy", "conservative"}
    assert CliRunner().invoke(fuzz.main, ["--scheduler", "slurm"]).exit_code == 2


def test_an_unknown_name_is_refused() -> None:
    """Exit status 2, and the names that there are."""
    status, _, err = run_here("benchmarks", "speed")
    assert status == 2
    assert all(name in err for name in NAMES)


def test_costs_and_ratios() -> None:
    """The ratio is that of the medians; its range, of runs side by side."""
    from benchmarks.measure import Cost, alternate

    ratio = Cost((20.0, 44.0, 30.0)).over(Cost((10.0, 11.0, 10.0)))
    assert (ratio.value, ratio.least, ratio.most) == (3.0, 2.0, 4.0)
    order: list[str] = []
    costs = alternate({name: lambda name=name: order.append(name) or 1 for name in "ab"}, 2)
    assert "".join(order) == "ababab"
    assert [len(cost.runs) for cost in costs.values()] == [2, 2]


def test_the_stand_in_resembles_the_log() -> None:
    """Jobs are equal every time; a quarter is serial, most of the others are powers of two, the load is 1.06."""
    from benchmarks import inputs

    jobs = inputs.stand_in(10_000).jobs
    assert jobs.equals(inputs.stand_in(10_000).jobs)
    widths, run_times = jobs["requested_cores"].to_numpy(), jobs["recorded_run_time"].to_numpy()
    assert widths.min() == 1
    assert widths.max() == inputs.LOG_CORES
    assert np.mean(widths == 1) == pytest.approx(0.249, abs=0.02)
    assert np.isin(widths, 2 ** np.arange(9)).mean() == pytest.approx(0.861, abs=0.04)
    assert widths.mean() == pytest.approx(22.1, rel=0.15)
    assert run_times.mean() == pytest.approx(4863, rel=0.15)
    offered = (widths * run_times).sum() / inputs.LOG_CORES / jobs["submit_time"].max()
    assert offered == pytest.approx(1.06, rel=1e-3)


def test_the_stand_in_is_near_the_log(shared: Path) -> None:
    """The log itself has these statistics, so that the numbers above are its own."""
    from benchmarks import inputs

    jobs = inputs.log().jobs
    widths, run_times = jobs["requested_cores"].to_numpy(), jobs["recorded_run_time"].to_numpy()
    assert np.mean(widths == 1) == pytest.approx(0.249, abs=0.001)
    assert widths.mean() == pytest.approx(22.1, abs=0.05)
    assert run_times.mean() == pytest.approx(4863, abs=1)


def test_a_repeated_log_goes_on_end_to_end() -> None:
    """Twice and a half: the same jobs again, later by one period and two, ids of their own."""
    from benchmarks import inputs

    once = inputs.stand_in(100)
    jobs = inputs.repeated(once, 250).jobs
    submissions = jobs["submit_time"].to_numpy()
    assert len(jobs) == len(set(jobs["job_id"])) == 250
    assert (np.diff(submissions) >= 0).all()
    assert len(set(submissions[100:200] - submissions[:100])) == 1
    assert submissions[100] > submissions[99]
    assert (jobs["requested_cores"].to_numpy()[200:] == once.jobs["requested_cores"].to_numpy()[:50]).all()


def test_experiment_3_is_the_published_one() -> None:
    """López (2023), as re-measured with the papers' own program: energy and makespan of its best heuristic."""
    from benchmarks import inputs

    platform, workload = inputs.experiment_3()
    summary = Simulation(platform, workload, make_scheduler("list:smallest/most_used_mem")).run().summary()
    assert summary["energy_j"] == pytest.approx(315_245, abs=1)
    assert summary["makespan_s"] == pytest.approx(158.126, abs=1e-3)


def test_memory_bound_jobs_slow_each_other() -> None:
    """Nearly every job runs longer than it would alone."""
    from benchmarks import inputs

    platform, workload = inputs.memory_bound(100)
    jobs = Simulation(platform, workload, make_scheduler("fcfs")).run().jobs
    slowed = jobs["run_time"].to_numpy() / workload.jobs["recorded_run_time"].to_numpy()
    assert np.mean(slowed > 1.01) > 0.9


def test_the_large_log_is_as_described() -> None:
    """Most jobs are small, they ask for four fifths of the machine, hardly one outlives its request, and a seed is a log."""
    from benchmarks import inputs

    jobs = inputs.large_log(20_000).jobs
    area, span = jobs["requested_cores"] * jobs["recorded_run_time"], jobs["submit_time"].iloc[-1]
    assert area.sum() / (inputs.LARGE_CORES * span) == pytest.approx(0.8, rel=0.02)
    assert np.mean(jobs["requested_cores"] <= 8) > 0.7
    assert np.mean(jobs["recorded_run_time"] > jobs["requested_time"]) < 0.02
    assert jobs.equals(inputs.large_log(20_000).jobs)
    assert not jobs.equals(inputs.large_log(20_000, seed=1).jobs)


def test_the_manual_names_every_benchmark() -> None:
    """The page beside the benchmarks explains each of them."""
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert set(NAMES) <= set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


def test_growth_of_a_pass() -> None:
    """A pass that takes ten times as long for a hundred times the jobs grows with the root of the queue."""
    from benchmarks.passes import PassRow

    row = PassRow("passes", "a case", (10, 1_000), ((1.0, 2.0, 9.0), (20.0,)))
    assert row.ms == [2.0, 20.0]
    assert row.exponents == [pytest.approx(0.5)]
    assert row.growth == pytest.approx(0.5)


def test_the_queue_of_a_pass() -> None:
    """The machine is full when the queue forms, and stays so but for the jobs that end too early, one a second."""
    from benchmarks.passes import PASSES, Stopwatch, full_queue
    from cluster_sim import Platform

    platform = Platform.homogeneous(nodes=16, cores=4)
    stopwatch = Stopwatch(make_scheduler("fcfs"))
    result = Simulation(platform, full_queue(platform, 50), stopwatch, until=PASSES + 0.5).run()
    assert len(stopwatch.ms) == 1 + PASSES
    assert (result.jobs["submit_time"] == 0.0).all()
    assert sorted(result.jobs["finish_time"].dropna()) == [1.0 + i for i in range(PASSES)]
    assert result.jobs["start_time"].isna().sum() >= 50 - PASSES * platform.widest_node


def test_a_stage_is_added_to_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row with a figure for each column, behind those that are there; figures are not judged."""
    from benchmarks import stages

    monkeypatch.setattr(stages, "FEW", 50)
    monkeypatch.setattr(stages, "MANY", 150)
    table = tmp_path / "STAGES.md"
    table.write_text("| one |\n", encoding="utf-8")
    arguments = ["nothing | changed", "--jobs", "200", "--repeat", "1", "--table", str(table)]
    ended = CliRunner().invoke(stages.main, arguments, catch_exceptions=False)
    before, row = table.read_text(encoding="utf-8").splitlines()
    head = next(line for line in stages.TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| date"))
    assert (ended.exit_code, before, ended.stdout) == (0, "| one |", f"{row}\n")
    assert row.count("|") == head.count("|")
    assert "nothing / changed" in row
    fcfs, easy = (float(cell) for cell in row.split("|")[-5:-3])
    assert easy > fcfs > 10
