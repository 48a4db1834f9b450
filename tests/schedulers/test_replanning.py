"""Conservative backfilling that places every queued job anew whenever a job has ended, as Batsim's does."""

from __future__ import annotations

import pytest
from hypothesis import given

from cluster_sim import Platform, Result, Simulation, make_scheduler
from schedulers import ConservativeBackfilling
from tests.support import textbook
from tests.support.small_logs import Rows, small_logs, workload


def run(scheduler: str, rows: Rows, hosts: int) -> Result:
    """On one-core hosts."""
    platform = Platform.homogeneous(nodes=hosts, cores=1)
    return Simulation(platform, workload(rows), make_scheduler(scheduler)).run()


def hosts_of(result: Result) -> dict[str, list[int]]:
    """The hosts of each job."""
    hosts: dict[str, list[int]] = {}
    for row in result.allocations.itertuples():
        hosts.setdefault(row.job_id, []).append(int(row.node.removeprefix("cluster0.node")))
    return {job: sorted(held) for job, held in hosts.items()}


# Three hosts: a has host 0 until 20, b host 1 until 30, c host 2 until 20. d wants two of them: 0 and 2 at 20. e is promised
# host 0 at 30. b ends at 10, which brings d no earlier start.
EARLY: Rows = [(0, 1, 20, 20), (0, 1, 30, 10), (0, 1, 20, 20), (1, 2, 10, 10), (2, 1, 15, 15)]


@pytest.mark.parametrize(
    ("scheduler", "starts", "hosts_of_d", "host_of_e"),
    [
        # d keeps its hosts, and e finds host 1 free from 10 to 25.
        ("conservative:reservation=pinned", [0, 0, 0, 20, 10], [0, 2], [1]),
        # d gets hosts 0 and 1, the first that are free at 20. Then e can have neither before 30, and is promised host 2 at 20.
        ("conservative:replan=yes,reservation=pinned", [0, 0, 0, 20, 20], [0, 1], [2]),
        ("conservative:replan=yes", [0, 0, 0, 20, 20], [0, 1], [2]),
    ],
)
def test_a_job_that_starts_no_earlier_is_placed_anew(
    scheduler: str, starts: list[float], hosts_of_d: list[int], host_of_e: list[int]
) -> None:
    """Worked by hand: the first hosts that will do, at the same time."""
    result = run(scheduler, EARLY, 3)
    assert result.jobs["start_time"].tolist() == starts
    assert hosts_of(result)["d"] == hosts_of_d
    assert hosts_of(result)["e"] == host_of_e


@given(small_logs())
def test_it_is_the_rule_in_so_many_words(log: tuple[int, Rows]) -> None:
    """Starts and hosts of every job, with requests that are exact or too long."""
    cores, rows = log
    expected = textbook.replanned(cores, rows)
    result = run("conservative:replan=yes", rows, cores)
    assert result.jobs["start_time"].tolist() == [start for start, _ in expected]
    held = hosts_of(result)
    assert [held[job] for job in result.jobs["job_id"]] == [hosts for _, hosts in expected]


def test_its_spec() -> None:
    """The records say that jobs were placed anew."""
    assert ConservativeBackfilling(replan=True).spec == "conservative:replan=yes"
    assert ConservativeBackfilling("saf", replan=True).spec == "conservative:order=saf,replan=yes"
