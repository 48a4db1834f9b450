"""What a run says of jobs that were suspended, resized, or stopped and run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import AdvanceReservation, Platform, Result, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.machine.placement import Placement
from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType
from cluster_sim.run.decisions import Decision, Preempt, Resize, Resume
from cluster_sim.run.view import View
from tests.support.rows import workload_of
from tests.support.scripted import (
    Scripted,
    asleep,
    of,
    requeued,
    resized,
    resumed_elsewhere,
    run,
    stopped_while_suspended,
    suspended,
    suspended_while_booting,
)


def test_a_suspension_is_told_with_its_reasons(tmp_path: Path) -> None:
    """For whom, how long, and who held its cores meanwhile; from files the same."""
    result = suspended()
    result.save(tmp_path)
    for each in (result, Result.load(tmp_path)):
        assert each.explain("a").splitlines()[3:6] == [
            "It ran on 2 cores of 2 nodes, 1 on each: cluster0.node0 and cluster0.node1 from 0 s to 13 s.",
            "It was suspended from 4 s to 7 s (3 s) for job b: an urgent job came.",
            "  from 4 s to 7 s: it is suspended and needs its 2 cores back, 1 free; job b holds 1 core (expected until 9 s); "
            "enough cores should be free at 9 s",
        ]


@pytest.mark.parametrize(
    ("how", "what", "counts"),
    [
        ("cancel", ": it takes too long; 8 core-s were lost.", (0, 1)),
        ("requeue", ": it takes too long; 8 core-s were lost.", (1, 1)),
        ("", ": cluster0.node0 failed; 8 core-s were lost.", (0, 1)),
    ],
)
def test_a_job_is_stopped_while_it_is_suspended(how: str, what: str, counts: tuple[int, int], tmp_path: Path) -> None:
    """The story tells of the suspension and of what ended it. A requeued job joins the queue again."""
    result = stopped_while_suspended(how, fails=not how)
    result.save(tmp_path)
    for each in (result, Result.load(tmp_path)):
        told = each.explain("a").splitlines()
        assert told[3].endswith(
            " ran on 2 cores of 2 nodes, 1 on each: cluster0.node0 and cluster0.node1 from 0 s to 4 s."
        )
        assert told[4] == "It was suspended from 4 s to 6 s (2 s): an urgent job came."
        assert told[6] == f"At 6 s it was stopped{what}"
        assert tuple(each.summary()[["jobs_requeued", "jobs_preempted"]]) == counts
        waits = each.queue[each.queue["time"] >= 4.0][["time", "pending"]].to_numpy().tolist()
        assert waits == ([[4.0, 0], [6.0, 1], [12.0, 0]] if how == "requeue" else [[4.0, 0]])


@pytest.mark.parametrize("how", ["cancel", "requeue", "kill"])
def test_a_job_is_stopped_while_it_is_suspended_and_had_not_begun(how: str, tmp_path: Path) -> None:
    """The job is suspended while its nodes boot. The story tells this, and that the job was stopped later."""
    result = suspended_while_booting(how)
    result.save(tmp_path)
    for each in (result, Result.load(tmp_path)):
        told = each.explain("a").splitlines()
        assert told[3] == "Its nodes had to boot, and it never began."
        assert told[4] == "It was suspended from 2 s to 6 s (4 s): urgent."
        assert told[5].startswith("  from 2 s to ")
        assert "At 6 s it was stopped: too long." in told


def test_a_job_whose_nodes_boot_after_a_suspension(tmp_path: Path) -> None:
    """The suspension ends when the job gets its cores. The job goes on when their node has booted."""
    result = resumed_elsewhere()
    result.save(tmp_path)
    for each in (result, Result.load(tmp_path)):
        told = each.explain("a").splitlines()
        assert "It was suspended from 2 s to 5 s (3 s): urgent." in told
        assert "It was suspended from 7 s to 8 s (1 s): urgent." in told
        assert told[-3] == "Its nodes had to boot, so it went on at 12 s."


def test_an_attempt_after_the_end_of_the_records(tmp_path: Path) -> None:
    """The records end with job 0 at 4.5 s: of the second attempt of job 1, whose node fails while it boots, they hold no row."""
    trace = tmp_path / "failures.csv"
    trace.write_text("time,node,event\n5,1,fail\n6,1,repair\n13,1,fail\n14,1,repair\n")
    jobs = {"submit_time": [0.0, 0.0], "requested_cores": [1, 2], "recorded_run_time": [0.5, 10.0]}
    policies = make_scheduler("fcfs"), make_power_policy("timeout:0")
    failures = f"trace:{trace},limit=2"
    result = Simulation(asleep(2), Workload(jobs), *policies, explain=True, failures=failures).run()
    assert result.attempts["attempt"].tolist() == [1, 1, 2]
    assert result.holds["attempt"].tolist() == [1, 1, 1]
    result.save(tmp_path / "run")
    for each in (result, Result.load(tmp_path / "run")):
        told = each.explain("1").splitlines()
        assert "Its nodes had to boot, and it never began." in told
        assert told[-2].startswith("Its second attempt never began")
        assert "It began anew." not in told


def test_a_job_that_is_killed_in_the_queue_after_its_suspension() -> None:
    """Requeued while it was suspended, it waits from then on, until it is killed there."""

    def kill(simulation: Simulation) -> None:
        simulation.env.at(8.0).callbacks.append(lambda event: simulation.kill("a", "by hand"))

    told = stopped_while_suspended("requeue", then=kill).explain("a").splitlines()
    assert "It was suspended from 4 s to 6 s (2 s): an urgent job came." in told
    assert "It joined the queue again at 6 s and waited for 2 s." in told


def test_a_job_that_is_suspended_at_the_end_of_the_records(tmp_path: Path) -> None:
    """From files the same."""
    result = stopped_while_suspended(until=7.0)
    result.save(tmp_path)
    for each in (result, Result.load(tmp_path)):
        assert "It was suspended from 4 s on: an urgent job came." in each.explain("a").splitlines()


def test_a_suspended_job_waits_for_the_end_of_an_advance_reservation(tmp_path: Path) -> None:
    """a, 1 s of 8 done, cannot go on at 6 s: its nodes are another's from 10 to 30 s. z may not pass it, nor is it before it."""
    jobs = {"job_id": ["a", "b", "z"], "submit_time": [0.0, 1.0, 3.0], "requested_cores": [2, 2, 2]}
    times = {"recorded_run_time": [8.0, 5.0, 3.0], "requested_time": [8.0, 5.0, 3.0], "priority": [0.0, 1.0, 0.0]}
    simulation = Simulation(
        Platform.homogeneous(2, 1),
        Workload(jobs | times),
        make_scheduler("preemptive:suspend"),
        reservations=[AdvanceReservation("r", 10.0, 30.0, [0, 1])],
        explain=True,
    )
    result = simulation.run()
    result.save(tmp_path)
    for each in (result, Result.load(tmp_path)):
        stretches = [(one.start, one.end, one.because) for one in each.waits.stretches("a", 1.0, 30.0)]
        assert stretches == [
            (1.0, 6.0, "it is suspended and needs its 2 cores back, 0 free"),
            (6.0, 30.0, "it is suspended and needs its 2 cores back, which an advance reservation keeps from it now"),
        ]
        assert "(job a)" in each.explain("z")


def test_a_job_that_fails_and_cannot_end_within_its_advance_reservation_any_more() -> None:
    """The job ran for 5 s of a window of 12 s and needs 10 s again. The story tells of the attempt and of the way back."""
    jobs = {"submit_time": [0.0], "requested_cores": [2], "recorded_run_time": [8.0], "requested_time": [10.0]}
    simulation = Simulation(
        Platform.homogeneous(2, 1),
        Workload(jobs | {"reservation": ["r"]}),
        make_scheduler("fcfs"),
        reservations=[AdvanceReservation("r", 0.0, 12.0, [0, 1])],
        failures="exponential:mtbf=1e9",
        explain=True,
    )
    simulation.env.at(5.0).callbacks.append(lambda event: simulation.node(0).fail())
    result = simulation.run()
    assert result.explain("0").splitlines()[3:] == [
        "It ran on 2 cores of 2 nodes, 1 on each: cluster0.node0 and cluster0.node1 from 0 s to 5 s "
        "and was stopped: cluster0.node0 failed; 10 core-s were lost.",
        "It joined the queue again at 5 s and did not wait in it.",
        "It was rejected at 5 s: it could not start in time to end within advance reservation 'r'.",
    ]
    assert result.summary()[["jobs_requeued", "jobs_rejected"]].tolist() == [1, 1]


def test_a_requeued_job_goes_on_from_its_checkpoint() -> None:
    """For whom it was stopped, what was lost, and from where it went on."""
    told = requeued().explain("a").splitlines()
    where = "2 cores of 2 nodes, 1 on each: cluster0.node0 and cluster0.node1"
    assert (
        f"Its first attempt ran on {where} from 0 s to 8 s and was stopped for job b: an urgent job came; 6 core-s were lost."
        in told
    )
    assert "It made 1 checkpoint, 1 s, at 5 s." in told
    assert "It went on from its checkpoint of 5 s, with 40 % of its work; to restart took 2 s." in told


def test_a_job_without_checkpoints_begins_anew() -> None:
    """After a requeue, nothing is there to go on from."""

    def stop(view: View) -> Iterable[Decision]:
        yield Preempt(of(view, "0").job, because="as a test")

    jobs = {"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0]}
    result = Simulation(Platform.homogeneous(1, 1), Workload(jobs), Scripted({4.0: stop}), explain=True).run()
    told = result.explain("0").splitlines()
    assert "It began anew." in told
    assert told[-1] == "It completed at 14 s."


def test_a_change_of_cores_and_whom_it_let_start() -> None:
    """From how many to how many, how long that took and why; and what started the job that waited for them."""
    result = resized()
    assert "At 5 s it changed from 4 to 2 cores, which took 1 s: job b waits for two cores." in result.explain("a")
    assert "It ran on 2 cores of 2 nodes" in result.explain("b")


def resize(cores: int) -> Callable[[View], Iterable[Decision]]:
    """Job a gives up all but so many cores."""

    def decide(view: View) -> Iterable[Decision]:
        running = of(view, "a")
        yield Resize(running.job, view.planning.shrunk(running, cores), because="b needs room")

    return decide


def malleable(**more: Any) -> dict[str, Any]:
    """Jobs a, which needs 4 s to change its cores, and b, on all four cores."""
    jobs = {
        "job_id": ["a", "b"],
        "submit_time": [0.0, 1.0],
        "requested_cores": [4, 4],
        "recorded_run_time": [10.0, 5.0],
    }
    return jobs | {"malleable": [True, False], "min_cores": [1, 0], "reconfiguration_time": [4.0, 0.0]} | more


@pytest.mark.parametrize(
    ("nodes", "what"), [((0, 1), "was given the cores that it had"), ((0, 2), "moved to other cores")]
)
def test_a_change_to_as_many_cores(nodes: tuple[int, int], what: str) -> None:
    """In one instant a job gives one of its cores up and gets it back, or another."""

    def change(view: View) -> Iterable[Decision]:
        for placement in (Placement.on({0: 1}), Placement.on(dict.fromkeys(nodes, 1))):
            yield Resize(of(view, "0").job, placement, because="as a test")

    jobs = {
        "submit_time": [0.0],
        "requested_cores": [2],
        "recorded_run_time": [10.0],
        "malleable": [True],
        "min_cores": [1],
    }
    told = run(3, jobs, {4.0: change}).explain("0").splitlines()
    assert f"At 4 s it {what}: as a test." in told


def test_a_change_of_cores_that_is_cut_by_a_suspension() -> None:
    """The job does one of its 4 s by 3 s, and the other three from 6 s on."""

    def stop(view: View) -> Iterable[Decision]:
        yield Preempt(of(view, "a").job, "suspend")

    def resume(view: View) -> Iterable[Decision]:
        (gone,) = view.suspended
        yield Resume(gone.job, gone.placement)

    jobs = malleable(submit_time=[0.0, 20.0])
    told = run(4, jobs, {2.0: resize(2), 3.0: stop, 6.0: resume, 12.0: resize(1)}).explain("a").splitlines()
    assert "At 2 s it changed from 4 to 2 cores, which took 4 s in 2 pieces: b needs room." in told
    assert "At 12 s it changed from 2 to 1 core, which took 4 s: b needs room." in told


@pytest.mark.parametrize("mode", ["suspend", "requeue", "cancel"])
def test_a_job_that_changes_its_cores_in_its_grace_leaves_for_whom_it_was_told_to(mode: str) -> None:
    """Told at 2 to leave at 6, it has fewer cores from 4 on."""

    def stop(view: View) -> Iterable[Decision]:
        (b,) = view.pending
        yield Preempt(of(view, "a").job, mode, grace_s=4.0, because="an urgent job came", behind=b)

    def resume(view: View) -> Iterable[Decision]:
        for gone in view.suspended:
            yield Resume(gone.job, gone.placement)

    told = run(4, malleable(), {2.0: stop, 4.0: resize(2), 15.0: resume}).explain("a").splitlines()
    left = "It was suspended from 6 s to 15 s (9 s)" if mode == "suspend" else "At 6 s it was stopped"
    assert any(line.startswith(f"{left} for job b: an urgent job came") for line in told)


def test_kinds_of_decisions() -> None:
    """The log has what was decided of running jobs, with reason and beneficiary."""
    log = suspended().decisions
    rows = log[log["decision"].isin(["preempt", "resume"])]
    assert rows[["time", "job_id", "decision", "because", "behind"]].to_numpy().tolist() == [
        [4.0, "a", "preempt", "suspended: an urgent job came", "b"],
        [7.0, "a", "resume", "", ""],
    ]


def test_a_suspended_job_keeps_its_memory() -> None:
    """Two tasks of 600 MB do not fit into 1 GB: job b waits for memory while a is suspended, though all cores are free."""

    def stop(view: View) -> Iterable[Decision]:
        yield Preempt(of(view, "a").job, "suspend")

    def resume(view: View) -> Iterable[Decision]:
        (gone,) = view.suspended
        yield Resume(gone.job, gone.placement)

    node = NodeType("n", (ProcessorType("p", 2, 3.0),), memory_gb=1.0)
    platform = Platform((Cluster("c", (NodeGroup(node, 1),)),))
    jobs = workload_of((0.0, 1, 10.0), (5.0, 1, 3.0), job_id=["a", "b"], memory=[600.0, 600.0])
    scheduler = Scripted({4.0: stop, 8.0: resume})
    scheduler.memory = True
    result = Simulation(platform, jobs, scheduler, explain=True).run()
    stretches = [(each.start, each.end, each.because) for each in result.waits.stretches("b", 5.0, 14.0)]
    assert stretches == [(5.0, 14.0, "it asks for 1 core with 600 MB for each, 0 free")]
    assert result.jobs["start_time"].tolist() == [0.0, 14.0]


def test_what_is_left_of_a_resumed_job() -> None:
    """A job that has run 4 s of the 20 s that it asked for should end 16 s after it goes on."""
    jobs = {"job_id": ["a", "b", "c"], "submit_time": [0.0, 4.0, 8.0], "requested_cores": [2, 1, 2]}
    jobs |= {"recorded_run_time": [10.0, 3.0, 1.0], "requested_time": [20.0, 5.0, 5.0]}

    def stop(view: View) -> Iterable[Decision]:
        yield Preempt(of(view, "a").job, "suspend")

    def resume(view: View) -> Iterable[Decision]:
        (gone,) = view.suspended
        yield Resume(gone.job, gone.placement)

    scheduler = Scripted({4.0: stop, 7.0: resume})
    result = Simulation(Platform.homogeneous(2, 1), Workload(jobs), scheduler, explain=True).run()
    assert "from 8 s to 13 s: it asks for 2 cores, 0 free; job a holds 2 cores (expected until 23 s)" in result.explain(
        "c"
    )


def test_a_job_that_can_start_on_fewer_cores() -> None:
    """If the scheduler chooses the number of cores, a job waits for its least number."""
    jobs = workload_of((0.0, 3, 10.0), (1.0, 4, 3.0), job_id=["a", "b"], min_cores=[0, 2])
    result = Simulation(Platform.homogeneous(1, 4), jobs, Scripted({}), explain=True).run()
    assert "it asks for at least 2 cores, 1 free" in result.explain("b")
