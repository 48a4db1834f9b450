"""What a run says of one job: stories worked out by hand."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from cluster_sim import InputError, Platform, Result, Simulation, Start, View, Workload
from cluster_sim.amounts import at_time
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from schedulers import Scheduler, make_scheduler
from tests.support.rows import workload_of


def run(scheduler: str, explain: bool = True, **options: object) -> Result:
    """Four cores; a holds two of them from 0 to 100, and b, c, d come for four, one and four."""
    workload = Workload(
        {
            "job_id": ["a", "b", "c", "d", "wide"],
            "submit_time": [0.0, 0.0, 10.0, 20.0, 30.0],
            "requested_cores": [2, 4, 1, 4, 9],
            "recorded_run_time": [100.0, 50.0, 20.0, 30.0, 1.0],
            "requested_time": [120.0, 60.0, 20.0, float("inf"), 1.0],
        }
    )
    platform = Platform.homogeneous(1, 4)
    return Simulation(platform, workload, make_scheduler(scheduler), explain=explain, **options).run()


def test_the_head_and_a_job_behind_it() -> None:
    """First come, first served: d lacks cores that a holds until 100, b until 150, and one that c holds until 170."""
    assert run("fcfs").explain("d").splitlines() == [
        "Job d was submitted at 20 s and asked for 4 cores, and named no time.",
        "It waited in the queue for 150 s.",
        "  from 20 s to 100 s: it asks for 4 cores, 2 free; job a holds 2 cores (expected until 120 s); "
        "enough cores should be free at 120 s, but 2 jobs submitted before it wait, too",
        "  from 100 s to 150 s: it asks for 4 cores, 0 free; job b holds 4 cores (expected until 160 s); "
        "enough cores should be free at 160 s, but 1 job submitted before it waits, too",
        "  from 150 s to 170 s: it asks for 4 cores, 3 free; job c holds 1 core (expected until 170 s); "
        "enough cores should be free at 170 s",
        "  2 earlier jobs started before it: b and c",
        "It was started at 170 s, when job c ended and gave cores back.",
        "It ran on 4 cores of cluster0.node0, for 30 s.",
        "From its submission to its end it took 180 s, a slowdown of 6.",
        "It completed at 200 s.",
    ]


def test_a_job_behind_the_head() -> None:
    """Two cores are free while b waits for four: c, for one, is behind it, with a log and without."""
    told = "  from 10 s to 100 s: enough cores are free, but "
    for explain in (True, False):
        told_of_c = run("fcfs", explain=explain).explain("c").splitlines()
        assert f"{told}job b is before it in the queue, and no job may overtake that" in told_of_c


def test_without_a_log_the_records_tell_the_same() -> None:
    """A job that always lacks something is explained in equal words with a log and without."""
    assert run("fcfs", explain=False).explain("d") == run("fcfs").explain("d")
    assert "  1 later job overtook it: c" in run("list:first/first,blocking=no", explain=False).explain("b")


def test_a_job_of_no_time_sets_free_what_it_held() -> None:
    """At 10 s a ends; brief and long start together, so brief's end came later. Last gets the cores of brief and one of a."""
    workload = workload_of(
        (0.0, 4, 10.0), (1.0, 2, 0.0), (2.0, 1, 5.0), (3.0, 3, 5.0), job_id=["a", "brief", "long", "last"]
    )
    result = Simulation(Platform.homogeneous(1, 4), workload, make_scheduler("fcfs"), explain=True).run()
    assert result.jobs["start_time"].tolist() == [0.0, 10.0, 10.0, 10.0]
    assert "It was started at 10 s, when job a ended and gave cores back." in result.explain("brief")
    assert "It was started at 10 s, when job a ended and gave cores back." in result.explain("long")
    assert "It was started at 10 s, when jobs a and brief ended and gave cores back." in result.explain("last")


def test_promises_and_backfilling() -> None:
    """EASY promises b the requested end of a, 120, and starts c before it because c ends before that."""
    result = run("easy")
    assert "  at 0 s it was promised a start at 120 s" in result.explain("b").splitlines()
    assert "It was started at 100 s, when job a ended and gave cores back." in result.explain("b")
    assert "It was started at 10 s, as soon as it was submitted; backfilled: " in result.explain("c")


def test_a_promise_that_moved() -> None:
    """Conservative promises d the requested end of b, 180; a ends 20 s early, and b is expected to end at 160."""
    lines = run("conservative").explain("d").splitlines()
    assert "  at 20 s it was promised a start at 180 s" in lines
    assert "  at 100 s the promise moved to 160 s" in lines


def test_skipped_and_aged() -> None:
    """A list that does not block skips b while a runs; PCBE starts it as an aged job."""
    assert "  from 0 s to 100 s: it asks for 4 cores, 1 to 2 free; at first, job a holds 2 cores" in run(
        "list:first/first,blocking=no"
    ).explain("b")
    assert "gave cores back; aged: it had waited 60 s or more" in run("pcbe").explain("b")


def test_too_expensive() -> None:
    """PCBE estimates 10 s x (5 W of its core + 20 W of the node) = 250 J; who allows 1 J stays until the end."""
    processor = ProcessorType("p", 2, 1.0, power={"static_w": 20.0, "dynamic_w": 5.0, "min_power": 0.5})
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (processor,)), 1),)),))
    workload = workload_of((0.0, 1, 10.0, 10.0), (0.0, 1, 10.0, 10.0), max_energy=[1.0, 1000.0])
    simulation = Simulation(platform, workload, make_scheduler("pcbe"), explain=True, until=50.0)
    assert simulation.run().explain("0").splitlines()[2:] == [
        "  from 0 s to 50 s: enough cores are free, but it fits only where it is estimated to need more than its "
        "max_energy of 1 J, and is skipped",
        "  1 later job overtook it: 1",
        "It still waited at 50 s, where the records end.",
    ]


def test_one_that_gets_in_front() -> None:
    """Shortest job first: c comes while b is the head, and is started before it."""
    workload = workload_of((0.0, 1, 10.0, 10.0), (1.0, 1, 9.0, 9.0), (2.0, 1, 8.0, 8.0), job_id=["a", "b", "c"])
    result = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("sjf"), explain=True).run()
    assert result.explain("b").splitlines()[2:6] == [
        "  from 1 s to 10 s: it asks for 1 core, 0 free; job a holds 1 core (expected until 10 s); "
        "enough cores should be free at 10 s",
        "  from 10 s to 18 s: it asks for 1 core, 0 free; job c holds 1 core (expected until 18 s); "
        "enough cores should be free at 18 s",
        "  1 later job overtook it: c",
        "It was started at 18 s, when job c ended and gave cores back.",
    ]


def test_started_in_one_instant() -> None:
    """a ends at 10 s: c, the shortest, is started first, and b with it. Neither is told to have started before the other."""
    workload = Workload(
        {
            "job_id": ["a", "b", "c"],
            "submit_time": [0.0, 1.0, 2.0],
            "requested_cores": [2, 1, 1],
            "recorded_run_time": [10.0, 9.0, 8.0],
            "requested_time": [10.0, 9.0, 8.0],
        }
    )
    result = Simulation(Platform.homogeneous(1, 2), workload, make_scheduler("sjf"), explain=True).run()
    started = result.decisions[result.decisions["decision"] == "start"]
    assert started["job_id"].tolist() == ["a", "c", "b"]
    told = result.explain("c").splitlines()
    assert "  1 earlier job got cores in the same instant: b" in told
    assert not any("started before it" in line for line in told)


def test_one_that_waited_for_a_job_was_submitted_before() -> None:
    """b comes at 0 s, and waits for a until 10 s; c comes at 5 s, asks for more than is free, and goes behind b."""
    workload = workload_of((0.0, 1, 10.0), (0.0, 1, 10.0), (5.0, 2, 10.0), job_id=["a", "b", "c"], after=["", "a", ""])
    lines = Simulation(Platform.homogeneous(1, 2), workload, make_scheduler("fcfs"), explain=True).run().explain("c")
    assert "  1 earlier job started before it: b" in lines.splitlines()
    assert "overtook" not in lines


def test_nodes_that_boot() -> None:
    """Cores at once, tasks after the 5 s that the node takes to boot."""
    kind = NodeType(
        "n", (ProcessorType("p", 2, 1.0),), transitions=PowerTransitions(switch_on_s=5.0), initially_off=True
    )
    platform = Platform((Cluster("c", (NodeGroup(kind, 1),)),))
    workload = Workload(
        {"submit_time": [0.0], "requested_cores": [2], "recorded_run_time": [7.0], "requested_time": [math.inf]}
    )
    lines = Simulation(platform, workload, make_scheduler("fcfs"), explain=True).run().explain("0").splitlines()
    assert lines[2:5] == [
        "It got its cores at 0 s, as soon as it was submitted.",
        "Its nodes had to boot, so it began at 5 s.",
        "It ran on 2 cores of c.node0, for 7 s.",
    ]


def test_how_jobs_end() -> None:
    """Rejected, killed and unfinished jobs say so, with the reason."""
    assert run("fcfs").explain("wide").splitlines() == [
        "Job wide was submitted at 30 s and asked for 9 cores for 1 s.",
        "It was rejected at once: it asks for 9 cores, the platform has 4.",
    ]
    stopped = run("fcfs", until=120.0)
    assert stopped.explain("b").splitlines()[-1] == "It still ran at 120 s, where the records end."
    assert stopped.explain("d").splitlines()[1:] == [
        "It waited in the queue for 100 s.",
        "  from 20 s to 100 s: it asks for 4 cores, 2 free; job a holds 2 cores (expected until 120 s); "
        "enough cores should be free at 120 s, but 2 jobs submitted before it wait, too",
        "  from 100 s to 120 s: it asks for 4 cores, 0 free; job b holds 4 cores (expected until 160 s); "
        "enough cores should be free at 160 s, but 1 job submitted before it waits, too",
        "  1 earlier job started before it: b",
        "It still waited at 120 s, where the records end.",
    ]
    slow = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [9.0], "requested_time": [4.0]})
    killed = Simulation(Platform.homogeneous(1, 1), slow, make_scheduler("fcfs"), enforce_walltime=True).run()
    assert killed.explain("0").splitlines()[-1] == "It was killed at 4 s: walltime."
    assert "for 4 s, as long as it had requested." in killed.explain("0")


@pytest.mark.parametrize(("job_id", "near"), [("ab", "a or b"), ("zz", "wide"), ("", "a")])
def test_unknown_jobs(job_id: str, near: str) -> None:
    """An id that the run does not have ends in one line that names those beside it."""
    with pytest.raises(InputError, match=f"the id of a job of the run, such as {near}, found"):
        run("fcfs").explain(job_id)


def test_numbers_are_near_by_size() -> None:
    """Ids that are numbers are compared as numbers: 9 and 10 are on both sides of 9.5, 100 is far."""
    workload = workload_of((0.0, 1, 1.0), (0.0, 1, 1.0), (0.0, 1, 1.0), job_id=["9", "10", "100"])
    result = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("fcfs")).run()
    with pytest.raises(InputError, match="such as 10 or 100, found 11"):
        result.explain("11")


@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "conservative", "pcbe"])
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_a_loaded_run_says_the_same(scheduler: str, file_format: str, tmp_path: Path) -> None:
    """The log is saved and loaded with the other tables, and every text comes out the same."""
    result = run(scheduler)
    result.save(tmp_path, file_format)  # type: ignore[arg-type]
    loaded = Result.load(tmp_path)
    assert (tmp_path / f"decisions.{file_format}").exists()
    pd.testing.assert_frame_equal(loaded.decisions, result.decisions, check_exact=True)
    assert [loaded.explain(job) for job in result.jobs["job_id"]] == [
        result.explain(job) for job in result.jobs["job_id"]
    ]


def test_a_log_of_another_run_does_not_stay(tmp_path: Path) -> None:
    """A run without a log that is saved over one with a log leaves none."""
    run("fcfs").save(tmp_path)
    run("fcfs", explain=False).save(tmp_path)
    assert not (tmp_path / "decisions.csv").exists()
    assert Result.load(tmp_path).decisions.empty


def test_a_scheduler_that_says_nothing() -> None:
    """What a job lacked, and where a wide job runs, the records tell; why one that fits is kept back, they do not."""

    class Silent(Scheduler):
        def schedule(self, view: View) -> Iterator[Start]:
            for job in view.pending:
                placement = view.place(job)
                if placement is None:
                    return
                yield Start(job, placement)

    columns = {"submit_time": [0.0, 1.0], "requested_cores": [5, 4], "recorded_run_time": [10.0, 2.0]}
    workload = Workload(columns | {"requested_time": [math.inf] * 2})
    result = Simulation(Platform.homogeneous(3, 2), workload, Silent(), explain=True).run()
    assert result.explain("1").splitlines()[1:5] == [
        "It waited in the queue for 9 s.",
        "  from 1 s to 10 s: it asks for 4 cores, 1 free; job 0 holds 5 cores for an unknown time; "
        "enough cores should be free at a time that is not known",
        "It was started at 10 s, when job 0 ended and gave cores back.",
        "It ran on 4 cores of 2 nodes, 2 on each: cluster0.node0 and cluster0.node1, for 2 s.",
    ]
    wide = "It ran on 5 cores of 3 nodes: cluster0.node0 (2), cluster0.node1 (2) and cluster0.node2 (1), for 10 s."
    assert wide in result.explain("0").splitlines()


def test_all_cores_of_a_holder_count() -> None:
    """Job 2 waits for one of the two nodes that job 0 holds; the third, which job 1 holds, it does not need."""
    jobs = workload_of((0.0, 8, 10.0, 10.0), (0.0, 4, 20.0, 20.0), (1.0, 4, 2.0, 2.0))
    result = Simulation(Platform.homogeneous(3, 4), jobs, make_scheduler("fcfs")).run()
    assert result.explain("2").splitlines()[2] == (
        "  from 1 s to 10 s: it asks for 4 cores, 0 free; job 0 holds 8 cores (expected until 10 s); "
        "enough cores should be free at 10 s"
    )


def test_many_reasons() -> None:
    """Twenty jobs go first, a second each, and one of 100 s: the longest reason is told, the other nine are counted."""
    lengths = [1.0] * 10 + [100.0] + [1.0] * 11
    count = len(lengths)
    columns = {"submit_time": [0.0] * count, "requested_cores": [1] * count, "recorded_run_time": lengths}
    workload = Workload(columns | {"requested_time": [math.inf] * count})
    result = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("fcfs"), explain=True).run()
    lines = result.explain(str(count - 1)).splitlines()
    assert (
        "  from 10 s to 110 s: it asks for 1 core, 0 free; job 10 holds 1 core for an unknown time; "
        "enough cores should be free at a time that is not known, but 10 jobs submitted before it wait, too"
    ) in lines
    assert "  and 9 more stretches, 9 s in all: 9 with too few free cores" in lines


def beside_guests(explain: bool) -> Result:
    """Four cores; backup holds one to 10, as it says, and noise2 one to 4, of which it says nothing.

    a, for all four, runs from 10 until the node fails at 12; repaired at 15, it runs a again, and at 20 b.
    """
    workload = workload_of((1.0, 4, 5.0, 5.0), (2.0, 2, 8.0, 8.0), job_id=["a", "b"])
    simulation = Simulation(Platform.homogeneous(1, 4), workload, make_scheduler("fcfs"), explain=explain)

    def guest(owner: str, stays: float, expected_s: float | None) -> Iterator[object]:
        with simulation.node(0).request(1, owner=owner, expected_s=expected_s) as held:
            yield held
            yield simulation.env.timeout(stays)

    def breakdown() -> Iterator[object]:
        yield simulation.env.timeout(12.0)
        simulation.node(0).fail()
        yield simulation.env.timeout(3.0)
        yield simulation.node(0).repair()

    def run_again() -> Iterator[object]:
        for job in (yield simulation.on("job_killed")):
            simulation.requeue(job)

    for process in (guest("backup", 10.0, 10.0), guest("noise2", 4.0, None), breakdown(), run_again()):
        simulation.env.process(process)
    return simulation.run()


def test_guests_and_attempts() -> None:
    """The log names the guests with what they said of their leaving, and each attempt has its wait, start and end."""
    result = beside_guests(explain=True)
    assert result.explain("a").splitlines() == [
        "Job a was submitted at 1 s and asked for 4 cores for 5 s.",
        "It waited in the queue for 9 s.",
        "  from 1 s to 10 s: it asks for 4 cores, 2 to 3 free; at first, backup, a guest, holds 1 core until 10 s and noise2, "
        "a guest, holds 1 core for an unknown time; enough cores should be free at a time that is not known",
        "It was started at 10 s, when backup, a guest, gave cores back.",
        "Its first attempt ran on 4 cores of cluster0.node0 from 10 s to 12 s and was stopped: cluster0.node0 failed; "
        "8 core-s were lost.",
        "It joined the queue again at 12 s and waited for 3 s.",
        "  from 12 s to 15 s: it asks for 4 cores, 0 free (1 of 1 node has failed)",
        "It was started at 15 s, when cluster0.node0 had been repaired.",
        "It began anew.",
        "Its second attempt ran on 4 cores of cluster0.node0 from 15 s to 20 s.",
        "From its submission to its end it took 19 s, a slowdown of 3.8.",
        "It completed at 20 s.",
    ]
    assert "  from 2 s to 10 s: enough cores are free, but job a is before it in the queue" in result.explain("b")


def test_guests_and_attempts_without_a_log(tmp_path: Path) -> None:
    """The records know the guests and what they said, also when they have been saved and loaded."""
    result = beside_guests(explain=False)
    lines = result.explain("a").splitlines()
    assert lines == beside_guests(explain=True).explain("a").splitlines()
    assert lines[5] == "It joined the queue again at 12 s and waited for 3 s."
    result.save(tmp_path)
    assert Result.load(tmp_path).explain("a").splitlines() == lines


def test_a_job_that_waits_again_at_the_end() -> None:
    """Stopped at 4 and not started again before the records end at 5."""
    workload = Workload({"submit_time": [0.0, 0.0], "requested_cores": [1, 1], "recorded_run_time": [9.0, 9.0]})
    simulation = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("fcfs"), until=5.0)

    def stop() -> Iterator[object]:
        yield simulation.env.timeout(4.0)
        simulation.node(0).fail()
        simulation.requeue("0", "as a test")

    simulation.env.process(stop())
    assert simulation.run().explain("0").splitlines()[2:] == [
        "It was started at 0 s, as soon as it was submitted.",
        "Its first attempt ran on 1 core of cluster0.node0 from 0 s to 4 s and was stopped: as a test; "
        "4 core-s were lost.",
        "It joined the queue again at 4 s and waited for 1 s.",
        "  from 4 s to 5 s: it asks for 1 core, 0 free (1 of 1 node has failed)",
        "It still waited at 5 s, where the records end.",
    ]


def crowded(scheduler: str, *jobs: tuple[float, int, float]) -> Result:
    """Jobs 0, 1, … (submitted s, cores, runs and requests s) on one node of four cores."""
    submitted, cores, runs = zip(*jobs, strict=True)
    columns = {"submit_time": submitted, "requested_cores": cores}
    workload = Workload({**columns, "recorded_run_time": runs, "requested_time": runs})
    return Simulation(Platform.homogeneous(1, 4), workload, make_scheduler(scheduler), explain=True).run()


def test_those_that_wait_before_it_are_counted_over_the_whole_stretch() -> None:
    """2 and 3 start one after the other while 0 holds three cores to the end: 4, for all four, waits with two, then alone."""
    result = crowded("list:first/first,blocking=no", (0, 3, 90), (0, 1, 10), (0, 1, 20), (0, 1, 30), (0, 4, 5))
    line = result.explain("4").splitlines()[2]
    assert line.startswith(
        "  from 0 s to 90 s: it asks for 4 cores, 0 to 1 free; at first, job 0 holds 3 cores (expected until 90 s)"
    )
    assert line.endswith("; enough cores should be free at 90 s, but up to 2 jobs submitted before it wait, too")


def test_long_times_are_told_in_days_and_hours() -> None:
    """From an hour on: moments as in the Gantt, durations with their seconds, and ratios of three digits."""
    result = crowded("fcfs", (0, 4, 200_000), (10, 4, 3_600), (20.25, 4, 50))
    assert result.explain("1").splitlines() == [
        "Job 1 was submitted at 10 s and asked for 4 cores for 1 h (3,600 s).",
        "It waited in the queue for 2 d 07:33 (199,990 s).",
        "  from 10 s to 2 d 07:33:20: it asks for 4 cores, 0 free; job 0 holds 4 cores (expected until 2 d 07:33:20); "
        "enough cores should be free at 2 d 07:33:20",
        "It was started at 2 d 07:33:20, when job 0 ended and gave cores back.",
        "It ran on 4 cores of cluster0.node0, for 1 h (3,600 s), as long as it had requested.",
        "From its submission to its end it took 2 d 08:33 (203,590 s), a slowdown of 56.6.",
        "It completed at 2 d 08:33:20.",
    ]
    assert "a slowdown of 4,070." in result.explain("2")  # 203,629.75 s for 50 s
    promised = crowded("easy", (0, 2, 7_200), (1, 4, 10), (2, 2, 9_000)).explain("2")
    assert "but it would delay job 1, which was promised a start at 02:00:00" in promised


def test_one_reason_is_left_out() -> None:
    """Thirteen jobs of growing length go first: twelve reasons are told, and the shortest is counted."""
    result = crowded("fcfs", *((0.0, 4, float(length)) for length in range(1, 15)))
    assert "  and 1 more stretch, 1 s in all: 1 with too few free cores" in result.explain("13").splitlines()


@pytest.mark.parametrize(
    ("scheduler", "by"),
    [
        ("sjf", ", by the order sjf"),
        ("list:shortest/first", ", by the order shortest"),
        ("list:shortest/first,aging=9", ""),
    ],
)
def test_an_order_that_is_not_that_of_submission_is_named(scheduler: str, by: str) -> None:
    """2, the shorter, lacks a core while 0 holds three of four; 1, which stands before it in the workload, would fit."""
    told = crowded(scheduler, (0, 3, 10), (1, 1, 9), (1, 2, 3)).explain("1")
    assert f"job 2 is before it in the queue{by}, and no job may overtake that" in told


def test_moves_of_a_promise_are_counted_apart() -> None:
    """Sixteen jobs end a second early each: the promise of the last moves each time until it is started."""
    count = 17
    workload = Workload(
        {
            "submit_time": [0.0] * count,
            "requested_cores": [1] * count,
            "recorded_run_time": [9.0] * count,
            "requested_time": [10.0] * count,
        }
    )
    result = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("conservative"), explain=True).run()
    left_out = [line for line in result.explain("16").splitlines() if line.startswith("  and ")]
    # Of 16 stretches and 16 promises (160 s, a second less at each end but the last, which starts it) two promises are
    # always told, the first and the last, and ten stretches.
    assert left_out == [
        "  and 6 more stretches, 54 s in all: 6 with too few free cores; and 14 more moves of the promise"
    ]


def test_times_are_dates_where_the_log_has_one() -> None:
    """Times from an hour on become dates in the zone of the log; lengths, plain seconds and names that look like times stay."""
    workload = workload_of((5.0, 4, 9_000.0, 10_800.0), (4_500.0, 4, 1_800.0, 3_600.0), job_id=["10:00:00", "23:00:00"])
    result = Simulation(Platform.homogeneous(1, 4), workload, make_scheduler("fcfs"), explain=True).run()
    result.meta["start_date"] = "2026-02-28T22:30:00+02:00"
    assert result.explain("10:00:00").splitlines()[0].startswith("Job 10:00:00 was submitted at 5 s and asked for")
    assert result.explain("23:00:00").splitlines()[:4] == [
        "Job 23:00:00 was submitted at 2026-02-28 23:45:00 and asked for 4 cores for 1 h (3,600 s).",
        "It waited in the queue for 1 h 15 min (4,505 s).",
        "  from 2026-02-28 23:45:00 to 2026-03-01 01:00:05: it asks for 4 cores, 0 free; "
        "job 10:00:00 holds 4 cores (expected until 2026-03-01 01:30:05); enough cores should be free at 2026-03-01 01:30:05",
        "It was started at 2026-03-01 01:00:05, when job 10:00:00 ended and gave cores back.",
    ]


def test_times_beyond_the_calendar_stay_as_they_are() -> None:
    """A promise for a far day is no date, and no error."""
    assert at_time(9_999_999 * 86_400.0, datetime.datetime(2026, 3, 1)) == "9,999,999 d 00:00:00"
