"""A scheduler that stays with the job that it has chosen, as RLScheduler does, against that program's rule in so many words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import SpecError

Key = Callable[[tuple[float, float, int, float], float], object]
KEYS: dict[str, Key] = {
    "fcfs": lambda job, now: job[0],
    "sjf": lambda job, now: job[3],
    "saf": lambda job, now: job[3] * job[2],
    "wfp": lambda job, now: -(((now - job[0]) / job[3]) ** 3) * job[2],
}


def textbook(jobs: list[tuple[float, float, int, float]], key: Key, cores: int, extra: bool) -> list[float]:
    """Starts of jobs (submission, run time, cores, request), as Zhang et al. (SC 2020) and their program have it.

    The first of the queue by the order is chosen, and nothing else is until it has started. Meanwhile whoever ends before it
    should start is started, in order of submission; with ``extra`` also who ends just then, or leaves it its cores.
    """
    queue: list[int] = []
    running: list[tuple[float, float, int]] = []
    starts = [0.0] * len(jobs)
    now, coming, free = 0.0, 0, cores

    def advance() -> None:
        nonlocal now, coming, free
        ends = min(running, default=(np.inf,))[0]
        if coming < len(jobs) and jobs[coming][0] <= ends:
            now = jobs[coming][0]
            queue.append(coming)
            coming += 1
        else:
            now = ends
            free += running.pop(running.index(min(running)))[2]

    def start(job: int) -> None:
        nonlocal free
        queue.remove(job)
        starts[job] = now
        free -= jobs[job][2]
        running.append((now + jobs[job][1], now + jobs[job][3], jobs[job][2]))

    while queue or coming < len(jobs):
        if not queue:
            advance()
            continue
        chosen = min(queue, key=lambda job: (key(jobs[job], now), job))
        while jobs[chosen][2] > free:
            reachable, shadow = free, 0.0
            for one in sorted(running, key=lambda one: one[1]):
                shadow, reachable = one[1], reachable + one[2]
                if reachable >= jobs[chosen][2]:
                    break
            spare = reachable - jobs[chosen][2]
            for other in sorted(set(queue) - {chosen}):
                ends, width = now + jobs[other][3], jobs[other][2]
                if width > free or not (ends < shadow or (extra and (ends <= shadow or width <= spare))):
                    continue
                spare -= width if ends > shadow else 0
                start(other)
            advance()
        start(chosen)
    return starts


@pytest.mark.parametrize("order", sorted(KEYS))
@pytest.mark.parametrize("extra", [True, False])
def test_every_start_is_the_textbooks(order: str, extra: bool) -> None:
    """Random jobs on 16 cores, with exact requests: each starts when it does there; without commitment some do not."""
    cores, jobs = 16, 120
    differs = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        # Odd numbers of different scales: no two events in one instant, which a program that takes them singly sees otherwise.
        submits = np.cumsum(rng.exponential(120.0, jobs))
        times = rng.lognormal(5.5, 1.3, jobs)
        widths = np.minimum(2 ** rng.integers(0, 5, jobs), cores)
        columns = {
            "submit_time": submits,
            "requested_cores": widths,
            "requested_time": times,
            "recorded_run_time": times,
        }
        expected = textbook(list(zip(submits, times, widths.tolist(), times, strict=True)), KEYS[order], cores, extra)
        for commit in ("yes", "no"):
            spec = f"easy:order={order},backfill=fcfs,commit={commit},extra={'yes' if extra else 'no'}"
            run = Simulation(Platform.homogeneous(nodes=1, cores=cores), Workload(columns), make_scheduler(spec)).run()
            same = np.allclose(run.jobs["start_time"], expected, rtol=1e-9)
            assert same or commit == "no"
            differs += not same
    assert (differs > 0) == (order != "fcfs")  # first come, first served chooses nothing that it could go back on


def test_whom_it_has_chosen_it_stays_with() -> None:
    """A wide job waits for the long one; a shorter one that comes does not take its turn, and no promise is moved."""
    jobs = {"submit_time": [0, 1, 2], "requested_cores": [3, 4, 4], "requested_time": [100, 50, 10]}
    starts = {}
    for commit in ("yes", "no"):
        scheduler = make_scheduler(f"easy:order=sjf,commit={commit}")
        workload = Workload(jobs | {"recorded_run_time": jobs["requested_time"]})
        run = Simulation(Platform.homogeneous(nodes=4, cores=1), workload, scheduler, explain=True).run()
        starts[commit] = run.jobs["start_time"].tolist()
    assert starts == {"yes": [0.0, 100.0, 150.0], "no": [0.0, 110.0, 100.0]}


@pytest.mark.parametrize(
    "spec",
    [
        "easy:commit=yes,depth=2",
        "easy:commit=yes,depth=all",
        "easy:extra=no,reservation=pinned",
        "easy:extra=no,depth=0",
    ],
)
def test_what_speaks_of_one_promise_is_refused_with_others(spec: str) -> None:
    """In one line that names the option."""
    with pytest.raises(SpecError, match="option"):
        make_scheduler(spec)
