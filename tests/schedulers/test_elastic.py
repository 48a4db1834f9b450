"""Jobs that shrink, grow and evolve: cases worked by hand, every interval with its cores."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.platform import Cluster, NodeGroup
from schedulers.changing.elastic import equal_shares

Intervals = list[tuple[str, float, float, frozenset[int]]]
"""Job, start (s), end (s), nodes."""


def run(
    nodes: int, rows: list[dict[str, Any]], spec: str = "shrink-expand", platform: Platform | None = None
) -> Intervals:
    """What each job held, on one-core nodes."""
    defaults = {
        "min_cores": 0,
        "max_cores": 0,
        "malleable": False,
        "speedup": "linear",
        "parts": "",
        "reconfiguration_time": 0.0,
    }
    workload = Workload({name: [({**defaults, **row})[name] for row in rows] for name in {**defaults, **rows[0]}})
    platform = platform or Platform.homogeneous(nodes=nodes, cores=1)
    result = Simulation(platform, workload, make_scheduler(spec)).run()
    held: dict[tuple[str, float, float], set[int]] = defaultdict(set)
    for job, node, start, end in result.holds[["owner", "node", "start", "end"]].itertuples(index=False):
        held[job, start, end].add(int(node.rpartition("node")[2]))
    return sorted((*key, frozenset(nodes)) for key, nodes in held.items())


def rigid(job: str, submit: float, cores: int, seconds: float) -> dict[str, Any]:
    """A job that has what it asks for."""
    return {"job_id": job, "submit_time": float(submit), "requested_cores": cores, "recorded_run_time": float(seconds)}


def amdahl(
    job: str, submit: float, cores: tuple[int, int], alone: float, serial: float, change: float
) -> dict[str, Any]:
    """A malleable job that takes ``alone`` s on one core, and ``change`` s for a change of its cores."""
    least, most = cores
    whole = rigid(job, submit, most, alone * (serial + (1.0 - serial) / most))
    bounds = {"min_cores": least, "max_cores": most, "malleable": True}
    return whole | bounds | {"speedup": f"amdahl:{serial}", "reconfiguration_time": change}


def evolving(job: str, submit: float, cores: tuple[int, int, int], parts: list[tuple[float, int]]) -> dict[str, Any]:
    """A job with parts of so many core-seconds, each of which may ask for cores (0: it does not)."""
    least, start, most = cores
    whole = rigid(job, submit, start, sum(work for work, _ in parts) / start)
    said = " ".join(f"{work:g}" + (f"@{asks}" if asks else "") for work, asks in parts)
    return whole | {"min_cores": least, "max_cores": most, "malleable": True, "parts": said}


def row(job: dict[str, Any]) -> dict[str, Any]:
    """A job of the shared file as ours."""
    if "parallel_fraction" in job:
        above, below = job["parallel_fraction"]
        bounds = job["min_nodes"], job["max_nodes"]
        return amdahl(
            job["id"], job["submit"], bounds, job["time_on_one_node"], 1 - above / below, job["reconfiguration"]
        )
    if "parts" in job:
        parts = [(part["node_seconds"], part.get("asks", 0)) for part in job["parts"]]
        return evolving(job["id"], job["submit"], (job["min_nodes"], job["start_nodes"], job["max_nodes"]), parts)
    return rigid(job["id"], job["submit"], job["nodes"], job["run_time"])


def merged(intervals: list[dict[str, Any]]) -> Intervals:
    """Intervals of the shared file, those in which a job keeps its nodes together."""
    whole: dict[str, list[tuple[str, float, float, frozenset[int]]]] = defaultdict(list)
    for one in intervals:
        job, nodes, start = one["job"], frozenset(one["nodes"]), float(one["start"])
        if whole[job] and whole[job][-1][2:] == (start, nodes):
            start = whole[job].pop()[1]
        whole[job].append((job, start, float(one["stop"]), nodes))
    return sorted(interval for some in whole.values() for interval in some)


@pytest.mark.parametrize(
    "name", ["resize-up", "resize-down", "resize-down-down-up-up", "evolving-granted", "evolving-refused"]
)
def test_a_case_worked_by_hand(shared: Path, name: str) -> None:
    """Every interval, and the nodes held in it."""
    cases = json.loads((shared / "cases/changing-jobs/cases.json").read_text())["cases"]
    case = next(one for one in cases if one["name"] == name)
    spec = "shrink-expand" if "shrink" in case["rules"] else "shrink-expand:shrink=no"
    assert run(case["nodes"], [row(job) for job in case["jobs"]], spec) == merged(case["expected"]["intervals"])


def test_a_job_gives_up_nodes_for_the_first_that_waits() -> None:
    """A, 48 s alone and a quarter of it serial, is a third done on 4 nodes at 7 s, and needs 2 s to change.

    On 2 nodes it has 20 s of 30 left. C, at 8 s, finds A at its least: it waits for B.
    """
    jobs = [amdahl("A", 0, (2, 4), 48, 0.25, 2), rigid("B", 7, 2, 12), rigid("C", 8, 2, 10)]
    assert run(4, jobs) == [
        ("A", 0.0, 7.0, frozenset({0, 1, 2, 3})),
        ("A", 7.0, 29.0, frozenset({0, 1})),
        ("B", 7.0, 19.0, frozenset({2, 3})),
        ("C", 19.0, 29.0, frozenset({2, 3})),
    ]


SIZES = ("malleable", "malleable:size=min", "malleable:size=average,promise=common-pool", "malleable:size=fixed")


@pytest.mark.parametrize("spec", ["shrink-expand", "equipartition", *SIZES])
def test_a_job_that_evolves_is_granted_what_is_free_and_gives_back_the_rest(spec: str) -> None:
    """Three parts of 12 core-seconds: 6 s on 2 nodes, 3 s on the 4 it asks for, since B has left, 12 s on 1."""
    jobs = [evolving("A", 0, (1, 2, 4), [(12, 0), (12, 4), (12, 1)]), rigid("B", 0, 2, 5), rigid("C", 7, 3, 4)]
    assert run(4, jobs, spec) == [
        ("A", 0.0, 6.0, frozenset({0, 1})),
        ("A", 6.0, 9.0, frozenset({0, 1, 2, 3})),
        ("A", 9.0, 21.0, frozenset({0})),
        ("B", 0.0, 5.0, frozenset({2, 3})),
        ("C", 9.0, 13.0, frozenset({1, 2, 3})),
    ]


@pytest.mark.parametrize("spec", ["shrink-expand", "equipartition", *SIZES])
def test_a_job_that_evolves_keeps_to_what_it_asks_for(spec: str) -> None:
    """Alone on 4 nodes, 12 core-seconds on 3 that it requests and 6 on one: nothing is given back to it, nor taken."""
    jobs = [evolving("A", 0, (1, 3, 4), [(12, 0), (6, 1)])]
    assert run(4, jobs, spec) == [("A", 0.0, 4.0, frozenset({0, 1, 2})), ("A", 4.0, 10.0, frozenset({0}))]


@pytest.mark.parametrize("spec", ["shrink-expand", "equipartition", *SIZES])
def test_a_job_that_evolves_is_granted_all_or_nothing_where_nodes_are_off(spec: str) -> None:
    """It has one node, and asks for three, of which one is OFF, and is booted for no running job: it keeps one. Two it gets."""
    kind = Platform.homogeneous(nodes=1, cores=1).node_types[0]
    groups = NodeGroup(kind, 2), NodeGroup(replace(kind, name="asleep", initially_off=True), 1)
    jobs = [evolving("A", 0, (1, 1, 3), [(4, 0), (4, 3), (4, 2)])]
    assert run(3, jobs, spec, Platform((Cluster("cluster0", groups),))) == [
        ("A", 0.0, 8.0, frozenset({0})),
        ("A", 8.0, 10.0, frozenset({0, 1})),
    ]


@pytest.mark.parametrize("promise", ["agreement", "steal", "common-pool"])
def test_a_job_that_evolves_does_not_get_what_is_promised(promise: str) -> None:
    """R needs two nodes at 1 s: M gives one up at 2 s, N at 6 s, where their first parts end. In between A asks for one."""
    m, n = amdahl("M", 0, (1, 2), 16, 0.0, 0) | {"parts": "1 3"}, amdahl("N", 0, (1, 2), 24, 0.0, 0) | {"parts": "2"}
    jobs = [m, n, evolving("A", 0, (1, 1, 2), [(4, 0), (4, 2)]), rigid("R", 1, 2, 4)]
    assert [one for one in run(5, jobs, f"malleable:promise={promise}") if one[0] in "AR"] == [
        ("A", 0.0, 8.0, frozenset({4})),
        ("R", 6.0, 10.0, frozenset({1, 3})),
    ]


def test_equal_shares_lie_within_bounds() -> None:
    """Of 10 cores: 4, 3 and 3; one that can have only 1 leaves the others 5 and 4; one needs 6, the others share 4."""
    assert equal_shares([(1, 9)] * 3, 10) == [4, 3, 3]
    assert equal_shares([(1, 9), (1, 1), (1, 9)], 10) == [5, 1, 4]
    assert equal_shares([(1, 9), (6, 9), (1, 9)], 10) == [2, 6, 2]


def test_jobs_that_scale_share_equally() -> None:
    """A, 40 core-s, has all 4 nodes; B comes at 4 s, 12 core-s: each has 2 until B ends at 10 s; A has 12 of 40 left, 3 s."""
    jobs = [amdahl("A", 0, (1, 4), 40, 0.0, 0), amdahl("B", 4, (1, 4), 12, 0.0, 0)]
    assert run(4, jobs, "equipartition") == [
        ("A", 0.0, 4.0, frozenset({0, 1, 2, 3})),
        ("A", 4.0, 10.0, frozenset({0, 1})),
        ("A", 10.0, 13.0, frozenset({0, 1, 2, 3})),
        ("B", 4.0, 10.0, frozenset({2, 3})),
    ]


def test_a_rigid_job_has_what_it_asks_for_and_the_others_share_the_rest() -> None:
    """R asks for 3 of 4 nodes at 2 s: A, 4 core-s before and at least 1 node, goes on on 1 until R ends at 6 s."""
    jobs = [amdahl("A", 0, (1, 4), 20, 0.0, 0), rigid("R", 2, 3, 4)]
    assert run(4, jobs, "equipartition") == [
        ("A", 0.0, 2.0, frozenset({0, 1, 2, 3})),
        ("A", 2.0, 6.0, frozenset({0})),
        ("A", 6.0, 8.0, frozenset({0, 1, 2, 3})),
        ("R", 2.0, 6.0, frozenset({1, 2, 3})),
    ]


@pytest.mark.parametrize("spec", ["malleable", "malleable:size=average,promise=common-pool", "malleable:size=fixed"])
def test_a_job_that_requests_more_than_the_machine_has_but_can_run_on_fewer_cores(spec: str) -> None:
    """It gets all four, and the job behind it its turn."""
    jobs = {"submit_time": [0.0, 1.0], "requested_cores": [5, 1], "min_cores": [2, 1], "max_cores": [6, 1]}
    workload = Workload(jobs | {"recorded_run_time": [4.0, 2.0], "requested_time": [4.0, 2.0]})
    result = Simulation(Platform.homogeneous(nodes=1, cores=4), workload, make_scheduler(spec)).run()
    assert result.jobs["start_time"].tolist() == [0.0, 5.0]
    assert result.jobs["finish_time"].tolist() == [5.0, 7.0]


@pytest.mark.parametrize("spec", ["malleable", "malleable:size=fixed"])
def test_malleable_says_whom_a_job_waits_behind(spec: str) -> None:
    """One core is free from the first; the last job needs no more, and waits behind one that needs four."""
    jobs = {"submit_time": [0, 1, 2], "requested_cores": [3, 4, 1], "recorded_run_time": [10, 5, 5]}
    workload = Workload(jobs | {"requested_time": [10, 5, 5]})
    result = Simulation(Platform.homogeneous(nodes=4, cores=1), workload, make_scheduler(spec), explain=True).run()
    assert "enough cores are free, but job 1 is before it in the queue, and no job may overtake that" in result.explain(
        "2"
    )
    assert set(result.decisions["decision"]) == {"start", "block"}
