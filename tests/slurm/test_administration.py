"""An administrator's commands under the scheduler ``slurm``: what each does to nodes, partitions, jobs and reservations."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError, ModelWarning
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from cluster_sim.platform.accounts import Accounts
from schedulers import Fcfs
from schedulers.slurm.commands import Command, read_commands
from schedulers.slurm.scheduler import Slurm

pytestmark = pytest.mark.filterwarnings("ignore:.*only the scheduler slurm", "ignore:.*unfinished", "ignore:.*left")

CONF = """\
ClusterName=lab
SchedulerType=sched/backfill
SelectType=select/linear
PriorityType=priority/basic
SchedulerParameters=bf_interval=1,bf_resolution=1,batch_sched_delay=0,sched_interval=2
NodeName=n[1-2] CPUs=1
PartitionName=p Nodes=ALL Default=YES
PartitionName=q Nodes=n2 MaxTime=10
"""


def run(tmp_path: Path, commands: str, options: str = "", keys: str = "", **asks: dict[str, Any]) -> Result:
    """Jobs a second after one another, of one core and 60 s (limit 2 minutes); ``asks`` may say otherwise.

    ``options`` are more of the scheduler, ``keys`` more lines of the configuration.
    """
    conf, extra, script = tmp_path / "slurm.conf", tmp_path / "asks.json", tmp_path / "commands.txt"
    conf.write_text(CONF.replace("PriorityType=priority/basic\n", keys) if keys else CONF)
    extra.write_text(json.dumps(asks))
    script.write_text(commands)
    count = len(asks)
    jobs: dict[str, Any] = {"job_id": list(asks), "submit_time": list(range(count)), "requested_cores": [1] * count}
    jobs |= {"recorded_run_time": [60.0] * count, "requested_time": [120.0] * count}
    scheduler = make_scheduler(f"slurm:conf={conf},asks={extra},commands={script}{options}")
    return Simulation(Platform.read(conf), Workload(jobs), scheduler, explain=True).run()


def starts(result: Result) -> dict[str, float]:
    """When each job was last started, s; NaN: never."""
    last = dict(zip(result.attempts["job_id"], result.attempts["start_time"], strict=True))
    return {job: last.get(job, math.nan) for job in result.jobs["job_id"]}


def test_commands_are_read(tmp_path: Path) -> None:
    """Comments and empty lines aside, in order of time, with durations in s."""
    path = tmp_path / "commands.txt"
    path.write_text(
        "# a day\n\n60 scontrol update PartitionName=p MaxTime=3 State=down # for an hour\n"
        "5.5 scancel 7 8_1\n"
        "20.7 scontrol create reservation ReservationName=r StartTime=now+2minutes Duration=1 Nodes=ALL Users=ann\n"
    )
    window = {"starttime": 140.0, "endtime": 200.0, "duration": 60.0, "nodes": "ALL", "users": ("ann",)}
    assert read_commands(str(path)) == [
        Command(5.5, "cancel", ("7", "8_1")),
        Command(20.7, "create reservation", ("r",), window),
        Command(60.0, "update partition", ("p",), {"maxtime": 180.0, "state": "DOWN"}),
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("scancel 7", "line 1: expected seconds and a command"),
        ("5 reboot n1", "line 1: expected scancel JOB, or scontrol"),
        ("5 scontrol update NodeName=n1 State=BROKEN", "expected one of DOWN, DRAIN"),
        ("5 scontrol update NodeName=n9 State=DOWN", "line 1: expected one of n1, n2, found n9"),
        ("5 scontrol update PartitionName=z State=UP", "line 1: expected one of p, q, found z"),
        ("5 scontrol update JobId=1 Partition=p,zzz", "line 1: expected one of p, q, found zzz"),
        ("5 scontrol update JobId=1 Nice=x", "line 1: expected a whole number, negative ones too, found scontrol"),
        ("5 scontrol update JobId='1 Nice=2", "line 1: expected quotation marks in pairs"),
        ("5 scontrol create reservation ReservationName=r StartTime=now+1.2.3", "line 1: expected a time such as now"),
        ("5 scontrol create reservation ReservationName=r Nodes=n[", "line 1: expected names of nodes"),
        ("5 scancel ,", "line 1: expected at least one job"),
        ("5 scontrol update JobId=1 Comment=x", "others are not simulated"),
        ("5 scontrol update JobId=1 NumNodes=4-2", "expected NumNodes=LEAST or"),
        ("5 scontrol create reservation ReservationName=r StartTime=now Nodes=n1", "a reservation with StartTime"),
    ],
)
def test_what_is_no_command(tmp_path: Path, line: str, told: str) -> None:
    """It is told with its line, before the run goes on."""
    with pytest.raises(InputError, match=told):
        run(tmp_path, line, a={})


def test_an_unknown_quality_of_service_is_named(tmp_path: Path) -> None:
    """A job that is given one would wait for ever. Those that there are come with the scheduler, or with the run."""
    conf, accounts = tmp_path / "slurm.conf", Accounts()
    conf.write_text(CONF)
    commands = [(5.0, "scontrol update JobId=1 QOS=zzz")]
    told = "commands, 5 s: expected one of normal, found zzz"
    with pytest.raises(InputError, match=told):
        Slurm(str(conf), accounts, commands=commands)
    jobs = {"job_id": ["1"], "submit_time": [0], "requested_cores": [1], "recorded_run_time": [60.0]}
    with pytest.raises(InputError, match=told):
        Simulation(Platform.read(conf), Workload(jobs), Slurm(str(conf), commands=commands), accounts=accounts).run()


def test_all_nodes_are_named_at_once(tmp_path: Path) -> None:
    """``ALL``, in a command on nodes as in one on a reservation."""
    commands = "1 scontrol update NodeName=ALL State=DRAIN\n20 scontrol update NodeName=ALL State=RESUME"
    assert min(starts(run(tmp_path, commands, a={}, b={}, c={})).values()) < 1.5
    assert math.isnan(starts(run(tmp_path, "0 scontrol update NodeName=ALL State=DRAIN", a={}))["a"])


def test_a_node_goes_down_and_comes_back(tmp_path: Path) -> None:
    """Its job waits for 121 s, or is over if it may not be requeued; a drained node finishes what it has."""
    commands = "20 scontrol update NodeName=n1 State=DOWN\n20 scontrol update NodeName=n2 State=DRAIN\n"
    commands += "70 scontrol update NodeName=n[1-2] State=RESUME"
    result = run(tmp_path, commands, a={}, b={}, c={})
    assert result.jobs["state"].tolist() == ["completed"] * 3
    found = starts(result)
    assert 141.0 <= found["a"] < 145.0
    assert found["b"] < 5.0
    assert 71.0 <= found["c"] < 73.5
    lost = run(tmp_path, commands, a={"no_requeue": True})
    assert (lost.jobs["state"][0], lost.jobs["reason"][0]) == ("killed", "NODE_FAIL")


def test_a_partition_is_closed(tmp_path: Path) -> None:
    """And its limits are changed."""
    commands = "1 scontrol update PartitionName=p State=DOWN\n40 scontrol update PartitionName=p State=UP MaxTime=1"
    found = starts(run(tmp_path, commands, a={"limit_s": 60}, b={}, c={"limit_s": 60}))
    assert math.isnan(found["b"])  # of two minutes
    assert 40.0 <= found["c"] < 43.0


def test_jobs_are_held_cancelled_and_changed(tmp_path: Path) -> None:
    """A released job stands last in the queue; a running one that is cancelled frees its node after its clean-up."""
    commands = """\
        4 scontrol hold d
        5.5 scontrol update JobId=f Priority=4294901760
        10 scontrol release d
        20 scancel a e
        21 scontrol update JobId=c TimeLimit=5
        30 scontrol requeue b
    """
    result = run(tmp_path, commands, a={}, b={}, c={}, d={}, e={}, f={}, g={})
    found = starts(result)
    assert dict(zip(result.jobs["job_id"], result.jobs["state"], strict=True))["a"] == "killed"
    assert result.jobs["reason"][4] == "cancelled"
    assert 23.7 <= found["f"] < 26.5  # it has been given the highest priority
    assert 33.7 <= found["c"] < 36.5  # on the node of the job that was requeued
    assert found["c"] < found["g"] < found["d"] < found["b"]
    assert found["b"] > 151.0
    assert "Slurm's reason BeginTime" in result.explain("b")


def test_a_job_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The run goes on."""
    with pytest.warns(ModelWarning, match="5 s: no job x waits or runs") as told:
        result = run(tmp_path, "5 scancel x", a={})
    assert result.jobs["state"].tolist() == ["completed"]
    assert {one.filename for one in told} == {__file__}
    with pytest.warns(ModelWarning, match="5 s: no reservation zz: nothing is done"):
        run(tmp_path, "5 scontrol delete ReservationName=zz", a={})


def test_a_deadline(tmp_path: Path) -> None:
    """A job that could not be over in time never starts."""
    result = run(tmp_path, "# none", a={}, b={}, c={"deadline_s": 150.0}, d={"deadline_s": 200.0})
    assert result.jobs["state"].tolist() == ["completed", "completed", "rejected", "completed"]
    assert "deadline" in result.jobs["reason"][2]


def test_a_reservation_is_made_while_jobs_wait(tmp_path: Path) -> None:
    """Others keep off it, its own user's job comes in when it begins, and a stranger is rejected."""
    window = "scontrol create reservation ReservationName=r StartTime=100 Duration=2 Nodes=n[1-2] Users=ann"
    inside = {"reservation": "r", "user": "ann"}
    stranger = {"reservation": "r", "user": "bob"}
    result = run(tmp_path, f"0.5 {window}", a={"limit_s": 60}, b={}, c=inside, d=stranger)
    found = starts(result)
    assert found["a"] < 5.0
    assert 220.0 <= found["b"] < 223.0  # its limit would have run into it
    assert 100.0 <= found["c"] < 102.0
    assert "may not use reservation" in result.jobs["reason"][3]
    assert "Slurm's reason ReqNodeNotAvail, reserved for maintenance" in result.explain("b")
    deleted = starts(run(tmp_path, f"0.5 {window}\n50 scontrol delete ReservationName=r", a={}, b={}))
    assert 50.0 <= deleted["b"] < 52.0


def test_a_dependency_by_command_alone(tmp_path: Path) -> None:
    """It is kept though no job was submitted with one."""
    found = starts(run(tmp_path, "1.0001 scontrol update JobId=b Dependency=afterok:a", a={}, b={}))
    assert 60.0 < found["b"] < 63.0


def test_a_job_whose_node_failed_has_not_ended_well(tmp_path: Path) -> None:
    """Who waits for its success never starts; its other nodes are clean at once."""
    lost = {"no_requeue": True}
    found = starts(
        run(
            tmp_path,
            "20 scontrol update NodeName=n1 State=DOWN",
            a=lost,
            b={"dependency": "afterok:a"},
            c={"dependency": "afternotok:a"},
        )
    )
    assert math.isnan(found["b"])
    assert 20.0 < found["c"] < 23.0


def test_a_clean_up_after_a_kill_is_not_shorter_than_another(tmp_path: Path) -> None:
    """Where the options say so, the longer one counts."""
    result = run(tmp_path, "20 scancel a", ",cleanup=5,kill_cleanup=0.01", a={}, b={}, c={})
    assert 25.0 <= starts(result)["c"] < 27.5


def test_a_priority_and_a_dependency_in_one_command(tmp_path: Path) -> None:
    """The priority stays."""
    both = "4 scontrol update JobId=d Priority=4000000000 Dependency=afterany:a"
    found = starts(run(tmp_path, both, keys="PriorityType=priority/multifactor\n", a={}, b={}, c={}, d={}))
    assert found["d"] < found["c"]


def test_only_numbers_make_an_array(tmp_path: Path) -> None:
    """An array's number names its tasks; the part before the underscore of another job's name does not name that job."""
    asks: dict[str, dict[str, Any]] = {"8_1": {}, "user_7x": {}, "a_b_7": {}}
    jobs = run(tmp_path, "30 scancel 8 user a_b a", **asks).jobs
    assert jobs["state"].tolist() == ["killed", "completed", "completed"]


def test_more_nodes_than_a_job_has_cores(tmp_path: Path) -> None:
    """It keeps its request, and who runs this is told."""
    with pytest.warns(ModelWarning, match="NumNodes: job b has 1 cores") as told:
        result = run(tmp_path, "20 scontrol update JobId=b NumNodes=2\n30 scontrol release b", a={}, b={"held": True})
    assert {one.filename for one in told} == {__file__}
    assert result.jobs["state"].tolist() == ["completed", "completed"]


def test_a_deadline_passes_while_no_node_is_up(tmp_path: Path) -> None:
    """The job is rejected though nothing happens; one without a deadline waits on."""
    result = run(tmp_path, "0 scontrol update NodeName=n[1-2] State=DOWN", a={"deadline_s": 300.0}, b={})
    assert result.jobs["state"].tolist() == ["rejected", "unfinished"]
    assert 180.0 < result.jobs["finish_time"][0] < 185.0


def test_a_nice_value_counts_at_once(tmp_path: Path) -> None:
    """Whatever makes the priority: a job that is made nicer goes behind one that came later."""
    for keys in ("", "PriorityType=priority/multifactor\nPriorityWeightJobSize=1000\n"):
        found = starts(run(tmp_path, "5 scontrol update JobId=c Nice=100", keys=keys, a={}, b={}, c={}, d={}))
        assert found["d"] < found["c"]


def test_the_limit_of_a_partition_is_that_which_it_has_now(tmp_path: Path) -> None:
    """A job without a limit is too long for its quality of service until its partition's default is short."""
    (tmp_path / "accounts.txt").write_text("Account|User|Share\nacc||1\nName|Priority|MaxWall\nnormal|0|00:05:00\n")
    result = run(
        tmp_path,
        "0 scontrol update PartitionName=p DefaultTime=10\n40 scontrol update PartitionName=p DefaultTime=5",
        f",accounts={tmp_path / 'accounts.txt'}",
        "AccountingStorageEnforce=limits\n",
        a={"limit_s": math.nan},
    )
    assert 40.0 < starts(result)["a"] < 43.0


def test_no_more_nodes_than_tasks_or_cores(tmp_path: Path) -> None:
    """``-N 1-2`` of one task has one node, as has one core; two nodes for one core are refused by name."""
    wide = {"tasks": 0, "min_nodes": 1, "max_nodes": 2}
    result = run(
        tmp_path,
        "0 scontrol update NodeName=n1 State=RESUME",
        a=wide | {"tasks_per_node": 1},
        b=wide,
        c=wide | {"min_nodes": 2},
    )
    assert result.jobs["state"].tolist() == ["completed", "completed", "rejected"]
    assert result.jobs["reason"][2] == "it asks for 2 nodes, and for 1 cores"


def test_the_shortest_time_counts_before_a_reservation_and_a_deadline(tmp_path: Path) -> None:
    """With ``--time-min`` a job starts that with all its time would run into either."""
    window = "0 scontrol create reservation ReservationName=r StartTime=now+4minutes Duration=5 Nodes=ALL Users=x"
    keys = "PriorityType=priority/basic\nPartitionName=DEFAULT MaxTime=60\n"
    long: dict[str, Any] = {"limit_s": 600.0}
    short = long | {"time_min_s": 120.0}
    found = starts(run(tmp_path, window, keys=keys, a=long, b=short))
    assert found["a"] > 500.0
    assert found["b"] < 10.0
    late = {"deadline_s": 200.0}
    result = run(tmp_path, "0 scontrol update NodeName=n1 State=RESUME", keys=keys, a=long | late, b=short | late)
    assert result.jobs["state"].tolist() == ["rejected", "completed"]


def test_names_in_any_case_are_one_anonymised_or_not(tmp_path: Path) -> None:
    """Ann and ann share a limit of one job each, and the second of two jobs of one name waits for the first."""
    conf, shares = tmp_path / "slurm.conf", tmp_path / "accounts.txt"
    conf.write_text(
        "AccountingStorageEnforce=limits,qos\nAccountingStorageType=accounting_storage/slurmdbd\n"
        "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL Default=YES\n"
    )
    shares.write_text("Account|User|Share\nroot||1\nbio||1\nbio|ann|1\nName|Priority|MaxJobsPU\nnormal|0|1\n")
    jobs = {
        "job_id": ["7", "8"], "submit_time": [0.0, 1.0], "requested_cores": [1, 1], "requested_time": [900.0] * 2,
        "recorded_run_time": [600.0] * 2, "user": ["Ann", "ann"], "account": ["bio", "Bio"], "profile": ["solver"] * 2,
    }  # fmt: skip
    platform, log = Platform.read(conf), Workload(jobs)
    accounts = read_accounts(shares)
    asks = {"8": {"dependency": "singleton", "name": "solver"}}
    for limited, rules in ((True, {"accounts": str(shares)}), (False, {"asks": asks})):
        named, hidden = (
            Simulation(platform, each, Slurm(str(conf), **rules)).run() for each in (log, log.anonymised())
        )
        assert named.jobs["start_time"].tolist() == hidden.jobs["start_time"].tolist()
        assert named.jobs["start_time"][1] > 600.0, limited
    for each in (log, log.anonymised()):
        assert Simulation(platform, each, Fcfs(), accounts=accounts).run().jobs["start_time"].tolist() == [0.0, 600.0]


def test_users_of_an_anonymised_log(tmp_path: Path) -> None:
    """Whom a command or asks name has the name of the log: ann may use her reservation, and bob's job is hers by asks."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    jobs = {
        "job_id": ["7", "8", "9"],
        "submit_time": [5.0] * 3,
        "requested_cores": [1] * 3,
        "requested_time": [120.0] * 3,
    }
    jobs |= {"recorded_run_time": [60.0] * 3, "user": ["ann", "bob", "bob"]}
    asks = {"7": {"reservation": "r"}, "8": {"reservation": "r"}, "9": {"reservation": "r", "user": "ann"}}
    made = (1.0, "scontrol create reservation ReservationName=r StartTime=now Duration=60 Nodes=ALL Users=ann")
    states = []
    for log in (Workload(jobs), Workload(jobs).anonymised()):
        scheduler = Slurm(str(path), commands=[made], asks=asks)
        states.append(Simulation(Platform.read(path), log, scheduler).run().jobs["state"].tolist())
    assert states == [["completed", "rejected", "completed"]] * 2
