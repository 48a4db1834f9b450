"""The scheduler ``slurm`` on a machine of a few lines."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import AdvanceReservation, Platform, Result, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError
from schedulers.slurm.scheduler import Slurm
from tests.support.rows import workload_of

pytestmark = pytest.mark.filterwarnings("ignore:.*only the scheduler slurm", "ignore:.*unfinished", "ignore:.*left")

CONF = """\
ClusterName=lab
SchedulerType=sched/backfill
SelectType=select/linear
SelectTypeParameters=CR_Core
NodeName=n[1-2] CPUs=1
PartitionName=short Nodes=ALL Default=YES MaxTime=10
"""


def run(
    tmp_path: Path, conf: str = CONF, reservations: Sequence[AdvanceReservation] = (), **columns: list[Any]
) -> Result:
    """Jobs of one core and a minute under the rules of that configuration."""
    path = tmp_path / "slurm.conf"
    path.write_text(conf)
    count = len(next(iter(columns.values())))
    usual: dict[str, list[Any]] = {"submit_time": [0.0] * count, "requested_cores": [1] * count}
    usual |= {"recorded_run_time": [60.0] * count, "requested_time": [120.0] * count}
    platform, scheduler = Platform.read(path), make_scheduler(f"slurm:conf={path}")
    workload = Workload(usual | columns)
    return Simulation(platform, workload, scheduler, explain=True, reservations=reservations).run()


def test_a_run_ends_though_a_job_waits_for_ever(tmp_path: Path) -> None:
    """Its limit is longer than the partition's: it waits for a change that nobody makes. Later jobs still start."""
    result = run(tmp_path, requested_time=[3600.0, 120.0], submit_time=[0.0, 50_000.0])
    assert result.jobs["state"].tolist() == ["unfinished", "completed"]
    assert result.jobs["start_time"][1] < 50_000.0 + 61.0


def test_a_job_ends_in_slurms_seconds_before_a_reservation(tmp_path: Path) -> None:
    """Job 0 starts in second 0 and may take two minutes, up to the maintenance; job 1 does not come to an end before it."""
    maintenance = AdvanceReservation("maintenance", 120.0, 300.0, [0, 1])
    result = run(tmp_path, reservations=[maintenance], submit_time=[0.0, 2.0])
    first, second = result.jobs["start_time"].tolist()
    assert 0.0 < first < 1.0
    assert 300.0 <= second < 331.0  # the next pass of the backfill loop
    result.save(tmp_path / "saved")
    for told in (result, Result.load(tmp_path / "saved")):
        assert "reservation keeps from it" not in told.explain("0")
        assert "it fits only on nodes that an advance reservation keeps from it now" in told.explain("1")


def test_the_limit_of_the_partition_counts_before_a_reservation(tmp_path: Path) -> None:
    """A job that requests no time may run for the partition's ten minutes, and so ends before what begins in eleven."""
    maintenance = AdvanceReservation("maintenance", 660.0, 900.0, [0, 1])
    result = run(tmp_path, reservations=[maintenance], submit_time=[0.0], requested_time=[math.inf])
    assert result.jobs["start_time"][0] < 1.0


def test_a_job_may_run_past_the_end_of_its_own_reservation(tmp_path: Path) -> None:
    """Its limit is all of the window, and the loops look when that has begun; one that comes when it is over is rejected."""
    course = AdvanceReservation("course", 100.0, 220.0, [0])
    result = run(tmp_path, reservations=[course], submit_time=[0.0, 230.0], reservation=["course", "course"])
    assert 100.0 < result.jobs["start_time"][0] < 162.0
    assert result.jobs["state"].tolist() == ["completed", "rejected"]


@pytest.mark.parametrize(
    "option", ["tick=0", "tick=nan", "cleanup=-1", "kill_cleanup=inf", "main_delay=-1", "epoch=nan"]
)
def test_times_that_cannot_be_are_named(tmp_path: Path, option: str) -> None:
    """A tick is longer than 0 s, delays are not negative, and all are finite."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    with pytest.raises(InputError, match=rf"option {option.partition('=')[0]}: expected (finite )?seconds"):
        make_scheduler(f"slurm:conf={path},{option}")


def test_nothing_starts_at_its_submission(tmp_path: Path) -> None:
    """The main loop looks once a second, and three seconds after it was last asked."""
    result = run(tmp_path, submit_time=[0.0, 0.5, 100.0])
    waits = (result.jobs["start_time"] - result.jobs["submit_time"]).tolist()
    assert all(0.0 < wait <= 62.0 for wait in waits)


def test_a_pass_ends_where_a_job_could_start_at_the_very_end_of_the_window(tmp_path: Path) -> None:
    """A minute of bf_resolution before it is planned for another: the pass looked at that instant again and again."""
    conf = CONF.replace("SelectType", "SchedulerParameters=bf_window=10,bf_interval=1\nSelectType").replace(
        "[1-2]", "1"
    )
    submitted = [7.0, *(float(time) for time in range(250, 360))]
    columns = {"requested_time": [900.0 if time == 7.0 else 60.0 for time in submitted]}
    columns |= {"requested_cores": [1] * 111, "recorded_run_time": [1.0] * 111}
    conf = conf.replace("MaxTime=10", "MaxTime=60")
    columns["recorded_run_time"][0] = 500.0
    result = run(tmp_path, conf, submit_time=submitted, **columns)
    assert result.jobs["state"].tolist() == ["completed"] * 111


def test_only_so_many_tasks_of_an_array_run_at_once(tmp_path: Path) -> None:
    """Nodes are free, and the second task waits for the end of the first; a job of its own does not."""
    result = run(tmp_path, job_id=["7_1", "7_2", "8"], submit_time=[0.0, 0.0, 1.0], array_limit=[1, 1, 0])
    first, second, other = result.jobs["start_time"].tolist()
    assert first + 60.0 < second
    assert other < first + 60.0


def test_a_job_that_is_killed_while_it_waits_leaves_the_queue(tmp_path: Path) -> None:
    """Somebody kills it between two looks at the queue, which nothing else has changed."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    jobs = {"submit_time": [0.0] * 3, "requested_cores": [2] * 3, "recorded_run_time": [60.0] * 3, "nodes": [2] * 3}
    jobs["requested_time"] = [120.0] * 3
    simulation = Simulation(Platform.read(path), Workload(jobs), make_scheduler(f"slurm:conf={path}"))
    simulation.run(until=40.0)
    simulation.kill("1")
    assert simulation.run().jobs["state"].tolist() == ["completed", "killed", "completed"]


def test_a_late_job_with_a_new_wish_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    """Nothing runs when it comes: the first job is still known to have been cancelled, and the second waits for its success."""
    path = tmp_path / "slurm.conf"
    path.write_text(CONF)
    asks = {"b": {"dependency": "afterok:a"}}
    scheduler = Slurm(str(path), asks=asks, commands=[(20.0, "scancel a")])
    usual = {"requested_cores": 1, "recorded_run_time": 60.0, "requested_time": 120.0}
    columns: dict[str, list[Any]] = {name: [value, value] for name, value in usual.items()}
    simulation = Simulation(
        Platform.read(path), Workload(columns | {"job_id": ["a", "b"], "submit_time": [0.0, 1.0]}), scheduler
    )
    simulation.hold_open()

    def late() -> Any:
        yield simulation.env.timeout(300.0)
        simulation.submit(usual | {"job_id": "c", "nodes": 1})
        simulation.release()

    simulation.env.process(late())
    assert simulation.run().jobs["state"].tolist() == ["killed", "unfinished", "completed"]


@pytest.mark.parametrize(
    ("more", "earliest", "latest"), [("", 2.0, 5.0), (",bf_continue", 40.0, 55.0), (",", 60.0, 90.0)]
)
def test_a_pass_gives_up_its_locks(tmp_path: Path, more: str, earliest: float, latest: float) -> None:
    """Before each job and each trial; it goes on, or ends as somebody was submitted meanwhile."""
    pauses = "bf_yield_interval=1,bf_yield_sleep=10000000,bf_max_time=300" * bool(more)
    keys = f"SchedulerParameters=bf_interval=1,bf_resolution=1,batch_sched_delay=0,sched_interval=1000,{pauses}{more}"
    result = run(
        tmp_path,
        CONF.replace("SelectType", f"{keys}\nSelectType"),
        submit_time=[0.0, 1.0, 2.0, 25.0],
        requested_cores=[1, 2, 1, 2],
        recorded_run_time=[150.0, 10.0, 10.0, 10.0],
        requested_time=[300.0, 60.0, 60.0, 60.0],
    )
    assert earliest < result.jobs["start_time"][2] < latest
    assert result.jobs["start_time"][1] > 150.0


@pytest.mark.parametrize("select", ["linear", "cons_tres"])
def test_jobs_without_a_limit_are_planned(tmp_path: Path, select: str) -> None:
    """Where partitions have none, either: who waits behind one that may run for ever has no start, until that ends."""
    conf = CONF.replace(" MaxTime=10", "").replace("linear", select)
    result = run(tmp_path, conf, requested_cores=[1, 2, 1], requested_time=[math.inf] * 3)
    assert result.jobs["state"].tolist() == ["completed"] * 3
    result = run(tmp_path, conf, requested_cores=[2, 2, 1], requested_time=[60.0, math.inf, math.inf])
    assert result.jobs["state"].tolist() == ["completed"] * 3


@pytest.mark.parametrize(("select", "cpus_per_task", "cores"), [("cons_tres", 3, 10), ("linear", 1, 20)])
def test_of_a_range_of_nodes_a_job_takes_enough_for_its_cores(
    tmp_path: Path, select: str, cpus_per_task: int, cores: int
) -> None:
    """Two nodes are free at first, and the job may have them; but its cores in the workload are more, so it waits for others."""
    path = tmp_path / "slurm.conf"
    keys = f"SelectType=select/{select}\nSelectTypeParameters=CR_Core\n"
    path.write_text(f"{keys}NodeName=n[1-4] CPUs=8\nPartitionName=p Nodes=ALL Default=YES\n")
    asks = tmp_path / "asks.json"
    wish = {"tasks": 0, "min_nodes": 2, "max_nodes": 4, "cpus_per_task": cpus_per_task}
    asks.write_text(json.dumps({"wide": wish}))
    columns = {"job_id": ["first", "wide"], "submit_time": [0.0, 1.0], "requested_cores": [16, cores]}
    columns |= {"recorded_run_time": [50.0, 50.0], "requested_time": [100.0, 100.0]}
    scheduler = make_scheduler(f"slurm:conf={path},asks={asks}")
    result = Simulation(Platform.read(path), Workload(columns), scheduler).run()
    assert result.jobs["state"].tolist() == ["completed", "completed"]
    assert result.jobs["start_time"][1] >= 50.0


def test_nodes_with_gpus_of_several_types_give_none(tmp_path: Path) -> None:
    """Who asks for some is rejected, and who does not runs."""
    conf = CONF.replace("CPUs=1", "CPUs=1 Gres=gpu:a:1,gpu:b:1")
    result = run(tmp_path, conf, gpus=[0, 1], nodes=[1, 1])
    assert result.jobs["state"].tolist() == ["completed", "rejected"]


def test_gpus_on_any_number_of_nodes_are_rejected_by_name(tmp_path: Path) -> None:
    """What is on each is not said where a job needs several nodes and names no number of them."""
    conf = CONF.replace("CPUs=1", "CPUs=1 Gres=gpu:2")
    result = run(tmp_path, conf, gpus=[2, 2], requested_cores=[2, 1])
    assert result.jobs["reason"][0] == "it asks for 2 GPUs on any number of nodes: only as many on each are simulated"
    assert result.jobs["state"].tolist() == ["rejected", "completed"]


QUALITIES = "Account|User|Share\nacc||1\nacc|a|1\nName|Priority|Preempt\nnormal|0|\nhigh|5|normal\n"


@pytest.mark.parametrize(
    ("keys", "accounts", "told"),
    [
        ("PriorityType=priority/multifactor\nPriorityWeightQOS=9", "", ["PriorityWeightQOS"]),
        ("PriorityWeightQOS=9", "", []),
        ("PreemptType=preempt/qos\nPreemptMode=REQUEUE", "", ["PreemptType=preempt/qos"]),
        ("PriorityType=priority/multifactor\nPreemptType=preempt/qos\nPreemptMode=REQUEUE\nPriorityWeightQOS=9",
         QUALITIES.partition("Name")[0],
         ["PreemptType=preempt/qos", "PriorityWeightQOS"]),
        ("PriorityType=priority/multifactor\nPreemptType=preempt/qos\nPreemptMode=REQUEUE\nPriorityWeightQOS=9", QUALITIES, []),
    ],
)  # fmt: skip
def test_qualities_of_service_without_accounts_are_told(
    tmp_path: Path, keys: str, accounts: str, told: list[str]
) -> None:
    """Their priorities and whom they preempt are in no log and no slurm.conf: without show qos they count for nothing."""
    path = tmp_path / "slurm.conf"
    path.write_text(f"{CONF}{keys}\n")
    (tmp_path / "accounts.txt").write_text(accounts)
    given = f",accounts={tmp_path / 'accounts.txt'}" if accounts else ""
    jobs = workload_of((0.0, 1, 60.0), user=["a"], account=["acc"])
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        Simulation(Platform.read(path), jobs, make_scheduler(f"slurm:conf={path}{given}")).run()
    lines = [str(each.message) for each in noted]
    assert [line.split()[1] for line in lines if "counts for nothing: no accounts say" in line] == told
    assert all(each.filename == __file__ for each in noted)


@pytest.mark.parametrize("select", ["linear", "cons_tres"])
def test_a_partition_bounds_the_nodes_of_jobs_that_name_none(tmp_path: Path, select: str) -> None:
    """Slurm takes the partition's: two nodes where that is the least, and none of more than it has at most."""
    conf = CONF.replace("CPUs=1", "CPUs=2").replace("linear", select)
    fewest = run(tmp_path, conf.replace("MaxTime=10", "MinNodes=2"), requested_cores=[2])
    assert fewest.holds["node"].tolist() == ["lab.node0", "lab.node1"]
    narrow = run(tmp_path, conf.replace("MaxTime=10", "MinNodes=2"), requested_cores=[1])
    assert narrow.jobs["state"].tolist() == ["completed"]  # it has no second core for a second node
    most = run(tmp_path, conf.replace("MaxTime=10", "MaxNodes=1"), requested_cores=[4, 2])
    assert most.jobs["state"].tolist() == ["rejected", "completed"]
    assert most.holds["node"].tolist() == ["lab.node0"] * len(most.holds)


def test_a_job_waits_for_few_enough_nodes(tmp_path: Path) -> None:
    """From 21 s on one, one and two CPUs of three nodes are free: four, but on more nodes than the partition gives a job."""
    conf = CONF.replace("n[1-2] CPUs=1", "n[1-3] CPUs=2").replace("linear", "cons_tres").replace("MaxTime=10", "{}")
    columns = {"submit_time": [0.0, 1.0, 2.0, 3.0, 60.0], "requested_cores": [1, 1, 1, 1, 4]}
    columns |= {"recorded_run_time": [300.0, 20.0, 400.0, 20.0, 50.0], "requested_time": [600.0] * 5}
    starts = [run(tmp_path, conf.format(most), **columns).jobs["start_time"][4] for most in ("", "MaxNodes=2")]
    assert starts[0] < 120.0
    assert 300.0 <= starts[1] < 400.0


def test_no_node_gets_more_tasks_than_it_may(tmp_path: Path) -> None:
    """Jobs that name no number of nodes get as many as their tasks need, and none where their partition has fewer."""
    conf = CONF.replace("linear", "cons_tres").replace("n[1-2] CPUs=1", "n[1-4] CPUs=4")
    conf += "PartitionName=pair Nodes=ALL MaxTime=10 MaxNodes=2\n"
    result = run(
        tmp_path,
        conf,
        submit_time=[0.0, 200.0, 400.0],
        requested_cores=[2, 5, 5],
        ntasks_per_node=[1, 2, 2],
        partition=["short", "short", "pair"],
    )
    assert result.jobs["state"].tolist() == ["completed", "completed", "rejected"]
    cores = result.allocations["last_core"] - result.allocations["first_core"] + 1
    assert cores.groupby(result.allocations["job_id"]).agg(list).to_dict() == {"0": [1, 1], "1": [2, 2, 1]}


@pytest.mark.parametrize("select", ["linear", "cons_tres"])
def test_no_node_that_a_job_has_to_itself_gets_more_tasks_than_it_may(tmp_path: Path, select: str) -> None:
    """Three or four nodes of 4 CPUs for 5 or 6 tasks, at most 2 on each: the first ones get 2."""
    conf = CONF.replace("linear", select).replace("n[1-2] CPUs=1", "n[1-4] CPUs=4")
    columns = {"requested_cores": [5, 6, 6], "nodes": [3, 3, 4], "ntasks_per_node": [2] * 3, "exclusive": [True] * 3}
    result = run(tmp_path, conf, **columns)
    cores = result.allocations["last_core"] - result.allocations["first_core"] + 1
    told = cores.groupby(result.allocations["job_id"]).agg(list).to_dict()
    assert told == {"0": [2, 2, 1], "1": [2, 2, 2], "2": [2, 2, 1, 1]}


@pytest.mark.parametrize("select", ["linear", "cons_tres"])
def test_nodes_that_a_job_has_to_itself_are_as_many_as_its_tasks_need(tmp_path: Path, select: str) -> None:
    """8 tasks, at most 2 on each node of 4 CPUs: four nodes, though two have the CPUs; and none in a partition of two."""
    for nodes in ("NodeName=n[1-5] CPUs=4", "NodeName=n[1-4] CPUs=4\nNodeName=n5 CPUs=6"):
        conf = CONF.replace("linear", select).replace("NodeName=n[1-2] CPUs=1", nodes)
        conf += "PartitionName=pair Nodes=ALL MaxTime=10 MaxNodes=2\n"
        columns = {"requested_cores": [8, 8], "ntasks_per_node": [2, 2], "exclusive": [True] * 2}
        result = run(tmp_path, conf, submit_time=[0.0, 200.0], partition=["short", "pair"], **columns)
        assert result.jobs["state"].tolist() == ["completed", "rejected"]
        cores = result.allocations["last_core"] - result.allocations["first_core"] + 1
        assert cores.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("select", ["linear", "cons_tres"])
@pytest.mark.parametrize("exclusive", [False, True])
def test_tasks_need_not_be_spread_evenly(tmp_path: Path, select: str, exclusive: bool) -> None:
    """Two nodes of 8 and 2 CPUs have ten, though not five each; not eleven, nor room for eight tasks with at most 3 on each."""
    nodes = "NodeName=a CPUs=8\nNodeName=b CPUs=2"
    conf = CONF.replace("linear", select).replace("NodeName=n[1-2] CPUs=1", nodes)
    columns = {"requested_cores": [10, 11, 8], "nodes": [2] * 3, "ntasks_per_node": [0, 0, 3]}
    result = run(tmp_path, conf, exclusive=[exclusive] * 3, **columns)
    assert result.jobs["state"].tolist() == ["completed", "rejected", "rejected"]
    cores = result.allocations["last_core"] - result.allocations["first_core"] + 1
    assert dict(zip(result.allocations["node"], cores, strict=True)) == {"lab.node0": 8, "lab.node1": 2}


@pytest.mark.parametrize(("select", "partition"), [("cons_tres", "short"), ("cons_tres", "own"), ("linear", "short")])
def test_small_nodes_lead_no_exclusive_job_astray(tmp_path: Path, select: str, partition: str) -> None:
    """Two of the nodes of 6, 2 and 8 CPUs that lie together have 13: found when those of 2 are left out. linear searches once."""
    conf = CONF.replace("linear", select).replace(
        "NodeName=n[1-2] CPUs=1", "NodeName=a CPUs=6\nNodeName=b CPUs=2\nNodeName=c CPUs=8"
    )
    conf += "PartitionName=own Nodes=ALL MaxTime=10 OverSubscribe=EXCLUSIVE\n"
    result = run(
        tmp_path, conf, requested_cores=[13], nodes=[2], exclusive=[partition == "short"], partition=[partition]
    )
    if select == "linear":
        assert result.jobs["state"].tolist() == ["rejected"]
    else:
        assert result.allocations["node"].tolist() == ["lab.node0", "lab.node2"]
