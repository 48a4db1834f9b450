"""Guests beside the scheduler ``slurm``: it starts nobody on their cores, and plans with the times that they gave."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler

TIERS = (
    "PreemptType=preempt/partition_prio",
    "PartitionName=batch Nodes=ALL Default=YES PriorityTier=1 OverSubscribe=FORCE:1",
    "PartitionName=first Nodes=ALL PriorityTier=2 OverSubscribe=FORCE:1",
)
SELECTIONS = (
    "SelectType=select/linear",
    "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core",
)


def run(
    folder: Path,
    keys: tuple[str, ...],
    jobs: list[tuple[float, int, float, str]],
    guest: tuple[float, int, float, float | None],
) -> Result:
    """Jobs (submission, cores, seconds, partition) on two nodes of one core, and one guest (from, node, seconds, expected)."""
    conf = folder / "slurm.conf"
    partition = (
        () if any(key.startswith("PartitionName") for key in keys) else ("PartitionName=batch Nodes=ALL Default=YES",)
    )
    parameters = "SchedulerParameters=bf_interval=1,bf_resolution=1"
    conf.write_text("\n".join(("ClusterName=lab", "NodeName=n[0-1] CPUs=1", parameters, *keys, *partition)) + "\n")
    submits, cores, seconds, partitions = zip(*jobs, strict=True)
    workload = Workload(
        {
            "job_id": [chr(ord("A") + i) for i in range(len(jobs))],
            "submit_time": submits,
            "requested_cores": cores,
            "recorded_run_time": seconds,
            "requested_time": seconds,
            "partition": partitions,
        }
    )
    simulation = Simulation(Platform.homogeneous(nodes=2, cores=1), workload, make_scheduler(f"slurm:conf={conf}"))

    def visit() -> Generator[Any, Any, None]:
        start, node, stays, expected = guest
        yield simulation.env.timeout(start)
        with simulation.node(node).request(1, owner="backup", expected_s=expected) as held:
            yield held
            yield simulation.env.timeout(stays)

    simulation.env.process(visit())
    return simulation.run()


def starts(result: Result) -> dict[str, float]:
    """When each job starts, s."""
    return dict(zip(result.jobs["job_id"], result.jobs["start_time"], strict=True))


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_guest_with_an_expected_end_is_a_departure(tmp_path: Path, selection: str) -> None:
    """A waits for the guest's node from 300 s on: C's limit ends before that, B's does not."""
    jobs = [(10.0, 2, 60.0, "batch"), (20.0, 1, 600.0, "batch"), (20.0, 1, 240.0, "batch")]
    start = starts(run(tmp_path, (selection,), jobs, (0.0, 1, 300.0, 300.0)))
    assert 300.0 <= start["A"] < 305.0
    assert 20.0 <= start["C"] < 25.0
    assert start["B"] > start["A"]


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_guest_without_one_never_leaves(tmp_path: Path, selection: str) -> None:
    """Nothing is kept for A, which needs the guest's node: B starts before it, however long it may run."""
    jobs = [(10.0, 2, 60.0, "batch"), (20.0, 1, 600.0, "batch")]
    start = starts(run(tmp_path, (selection,), jobs, (0.0, 1, 300.0, None)))
    assert 20.0 <= start["B"] < 25.0
    assert 620.0 <= start["A"] < 630.0


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
@pytest.mark.parametrize("selection", SELECTIONS)
def test_a_guest_that_overstays_is_expected_soon(tmp_path: Path, selection: str) -> None:
    """A has nodes kept for the next second, and the next; B, which would take longer, waits behind it."""
    jobs = [(110.0, 2, 60.0, "batch"), (120.0, 1, 600.0, "batch")]
    start = starts(run(tmp_path, (selection,), jobs, (0.0, 1, 300.0, 100.0)))
    assert 300.0 <= start["A"] < 305.0
    assert start["B"] > start["A"]


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
@pytest.mark.parametrize("selection", SELECTIONS)
def test_no_job_loses_its_nodes_for_what_a_guest_holds(tmp_path: Path, selection: str) -> None:
    """B, of the higher tier, needs both nodes: A is requeued when the guest has left the other one, not before."""
    keys = (selection, *TIERS, "PreemptMode=REQUEUE")
    jobs = [(0.0, 1, 1000.0, "batch"), (50.0, 2, 60.0, "first")]
    result = run(tmp_path, keys, jobs, (10.0, 1, 300.0, 300.0))
    first = result.attempts[result.attempts["job_id"] == "A"].iloc[0]
    assert first["outcome"] == "preempted"
    assert 310.0 <= first["end_time"] <= starts(result)["B"] < 325.0


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
def test_a_suspended_job_goes_on_when_no_guest_has_its_cores(tmp_path: Path) -> None:
    """A is suspended for B, whose cores the guest gets when B ends; A goes on when the guest has left.

    B ends at 110 s at the soonest, and the guest has asked before: it stays for 200 s, and A still lacks some 950 s.
    """
    keys = (SELECTIONS[1], *TIERS, "PreemptMode=SUSPEND,GANG")
    jobs = [(0.0, 2, 1000.0, "batch"), (50.0, 2, 60.0, "first")]
    result = run(tmp_path, keys, jobs, (60.0, 1, 200.0, None))
    start, holds = starts(result), result.holds
    over = start["B"] + 60.0
    guest = holds[holds["kind"] == "guest"].iloc[0]
    assert (guest["start"], guest["end"]) == (pytest.approx(over), pytest.approx(over + 200.0))
    resumed = holds[(holds["owner"] == "A") & (holds["start"] > over)]
    assert len(resumed)
    assert (resumed["start"] >= guest["end"]).all()
    assert result.attempts["outcome"].tolist() == ["completed", "completed"]
