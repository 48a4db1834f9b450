"""A slowdown that is bought with somebody's waiting is told as such."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.tables.backfilling import backfilling_markdown, backfilling_table, bought_with
from cluster_sim import Platform, Simulation, Workload
from cluster_sim.run.decisions import Start
from schedulers import EasyBackfilling, Scheduler, make_scheduler


class StarvesLongJobs(Scheduler):
    """What an agent finds that may wait: no job of more than 1,000 s is started while any other is yet to come."""

    def __init__(self, last_submission: float):
        self._last = last_submission

    def schedule(self, view):  # type: ignore[no-untyped-def]
        """Short ones as they fit, shortest first; long ones when all have come and no short one waits."""
        short = [job for job in view.pending if job.requested_time <= 1000.0]
        long = [] if short or view.now < self._last else view.pending
        for job in sorted(short or long, key=lambda job: job.requested_time):
            if job.requested_cores <= view.free_total:
                yield Start(job, view.place(job))


def window(seed: int) -> Workload:
    """150 jobs on 16 cores: most short, some long, rather too many."""
    rng = np.random.default_rng(seed)
    times = np.where(rng.random(150) < 0.8, rng.uniform(10.0, 120.0, 150), rng.uniform(2000.0, 6000.0, 150))
    return Workload(
        {
            "submit_time": np.cumsum(rng.exponential(120.0, 150)),
            "requested_cores": rng.integers(1, 9, 150),
            "requested_time": times,
            "recorded_run_time": times,
        }
    )


@pytest.mark.parametrize("count", [4, 5])
def test_a_slowdown_that_long_jobs_pay_for_is_not_told_alone(count: int) -> None:
    """Holding long jobs back has a far smaller slowdown than EASY, and longer waits and a longer makespan stand beside it."""
    platform = Platform.homogeneous(nodes=1, cores=16)
    windows = [window(seed) for seed in range(count)]

    def runs(make):  # type: ignore[no-untyped-def]
        return [Simulation(platform, jobs, make(jobs)).run().summary() for jobs in windows]

    found = {
        "easy": runs(lambda jobs: EasyBackfilling()),
        "saf": runs(lambda jobs: make_scheduler("saf-easy")),
        "starves": runs(lambda jobs: StarvesLongJobs(float(jobs.jobs["submit_time"].max()))),
    }
    table = backfilling_table(found)
    assert table.loc["mean_bounded_slowdown", "starves vs first, %"] < -30.0
    assert {"max_wait_s", "makespan_s"} <= set(bought_with(table, "starves"))
    assert table.loc["mean_bounded_slowdown", "saf vs first, %"] < -10.0
    assert bought_with(table, "saf") == []  # better, and nobody pays more than a little
    line = backfilling_markdown(table, list(found)).splitlines()[-1]
    assert line.startswith("| `starves` |")
    assert line.endswith("makespan_s |")
    assert ("±" in line, "nan" in line) == (count > 4, False)
