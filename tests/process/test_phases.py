"""Jobs in phases, against schedules worked out by hand."""

from __future__ import annotations

import pytest

from cluster_sim.errors import InputError
from cluster_sim.platform import Platform
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from cluster_sim.workload.phases import parse_phases
from schedulers import Fcfs

# With k = 1 and these parameters n tasks that ask for 1000 MB/s or more run at 1/n each (s(q) = 0, slope long past).
SHARING = {"b": -1.0, "c": 1500.0, "da": 0.0, "db": 1.0, "dc": 1.0, "dd": 0.0}


def finishes(jobs: dict[str, object], contention: str = "piecewise:k=1") -> list[float]:
    """Finish times of jobs on one 4-core node whose channel shares equally beyond 1500 MB/s."""
    platform = Platform.homogeneous(nodes=1, cores=4, contention=SHARING)
    result = Simulation(platform, Workload(jobs), Fcfs(), contention=contention).run()
    return result.jobs["finish_time"].tolist()


def two_jobs(phases: list[str]) -> dict[str, object]:
    """Two one-core jobs of 100 s that move 100 GB each."""
    return {
        "submit_time": [0.0, 0.0],
        "requested_cores": [1, 1],
        "recorded_run_time": [100.0, 100.0],
        "mem_vol": [1e5, 1e5],
        "phases": phases,
    }


def test_even_jobs_share_all_the_time() -> None:
    """Without phases both ask for 1000 MB/s throughout: half the rate, twice the time."""
    assert finishes(two_jobs(["", ""])) == pytest.approx([200.0, 200.0])


def test_phases_that_take_turns_do_not_contend() -> None:
    """One job moves its data in its first half, the other in its second: nobody waits for the channel."""
    # 50 s at 2000 MB/s alone on the channel: contended, but a single asking task runs beside one that asks nothing.
    # Its demand is over the threshold, and two tasks are running, so both are slowed: see the hand calculation below.
    assert finishes(two_jobs(["1:1 1:0", "1:0 1:1"])) == pytest.approx([200.0, 200.0])
    # Under the threshold nobody is slowed.
    light = two_jobs(["1:1 1:0", "1:0 1:1"]) | {"mem_vol": [5e4, 5e4]}
    assert finishes(light) == pytest.approx([100.0, 100.0])


def test_a_phase_is_slowed_only_while_it_overlaps() -> None:
    """Two tasks ask for 1000 MB/s for their first half only: 50 s of work take 100 s, the other half 50 s."""
    assert finishes(two_jobs(["1:1 1:0", "1:1 1:0"]) | {"mem_vol": [5e4, 5e4]}) == pytest.approx([150.0, 150.0])


def test_later_arrival_meets_the_second_phase() -> None:
    """Job 0 computes 50 s, then moves data; job 1 starts at 20 s and moves data from the start, for 40 s of work."""
    jobs = {
        "submit_time": [0.0, 20.0],
        "requested_cores": [1, 1],
        "recorded_run_time": [100.0, 40.0],
        "mem_vol": [5e4, 4e4],
        "phases": ["1:0 1:1", ""],
    }
    # 20-50: job 1 alone asks 1000 MB/s, under 1500: full speed, 30 s done, 10 left. From 50 both ask 1000: half speed.
    # Job 1 ends at 70; job 0 has then done 10 of its 50 s, and goes on alone at full speed: 70 + 40 = 110.
    assert finishes(jobs) == pytest.approx([110.0, 70.0])


def test_without_contention_phases_change_nothing() -> None:
    """On a machine without contention a job takes its run time, however it is cut."""
    assert finishes(two_jobs(["3:1 1:3", "1:1 1:1 1:5"]), contention="none") == pytest.approx([100.0, 100.0])


def test_a_clock_change_meets_the_right_phase() -> None:
    """A passive run that is moved to the channels in a job's second phase goes on where it was."""
    platform = Platform.homogeneous(nodes=1, cores=4, ghz=2.0)
    jobs = {"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [100.0], "phases": ["1:1 3:1"]}
    simulation = Simulation(platform, Workload(jobs), Fcfs())
    simulation.run(until=60.0)
    simulation.node(0).processors[0].set_clock(4.0)
    assert simulation.run().jobs["finish_time"].tolist() == pytest.approx([80.0])


@pytest.mark.parametrize("text", ["1", "1:2:3", "a:b", "-1:1", "0:1", "1:inf", "nan:1"])
def test_wrong_phases_are_refused(text: str) -> None:
    """Text that is not pairs of shares with some work is refused, naming the job and the column."""
    with pytest.raises(InputError, match="phases"):
        parse_phases(text)
    with pytest.raises(InputError, match="job 1, phases"):
        Workload({"submit_time": [0, 0], "requested_cores": [1, 1], "operations": [1, 1], "phases": ["", text]})
