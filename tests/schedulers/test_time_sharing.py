"""Jobs that take turns: who runs, who is suspended and when a job changes its queue, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.errors import SpecError
from schedulers import make_scheduler

Row = tuple[float, int, float]
"""Submission (s), GPUs, run time (s)."""


def spans(spec: str, rows: list[Row], gpus: int, **options: Any) -> dict[str, list[tuple[float, float]]]:
    """Per job from when to when (s) it had its GPUs, of which one node has so many, and a core with each."""
    submits, asks, seconds = map(list, zip(*rows, strict=True))
    columns = {"submit_time": submits, "requested_cores": asks, "gpus": asks, "recorded_run_time": seconds}
    platform = Platform.read(f"homogeneous:nodes=1,cores={gpus},gpus={gpus}")
    jobs = Workload(columns | {"requested_time": seconds})
    result = Simulation(platform, jobs, make_scheduler(spec), **options).run()
    found: dict[str, set[tuple[float, float]]] = {}
    for row in result.holds.itertuples():
        found.setdefault(row.owner, set()).add((row.start, row.end))
    return {job: sorted(times) for job, times in found.items()}


def test_the_least_time_left_goes_first() -> None:
    """At 10, 1 has less left than 0; at 30, 2 has not; at 40, 0 goes on before 2, with which it ties: it came first."""
    rows = [(0.0, 2, 60.0), (10.0, 2, 30.0), (30.0, 2, 50.0)]
    assert spans("preemptive-list", rows, 2) == {"0": [(0, 10), (40, 90)], "1": [(10, 40)], "2": [(90, 140)]}


def test_who_does_not_fit_is_skipped() -> None:
    """By GPUs 1 and 2 go before 0, which has room for itself no more; at 25 it goes on."""
    rows = [(0.0, 3, 30.0), (5.0, 2, 10.0), (10.0, 1, 15.0)]
    assert spans("preemptive-list:gpus", rows, 4) == {"0": [(0, 5), (15, 40)], "1": [(5, 15)], "2": [(10, 25)]}


def test_nobody_leaves_for_a_job_that_fits_beside_it() -> None:
    """1 goes first, and takes the second node: it could have had the first one too, if 0 had left it."""
    platform = Platform.homogeneous(2, 1)
    columns = {"submit_time": [0.0, 1.0], "requested_cores": [1, 1], "recorded_run_time": [9.0, 2.0]}
    jobs = Workload(columns | {"requested_time": columns["recorded_run_time"]})
    result = Simulation(platform, jobs, make_scheduler("preemptive-list")).run()
    assert len(result.holds) == len(set(result.holds["node"])) == 2
    assert result.jobs["finish_time"].tolist() == [9.0, 3.0]


def test_a_job_goes_to_the_next_queue_at_its_limit() -> None:
    """0 has attained 10 at 10, 1 goes first until it has, too; then both are in the last queue, where 0 came first."""
    rows = [(0.0, 1, 30.0), (1.0, 1, 30.0)]
    assert spans("las:10", rows, 1) == {"0": [(0, 10), (20, 40)], "1": [(10, 20), (40, 60)]}


def test_service_is_time_on_each_gpu() -> None:
    """Of two GPUs a job attains 10 in 5 s."""
    rows = [(0.0, 2, 30.0), (1.0, 2, 30.0)]
    assert spans("las:10,service=gpu-time", rows, 2)["0"] == [(0, 5), (10, 35)]


def test_a_job_that_has_waited_long_goes_first() -> None:
    """0 leaves at 10, has waited twice that at 30, and goes to the end of the first queue, behind 2; there it begins anew."""
    rows = [(0.0, 1, 15.0), (0.0, 1, 10.0), (0.0, 1, 40.0), (12.0, 1, 9.0)]
    assert spans("las:10,promote=2", rows, 1) == {
        "0": [(0, 10), (39, 44)],
        "1": [(10, 20)],
        "2": [(20, 30), (44, 74)],
        "3": [(30, 39)],
    }


def test_demotions_are_late_by_the_quirk_alone() -> None:
    """With two GPUs 0 attains 20 at 10; the published program looks at 20 div 2, as that, but after 4 s at (20 - 4) div 2."""
    rows = [(0.0, 2, 30.0), (4.0, 2, 5.0)]
    assert spans("las:20,service=gpu-time", rows, 2)["1"] == [(10, 15)]
    assert spans("las:20,service=gpu-time", rows, 2, quirks=["late-demotions"])["1"] == [(12, 17)]


@pytest.mark.parametrize("limits", ["", "900/200", "0/5", "a/b", "5/5", "1/inf"])
def test_limits_rise(limits: str) -> None:
    """Anything else is refused in one line."""
    with pytest.raises(SpecError, match=r"option limits: expected numbers of s, each above the one before"):
        make_scheduler(f"las:limits={limits}")
