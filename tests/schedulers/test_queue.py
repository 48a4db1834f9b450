"""The queue of backfilling: any history of joining and leaving leaves the jobs in the order of their keys."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, View, Workload
from schedulers import job_orders
from schedulers.backfilling.job_queue import GONE, JobQueue, rank


class At:
    """A view of which the queue only wants the time."""

    def __init__(self, now: float):
        self.now = now


def jobs_of(rows: list[tuple[int, int]]) -> tuple[Any, ...]:
    """Jobs of these (cores, requested times), one submitted a second."""
    table = {
        "submit_time": [float(i) for i in range(len(rows))],
        "requested_cores": [cores for cores, _ in rows],
        "requested_time": [float(time) for _, time in rows],
        "recorded_run_time": [1.0] * len(rows),
        "deadline": [float(1000 - 7 * cores) for cores, _ in rows],
        "priority": [float(time % 3) for _, time in rows],
    }
    return View.by_hand(Platform.homogeneous(nodes=1, cores=1), Workload(table)).pending


@pytest.mark.parametrize("order", ["first", "saf", "wfp", "expansion-factor", "powers:1:2:-0.3", "powers:0.4:1:0:0.6"])
@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 50)), min_size=1, max_size=100), st.randoms())
def test_the_queue_is_a_sorted_list(order: str, rows: list[tuple[int, int]], random: Any) -> None:
    """Joined in batches, left at random: places from the first on hold the jobs of a list sorted by key and submission."""
    key = job_orders.make(order)
    queue, kept, now = JobQueue(key), [], 0.0
    jobs = list(jobs_of(rows))
    while jobs:
        batch, jobs = jobs[:7], jobs[7:]
        now = batch[-1].submit_time + 1.0
        first = queue.join(batch, At(now))  # type: ignore[arg-type]
        kept += batch
        queue.refresh(At(now))  # type: ignore[arg-type]
        kept.sort(key=lambda job: (key(job, now), job.index))
        assert [job for _, job in queue.waiting()] == kept
        assert first <= queue.stop or queue.is_dynamic
        for place, job in queue.waiting():
            cores, times = queue.requests(place)
            assert (cores[0], times[0]) == (job.requested_cores, job.requested_time)
            assert (queue.place_of(job), queue.jobs[place]) == (place, job)
            assert queue.first <= place
        for place, job in queue.waiting():
            if random.random() < 0.5:
                queue.leave(place)
                kept.remove(job)
                assert queue.requests(place)[0][0] == GONE
        assert queue.count == len(kept)


@pytest.mark.parametrize("order", [*sorted(set(job_orders) - {"random"}), "powers:1:2:-0.3", "powers:0.4:1:0:0.6"])
@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 50)), min_size=1, max_size=30), st.integers(30, 90))
def test_keys_for_all_jobs_are_keys_for_each(order: str, rows: list[tuple[int, int]], now: int) -> None:
    """An order that is asked once for the whole queue ranks it as one that is asked job by job."""
    jobs, key = list(jobs_of(rows)), job_orders.make(order)
    expected = sorted(range(len(jobs)), key=lambda i: (key(jobs[i], float(now)), i))
    assert rank(jobs, key, float(now)).tolist() == expected


def test_a_job_can_join_again_before_it_has_left() -> None:
    """A job that was cancelled and comes back at once is another object of the same number: each leaves its own place."""
    (old, other), (new, _) = (jobs_of([(1, 5), (1, 5)]) for _ in range(2))
    queue = JobQueue(job_orders.make("first"))
    queue.join([old, other], At(0.0))  # type: ignore[arg-type]
    queue.join([new], At(0.0))  # type: ignore[arg-type]
    queue.leave(queue.place_of(old))
    queue.leave(queue.place_of(new))
    assert [job for _, job in queue.waiting()] == [other]
