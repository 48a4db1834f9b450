"""Playing a schedule back, ours or Batsim's."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import CautionWarning
from cluster_sim.errors import FormatError, ModelWarning
from cluster_sim.formats.batsim_results import write_jobs
from cluster_sim.platform import Cluster, NodeGroup, NodeType, Platform, PowerTransitions
from cluster_sim.records import Result
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from cluster_sim.workload.advance_reservations import AdvanceReservation
from schedulers import IdleTimeout, Replay, Scheduler, make_scheduler, power_policies
from tests.support.contract.runs import Case, cases
from tests.support.rows import workload_of

HEADER = (
    "job_id,workload_name,submission_time,requested_number_of_resources,requested_time,success,starting_time,"
    "execution_time,finish_time,waiting_time,turnaround_time,stretch,consumed_energy,allocated_resources\n"
)


def row(job: str, start: object, cores: str) -> str:
    """A line of Batsim's table of which only these three count."""
    begin = start if isinstance(start, int | float) else 0
    return f"{job},w0,0,1,9,1,{start},1,{begin + 1},{begin},{begin + 1},{begin + 1},0,{cores}\n"


def workload(*cores: int, seconds: float = 5.0) -> Workload:
    """Jobs submitted at 0."""
    count = len(cores)
    return Workload({"submit_time": [0.0] * count, "requested_cores": cores, "recorded_run_time": [seconds] * count})


def run(scheduler: Scheduler, jobs: Workload, nodes: int = 3, cores: int = 2) -> Result:
    """A run on equal nodes."""
    return Simulation(Platform.homogeneous(nodes, cores), jobs, scheduler).run()


@pytest.mark.parametrize("batsim", [False, True])
def test_our_own_schedule_comes_back(tmp_path: Path, batsim: bool) -> None:
    """Whatever made it, to the last digit, from our jobs.csv as well as from Batsim's."""
    jobs = workload_of(
        (0, 2, 3.1, 9), (0, 3, 4.7, 9), (1, 1, 9.9, 9), (2, 6, 1.3, 9), (2.3, 1, 0.2, 9), (7, 2, 5, 9), (7, 1, 6, 9)
    )
    first = run(make_scheduler("list:smallest/high_cores,blocking=no"), jobs)
    first.save(tmp_path)
    write_jobs(first, tmp_path / "batsim_jobs.csv")
    again = run(make_scheduler(f"replay:{tmp_path / ('batsim_jobs.csv' if batsim else 'jobs.csv')}"), jobs)
    pd.testing.assert_frame_equal(again.jobs, first.jobs)
    by_job = [r.allocations.sort_values(["job_id", "node"], ignore_index=True) for r in (again, first)]
    pd.testing.assert_frame_equal(*by_job)


def test_batsim_record(tmp_path: Path) -> None:
    """Resource i is core i; the job waits for its time although its cores are free; ids may name the workload."""
    (tmp_path / "r.csv").write_text(HEADER + row("0", 2.5, "4") + row("1", 1, "0-1 5"))
    jobs = workload_of((0, 1, 1), (0, 3, 1), job_id=["w0!0", "1"])
    result = run(Replay(str(tmp_path / "r.csv")), jobs)
    assert result.jobs["start_time"].tolist() == [2.5, 1.0]
    assert result.jobs_with_allocation()["allocation"].tolist() == [
        "cluster0.node2.processor0:0-0",
        "cluster0.node0.processor0:0-1;cluster0.node2.processor0:0-0",
    ]


def test_a_job_that_the_record_lacks_is_rejected(tmp_path: Path) -> None:
    """So is one that never started there; the reason says which."""
    path = tmp_path / "r.csv"
    path.write_text(HEADER + row("0", "", "") + row("1", -1, "") + row("2", 0, "0"))
    result = run(Replay(str(path)), workload(1, 1, 1, 1))
    assert result.jobs["state"].tolist() == ["rejected", "rejected", "completed", "rejected"]
    assert result.jobs["reason"].tolist() == [f"never started in {path}"] * 2 + ["", f"not in {path}"]


def test_rounded_times_do_not_stop_it(tmp_path: Path) -> None:
    """A job recorded a hair before its predecessor ends starts when that ends; one that is really late is told."""
    path = tmp_path / "r.csv"
    path.write_text(HEADER + row("0", 0, "0") + row("1", 4.999999, "0"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CautionWarning)
        result = run(Replay(str(path)), workload(1, 1), cores=1)
    assert result.jobs["start_time"].tolist() == [0.0, 5.0]
    path.write_text(HEADER + row("0", 0, "0") + row("1", 3, "0"))
    with pytest.warns(
        ModelWarning, match=r"job 1 starts at 5 s, not at the recorded 3 s: its cores were not free"
    ) as told:
        run(Replay(str(path)), workload(1, 1), cores=1)
    assert [one.filename for one in told if one.category is not CautionWarning] == [__file__]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected some content"),
        ("job_id,start_time\n0,1\n", "expected a column 'allocation', or Batsim's 'allocated_resources'"),
        ("job_id,start_time,allocation\n0,soon,x\n", "job 0, start_time: expected a number, found soon"),
        ("job_id,start_time,allocation\n0,0,x\n", "job 0, allocation: expected node.processor:first-last;…, found x"),
        ("job_id,start_time,allocation\n0,0,cluster0.node9.processor0:0-0\n", "expected a node name such as cluster0"),
        ("job_id,start_time,allocation\n0,0,cluster0.node0.processor1:0-0\n", "expected a processor that the node has"),
        ("job_id,start_time,allocation\n0,0,cluster0.node0.processor0:1-2\n", "expected cores that the processor has"),
        (HEADER + row("0", 0, "0-1"), "job 0: expected 1 cores, as the workload says, found 2"),
        (HEADER + row("0", 0, "6"), "job 0: expected resources from 0 to 5, found 6"),
        (HEADER + row("0", 0, "x"), "job 0: expected resources such as 0-3 7, found x"),
        (HEADER + row("0", 0, "1") * 2, "job 0: expected every job once, found it twice"),
        (HEADER + row("0", "now", "1"), "row 0, column starting_time: expected a number, found now"),
        ("allocated_resources\n0\n", "expected a column 'job_id'"),
    ],
)
def test_bad_records_are_told_in_a_line(tmp_path: Path, text: str, message: str) -> None:
    """The line names the file and the job, also when it comes out of the middle of a run."""
    path = tmp_path / "r.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        run(Replay(str(path)), workload(1))
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


SWITCHING = PowerTransitions(9.0, switch_on_s=60.0, switch_on_w=125.0, switch_off_s=180.0, switch_off_w=101.0)


def own_record(path: Path, *rows: tuple[str, float, str]) -> Replay:
    """A jobs.csv with (job, start, cores), to be played back."""
    lines = "".join(f"{job},{start},{cores}\n" for job, start, cores in rows)
    path.write_text("job_id,start_time,allocation\n" + lines)
    return Replay(str(path))


def test_nodes_that_are_switched_off_meanwhile_are_booted(tmp_path: Path) -> None:
    """At 10 s the node begins to shut down, at 190 it is OFF, at 250 it has been booted for the job recorded at 20 s."""
    platform = Platform.homogeneous(1, 2, transitions=SWITCHING)
    jobs = Workload(
        {"job_id": ["a", "b"], "submit_time": [0, 20], "requested_cores": [1, 1]} | {"operations": [3e10] * 2}
    )
    replay = own_record(
        tmp_path / "jobs.csv", ("a", 0.0, "cluster0.node0.processor0:0"), ("b", 20.0, "cluster0.node0.processor0:0")
    )
    with pytest.warns(ModelWarning, match="job b starts at 250 s, not at the recorded 20 s: its cores were not free"):
        result = Simulation(platform, jobs, replay, IdleTimeout(0)).run()
    assert result.jobs["start_time"].tolist() == [0.0, 250.0]


def test_a_boot_is_said_to_be_why_a_job_is_late(tmp_path: Path) -> None:
    """The node is OFF when the job is due: it is booted then, and tasks begin 60 s later."""
    kind = NodeType("n", Platform.homogeneous(1, 2).node_types[0].processors, None, SWITCHING, initially_off=True)
    platform = Platform((Cluster("cluster0", (NodeGroup(kind, 1),)),))
    replay = own_record(tmp_path / "jobs.csv", ("0", 20.0, "cluster0.node0.processor0:0"))
    with pytest.warns(
        ModelWarning, match="job 0 starts at 80 s, not at the recorded 20 s: its nodes have to be booted"
    ):
        result = Simulation(platform, workload(1), replay).run()
    assert (result.jobs["allocation_time"].item(), result.jobs["start_time"].item()) == (20.0, 80.0)


def test_a_job_waits_for_its_failed_node(tmp_path: Path) -> None:
    """Its node fails at 5 s and is repaired at 30; nothing boots at no cost here, so it starts then."""
    replay = own_record(tmp_path / "jobs.csv", ("0", 10.0, "cluster0.node1.processor0:0-1"))
    simulation = Simulation(Platform.homogeneous(2, 2), workload(2), replay)
    simulation.env.at(5.0).callbacks.append(lambda event: simulation.node(1).fail())
    simulation.env.at(30.0).callbacks.append(lambda event: simulation.node(1).repair())
    with pytest.warns(ModelWarning, match="job 0 starts at 30 s"):
        assert simulation.run().jobs["start_time"].tolist() == [30.0]


def test_a_job_waits_until_a_reservation_of_its_node_is_over(tmp_path: Path) -> None:
    """The node is closed to it from 8 to 40 s, and it would not end before that."""
    replay = own_record(tmp_path / "jobs.csv", ("0", 10.0, "cluster0.node1.processor0:0-1"))
    closed = AdvanceReservation("maintenance", 8.0, 40.0, 1)
    simulation = Simulation(Platform.homogeneous(2, 2), workload(2), replay, reservations=[closed])
    with pytest.warns(ModelWarning, match="job 0 starts at 40 s"):
        assert simulation.run().jobs["start_time"].tolist() == [40.0]


def test_a_job_on_nodes_that_are_not_for_it(tmp_path: Path) -> None:
    """A node without the tag that the job requires could never be had; the record is refused."""
    processors = Platform.homogeneous(1, 2).node_types[0].processors
    groups = (NodeGroup(NodeType("a", processors), 1), NodeGroup(NodeType("b", processors, tags={"gpu"}), 1))
    jobs = Workload({"submit_time": [0], "requested_cores": [1], "recorded_run_time": [1], "requires": ["gpu"]})
    replay = own_record(tmp_path / "jobs.csv", ("0", 0.0, "c.node0.processor0:0"))
    with pytest.raises(FormatError, match=r"job 0: expected nodes that have the tags.* found c\.node0"):
        Simulation(Platform((Cluster("c", groups),)), jobs, replay).run()


@settings(max_examples=40)
@given(cases(), st.sampled_from([name for name in power_policies if name != "learned"]))
def test_beside_every_power_policy(tmp_path_factory: pytest.TempPathFactory, case: Case, policy: str) -> None:
    """Every job that ran in the record runs again, on its recorded cores per node and not before its time."""
    spec = {"power-cap": "power-cap:1e9"}.get(policy, policy)
    path = tmp_path_factory.mktemp("replay")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        first = replace(case, power=None).simulation("fcfs").run()
        first.save(path)
        again = replace(case, power=spec).simulation(f"replay:{path / 'jobs.csv'}").run()
    ran = first.jobs["start_time"].notna()
    assert again.jobs["start_time"].notna().tolist() == ran.tolist()
    assert (again.jobs["allocation_time"][ran] >= first.jobs["start_time"][ran]).all()
    held = [result.allocations.groupby(["job_id", "node"]).sum(numeric_only=True) for result in (first, again)]
    assert held[0].index.equals(held[1].index)
