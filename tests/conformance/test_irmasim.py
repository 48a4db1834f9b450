"""Every schedule that IRMaSim made of the shared cases: starts, finishes, cores and energy."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.records import Result

JOBS = ("first", "shortest", "smallest", "low_mem", "low_mem_ops")
NODES = ("high_gflops", "high_cores", "high_mem", "high_mem_bw", "low_power")
ALL = tuple(map("/".join, product(JOBS, NODES)))
FIRST = tuple(f"first/{order}" for order in ("high_gflops", "high_cores", "high_mem", "high_mem_bw"))
CASES = {
    "experiment1": ALL,
    "experiment2": ALL,
    "experiment3": (*FIRST, "smallest/high_mem"),
    "experiment4-mem": FIRST,
    "experiment4-comp": FIRST,
    "random-0": ALL,
    "random-1": ALL,
    "random-2": ALL,
    "random-3": ALL,
}
QUIRKS = {"random-2": ["contention-at-job-boundaries"], "random-3": ["contention-at-job-boundaries"]}


@pytest.fixture(scope="module")
def irmasim(shared: Path) -> Path:
    """The folder of IRMaSim's cases."""
    return shared / "cases" / "irmasim"


def run(folder: Path, policy: str, quirks: list[str]) -> Result:
    """A case under one of its policies; what the program calls high_mem is most_used_mem."""
    jobs, nodes = policy.split("/")
    nodes = "most_used_mem" if nodes == "high_mem" else nodes
    platform, workload = Platform.read(folder / "platform.json"), Workload.read(folder / "workload.json")
    return Simulation(platform, workload, make_scheduler(f"list:{jobs}/{nodes}"), quirks=quirks).run()


def cores_of(result: Result) -> dict[str, list[str]]:
    """The cores of each job, in IRMaSim's words."""
    cores: dict[str, list[str]] = {}
    for row in result.allocations.itertuples():
        names = [f"{row.node}.{row.processor}.core{i}" for i in range(row.first_core, row.last_core + 1)]
        cores.setdefault(row.job_id, []).extend(names)
    return cores


def expected_of(folder: Path) -> dict[str, Any]:
    """What IRMaSim says, by policy."""
    return dict(json.loads((folder / "expected.json").read_text()))


@pytest.mark.parametrize("case", CASES)
def test_no_policy_of_a_case_is_left_out(irmasim: Path, case: str) -> None:
    """The lists above are all policies of the expected results."""
    assert set(expected_of(irmasim / case)) == set(CASES[case])


@pytest.mark.parametrize(("case", "policy"), [(case, policy) for case in CASES for policy in CASES[case]])
def test_irmasim_schedules(irmasim: Path, case: str, policy: str) -> None:
    """Each job starts, finishes and stands where IRMaSim puts it; energy, makespan and EDP are the same."""
    expected = expected_of(irmasim / case)[policy]
    result = run(irmasim / case, policy, QUIRKS.get(case, []))
    jobs = result.jobs.set_index("job_id")
    theirs = {str(job["id"]): job for job in expected["jobs"]}
    assert set(jobs.index) == set(theirs)
    assert set(jobs["state"]) == {"completed"}
    for column, key in (("submit_time", "submit"), ("start_time", "start"), ("finish_time", "finish")):
        assert jobs[column].to_dict() == pytest.approx({i: job[key] for i, job in theirs.items()}, rel=1e-6)
    assert {i: sorted(names) for i, names in cores_of(result).items()} == {
        i: sorted(job["cores"]) for i, job in theirs.items()
    }
    for key in ("energy_j", "makespan_s", "edp_js"):
        assert result.summary()[key] == pytest.approx(expected[key], rel=1e-6)


@pytest.mark.parametrize("case", QUIRKS)
def test_the_quirk_is_needed_where_nodes_have_several_processors(irmasim: Path, case: str) -> None:
    """Without it, groups that end early speed the others up at once: these cases' jobs finish earlier on the whole."""
    expected = expected_of(irmasim / case)["first/high_gflops"]
    result = run(irmasim / case, "first/high_gflops", [])
    assert result.summary()["energy_j"] != pytest.approx(expected["energy_j"], rel=1e-5)
