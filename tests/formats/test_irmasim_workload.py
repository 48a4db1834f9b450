"""IRMaSim workload files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster_sim.errors import FormatError, ModelWarning
from cluster_sim.workload import Workload

PROFILE = {
    "type": "parallel_homogeneous",
    "com": 50,
    "req_time": 5.5,
    "req_ops": 10,
    "ipc": 4,
    "mem": 100,
    "mem_vol": 7,
}


def read(folder: Path, document: Any, **options: Any) -> Workload:
    """The workload in a JSON file with this content."""
    path = folder / "workload.json"
    path.write_text(json.dumps(document))
    return Workload.read(path, **options)


def test_profile_reference(tmp_path: Path) -> None:
    """A job takes from its profile what it does not say itself; operations are ceil(req_ops / ipc)."""
    jobs = [{"subtime": 3, "res": 4, "profile": "A"}, {"subtime": 4.5, "res": 2, "profile": "A", "req_energy": 9}]
    table = read(tmp_path, {"nb_res": 16, "jobs": jobs, "profiles": {"A": PROFILE}}).jobs
    expected = {
        "job_id": ["0", "1"], "submit_time": [0.0, 1.5], "requested_cores": [4, 2], "requested_time": [5.5, 5.5],
        "operations": [3.0, 3.0], "ipc": [4.0, 4.0], "memory": [100.0, 100.0], "mem_vol": [7.0, 7.0],
        "profile": ["A", "A"], "nodes": [0, 0],
    }  # fmt: skip
    assert {name: table[name].tolist() for name in expected} == expected
    assert math.isnan(table["req_energy"][0])
    assert table["req_energy"][1] == 9.0
    assert table["recorded_run_time"].isna().all()


@pytest.mark.parametrize(
    ("width", "cores_nodes_per_node"),
    [
        ({"res": 5}, (5, 0, 0)),
        ({"ntasks": 3, "nodes": 1}, (3, 1, 0)),
        ({"ntasks": 5, "ntasks_per_node": 2}, (5, 3, 2)),
        ({"nodes": 3, "ntasks_per_node": 4}, (12, 3, 4)),
        ({"nodes": 3}, (3, 3, 1)),
        ({"ntasks": 3}, (3, 3, 1)),
        ({"ntasks": 5, "nodes": 3, "ntasks_per_node": 2}, (5, 3, 2)),
    ],
)
def test_width_by_irmasims_rules(
    tmp_path: Path, width: dict[str, int], cores_nodes_per_node: tuple[int, int, int]
) -> None:
    """What a job says of tasks and nodes determines the rest, with one task per node where nothing is said."""
    jobs = read(tmp_path, {"jobs": [{"subtime": 0, "req_ops": 1, **width}]}).jobs
    assert tuple(jobs.loc[0, ["requested_cores", "nodes", "ntasks_per_node"]]) == cores_nodes_per_node


def test_origin_time_unit_and_order(tmp_path: Path) -> None:
    """The first submission is subtracted, in seconds, and jobs are sorted by it."""
    jobs = [
        {"id": i, "subtime": t, "res": 1, "req_ops": 1, "req_time": 2, "deadline": 30} for i, t in ((1, 20), (2, 10))
    ]
    workload = read(tmp_path, {"jobs": jobs}, time_unit="minutes")
    assert workload.jobs["job_id"].tolist() == ["2", "1"]
    assert workload.jobs["submit_time"].tolist() == [0.0, 600.0]
    assert workload.jobs["requested_time"].tolist() == [120.0, 120.0]
    assert workload.jobs["deadline"].tolist() == [1200.0, 1200.0]
    assert workload.origin_s == 600.0


def test_unknown_keys_are_named(tmp_path: Path) -> None:
    """A key that means nothing is ignored with a warning that names the likely one."""
    with pytest.warns(ModelWarning, match=r"'req_tme' in jobs\[0\] \(the nearest known key is 'req_time'\)"):
        workload = read(tmp_path, {"jobs": [{"subtime": 0, "res": 1, "req_ops": 1, "req_tme": 5}]})
    assert workload.jobs["requested_time"].tolist() == [math.inf]


def test_csv_variant(tmp_path: Path) -> None:
    """IRMaSim's CSV has the words of its JSON as header, and the application as profile."""
    path = tmp_path / "workload.csv"
    path.write_text(
        "id,subtime,runtime,nodes,ntasks,req_time,req_ops,application\n"
        "job_0,3,12,1,1,12,120000000000,ep.A.x\n"
        "job_1,3,18,1,4,16,180000000000,ua.A.x\n"
    )
    table = Workload.read(path).jobs
    assert table["job_id"].tolist() == ["job_0", "job_1"]
    assert table["requested_cores"].tolist() == [1, 4]
    assert table["operations"].tolist() == [1.2e11, 1.8e11]
    assert table["recorded_run_time"].tolist() == [12.0, 18.0]
    assert table["profile"].tolist() == ["ep.A.x", "ua.A.x"]


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"res": 1, "req_ops": 1}, r"jobs\[0\].subtime: expected a number"),
        ({"subtime": "0", "res": 1, "req_ops": 1}, r'jobs\[0\].subtime: expected a number, found "0"'),
        ({"subtime": True, "res": 1, "req_ops": 1}, r"jobs\[0\].subtime: expected a number, found true"),
        ({"subtime": -1, "res": 1, "req_ops": 1}, r"jobs\[0\], job 0, submit_time: .* >= 0, found -1.0"),
        ({"subtime": 10**400, "res": 1, "req_ops": 1}, r"submit_time: expected a finite number"),
        ({"subtime": 0, "res": 0, "req_ops": 1}, r"jobs\[0\].res: expected a whole number >= 1, found 0"),
        ({"subtime": 0, "res": 2.5, "req_ops": 1}, r"jobs\[0\].res: expected a whole number >= 1, found 2.5"),
        ({"subtime": 0, "res": 2, "ntasks": 2, "req_ops": 1}, r"jobs\[0\]: expected either res or nodes"),
        ({"subtime": 0, "req_ops": 1}, r"jobs\[0\]: expected res, ntasks or nodes"),
        ({"subtime": 0, "nodes": 2, "ntasks": 9, "ntasks_per_node": 2, "req_ops": 1}, r"expected nodes = ceil"),
        ({"subtime": 0, "res": 2}, r"jobs\[0\]: expected req_ops, here or in a profile"),
        ({"subtime": 0, "res": 2, "req_ops": 1, "ipc": 0}, r"ipc: expected a finite number > 0, found 0.0"),
        ({"subtime": 0, "res": 2, "req_ops": -5}, r"operations: expected a finite number >= 0"),
        ({"subtime": 0, "res": 2, "profile": "Z"}, r"jobs\[0\].profile: expected one of A, found Z"),
        ({"subtime": 0, "res": 2, "profile": ["A"]}, r"jobs\[0\].profile: expected a profile's name"),
        ({"subtime": 0, "res": 2, "req_ops": 1, "id": {}}, r"jobs\[0\].id: expected text or a number"),
        ([1, 2], r"jobs\[0\]: expected an object, found a list of 2"),
    ],
)
def test_bad_jobs(tmp_path: Path, job: Any, message: str) -> None:
    """A job that cannot be is refused in one line that names it and its key."""
    with pytest.raises(FormatError, match=message) as caught:
        read(tmp_path, {"jobs": [job], "profiles": {"A": PROFILE}})
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "workload.json") in str(caught.value)


@pytest.mark.parametrize(
    "document", [[], {}, {"jobs": {}}, {"jobs": []}, {"jobs": [], "profiles": []}, "jobs", 5, None]
)
def test_other_json(tmp_path: Path, document: Any) -> None:
    """JSON of another shape is refused."""
    with pytest.raises(FormatError, match=r"workload.json"):
        read(tmp_path, document)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.integers(0, 10**8), st.floats(0, 1e8)), st.integers(1, 500), st.integers(0, 2**45),
            st.sampled_from([0.1, 0.3, 0.5, 1.0, 1.7, 3.0]), st.floats(0, 1e9), st.floats(0, 1e9),
            st.one_of(st.just(math.nan), st.floats(0, 1e6)), st.one_of(st.just(math.inf), st.floats(0, 1e6)),
            st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5),
        ),
        min_size=1, max_size=10,
    ),
    one_node=st.booleans(),
)  # fmt: skip
def test_round_trip(tmp_path: Path, rows: list[tuple[Any, ...]], one_node: bool) -> None:
    """Written and read again, jobs given in operations are the same."""
    names = "submit_time requested_cores operations ipc mem_vol memory req_energy requested_time user".split()
    jobs = pd.DataFrame(rows, columns=names)
    jobs["submit_time"] -= jobs["submit_time"].min()
    jobs["job_id"] = [f"job{i}" for i in range(len(jobs))]
    jobs["nodes"] = int(one_node)
    once = Workload(jobs)
    once.write(tmp_path / "again.json.gz")
    again = Workload.read(tmp_path / "again.json.gz")
    pd.testing.assert_frame_equal(once.jobs, again.jobs, check_exact=True)


def test_log_jobs_are_written_as_work(tmp_path: Path) -> None:
    """Run times become operations at the reference rate; without one at 1 Gflop/s, with a warning."""
    jobs = pd.DataFrame({"submit_time": [5], "requested_cores": [2], "recorded_run_time": [253]})
    Workload(jobs, reference_gflops=2.5).write(tmp_path / "known.json")
    assert Workload.read(tmp_path / "known.json").jobs["operations"].tolist() == [6.325e11]
    with pytest.warns(ModelWarning, match="1 Gflop/s"):
        Workload(jobs).write(tmp_path / "unknown.json")
    assert Workload.read(tmp_path / "unknown.json").jobs["operations"].tolist() == [2.53e11]


def test_every_case_is_read(shared: Path) -> None:
    """The papers' own workloads are read, job for job."""
    files = sorted((shared / "cases").glob("irmasim/*/workload.json")) + sorted(
        (shared / "cases").glob("pcbe/*/workload.json")
    )
    assert files
    for path in files:
        document = json.loads(path.read_text())
        profiles = document.get("profiles", {})
        workload = Workload.read(path)
        assert len(workload) == len(document["jobs"])
        first = document["jobs"][0]["subtime"]
        for job, row in zip(document["jobs"], workload.jobs.to_dict("records"), strict=True):
            full = {**profiles.get(job.get("profile"), {}), **job}
            assert row["submit_time"] == job["subtime"] - first
            assert row["requested_cores"] == full.get("res", full.get("ntasks"))
            assert row["operations"] == math.ceil(full["req_ops"] / full["ipc"])
            assert (row["requested_time"], row["mem_vol"], row["memory"]) == (
                full["req_time"],
                full["mem_vol"],
                full["mem"],
            )
            np.testing.assert_equal(row["req_energy"], full.get("req_energy", math.nan))


@pytest.mark.parametrize("name", ["irmasim_kit_64l16s_2.5GHz_18w-34w.json.gz", "irmasim_lublin_jobs.json.gz"])
def test_large_files_round_trip(shared: Path, tmp_path: Path, name: str) -> None:
    """The papers' large workloads survive being written and read again."""
    workload = Workload.read(shared / "traces" / name)
    workload.write(tmp_path / "again.json")
    pd.testing.assert_frame_equal(workload.jobs, Workload.read(tmp_path / "again.json").jobs)
