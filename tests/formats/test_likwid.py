"""What likwid-perfctr prints of a run is a job, and a profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.errors import FormatError
from cluster_sim.formats.likwid import profile
from cluster_sim.workload.generators import from_profiles

PRINTED = """STRUCT,Info,3,,
CPU name:,A processor @ 2.40GHz,,
CPU type:,Intel Skylake SP processor,,
CPU clock:,2.4 GHz,,
TABLE,Group 1 Raw,MEM,3,
Event,Counter,HWThread 0,HWThread 1,HWThread 2
INSTR_RETIRED_ANY,FIXC0,12000000000,8e+09,0
CPU_CLK_UNHALTED_CORE,FIXC1,20000000000,20000000000,0
CAS_COUNT_RD,MBOX0C0,1500000000,0,0
TABLE,Group 1 Raw STAT,MEM,1,,
Event,Counter,Sum,Min,Max,Avg
INSTR_RETIRED_ANY STAT,FIXC0,20000000000,8000000000,12000000000,10000000000
TABLE,Group 1 Metric,MEM,4,,
Metric,HWThread 0,HWThread 1,HWThread 2,
Runtime (RDTSC) [s],10.5,10.5,10.5,
CPI,1.6667,2.5,nan,
Memory bandwidth [MBytes/s],9142.86,0,0,
Memory data volume [GBytes],96.0,-,0,
"""


def write(folder: Path, text: str) -> str:
    """Write a file, and return its name."""
    path = folder / "stream.csv"
    path.write_text(text)
    return str(path)


def test_a_run_is_a_job_of_the_threads_that_worked(tmp_path: Path) -> None:
    """Two of three threads worked: 20e9 instructions in 40e9 cycles, and 96 GB that one of them counted."""
    workload = Workload.read(write(tmp_path, PRINTED))
    (job,) = workload.jobs[["job_id", "requested_cores", "operations", "ipc", "mem_vol", "requested_time"]].to_dict(
        "records"
    )
    assert job == {
        "job_id": "stream",
        "requested_cores": 2,
        "operations": 10e9 / 0.5,
        "ipc": 0.5,
        "mem_vol": 48_000.0,
        "requested_time": 10.5,
    }
    result = Simulation(Platform.homogeneous(1, 4, ghz=2.0), workload, "fcfs").run(warn=False)
    assert result.jobs["run_time"].tolist() == [10.0]


def test_a_run_is_a_profile_to_draw_jobs_from(tmp_path: Path) -> None:
    """The mix has the measured amounts."""
    mix = from_profiles({"stream": profile(write(tmp_path, PRINTED))}, {"stream": 1}, jobs=3, tasks=2)
    assert mix.jobs["mem_vol"].tolist() == [48_000.0] * 3


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Memory data volume", "Other volume", "expected the metric 'Memory data volume .GBytes.'.*found Group 1$"),
        ("INSTR_RETIRED_ANY,", "EVENTS,", "expected a row INSTR_RETIRED_ANY or .*, found none$"),
        ("12000000000,8e+09", "much,8e+09", "line 7: expected numbers, 0 or more, or -, found much$"),
        ("96.0,-", "-96.0,-", "line 18: expected numbers, 0 or more, or -, found -96.0$"),
        ("12000000000,8e+09", "0,0", "expected a thread that executed instructions, found none$"),
        (PRINTED[PRINTED.index("Memory b") :], "", "line 13: expected a table of 4 rows, .*, found less$"),
        (
            "TABLE,Group 1 Raw,MEM",
            "TABLE,Region main,Group 1 Raw,MEM",
            "line 5: expected a run .* without marker regions",
        ),
    ],
)
def test_what_is_damaged_or_another_group_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    """One line says which, and where."""
    with pytest.raises(FormatError, match=told):
        Workload.read(write(tmp_path, PRINTED.replace(old, new, 1)))
