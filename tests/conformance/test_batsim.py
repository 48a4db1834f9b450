"""Batsim's own inputs, all of them, and its own results: what it measured, we measure."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cluster_sim.errors import FormatError, ModelWarning
from cluster_sim.formats.batsim_results import (
    consumed_energy_table,
    jobs_table,
    machine_states_table,
    read_consumed_energy,
    read_jobs,
    read_machine_states,
)
from cluster_sim.platform import Platform
from cluster_sim.records import Result
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from schedulers import make_scheduler

# For every file what becomes of it: its jobs, or the words in which it is refused.
BATSIM_WORKLOADS: dict[str, int | str] = {
    "batsched_kth_sp2.json.gz": 27954,
    **{f"example_workload_hpc_seed{seed}_jobs250.json": 250 for seed in range(1, 6)},
    "test_batsim_paper_workload_seed1.json": 800,
    "test_case_study1.json": 3,
    "test_compo_sequence_delay.json": 23,
    "test_compo_sequence_ptaskcomp.json": 23,
    "test_delays.json": 10,
    "test_energy_minimal_load0.json": 2,
    "test_energy_minimal_load100.json": 2,
    "test_energy_minimal_load50.json": 2,
    "test_extra_data_desired_allocation.json": 10,
    "test_extra_data_desired_allocation_object.json": 10,
    "test_homo_ptasks.json": "profiles.network-only-2: .* found ParallelTaskHomogeneousProfile: it only communicates",
    "test_long_workload.json": 18,
    "test_one_computation_job.json": 1,
    "test_one_computation_job_tot.json": 1,
    "test_one_delay_job.json": 1,
    "test_ptasks.json": "profiles.network-only-1-transfer: .* found ParallelTaskProfile: it only communicates",
    "test_same_submit_time.json": 18,
    "test_smpi_collectives.json": "profiles.trace1.type: .* found TraceReplayProfile: it replays a trace",
    "test_smpi_compute_only.json": "profiles.trace1.type: .* found TraceReplayProfile: it replays a trace",
    "test_smpi_mapping.json": "profiles.1.type: .* found TraceReplayProfile: it replays a trace",
    "test_smpi_mixed_comp_comm.json": "profiles.trace1.type: .* found TraceReplayProfile: it replays a trace",
    "test_tuto_stencil.json": "profiles.initial_load.type: .* ParallelTaskOnStorageHomogeneousProfile: it reads and",
    "test_usage_trace.json": "profiles.ut-homo-onephase-100.type: .* found TraceReplayProfile: it replays a trace",
    "test_various_profile_types.json": "profiles.simple_no_cpu: .* found ParallelTaskProfile: it only communicates",
    "test_walltime.json": 44,
    "test_walltime_smpi.json": "profiles.smpi_compute_only.type: .* found TraceReplayProfile: it replays a trace",
    # A workflow, which Batsim 3 read and later versions do not.
    "GENOME.d.351024866.5.dax": "expected a workload file",
}
BATSIM_PY_WORKLOADS: dict[str, int | str] = {
    "comp_4.json": 4,
    "various.json": "profiles.homogeneous_no_cpu: .* found parallel_homogeneous: it only communicates",
    "w_dvfs.json": "profiles.pfs.type: .* found parallel_homogeneous_pfs: it reads and writes storage",
    "w_shutdown.json": 3,
}
# Nodes and cores, or the words in which a file is refused.
BATSIM_PLATFORMS: dict[str, tuple[int, int] | str] = {
    "cluster512.xml": (512, 512),
    "cluster512_pfs.xml": (512, 512),
    "cluster_energy_128.xml": (128, 128),
    "cluster_locality_32x16.xml": (512, 512),
    "cluster_locality_4x128.xml": (512, 512),
    "cluster_locality_8x16.xml": (128, 128),
    "cluster_locality_8x64.xml": (512, 512),
    "energy_platform.xml": (4, 4),
    "energy_platform_homogeneous.xml": (4, 4),
    "energy_platform_homogeneous_no_net.xml": (7, 7),
    "energy_platform_homogeneous_no_net_1.xml": (1, 1),
    "energy_platform_homogeneous_no_net_128.xml.gz": (128, 128),
    "energy_platform_homogeneous_no_net_256.xml.gz": (256, 256),
    "energy_platform_homogeneous_no_net_512.xml.gz": (512, 512),
    "graphene.xml": (144, 144),
    "properties_example.xml": (7, 7),
    "simple_coalloc_platform.xml": (32, 32),
    "small_platform.xml": (4, 4),
    "small_platform_dvfs.xml": (4, 4),
    "small_platform_pfs0.xml": (5, 5),
    "small_platform_replay_usage.xml": (4, 400),
    # Sleep states beyond the p-states that have a speed.
    "heterogeneous/platform.xml": "sleep_pstates: expected a p-state from 0 to 1, found 2",
    # Descriptions from which another tool makes the file above.
    "heterogeneous/altamira.json": "Batsim's heterogeneous one is not supported",
    "heterogeneous/example.json": "Batsim's heterogeneous one is not supported",
    "heterogeneous/network_types.json": "expected a platform",
    "heterogeneous/node_types.json": "expected a platform",
    "heterogeneous/processor_types.json": "expected a platform",
}
BATSIM_PY_PLATFORMS: dict[str, tuple[int, int] | str] = {
    "cluster_1.xml": (64, 64),
    "energy_com_hosts_2.xml": (2, 2),
    "energy_hosts_2.xml": (2, 2),
    "hosts_2.xml": (2, 2),
}
SIMGRID_PLATFORMS: dict[str, tuple[int, int] | str] = {
    "cluster_backbone.xml": (100, 100),
    "data_center.xml": (120, 120),
    "energy_boot.xml": (2, 2),
    "energy_cluster.xml": (2, 8),
    "energy_platform.xml": (3, 6),
    "g5k.xml": (1528, 1528),
    "griffon.xml": (92, 92),
}


@pytest.mark.parametrize(
    ("folder", "table"),
    [
        ("cases/batsim-inputs/workloads", BATSIM_WORKLOADS),
        ("cases/batsim-inputs/platforms", BATSIM_PLATFORMS),
        ("cases/batsim-py-inputs", BATSIM_PY_WORKLOADS | BATSIM_PY_PLATFORMS),
        ("power/simgrid-platforms", SIMGRID_PLATFORMS),
    ],
)
def test_every_file_parses_or_is_refused_with_the_reason(shared: Path, folder: str, table: dict[str, object]) -> None:
    """No file is left out of the tables; every refusal is one line that names the file and what it cannot have."""
    root = shared / folder
    traces = re.compile(r"^(smpi|usage-trace)/")  # parts of profiles, no inputs by themselves
    names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    assert sorted(name for name in names if not traces.match(name)) == sorted(table)
    for name, expected in table.items():
        read = Platform.read if isinstance(expected, tuple) or "platforms" in folder else Workload.read
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            if isinstance(expected, str):
                with pytest.raises(FormatError, match=expected) as caught:
                    read(root / name)
                assert str(caught.value).startswith(str(root)), name
                assert "\n" not in str(caught.value), name
            else:
                thing = read(root / name)
                found = (thing.node_count, thing.core_count) if isinstance(thing, Platform) else len(thing)
                assert found == expected, name


@pytest.mark.parametrize(
    "name", ["test_compo_sequence_delay", "test_compo_sequence_ptaskcomp", "test_homo_ptasks", "test_ptasks"]
)
def test_run_times_that_batsims_own_tests_expect(shared: Path, name: str) -> None:
    """On hosts of 1 Gf each job takes its profile's expected_execution_time, or is killed at its walltime.

    Batsim's parallel tasks run each stage of a sequence for itself; a microsecond of latency aside, so do ours. Jobs
    that are bound by the network are left out: we have none.
    """
    root = shared / "cases/batsim-inputs"
    path = root / "workloads" / f"{name}.json"
    profiles = json.loads(path.read_text())["profiles"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        jobs = Workload.read(path, unsupported="drop")
    platform = Platform.read(root / "platforms/cluster512.xml")
    result = Simulation(platform, jobs, make_scheduler("fcfs"), enforce_walltime=True).run()
    compared = 0
    for job in result.jobs.itertuples():
        if "netbound" in job.profile:
            continue
        compared += 1
        expected = profiles[job.profile]["expected_execution_time"]
        assert job.run_time == pytest.approx(min(expected, job.requested_time), abs=2e-5), job.job_id
        assert job.state == ("completed" if job.job_id.endswith("-ok") else "killed"), job.job_id
    assert compared >= 2


@pytest.mark.parametrize("load", ["load0", "load100"])
def test_two_hosts_that_sleep_between_two_jobs(shared: Path, load: str) -> None:
    """The times that Batsim's file notes: off from 30 to 36 s, booted from 100 to 252 s, the second job until 262 s.

    Energy by hand from the file's watts: 95 idle, 190.738 busy (95 for a delay), 101 and 125 in transition, 9.75 off.
    """
    root = shared / "cases/batsim-inputs"
    platform = Platform.read(root / "platforms/cluster_energy_128.xml", max_hosts=2)
    jobs = Workload.read(root / f"workloads/test_energy_minimal_{load}.json")
    model = {"load0": "idle", "load100": "linear"}[load]
    simulation = Simulation(platform, jobs, make_scheduler("fcfs"), power_model=model)
    simulation.run(until=30.0)
    for node in (0, 1):
        simulation.node(node).switch_off()
    result = simulation.run()
    states = result.node_states[result.node_states["node"] == "cluster_compute.node0"]
    assert list(zip(states["state"], states["start"].round(9), states["end"].round(6), strict=True)) == [
        ("COMPUTING", 0, 10), ("IDLE", 10, 30), ("SWITCHING_OFF", 30, 36.1), ("OFF", 36.1, 100),
        ("SWITCHING_ON", 100, 251.52), ("COMPUTING", 251.52, 261.52),
    ]  # fmt: skip
    busy = {"load0": 95.0, "load100": 190.738}[load]
    off, on = 100.99672131147543, 125.1743848996832
    expected = 2 * (20 * busy + 20 * 95.0 + 6.1 * off + 63.9 * 9.75 + 151.52 * on)
    assert result.summary()["energy_j"] == pytest.approx(expected, rel=1e-8)


@pytest.fixture(scope="module")
def medium_late(shared: Path) -> tuple[Path, Result]:
    """Batsim's EASY schedule of 801 jobs on 32 hosts, played back; the folder of its results."""
    root = shared / "cases/batsim-medium-late"
    platform = Platform.read(root / "platform.xml.gz", max_hosts=32)
    scheduler = make_scheduler(f"replay:{root / 'easy/out_jobs.csv'}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = Simulation(platform, Workload.read(root / "medium_late.json"), scheduler, power_model="idle").run()
    return root / "easy", result


def test_replayed_jobs_are_batsims(medium_late: tuple[Path, Result]) -> None:
    """All 801 jobs: hosts exactly, times to the six decimals of the file, energy of each to 1e-9."""
    folder, result = medium_late
    theirs = read_jobs(folder / "out_jobs.csv").set_index("job_id")
    ours = jobs_table(result).set_index("job_id").loc[theirs.index]
    assert (ours["allocated_resources"] == theirs["allocated_resources"]).all()
    for name in ("submission_time", "starting_time", "finish_time", "execution_time"):
        assert (ours[name] - theirs[name]).abs().max() < 1e-6, name
    for name in ("waiting_time", "turnaround_time", "stretch"):  # differences of two rounded times
        assert (ours[name] - theirs[name]).abs().max() < 2e-6, name
    np.testing.assert_allclose(ours["consumed_energy"], theirs["consumed_energy"], rtol=1e-9)


def test_replayed_energy_and_states_are_batsims(medium_late: tuple[Path, Result]) -> None:
    """Total energy to the last printed digit; the energy curve and the numbers of machines to the files' six digits."""
    folder, result = medium_late
    schedule = pd.read_csv(folder / "out_schedule.csv")
    assert round(result.summary()["energy_j"], 6) == schedule.loc[0, "consumed_joules"]
    assert result.summary()["last_completion_s"] == schedule.loc[0, "makespan"]

    theirs, ours = read_consumed_energy(folder / "out_consumed_energy.csv"), consumed_energy_table(result)
    assert len(ours) == len(theirs)
    np.testing.assert_allclose(ours["time"], theirs["time"], rtol=5e-6)
    np.testing.assert_allclose(ours["energy"], theirs["energy"], rtol=5e-6, atol=1e-9)

    states, made = read_machine_states(folder / "out_machine_states.csv"), machine_states_table(result)
    # Their times have six digits, and a row for each event; what counts is the last row of each printed time.
    made["time"] = [float(f"{time:g}") for time in made["time"]]
    last = [table.drop_duplicates("time", keep="last").reset_index(drop=True) for table in (made, states)]
    pd.testing.assert_frame_equal(*last, check_dtype=False)


def test_taurus_is_fourteen_nodes_that_are_off(shared: Path) -> None:
    """168 one-core hosts, by the file's own property nodes of 12 cores; times in minutes, watts as summed by hand."""
    path = shared / "cases/deepshutdown/platform_taurus_168cores.xml"
    platform = Platform.read(path, time_unit="minutes")
    (node,) = platform.node_types
    assert (platform.node_count, node.cores, node.initially_off) == (14, 12, True)
    costs = node.transitions
    assert (costs.switch_on_s, costs.switch_off_s) == (60.0, pytest.approx(180.0))
    assert (costs.off_w, costs.switch_on_w, costs.switch_off_w) == (12 * 9, 12 * 125, 12 * 101)
    assert Platform.read(path, cores_per_node=1).node_count == 168


def test_deepshutdown_days_are_in_minutes(shared: Path) -> None:
    """All 48 days are read; a profile named 3.0 runs three minutes on Taurus."""
    root = shared / "cases/deepshutdown"
    platform = Platform.read(root / "platform_taurus_168cores.xml", time_unit="minutes")
    days = [Workload.read(path, time_unit="minutes") for path in sorted((root / "train_days").iterdir())]
    assert len(days) == 48
    for day in days:
        minutes = day.jobs["operations"] / platform.fastest_ops_per_s / 60
        np.testing.assert_allclose(minutes, day.jobs["profile"].astype(float))


def test_metrics_recomputed_from_its_files_are_its_own(shared: Path) -> None:
    """From Batsim's tables alone, without simulating: every figure of that run's own summary, to its last digit."""
    prefix = shared / "cases/batsim-medium-late/easy/out"
    result, said = Result.load(prefix), pd.read_csv(f"{prefix}_schedule.csv").iloc[0]
    jobs, ours = result.jobs, result.summary()
    recomputed = {
        "makespan": ours["makespan_s"],
        "mean_waiting_time": ours["mean_wait_s"],
        "max_waiting_time": ours["max_wait_s"],
        "mean_turnaround_time": ours["mean_turnaround_s"],
        "max_turnaround_time": jobs["turnaround_time"].max(),
        "mean_slowdown": ours["mean_slowdown"],
        "max_slowdown": ours["max_slowdown"],
        "time_computing": result.nodes["computing_s"].sum(),
        # Each host's last open interval is left out by Batsim.
        "time_idle": (result.node_states.query("state == 'COMPUTING'").groupby("node")["end"].max()).sum()
        - result.nodes["computing_s"].sum(),
    }
    for name, value in recomputed.items():
        assert value == pytest.approx(said[name], abs=6e-7 * max(1.0, len(jobs) if name.startswith("time") else 1.0)), (
            name
        )
    assert ours["energy_j"] == pytest.approx(said["consumed_joules"], rel=1e-9)
    counts = (
        ("nb_jobs_finished", "jobs_completed"),
        ("nb_jobs_killed", "jobs_killed"),
        ("nb_jobs_success", "jobs_completed"),
    )
    assert all(said[theirs] == ours[name] for theirs, name in counts)
    assert result.platform.core_count == said["nb_computing_machines"] == 32
