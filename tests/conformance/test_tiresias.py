"""GPU queues: every job of the runs of Tiresias's simulator (Gu et al., NSDI 2019; SymbioticLab/Tiresias at 959f9b0)."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Simulation, Workload
from schedulers import make_scheduler

SPECS = {
    "fifo": "fcfs",
    "fjf": "list:first/first,blocking=no",
    "sjf": "preemptive-list:gpus",
    "shortest": "preemptive-list:time",
    "shortest-gpu": "preemptive-list:gpu-time",
    "dlas": "las:{}",
    "dlas-gpu": "las:{},service=gpu-time",
    "dlas-gpu-1": "las:{},service=gpu-time,promote=1",
    "dlas-gpu-4": "las:{},service=gpu-time,promote=4",
}
MEANS = {"fifo": 423.48, "fjf": 310.42, "sjf": 413.43, "shortest": 273.50, "shortest-gpu": 353.43, "dlas": 326.75}
"""Mean time to completion on 12 GPUs, s; of dlas with limits of 200 and 900 s."""
LISTS = ("fifo", "fjf")
"""Policies that suspend nobody, of which pending times were not compared."""


def played(jobs: Workload, policy: str, gpus: int, limits: list[int]) -> list[list[Any]]:
    """Per job: id, first start, end, time that it waited, times that it was suspended, that it began or went on, promotions."""
    platform = Platform.read(f"homogeneous:nodes=1,cores={gpus},gpus={gpus}")
    scheduler = make_scheduler(SPECS[policy].format("/".join(map(str, limits))))
    result = Simulation(platform, jobs, scheduler, quirks=["late-demotions"]).run()
    pieces = defaultdict(set)
    for row in result.holds.itertuples():
        pieces[row.owner].add((row.start, row.end))
    promotions = getattr(scheduler, "promotions", {})
    rows = []
    for index, job in enumerate(result.jobs.itertuples()):
        ran = sum(end - start for start, end in pieces[job.job_id])
        waited, times = job.finish_time - job.submit_time - ran, len(pieces[job.job_id])
        counts = [times - 1, times, promotions.get(index, 0)]
        rows.append([int(job.job_id), job.start_time, job.finish_time, waited, *counts])
    return rows


def test_every_job_of_every_run(shared: Path) -> None:
    """51 runs of 60 jobs on 8, 12 and 16 GPUs: first start, end, wait, suspensions and promotions."""
    folder = shared / "cases" / "gpu-tiresias"
    jobs, cases = Workload.read(str(folder / "60_job.csv")), json.loads((folder / "expected.json").read_text())["cases"]
    assert len(cases) == 51
    wrong = []
    for case in cases:
        compared = slice(3 if case["policy"] in LISTS else None)
        found = played(jobs, case["policy"], case["gpus"], case.get("queue_limits", []))
        if [row[compared] for row in found] != [row[compared] for row in case["jobs"]]:
            wrong.append((case["policy"], case["gpus"], case.get("queue_limits")))
    assert wrong == []


@pytest.mark.parametrize("policy", MEANS)
def test_the_mean_time_to_completion(shared: Path, policy: str) -> None:
    """On 12 GPUs, from submission to end."""
    jobs = Workload.read(str(shared / "cases" / "gpu-tiresias" / "60_job.csv"))
    rows = played(jobs, policy, 12, [200, 900])
    submits = jobs.columns["submit_time"]
    mean = sum(end - submit for (_, _, end, *_), submit in zip(rows, submits, strict=True)) / len(rows)
    assert round(mean, 2) == MEANS[policy]
