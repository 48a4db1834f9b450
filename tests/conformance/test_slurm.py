"""The real Slurm: recorded passes, decision by decision, and recorded runs, job by job."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.slurm_passes import computed_pass, passes_that_agree, recorded_pass
from benchmarks.slurm_runs import Recording, replay, slurm_for
from cluster_sim import Platform, Simulation, Workload
from cluster_sim.errors import InputError
from schedulers import make_scheduler
from schedulers.slurm.backfill import BackfillPass, JobStarted, Planned
from schedulers.slurm.cluster import SlurmCluster
from schedulers.slurm.job_request import Ask, QueuedJob
from schedulers.slurm.partitions import Queue
from schedulers.slurm.selection.nodes import NodeFacts
from schedulers.slurm.settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore")

PASSES = {
    "bf-linear-1": 47,
    "bf-linear-2": 49,
    "bf-defaults": 21,
    "bf-max-job-user": 48,
    "bf-max-job-test": 27,
    "bf-max-job-start": 62,
    "bf-min-age": 50,
    "bf-window": 48,
    "time-min": 45,
    "part-tier": 52,
    "bf-tres-1": 31,
    "bf-tres-2": 40,
    "shapes-1": 38,
    "shapes-2": 47,
    "weights-features": 39,
    "licences": 15,
    "dependencies": 25,
    "control": 48,
    "arrays": 29,
    "licences-bf": 58,
    "part-limits": 42,
    "node-failure": 55,
    "maintenance": 50,
    "reservation": 67,
    "preempt-requeue": 37,
    "preempt-requeue-2": 32,
    "preempt-cancel": 45,
    "preempt-suspend": 31,
    "preempt-suspend-2": 16,
    "topology": 43,
    "topology-2": 39,
}
"""Recorded runs with the number of their passes that started or planned something."""

WHOLE_RUNS = (
    "fifo-builtin",
    "bf-linear-1",
    "bf-defaults",
    "bf-linear-2",
    "bf-max-job-user",
    "bf-min-age",
    "bf-window",
    "bf-yield",
    "time-min",
    "bf-tres-1",
    "bf-tres-2",
    "shapes-1",
    "part-tier",
    "licences",
    "licences-bf",
    "time-limit",
    "over-time-limit",
    "weights-features",
    "mf-1",
    "mf-2",
    "mf-3",
    "fair-tree",
    "fair-tree-2",
    "fair-classic",
    "qos-limits-2",
    "dependencies",
    "control",
    "part-limits",
    "reservation",
    "shapes-2",
    "preempt-requeue",
    "preempt-requeue-2",
    "preempt-cancel",
    "preempt-cancel-grace",
    "preempt-cancel-grace-2",
    "preempt-suspend",
    "preempt-suspend-2",
    "qos-preempt",
    "topology-2",
)


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_plans_what_slurm_planned(shared: Path, name: str) -> None:
    """From the recorded state of its instant: who starts, every planned start, and every node."""
    recording = Recording.read(shared / "cases" / "slurm" / name)
    plans = [plan for plan in recording.plans["plans"] if plan["t"] >= 0.0]
    assert len(plans) == PASSES[name]
    wrong = [plan["t"] for plan in plans if computed_pass(recording, plan) != recorded_pass(plan)]
    assert wrong == []
    assert passes_that_agree(recording) == (PASSES[name], PASSES[name])


@pytest.mark.parametrize("name", WHOLE_RUNS)
def test_a_run_goes_as_recorded(shared: Path, name: str) -> None:
    """Fed with recorded run times, every job that two recordings share has its nodes, starts in time and ends as recorded.

    Of jobs that lost their nodes every attempt counts. By EASY they do not.
    """
    recording = Recording.read(shared / "cases" / "slurm" / name)
    found = replay(recording, slurm_for(recording))
    assert (found.nodes, found.within, found.states) == (found.jobs, found.jobs, found.jobs)
    easy = replay(recording, make_scheduler("easy"))
    assert easy.within < found.within


@pytest.mark.parametrize("name", ["mf-1", "mf-2", "mf-3"])
def test_the_priority_with_which_a_job_started_is_explained(shared: Path, name: str) -> None:
    """It is the last that sprio showed of the job while it waited."""
    recording = Recording.read(shared / "cases" / "slurm" / name)
    until = float(recording.expected["recorded_until"])
    run = Simulation(recording.platform, recording.workload(), slurm_for(recording), until=until, explain=True).run()
    told = {job_id: re.search(r"priority (\d+) \(", run.explain(job_id)) for job_id in recording.jobs}
    shown = {
        job_id: job["priority"]
        for job_id, job in recording.jobs.items()
        if job.get("start_exact") and "priority" in job
    }
    last = {job_id: found[-1][1] if isinstance(found, list) else found for job_id, found in shown.items()}
    assert {job_id: int(told[job_id][1]) for job_id in last if told[job_id]} == last  # type: ignore[index]


def _case_cluster(case_file: dict[str, Any], exclusive: bool) -> SlurmCluster:
    """The idle cluster of Slurm's own backfill test."""
    described = case_file["cluster"]
    settings = Settings(whole_nodes=False, bf_licenses=True, licences=described["licences"])
    facts = NodeFacts([described["cores_per_node"]] * described["nodes"])
    return SlurmCluster(facts, [Queue("p", facts.all, exclusive=exclusive)], settings)


def _case_pass(
    case_file: dict[str, Any], jobs: list[dict[str, Any]], exclusive: bool = True
) -> tuple[set[int], dict[int, float]]:
    """One backfill pass over these jobs: who runs, and when those that have a start would."""
    cluster = _case_cluster(case_file, exclusive)
    queue = []
    for place, job in enumerate(jobs):
        licences = {job["licences"]: 1} if job["licences"] else {}
        limit = 60.0 * job["limit_minutes"]
        ask = Ask(
            place + 1, str(place + 1), partitions=("p",), limit_s=limit, min_nodes=job["nodes"], licences=licences
        )
        ask.tasks = job["tasks"]
        queue.append(QueuedJob(ask, cluster.queues["p"], job["priority"]))
    queue.sort(key=lambda entry: (-entry.priority, entry.ask.key))
    outcomes = list(BackfillPass(cluster, queue, 0.0).decisions())
    running = {outcome.entry.ask.key for outcome in outcomes if isinstance(outcome, JobStarted)}
    starts = {outcome.entry.ask.key: outcome.start for outcome in outcomes if isinstance(outcome, Planned)}
    return running, starts | dict.fromkeys(running, 0.0)


@pytest.fixture(scope="module")
def facts(shared: Path) -> dict[str, Any]:
    """The cases of Slurm's own test of its backfill."""
    found = json.loads((shared / "cases" / "slurm" / "facts" / "backfill-cases.json").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", ["simple", "licences 1", "licences 2"])
def test_a_case_of_slurms_own_test(facts: dict[str, Any], name: str) -> None:
    """Who runs, who does not, and who would start together."""
    case = next(case for case in facts["cases"] if case["name"] == name)
    running, starts = _case_pass(facts, case["jobs"])
    assert running == set(case["running"])
    assert not running & set(case.get("not_running", ()))
    if "same_start" in case:
        first, last = case["same_start"]
        assert len({starts[key] for key in range(first, last + 1)}) == 1


def test_a_big_job_of_low_priority_does_not_go_first(facts: dict[str, Any]) -> None:
    """A job that has a start never starts before one of higher priority that wants no more nodes, where they share nodes.

    With nodes for themselves a job would have no start in the table as 22.05 keeps it; the test is that of a later Slurm.
    """
    jobs = facts["cases"][1]["jobs"]
    _, starts = _case_pass(facts, jobs, exclusive=False)
    for a in jobs:
        for b in jobs:
            if a["priority"] > b["priority"] and a["nodes"] <= b["nodes"] and b["id"] in starts:
                assert starts[a["id"]] <= starts[b["id"]]


def test_only_so_many_jobs_are_tested(facts: dict[str, Any]) -> None:
    """Of a thousand like jobs the five hundredth has a start, the next has none."""
    case = facts["cases"][2]
    _, starts = _case_pass(facts, [case["job"]] * case["repeat"])
    assert case["has_start_time"][0] in starts
    assert case["no_start_time"][0] not in starts


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("power-saving", "SuspendTime"),
        ("gang-timeslice", "PartitionName=p, OverSubscribe"),
    ],
)
def test_what_is_not_simulated_is_refused_by_name(shared: Path, name: str, key: str) -> None:
    """A configuration that would make another schedule is not run as if it would not."""
    with pytest.raises(InputError, match=rf"scheduler 'slurm', .*slurm\.conf line \d+, {key}"):
        make_scheduler(f"slurm:conf={shared / 'cases' / 'slurm' / name / 'slurm.conf'}")


def test_gpus_are_given_to_one_job_at_a_time(shared: Path) -> None:
    """Two nodes have four, two have two: of three jobs that need four one waits; more than a node has are never there."""
    conf = shared / "cases" / "slurm" / "gpu-1" / "slurm.conf"
    jobs = {
        "submit_time": [0.0] * 6,
        "requested_cores": [1, 1, 1, 1, 1, 2],
        "nodes": [0, 0, 0, 0, 0, 2],
        "recorded_run_time": [60.0] * 6,
        "requested_time": [120.0] * 6,
        "gpus": [4, 4, 4, 0, 5, 3],
    }
    result = Simulation(Platform.read(conf), Workload(jobs), make_scheduler(f"slurm:conf={conf}")).run()
    assert result.jobs["state"].tolist() == ["completed"] * 4 + ["rejected"] * 2
    assert [start > 60.0 for start in result.jobs["start_time"][:4]] == [False, False, True, False]
    assert result.jobs["reason"][4:].tolist() == [
        "requested node configuration is not available",
        "it asks for 3 GPUs on 2 nodes: only as many on each are simulated",
    ]
