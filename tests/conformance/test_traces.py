"""Real logs, whole, under first come, first served: nothing is lost, overlaps, starts early or is not paid for."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from cluster_sim import ModelWarning, Platform, Simulation, Workload
from schedulers import Fcfs

LOGS = (
    "KIT-FH2-2016-1.first25326.derived.swf.gz",
    "KTH-SP2-1996-2.1-cln.swf.gz",
    "NASA-iPSC-1993-3.1-cln.swf.gz",
    "SDSC-SP2-1998_pyss_5K_sample.swf.gz",
    "lublin_256.swf.gz",
    "theta_1000.swf",
)


@pytest.mark.parametrize("name", LOGS)
def test_a_log_keeps_the_contract(shared: Path, name: str) -> None:
    """On as many one-core nodes as the log's machine had."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # of the jobs of the log that cannot be simulated
        workload = Workload.read(shared / "traces" / name)
    platform = Platform.homogeneous(workload.max_procs, 1)
    result = Simulation(platform, workload, Fcfs()).run()
    jobs = result.jobs
    assert (jobs["state"] == "completed").all()
    assert (jobs["start_time"] >= jobs["submit_time"]).all()
    assert jobs["start_time"].is_monotonic_increasing  # nobody overtakes
    assert np.allclose(jobs["run_time"], workload.jobs["recorded_run_time"], rtol=1e-9, atol=1e-6)

    # Ends before starts at one time; never more cores than there are.
    time = np.concatenate([jobs["finish_time"], jobs["start_time"]])
    change = np.concatenate([-jobs["requested_cores"], jobs["requested_cores"]])
    lasting = np.concatenate([jobs["run_time"], jobs["run_time"]]) > 0
    order = np.lexsort((change, time))
    assert np.cumsum((change * lasting)[order]).max() <= platform.core_count

    summary, curve = result.summary(), result.power
    integral = float((np.diff(curve["time"]) * curve["watts"][:-1]).sum())
    assert summary["energy_j"] == pytest.approx(integral, rel=1e-9)
    parts = ("jobs", "unused", "idle", "switching_on", "switching_off", "off")
    assert sum(summary[f"energy_{part}_j"] for part in parts) == pytest.approx(integral, rel=1e-9)
