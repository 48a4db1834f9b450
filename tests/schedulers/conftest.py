"""Machines and queues made by hand, and a scheduler's decisions on them without any run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cluster_sim import Platform, Scheduler, Start, View, Workload
from cluster_sim.run.decisions import Hold

Queue = Callable[..., Workload]


@pytest.fixture
def queue() -> Queue:
    """``queue(widths, column=…)``: jobs submitted one a second, with further columns by name."""

    def make(widths: Sequence[int], **columns: Any) -> Workload:
        count = len(widths)
        table = {"submit_time": [float(i) for i in range(count)], "recorded_run_time": [1.0] * count}
        return Workload({"requested_cores": list(widths), **table, **columns})

    return make


def decide(scheduler: Scheduler, view: View) -> list[tuple[str, dict[int, int]]]:
    """One pass on a view made by hand: (job, cores by node) of what is started, in order; the view shows the effect."""
    scheduler.begin(view)
    started = []
    for decision in scheduler.schedule(view):
        if isinstance(decision, Hold):
            continue
        assert isinstance(decision, Start)
        view.apply(decision)
        started.append((decision.job.job_id, decision.placement.cores_by_node()))
    list.clear(view.submitted)
    return started


def order_of(scheduler: Scheduler, workload: Workload) -> str:
    """The ids of the jobs in the order in which a scheduler starts them on a machine with room for all."""
    view = View.by_hand(Platform.homogeneous(nodes=1, cores=1000), workload)
    return "".join(job for job, _ in decide(scheduler, view))
