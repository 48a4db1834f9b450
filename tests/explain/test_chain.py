"""The chain of jobs that another one waited for: its critical path."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_sim import Platform, Result, Simulation, Workload
from cluster_sim.cli import main
from cluster_sim.engine import latest
from cluster_sim.errors import InputError
from tests.support.rows import workload_of


def story(scheduler: str = "fcfs") -> Result:
    """8 cores; solver takes 6 for 100 s, wide wants all from 10 s on, small wants 2 from 20 s on; alone waits for nobody."""
    rows = [(0.0, 6, 100.0, 120.0), (10.0, 8, 50.0, 60.0), (20.0, 2, 30.0, 30.0), (500.0, 1, 5.0, 5.0)]
    workload = workload_of(*rows, job_id=["solver", "wide", "small", "alone"])
    return Simulation(Platform.homogeneous(nodes=1, cores=8), workload, scheduler).run()


def test_a_chain_by_hand() -> None:
    """Small waits for wide, which waited for solver; of solver's run only what small saw of it counts."""
    chain = story().blocking_chain("small")
    assert chain["job_id"].tolist() == ["solver", "wide"]
    assert chain[["start", "end"]].to_numpy().tolist() == [[0.0, 100.0], [100.0, 150.0]]
    assert chain["of_wait_s"].tolist() == [80.0, 50.0]
    assert chain["cores"].tolist() == [6, 8]


def test_who_did_not_wait_has_no_chain() -> None:
    """With backfilling small starts at once; and who waits for a job that came later has a part of its wait in the chain."""
    assert story("easy").blocking_chain("small").empty
    assert story().blocking_chain("alone").empty
    later = workload_of((0.0, 4, 100.0, 100.0), (1.0, 8, 10.0, 10.0), (50.0, 4, 100.0, 100.0))
    run = Simulation(Platform.homogeneous(nodes=1, cores=8), later, "list:shortest,blocking=no").run()
    chain = run.blocking_chain("1")
    assert chain[["start", "end", "of_wait_s"]].to_numpy().tolist() == [[50.0, 150.0, 100.0]]


def test_the_one_that_left_most_cores_is_in_the_chain() -> None:
    """Two jobs end in one instant; the third takes three cores of one and one core of the other."""
    rows = workload_of((0.0, 1, 60.0, 60.0), (0.0, 3, 60.0, 60.0), (5.0, 4, 10.0, 10.0))
    run = Simulation(Platform.homogeneous(nodes=1, cores=4), rows, "fcfs").run()
    assert run.blocking_chain("2")["job_id"].tolist() == ["1"]


@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "conservative", "sjf", "preemptive"])
@pytest.mark.parametrize("seed", range(3))
def test_links_hold_on_to_each_other(tmp_path: Path, scheduler: str, seed: int) -> None:
    """Each ends when the next one gets its cores, the last when the job does; saved and loaded the chain is the same."""
    workload = Workload.read(f"lublin:jobs=60,nodes=8,seed={seed}")
    run = Simulation(Platform.homogeneous(nodes=4, cores=2), workload, scheduler).run(warn=False)
    run.save(tmp_path)
    loaded, attempts = Result.load(tmp_path), run.attempts
    whole = 0
    for attempt in attempts.groupby("job_id").tail(1).itertuples():
        chain = run.blocking_chain(attempt.job_id)
        wait = attempt.allocation_time - attempt.queue_time
        assert chain.equals(loaded.blocking_chain(attempt.job_id))
        assert (wait > 0.0) >= bool(len(chain))
        if chain.empty:
            continue
        assert chain["end"].tolist() == [*chain["start"][1:], attempt.allocation_time]
        assert (chain["of_wait_s"] > 0.0).all()
        assert chain["of_wait_s"].sum() <= latest(wait)
        assert (chain["start"][1:] > attempt.queue_time).all()
        whole += chain["start"].iloc[0] <= attempt.queue_time
        assert chain["of_wait_s"].sum() == pytest.approx(min(wait, attempt.allocation_time - chain["start"].iloc[0]))
    assert whole > 5


def test_a_chain_is_printed(tmp_path: Path) -> None:
    """With its share of the wait; an unknown job, and one that never started, are refused in a line."""
    story().save(tmp_path)
    done = CliRunner().invoke(main, ["explain", str(tmp_path), "small", "--chain"])
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0] == (
        "Job small waited for these jobs, one after the other; they took all of its wait of 2 min 10 s."
    )
    assert [line.split()[0] for line in done.stdout.splitlines()[4:]] == ["solver", "wide"]
    done = CliRunner().invoke(main, ["explain", str(tmp_path), "alone", "--chain"])
    assert done.stdout == "Job alone waited 0 s, for no job to end.\n"
    done = CliRunner().invoke(main, ["explain", str(tmp_path), "nobody", "--chain"])
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    rows = workload_of((0.0, 1, 60.0, 60.0), (0.0, 1, 60.0, 60.0))
    part = Simulation(Platform.homogeneous(nodes=1, cores=1), rows, "fcfs").run(until=30.0)
    with pytest.raises(InputError, match="a job that got cores, found 1"):
        part.blocking_chain("1")
