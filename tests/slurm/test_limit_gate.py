"""Limits of accounts as a rule of admission, for any scheduler."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from cluster_sim.platform.accounts import Accounts, Association, QualityOfService
from cluster_sim.records.result import Result
from cluster_sim.run.jobs.limit_gate import limits_hold
from tests.support.contract import chaos
from tests.support.rows import workload_of

SCHEDULERS = ["fcfs", "easy", "easy:depth=3", "conservative", "list:shortest/first,blocking=no", "pcbe", "preemptive"]
ROOT = Association("root", shares=0)


def most_at_once(result: Result, user: str, column: str = "") -> float:
    """The most jobs of a user that held cores at once, or the most of a column's sum."""
    jobs = result.jobs[(result.jobs["user"] == user) & result.jobs["start_time"].notna()]
    weights = jobs[column] if column else jobs["requested_cores"] * 0 + 1
    events = [(time, 1, w) for time, w in zip(jobs["allocation_time"], weights, strict=True)]
    events += [(time, 0, -w) for time, w in zip(jobs["finish_time"], weights, strict=True)]
    level = most = 0.0
    for _, _, change in sorted(events):
        level += change
        most = max(most, level)
    return most


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_jobs_over_a_limit_block_nobody(scheduler: str) -> None:
    """Of a's jobs one runs at a time, as of its CPUs 3; b's, which come last, start at once beside them."""
    accounts = Accounts(
        (ROOT, Association("acc", parent="root"), Association("acc", "a", max_jobs=1), Association("acc", "b"))
    )
    jobs = Workload(
        {"submit_time": [0, 1, 2, 3, 4], "user": ["a", "a", "a", "b", "b"], "requested_cores": [1] * 5,
         "recorded_run_time": [50] * 5, "requested_time": [50] * 5}
    )  # fmt: skip
    result = Simulation(
        Platform.homogeneous(nodes=4, cores=1), jobs, make_scheduler(scheduler), accounts=accounts
    ).run()
    assert result.jobs["start_time"].tolist() == [0, 50, 100, 3, 4]
    assert result.jobs["eligible_time"].tolist() == [0, 50, 100, 3, 4]
    assert most_at_once(result, "a") == 1


def test_resources_together_and_alone(tmp_path: Path) -> None:
    """A quality of service has 5 CPUs for all: a job of 6 is refused by name; the others are held until they fit."""
    (tmp_path / "accounts.txt").write_text(
        "Account|User|DefaultQOS\nacc||\nacc|a|low\nacc|b|\nName|Priority|GrpTRES\nnormal|0|\nlow|0|cpu=5\n"
    )
    accounts = read_accounts(str(tmp_path / "accounts.txt"))
    jobs = Workload(
        {"submit_time": [0, 1, 2, 3, 4], "user": ["a", "a", "a", "a", "b"], "requested_cores": [6, 3, 3, 2, 8],
         "recorded_run_time": [50, 50, 60, 70, 10], "requested_time": [90] * 5}
    )  # fmt: skip
    result = Simulation(Platform.homogeneous(nodes=1, cores=16), jobs, make_scheduler("easy"), accounts=accounts).run()
    assert result.jobs["state"].tolist() == ["rejected", *["completed"] * 4]
    assert result.jobs["reason"][0] == "it asks for more than a limit allows: QOSGrpCpuLimit"
    assert result.jobs["start_time"].tolist()[1:] == [
        1,
        51,
        51,
        4,
    ]  # the third waits behind the second, as in its queue
    assert most_at_once(result, "a", "requested_cores") == 5
    assert "it was over a limit of its account" in result.explain("2")


def test_where_limits_hold(tmp_path: Path) -> None:
    """As AccountingStorageEnforce says; on a platform that is no Slurm's, always."""
    assert limits_hold(Platform.homogeneous(nodes=1, cores=1))
    for line, holds in (("", False), ("AccountingStorageEnforce=associations,limits", True)):
        (tmp_path / "slurm.conf").write_text(f"ClusterName=x\n{line}\nNodeName=n CPUs=4\n")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            platform = Platform.read(str(tmp_path / "slurm.conf"))
        assert limits_hold(platform) == holds


@pytest.mark.parametrize("seed", range(10))
def test_limits_hold_whatever_is_done_to_jobs(seed: int) -> None:
    """Preempted, suspended, requeued, failed, cancelled: never do more of a user's jobs hold cores; none is lost."""
    case = chaos.draw(Random(seed))
    users = ["ann", "bob"]
    case = replace(case, jobs=case.jobs | {"user": [users[i % 2] for i in range(len(case.jobs["job_id"]))]})
    accounts = Accounts(
        (ROOT, Association("acc", parent="root"), *(Association("acc", user, max_jobs=2) for user in users)),
        (QualityOfService("normal"),),
    )
    case.options["accounts"] = accounts
    _, result = chaos.run(case)
    held = result.holds[result.holds["kind"] == "job"]
    user_of = dict(zip(result.jobs["job_id"], result.jobs["user"], strict=True))
    for user in users:
        own = held[[user_of[owner] == user for owner in held["owner"]]]
        for time in own["start"]:
            now = own[(own["start"] <= time) & ((own["end"] > time) | own["end"].isna())]
            assert now["owner"].nunique() <= 2
    over = result.jobs["state"].isin(["completed", "killed", "rejected"])
    assert over.all() or case.options.get("until") is not None


def test_a_held_job_that_is_cancelled_lets_those_behind_it_in() -> None:
    """B of four cores holds up C, which fits beside A; B is killed at 10 s, and C joins at once."""
    accounts = Accounts((ROOT, Association("acc", parent="root", grp_tres={"cpu": 4.0}), Association("acc", "u")))
    jobs = workload_of((0, 2, 100), (1, 4, 10), (2, 2, 10), job_id=["A", "B", "C"], user=["u"] * 3, account=["acc"] * 3)
    simulation = Simulation(Platform.homogeneous(nodes=1, cores=8), jobs, make_scheduler("fcfs"), accounts=accounts)
    simulation.env.at(10.0).callbacks.append(lambda event: simulation.kill("B"))
    assert simulation.run().jobs["start_time"].tolist()[::2] == [0.0, 10.0]


@pytest.mark.parametrize("scheduler", ["shrink-expand", "moldable", "equipartition", "malleable"])
@pytest.mark.parametrize(("most", "states"), [(8, ["rejected", "rejected"]), (3, ["completed", "completed"])])
def test_cores_that_a_scheduler_chooses_count(scheduler: str, most: int, states: list[str]) -> None:
    """A job counts with the most cores that it may be given: two of up to 3 run one after the other within 4; 8 are too many."""
    accounts = Accounts((ROOT, Association("acc", parent="root", grp_tres={"cpu": 4.0}), Association("acc", "u")))
    jobs = Workload(
        {"submit_time": [0, 0], "requested_cores": [2, 2], "min_cores": [1, 1], "max_cores": [most] * 2, "malleable": [True] * 2,
         "user": ["u"] * 2, "account": ["acc"] * 2, "recorded_run_time": [80, 80], "requested_time": [200, 200]}
    )  # fmt: skip
    result = Simulation(
        Platform.homogeneous(nodes=1, cores=8), jobs, make_scheduler(scheduler), accounts=accounts
    ).run()
    assert result.jobs["state"].tolist() == states
    if most == 3:
        first, second = result.jobs["start_time"]
        assert second >= result.jobs["finish_time"][0] > first
    else:
        assert result.jobs["reason"].str.contains("it may be given more than a limit allows").all()


def test_cores_that_the_machine_does_not_have_do_not_count() -> None:
    """A job that could run on 16 cores gets 8 at the most here, which the limit allows."""
    accounts = Accounts((ROOT, Association("acc", parent="root", grp_tres={"cpu": 8.0}), Association("acc", "u")))
    jobs = workload_of((0, 2, 80, 200), min_cores=[1], max_cores=[16], malleable=[True], user=["u"], account=["acc"])
    platform = Platform.homogeneous(nodes=1, cores=8)
    result = Simulation(platform, jobs, make_scheduler("moldable"), accounts=accounts).run()
    assert result.jobs["state"].tolist() == ["completed"]
