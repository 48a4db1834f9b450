"""Random failures against the theory of checkpoints: Young (CACM 17:9, 1974), Daly (FGCS 22, 2006)."""

from __future__ import annotations

import csv
from math import exp, inf, sqrt
from pathlib import Path

import pytest

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.errors import InputError
from cluster_sim.workload.parts import DALY, YOUNG, optimum_interval
from schedulers import Fcfs
from studies.checkpoints import CASES, Case, times
from tests.support.rows import workload_of

RUNS = 200


def test_dalys_intervals_are_those_of_his_captions() -> None:
    """Figs. 3 to 5: a checkpoint of 5 min, M of 24 h, 6 h and 15 min; 117, 57 and 9.1 min."""
    found = [optimum_interval(DALY, 300.0, hours * 3600.0) / 60.0 for hours in (24, 6, 0.25)]
    assert found == pytest.approx([116.69, 56.71, 9.141], rel=1e-4)
    assert [round(found[0]), round(found[1]), round(found[2], 1)] == [117, 57, 9.1]
    assert optimum_interval(YOUNG, 300.0, 360.0 * 60.0) == 3600.0  # sqrt(2 · 5 min · 360 min) = 60 min
    assert optimum_interval(DALY, 100.0, 40.0) == 40.0  # checkpoints of twice M and more


# Expected time and spread of one run, from the same model by arithmetic in other hands: first and second moments.
KNOWN = [
    ("restarts cost nothing", 1227.916256, 47.08),
    ("checkpoints cost nothing", 1194.350845, 69.74),
    ("long restarts", 4048.983299, 620.9),
    ("next to no failures", 6055.957701, 145.4),
]


@pytest.mark.parametrize(("name", "expected", "spread"), KNOWN, ids=[name for name, *_ in KNOWN])
def test_mean_times(name: str, expected: float, spread: float) -> None:
    """The mean of 200 jobs is within four standard errors, also of what our own rules give."""
    case = next(case for case in CASES if case.name == name)
    mean = times(case, RUNS, seed=1).mean()
    assert abs(mean - expected) < 4.0 * spread / sqrt(RUNS)
    assert abs(mean - case.expected()) < 4.0 * spread / sqrt(RUNS)


def test_mean_times_of_all_sets(shared: Path) -> None:
    """The other sets of ../shared; fewer runs where these are long."""
    with (shared / "cases/opendc-failures/daly.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(CASES)
    for row in rows:
        if row["name"] in {name for name, *_ in KNOWN}:
            continue
        mtbf, restart, checkpoint, work, interval = (
            float(row[name]) for name in ("mtbf", "restart", "checkpoint", "work", "interval")
        )
        case = Case(row["name"], mtbf, restart, checkpoint, work, inf if interval == work else interval)
        runs = 8 if work > 10_000 else RUNS // 8
        mean = times(case, runs, seed=2).mean()
        limit = 4.0 * float(row["sd_of_one_run"]) / sqrt(runs)
        assert abs(mean - float(row["expected_without_last_checkpoint"])) < limit, case.name


def test_a_restart_is_paid_for_what_is_saved_only() -> None:
    """Without checkpoints a job begins anew: M (e^(T/M) - 1), whatever a restart costs."""
    cheap, dear = (times(Case("", 100.0, restart, 5.0, 100.0, inf), RUNS, 3) for restart in (0.0, 1000.0))
    assert (cheap == dear).all()
    assert abs(cheap.mean() - 100.0 * (exp(1.0) - 1.0)) < 4.0 * cheap.std() / sqrt(RUNS)


def stages(workload: Workload, nodes: int, failures: str) -> list[float]:
    """When the checkpoints of the first job began."""
    platform = Platform.homogeneous(nodes=nodes, cores=2)
    table = Simulation(platform, workload, Fcfs(), failures=failures).run().stages
    return table[(table["stage"] == "checkpoint") & (table["job_id"] == "0")]["start"].tolist()


@pytest.mark.parametrize("rule", [YOUNG, DALY])
def test_a_wide_job_counts_the_failures_of_all_its_nodes(rule: str, tmp_path: Path) -> None:
    """M is mtbf over the number of nodes, that of a trace as it is told."""
    (tmp_path / "none.csv").write_text("time,node,event\n")
    for cores, nodes in ((2, 1), (8, 4)):
        workload = workload_of((0.0, cores, 1e5), checkpoint_interval=[rule], checkpoint_time=[50.0])
        expected = optimum_interval(rule, 50.0, 1e6 / nodes)
        found = stages(workload, 4, f"trace:{tmp_path / 'none.csv'},mtbf=1e6")
        assert found[:2] == pytest.approx([expected, 2.0 * expected + 50.0], rel=1e-12)


def test_no_rule_without_a_mean_time_between_failures(tmp_path: Path) -> None:
    """Young's and Daly's intervals follow from it: a list of failures that does not say it, or none, is not enough."""
    (tmp_path / "none.csv").write_text("time,node,event\n")
    workload = workload_of((0.0, 1, 10.0), checkpoint_interval=["daly"])
    for failures in (None, "none", f"trace:{tmp_path / 'none.csv'}"):
        with pytest.raises(InputError, match="job 0, checkpoint_interval: expected a time in s"):
            Simulation(Platform.homogeneous(nodes=1, cores=1), workload, Fcfs(), failures=failures)


@pytest.mark.parametrize("rules", [["young", "young"], ["", "daly"]])
def test_no_rule_for_checkpoints_that_take_no_time(rules: list[str]) -> None:
    """Their interval would be 0: the jobs made none at all, and nobody was told."""
    columns = {"submit_time": [0.0, 0.0], "requested_cores": [1, 1], "recorded_run_time": [10.0, 10.0]}
    more = {"checkpoint_interval": rules, "checkpoint_time": [1.0, 0.0]}
    line = f"job 1, checkpoint_time: expected a time above 0 s, of which '{rules[1]}' makes the interval, found 0.0"
    with pytest.raises(InputError, match=line):
        Simulation(
            Platform.homogeneous(nodes=1, cores=2), Workload(columns | more), Fcfs(), failures="exponential:mtbf=1000"
        )
