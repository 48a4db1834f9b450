"""ElastiSim's published runs of the machine Cirrus: 11,635 jobs of a fixed or of a chosen size, job by job.

From EPCCed/mira-cirrus-elastisim; times are minutes, and printed with six significant digits.
"""

from __future__ import annotations

import json
from math import floor, log10
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.records import Result

EACH_EVENT = "pass-after-each-event"


def jobs_of(folder: Path) -> pd.DataFrame:
    """The job list of a case, as its file has it."""
    return pd.read_csv(folder / "jobs.csv.gz")


def in_its_format(jobs: pd.DataFrame) -> str:
    """The jobs of a case as ElastiSim takes them: on n nodes each works ``time`` x ``base`` / n."""
    task = {"type": "cpu", "flops": "time * base", "computation_pattern": "all_ranks"}
    application = {"phases": [{"tasks": [task]}]}
    sizes = {
        "rigid": {"num_nodes": "base_nodes"},
        "moldable": {"num_nodes_min": "min_nodes", "num_nodes_max": "max_nodes"},
    }
    rows = [
        {
            "type": job["type"],
            "submit_time": job["submit_time"],
            **{key: job[column] for key, column in sizes[job["type"]].items()},
            "num_nodes": job["base_nodes"],
            "arguments": {"time": job["time_at_base"], "base": job["base_nodes"]},
            "application": application,
        }
        for job in jobs.to_dict("records")
    ]
    return json.dumps({"jobs": rows})


def run(folder: Path, written: Path, *quirks: str, first: int = 11_635) -> Result:
    """The jobs of a case, read from ElastiSim's format, on its one-core nodes, as in its example scheduler."""
    (written / "jobs.json").write_text(in_its_format(jobs_of(folder).head(first)))
    workload = Workload.read(str(written / "jobs.json"))
    nodes = json.loads((folder / "platform.json").read_text())["nodes"]
    platform = Platform.homogeneous(nodes=nodes, cores=1, ghz=1e-9)  # an operation a second
    return Simulation(platform, workload, make_scheduler("moldable"), quirks=quirks).run()


def sizes(result: Result) -> npt.NDArray[np.int64]:
    """Cores on which each job ran."""
    holds = result.holds
    cores = (holds["last_core"] - holds["first_core"] + 1).groupby(holds["owner"]).sum()
    return cores.reindex(result.jobs["job_id"]).to_numpy()


def assert_printed(values: pd.Series, printed: pd.Series) -> None:
    """Each is what was printed with six significant digits: half a unit of the sixth away at most."""
    half = [0.5 * 10.0 ** (floor(log10(value)) - 5) if value else 0.0 for value in printed]
    assert (abs(values - printed) <= np.array(half) * (1.0 + 1e-9) + 1e-9).all()


def test_rigid_jobs(shared: Path, tmp_path: Path) -> None:
    """All 11,635 start and end when ElastiSim says; mean wait 165.994156 min."""
    folder = shared / "cases/elastisim/cirrus-rigid"
    result, expected = run(folder, tmp_path, EACH_EVENT), pd.read_csv(folder / "expected.csv.gz")
    assert result.jobs["start_time"].tolist() == expected["start_time"].tolist()
    assert result.jobs["finish_time"].tolist() == expected["end_time"].tolist()
    assert result.jobs["wait_time"].mean() == pytest.approx(165.994156, abs=5e-7)


def test_moldable_jobs_before_its_rounding_tells(shared: Path, tmp_path: Path) -> None:
    """The first 2,295 jobs are as ElastiSim printed them; with the next, rounding of its clock changes a size."""
    folder = shared / "cases/elastisim/cirrus-moldable"
    result = run(folder, tmp_path, EACH_EVENT, first=2295)
    expected = pd.read_csv(folder / "expected.csv.gz").head(2295)
    assert_printed(result.jobs["start_time"], expected["start_time"])
    assert_printed(result.jobs["finish_time"], expected["end_time"])
    assert_printed(result.jobs["run_time"], expected["run_time"])
    assert sizes(result).tolist() == expected["nodes"].tolist()


@pytest.mark.parametrize(
    ("rule", "quirks", "first", "wait"),
    [
        ("event", (EACH_EVENT,), 11_635, 134.992843),
        ("event", (EACH_EVENT, "simgrid-clock"), 3_000, None),
        ("instant", (), 3_000, None),
    ],
    ids=["each event", "SimGrid's clock", "each instant"],
)
def test_moldable_jobs_by_exact_time(
    shared: Path, tmp_path: Path, rule: str, quirks: tuple[str, ...], first: int, wait: float | None
) -> None:
    """All 11,635 as in exact arithmetic with a pass for each event; with one for each instant the first 3,000.

    Whatever the rule for ties, sizes lie within the limits, the work of a job is the same on any, and nobody is overtaken.
    So the first jobs do not depend on later ones.
    """
    folder = shared / "cases/elastisim/cirrus-moldable"
    result = run(folder, tmp_path, *quirks, first=first)
    expected = pd.read_csv(folder / f"exact-time-pass-per-{rule}.csv.gz").head(first)
    assert np.allclose(result.jobs["start_time"], expected["start_time"], rtol=0.0, atol=1e-6)
    assert np.allclose(result.jobs["finish_time"], expected["end_time"], rtol=0.0, atol=1e-6)
    assert sizes(result).tolist() == expected["nodes"].tolist()
    if wait is not None:
        assert result.jobs["wait_time"].mean() == pytest.approx(wait, abs=1e-6)
    jobs, nodes = jobs_of(folder).head(first), sizes(result)
    assert ((jobs["min_nodes"] <= nodes) & (nodes <= jobs["max_nodes"])).all()
    assert np.allclose(result.jobs["run_time"] * nodes, jobs["time_at_base"] * jobs["base_nodes"], rtol=1e-9)
    assert (np.diff(result.jobs["start_time"]) >= 0.0).all()
