"""Preemption of the scheduler ``slurm``: stories of a few jobs, and what holds over random machines and jobs."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from schedulers.slurm.scheduler import Slurm

pytestmark = pytest.mark.filterwarnings("ignore")

TIERS = "PartitionName=lo Nodes=ALL Default=YES PriorityTier=1 {lo}\nPartitionName=hi Nodes=ALL PriorityTier=5 {hi}\n"


def conf(tmp_path: Path, *keys: str, nodes: str = "NodeName=n[1-2] CPUs=2", lo: str = "", hi: str = "") -> str:
    """A slurm.conf with two partitions, lo and hi, on the same two nodes."""
    lines = [
        "ClusterName=lab",
        "PriorityType=priority/basic",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        *keys,
        nodes,
    ]
    lines.append("SchedulerParameters=bf_interval=2,bf_resolution=1,batch_sched_delay=0,sched_interval=10")
    path = tmp_path / "slurm.conf"
    path.write_text("\n".join(lines) + "\n" + TIERS.format(lo=lo, hi=hi))
    return str(path)


def run(path: str, *jobs: tuple[float, str, int, float], limit: float = 600.0, commands: str = "") -> Result:
    """Jobs of so many nodes, all of whose cores they have: submission, partition, nodes, run time."""
    submit, partition, nodes, seconds = zip(*jobs, strict=True)
    cores = Platform.read(path).core_count // Platform.read(path).node_count
    columns: dict[str, list[Any]] = {
        "submit_time": list(submit),
        "partition": list(partition),
        "nodes": list(nodes),
        "requested_cores": [cores * count for count in nodes],
        "recorded_run_time": list(seconds),
        "requested_time": [limit] * len(jobs),
        "job_id": [chr(ord("a") + index) for index in range(len(jobs))],
    }
    return Simulation(
        Platform.read(path), Workload(columns), Slurm(path, commands=_pairs(commands)), explain=True
    ).run()


def _pairs(commands: str) -> list[tuple[float, str]]:
    return [(float(time), text) for time, _, text in (line.partition(" ") for line in commands.splitlines())]


def attempts(result: Result, job: str) -> list[tuple[float, float, str]]:
    """Start, end and outcome of a job's attempts."""
    rows: Any = result.attempts[result.attempts["job_id"] == job].itertuples()
    return [(row.start_time, row.end_time, row.outcome) for row in rows]


def test_a_requeued_job_waits_two_minutes(tmp_path: Path) -> None:
    """The job loses what it has done, its nodes are clean 3.7 s later, and it may start again 121 s after that."""
    path = conf(tmp_path, "PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE")
    result = run(path, (0.0, "lo", 2, 300.0), (50.0, "hi", 2, 30.0))
    (_, stopped, outcome), (again, _, then) = attempts(result, "a")
    taken = attempts(result, "b")[0][0]
    assert (outcome, then) == ("preempted", "completed")
    assert 50.0 <= stopped < 53.0
    assert taken == pytest.approx(stopped + 3.7, abs=1.1)
    assert stopped + 3.7 + 120.0 <= again < stopped + 3.7 + 121.0 + 10.1  # at the next full pass of the main loop
    assert "for job b: a job of a higher tier needs its nodes" in result.explain("a")


def test_a_cancelled_job_has_its_grace(tmp_path: Path) -> None:
    """The job is killed by the first check of limits after its grace, which come every 30 s; without a grace at once."""
    for grace, least, most in (("", 50.0, 53.0), ("GraceTime=20", 70.0, 104.0)):
        path = conf(tmp_path, "PreemptType=preempt/partition_prio", "PreemptMode=CANCEL", lo=grace)
        result = run(path, (0.0, "lo", 2, 300.0), (50.0, "hi", 2, 30.0))
        assert result.jobs["state"].tolist() == ["killed", "completed"]
        assert least <= attempts(result, "a")[0][1] < most


def test_a_grace_is_no_longer_than_the_time_limit(tmp_path: Path) -> None:
    """A job of at most 120 s that is told to leave at 50 s has no 200 s more."""
    path = conf(tmp_path, "PreemptType=preempt/partition_prio", "PreemptMode=CANCEL", lo="GraceTime=200")
    result = run(path, (0.0, "lo", 2, 300.0), (50.0, "hi", 2, 30.0), limit=120.0)
    assert 120.0 <= attempts(result, "a")[0][1] < 160.0


def test_a_job_that_ends_in_its_grace_has_done_its_work(tmp_path: Path) -> None:
    """The job completes, and is not killed."""
    path = conf(tmp_path, "PreemptType=preempt/partition_prio", "PreemptMode=CANCEL", lo="GraceTime=60")
    result = run(path, (0.0, "lo", 2, 70.0), (50.0, "hi", 2, 30.0))
    assert result.jobs["state"].tolist() == ["completed", "completed"]


def test_time_asleep_does_not_count(tmp_path: Path) -> None:
    """Neither as work nor in the limit, which is longer than the run by less than the time asleep."""
    path = conf(tmp_path, "PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND,GANG")
    result = run(path, (0.0, "lo", 2, 100.0), (50.0, "hi", 2, 200.0), limit=240.0)
    first, second = (result.jobs[result.jobs["job_id"] == job].iloc[0] for job in "ab")
    assert result.jobs["state"].tolist() == ["completed", "completed"]
    assert first["finish_time"] - first["start_time"] == pytest.approx(300.0)
    assert second["start_time"] < 53.0
    assert "It was suspended" in result.explain("a")
    assert "for job b" in result.explain("a")


def test_jobs_that_run_too_short_are_left_alone(tmp_path: Path) -> None:
    """PreemptExemptTime."""
    path = conf(tmp_path, "PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE", "PreemptExemptTime=0-00:01:00")
    result = run(path, (0.0, "lo", 2, 300.0), (5.0, "hi", 2, 30.0))
    assert 60.0 <= attempts(result, "a")[0][1] < 72.0


def test_the_smaller_of_two_that_would_do_is_taken(tmp_path: Path) -> None:
    """Jobs of one tier with fewer nodes go first; OFF protects."""
    nodes = "NodeName=n[1-3] CPUs=2"
    path = conf(tmp_path, "PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE", nodes=nodes)
    result = run(path, (0.0, "lo", 2, 300.0), (0.0, "lo", 1, 300.0), (50.0, "hi", 1, 30.0))
    assert [len(attempts(result, job)) for job in "abc"] == [1, 2, 1]
    path = conf(
        tmp_path, "PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE", nodes=nodes, lo="PreemptMode=OFF"
    )
    result = run(path, (0.0, "lo", 2, 300.0), (0.0, "lo", 1, 300.0), (50.0, "hi", 1, 30.0))
    assert [len(attempts(result, job)) for job in "abc"] == [1, 1, 1]


@pytest.mark.parametrize(
    ("keys", "lo", "told"),
    [
        (("PreemptType=preempt/magic",), "", "PreemptType: expected partition_prio, qos or none"),
        (("PreemptType=preempt/qos", "PreemptMode=SUSPEND,GANG"), "", "PreemptMode: expected SUSPEND with GANG"),
        (("PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND"), "", "PreemptMode: expected SUSPEND with GANG"),
        (
            ("PreemptType=preempt/partition_prio",),
            "PreemptMode=WITHIN",
            "PartitionName=lo, PreemptMode: expected one of OFF",
        ),
        (
            ("PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND,GANG"),
            "OverSubscribe=FORCE:2",
            "line 9, PartitionName=lo, OverSubscribe: expected NO, YES, EXCLUSIVE or FORCE:1",
        ),
        (
            ("PreemptMode=GANG",),
            "",
            "line 9, PartitionName=hi: expected other nodes than another partition, under",
        ),
        (("PreemptType=preempt/qos", "PreemptParameters=min_exempt_priority=5"), "", "min_exempt_priority"),
    ],
)
def test_what_is_not_simulated_is_refused_by_name(tmp_path: Path, keys: tuple[str, ...], lo: str, told: str) -> None:
    """In one line."""
    path = conf(tmp_path, *keys, lo=lo)
    with pytest.raises(InputError, match=told):
        make_scheduler(f"slurm:conf={path}")


def test_a_quality_of_service_that_would_suspend_is_refused(tmp_path: Path) -> None:
    """When the run begins, whoever gave the accounts; it was taken for one that preempts nobody."""
    path = conf(tmp_path, "PreemptType=preempt/qos", "PreemptMode=REQUEUE")
    (tmp_path / "accounts.txt").write_text("Account|User|Share\nacc||1\nName|Priority|PreemptMode\nlow|0|suspend\n")
    accounts = read_accounts(str(tmp_path / "accounts.txt"))
    jobs = Workload({"job_id": ["a"], "submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]})
    for own, run_s in ((accounts, None), (None, accounts)):
        simulation = Simulation(Platform.read(path), jobs, Slurm(path, own), accounts=run_s)
        with pytest.raises(
            InputError, match="QOS low, PreemptMode: expected REQUEUE or CANCEL: others are not simulated"
        ):
            simulation.run()


# ---------------------------------------------------------------------- random machines and jobs


class Case:
    """A machine of a few nodes, partitions or qualities of service that preempt one another, and jobs."""

    def __init__(self, seed: int, folder: Path):
        draw = Random(seed)
        self.nodes, self.cpus = draw.randint(2, 5), draw.choice((1, 2, 4))
        self.by_qos = draw.random() < 0.3
        gang = not self.by_qos and draw.random() < 0.4
        linear = not gang and draw.random() < 0.4
        keys = [
            f"SelectType=select/{'linear' if linear else 'cons_tres'}",
            "SelectTypeParameters=CR_Core",
            "PriorityType=priority/basic",
            "ClusterName=lab",
        ]
        keys.append(f"PreemptType=preempt/{'qos' if self.by_qos else 'partition_prio'}")
        keys.append("PreemptMode=" + ("SUSPEND,GANG" if gang else draw.choice(("REQUEUE", "CANCEL"))))
        if draw.random() < 0.3:
            keys.append("PreemptExemptTime=0-00:00:30")
        interval = draw.choice((1, 2, 30))
        keys.append(
            f"SchedulerParameters=bf_interval={interval},bf_resolution=1,batch_sched_delay={draw.choice((0, 3))}"
        )
        keys += ["AccountingStorageType=accounting_storage/slurmdbd", f"NodeName=n[1-{self.nodes}] CPUs={self.cpus}"]
        self.tiers = {f"p{index}": tier for index, tier in enumerate(draw.sample(range(1, 9), draw.randint(2, 4)))}
        self.sizes: dict[str, int] = {}
        for name, tier in self.tiers.items():
            first = draw.randint(1, self.nodes)
            some = draw.choice(("ALL", f"n[{first}-{draw.randint(first, self.nodes)}]"))
            own = draw.choice(("", "", "PreemptMode=OFF", "PreemptMode=CANCEL", "PreemptMode=REQUEUE"))
            grace = f"GraceTime={draw.choice((0, 0, 20))}"
            default = "Default=YES" if name == "p0" else ""
            self.sizes[name] = self.nodes if some == "ALL" else int(some[:-1].partition("-")[2]) - first + 1
            keys.append(f"PartitionName={name} Nodes={some} PriorityTier={tier} {own} {grace} {default}")
        self.path = str(folder / "slurm.conf")
        (folder / "slurm.conf").write_text("\n".join(keys) + "\n")
        (folder / "accounts.txt").write_text(
            "Account|User|Share\nacc||1\nacc|u|1\nName|Priority|Preempt|PreemptMode|GraceTime\n"
            "normal|0|||\nmiddle|5|normal||00:00:10\nhigh|9|normal,middle|cancel|\n"
        )
        self.accounts = read_accounts(str(folder / "accounts.txt"))
        self.jobs = Workload(self._columns(draw, draw.randint(8, 25)))

    def _columns(self, draw: Random, count: int) -> dict[str, list[Any]]:
        wanted = [draw.randint(1, self.nodes) for _ in range(count)]
        return {
            "submit_time": sorted(draw.choice((0.0, float(draw.randint(0, 200)))) for _ in range(count)),
            "partition": [draw.choice(list(self.tiers)) for _ in range(count)],
            "qos": [draw.choice(("normal", "middle", "high")) for _ in range(count)],
            "user": ["u"] * count,
            "nodes": wanted,
            "requested_cores": [nodes * draw.randint(1, self.cpus) for nodes in wanted],
            "recorded_run_time": [float(draw.randint(5, 150)) for _ in range(count)],
            "requested_time": [float(draw.choice((200, 400))) for _ in range(count)],
        }

    def may_take(self, preemptor: Any, victim: Any) -> bool:
        """Whether the one job is above the other."""
        if self.by_qos:
            return victim["qos"] in self.accounts.qos_by_name[preemptor["qos"]].preempts
        return self.tiers[preemptor["partition"]] > self.tiers[victim["partition"]]


def check_no_core_twice(result: Result) -> None:
    """At any time a core is held by one job."""
    cores: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    rows: Any = result.holds.itertuples()
    for row in rows:
        for core in range(row.first_core, row.last_core + 1):
            cores.setdefault((row.node, row.processor, core), []).append((row.start, row.end))
    for spells in cores.values():
        spells.sort()
        assert all(first[1] <= second[0] for first, second in pairwise(spells))


@pytest.mark.parametrize("seed", range(40))
def test_over_random_machines_and_jobs(tmp_path: Path, seed: int) -> None:
    """No core is used twice, every job does just its work or was cancelled, and only lower ones lose their nodes."""
    case = Case(seed, tmp_path)
    scheduler = Slurm(case.path, case.accounts)
    result = Simulation(Platform.read(case.path), case.jobs, scheduler, explain=True).run()
    check_no_core_twice(result)
    asked: Any = case.jobs.jobs.set_index("job_id").to_dict("index")
    taken: Any = result.decisions[result.decisions["decision"] == "preempt"].itertuples()
    for row in taken:
        assert not row.behind or case.may_take(asked[row.behind], asked[row.job_id])
    pieces: Any = result.holds.drop_duplicates(["owner", "attempt", "start"]).itertuples()
    worked: dict[tuple[str, int], float] = {}
    for row in pieces:
        worked[row.owner, row.attempt] = worked.get((row.owner, row.attempt), 0.0) + row.end - row.start
    last: dict[str, tuple[int, str]] = {}
    attempts: Any = result.attempts.itertuples()
    for row in attempts:
        last[row.job_id] = row.attempt, row.outcome
    jobs: Any = result.jobs.itertuples()
    for job in jobs:
        attempt, outcome = last.get(job.job_id, (0, ""))
        if job.state == "completed":
            assert worked[job.job_id, attempt] == pytest.approx(asked[job.job_id]["recorded_run_time"])
        elif job.state == "killed":
            assert outcome in ("cancelled", "timeout")
        else:
            wanted = asked[job.job_id]
            is_too_wide = case.sizes[wanted["partition"]] < wanted["nodes"] <= result.platform.node_count
            assert job.state == ("unfinished" if is_too_wide else "rejected")  # it waits, as Slurm has it
            assert math.isnan(job.start_time)


@pytest.mark.parametrize(
    ("command", "states"),
    [
        ("60 scancel a", ["killed", "completed"]),
        ("60 scontrol update NodeName=n1 State=DOWN\n90 scontrol update NodeName=n1 State=RESUME", ["completed"] * 2),
    ],
)
def test_a_suspended_job_is_reached_by_commands(tmp_path: Path, command: str, states: list[str]) -> None:
    """The job is cancelled where it sleeps; if its node goes down it waits again, and does not go on there."""
    path = conf(tmp_path, "PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND,GANG")
    result = run(path, (0.0, "lo", 2, 300.0), (50.0, "hi", 2, 200.0), commands=command)
    assert result.jobs["state"].tolist() == states
    again = [start for start, _, _ in attempts(result, "a")[1:]]
    if states[0] == "killed":
        assert (result.jobs["finish_time"][0], again) == (60.0, [])
    else:
        assert len(again) == 1
        assert again[0] > 180.0


def test_a_tier_that_a_command_gives_counts_where_jobs_share_cores(tmp_path: Path) -> None:
    """A job of a partition that is raised over the other is started on the cores of one that runs; beside it, it is refused."""
    path = conf(tmp_path, "PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND,GANG")
    raised = "60 scontrol update PartitionName=lo PriorityTier=9"
    result = run(path, (0.0, "hi", 2, 300.0), (50.0, "lo", 2, 100.0), commands=raised)
    assert 60.0 < attempts(result, "b")[0][0] < 63.0
    assert result.jobs["finish_time"][0] > 400.0
    with pytest.raises(InputError, match="PartitionName=hi: expected other nodes than another of its PriorityTier"):
        run(path, (0.0, "hi", 2, 300.0), commands=raised.replace("9", "5"))
