"""Licences of the whole platform, and of logs whose machines say nothing of them."""

from __future__ import annotations

from dataclasses import replace

from cluster_sim import Platform, Simulation, Workload

JOBS = [
    {"submit_time": 0.0, "requested_cores": 1, "recorded_run_time": 5.0, "requested_time": 5.0, "licenses": each}
    for each in ("flex@server:2", "a|b", "flex@server", "x:y:z")
]


def test_without_pools_licences_do_not_count() -> None:
    """However they are written, jobs run, and backfilling counts cores alone."""
    simulation = Simulation(Platform.homogeneous(4, 1), Workload(JOBS), "easy")
    assert simulation.view.machine.counts_only
    assert simulation.run().jobs["start_time"].tolist() == [0.0] * 4


def test_names_of_servers_are_names() -> None:
    """Of a pool of two one job has both; what no pool has is rejected by name."""
    platform = replace(Platform.homogeneous(4, 1), pools={"flex@server": 2})
    jobs = Simulation(platform, Workload(JOBS), "easy").run().jobs
    assert jobs["start_time"][[0, 2]].tolist() == [0.0, 5.0]
    assert jobs["reason"][1] == "it asks for 1 licence of a|b, the platform has none"
    assert jobs["reason"][3] == "it asks for 1 licence of x:y:z, the platform has none"


def test_gpus_that_the_platform_lacks_leave_the_plans_as_they_are() -> None:
    """Who asks for some is rejected; for the others any free cores are as good as others."""
    jobs = Workload([JOBS[0] | {"gpus": 1}, JOBS[1]])
    simulation = Simulation(Platform.homogeneous(4, 1), jobs, "easy")
    assert simulation.view.machine.counts_only
    assert simulation.run().jobs["state"].tolist() == ["rejected", "completed"]
