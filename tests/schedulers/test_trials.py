"""Jobs on trial, ``easy:trials=…``: worked-out schedules, a textbook's program, and what holds on any machine."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.promises import Case, judge
from cluster_sim import AdvanceReservation, Platform, Simulation, make_power_policy, make_scheduler
from cluster_sim.errors import SpecError
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from cluster_sim.records import Result
from schedulers import easy
from schedulers.backfilling.easy import BACKFILLED
from schedulers.backfilling.trials import LEAVES, TRIED, TRIED_ENOUGH
from tests.support import textbook
from tests.support.small_logs import KEYS, Rows, small_logs, workload

ROW = ("submit_time", "requested_cores", "requested_time", "recorded_run_time")

# Four cores: a holds two until 100, b wants all four then. c asks for too much to be backfilled, and takes 5 s in truth.
TYPICAL: Rows = [(0, 2, 100, 100), (1, 4, 50, 50), (2, 2, 1000, 5)]


def run(
    scheduler: str,
    rows: Rows,
    cores: int = 4,
    platform: Platform | None = None,
    power: str | None = None,
    **options: Any,
) -> Result:
    """A run on nodes of one core each, or on another machine."""
    machine = platform or Platform.homogeneous(nodes=cores, cores=1)
    policy = None if power is None else make_power_policy(power)
    return Simulation(machine, workload(rows), make_scheduler(scheduler), policy, **options).run()


def all_starts(result: Result) -> list[list[float]]:
    """When each job was started, each time."""
    attempts = result.attempts
    return [attempts.loc[attempts["job_id"] == job, "start_time"].tolist() for job in result.jobs["job_id"]]


def partly_asleep(on: int, off: int, boot_s: float) -> Platform:
    """Nodes of one core, some of which sleep at first."""
    boot = PowerTransitions(switch_on_s=boot_s)
    kinds = [
        NodeType(name, (ProcessorType(name, 1, 1.0),), transitions=boot, initially_off=name == "off")
        for name in ("on", "off")
    ]
    return Platform((Cluster("c", (NodeGroup(kinds[0], on), NodeGroup(kinds[1], off))),))


# ---------------------------------------------------------------------- worked out by hand


def test_a_job_that_asks_for_too_much_is_over_before_its_cores_are_wanted() -> None:
    """Without trials c waits for b; on trial it ends at 7, and b starts at 100 in any case."""
    assert all_starts(run("easy", TYPICAL)) == [[0], [100], [150]]
    assert all_starts(run("easy:trials=1", TYPICAL)) == [[0], [100], [2]]


def test_a_job_on_trial_leaves_when_the_first_job_can_start() -> None:
    """A ends early, at 30: b could start then without c, and does; c, which ran in vain, waits again, and is not tried twice."""
    rows: Rows = [(0, 2, 100, 30), (1, 4, 50, 50), (2, 2, 1000, 500)]
    result = run("easy:trials=1", rows)
    assert all_starts(result) == [[0], [30], [2, 80]]
    assert result.summary()["jobs_preempted"] == 1
    assert result.summary()["lost_core_s"] == 2 * 28.0


def test_a_job_that_could_be_backfilled_where_it_runs_stays() -> None:
    """D, which goes before b and leaves a core beside it, comes a second after c was tried: nobody takes c's core any more."""
    rows: Rows = [(0, 3, 100, 100), (1, 4, 50, 50), (2, 1, 1000, 500), (3, 3, 40, 40)]
    assert all_starts(run("easy:order=sjf,trials=1", rows)) == [[0], [502], [2], [100]]
    assert all_starts(run("easy:order=sjf", rows)) == [[0], [503], [3], [100]]


def test_a_job_on_trial_keeps_its_cores_before_those_that_are_behind_it() -> None:
    """When c has started at 60, d is the first job, and runs: e, which came later, is promised nothing of d's."""
    rows: Rows = [(0, 1, 100, 60), (0, 1, 200, 60), (1, 3, 50, 50), (2, 1, 1000, 500), (3, 4, 1000, 1000)]
    assert all_starts(run("easy:trials=1", rows)) == [[0], [0], [60], [2], [502]]


def test_a_job_that_leaves_is_in_its_old_place_at_once() -> None:
    """D leaves at 30, and is before e again: e, on trial, leaves for it at 40."""
    rows: Rows = [(0, 3, 100, 30), (0, 2, 40, 40), (1, 6, 50, 50), (2, 4, 1000, 900), (3, 2, 5000, 5000)]
    assert all_starts(run("easy:trials=1", rows, cores=10))[2:] == [[30], [2, 40], [30, 80]]


def test_cores_of_a_long_trial_are_for_jobs_that_may_be_backfilled_too() -> None:
    """D ends before b is to start, and has no trial left that it would need."""
    rows: Rows = [(0, 3, 1000, 1000), (1, 4, 50, 50), (2, 1, 2000, 900), (3, 1, 5, 5)]
    result = run("easy:trials=1,trial_for=20", rows, explain=True)
    assert all_starts(result)[2:] == [[2, 1050], [22]]
    log = result.decisions
    assert log.loc[(log["job_id"] == "d") & (log["decision"] == "start"), "because"].tolist() == [str(BACKFILLED)]


def test_a_job_on_trial_that_changes_its_cores_is_still_on_trial() -> None:
    """C, which gives back two of three cores at 22, leaves at 100 all the same."""
    rows: Rows = [(0, 4, 100, 100), (1, 8, 50, 50), (2, 3, 1000, 600), (500, 1, 1, 1)]
    malleable = {
        "malleable": [False, False, True, False],
        "min_cores": [4, 8, 1, 1],
        "max_cores": [4, 8, 3, 1],
        "parts": ["", "", "1 20@2", ""],
        "speedup": ["linear"] * 4,
    }
    jobs = workload(rows, **malleable)
    result = Simulation(Platform.homogeneous(nodes=8, cores=1), jobs, make_scheduler("easy:trials=1")).run()
    assert all_starts(result)[1] == [100]


def test_a_scheduler_that_begins_again_knows_who_is_on_trial() -> None:
    """A job that asks for something new has it begin again, at 10: c still leaves for b."""
    rows: Rows = [(0, 2, 100, 30), (1, 4, 50, 50), (2, 2, 1000, 500)]
    simulation = Simulation(Platform.homogeneous(nodes=4, cores=1), workload(rows), make_scheduler("easy:trials=1"))
    simulation.hold_open()
    simulation.run(until=10.0)
    simulation.submit(
        {"job_id": "x", "requested_cores": 1, "requested_time": 1, "recorded_run_time": 1, "exclusive": True}
    )
    simulation.release()
    result = simulation.run()
    assert all_starts(result)[:3] == [[0], [30], [2, 80]]


def test_a_job_that_has_its_nodes_for_itself_leaves_with_all_their_cores() -> None:
    """C uses one core of a node of four, and d gets the four."""
    rows: Rows = [(0, 4, 100, 100), (1, 8, 50, 50), (2, 1, 1000, 500), (30, 4, 1000, 10)]
    platform = Platform.homogeneous(nodes=2, cores=4)
    jobs = workload(rows, exclusive=[False, False, True, False])
    result = Simulation(platform, jobs, make_scheduler("easy:trials=1,trial_for=10")).run()
    assert all_starts(result)[2:] == [[2, 150], [30]]


def test_another_is_tried_when_one_has_been_on_trial_for_long_enough() -> None:
    """D comes when c has been on trial for 20 s, and gets its core, e when d is over; with 21 s it waits a second for it."""
    rows: Rows = [(0, 3, 100, 100), (1, 4, 50, 50), (2, 1, 1000, 500), (22, 1, 1000, 10), (27, 1, 1000, 10)]
    assert all_starts(run("easy:trials=1,trial_for=20", rows)) == [[0], [100], [2, 150], [22], [32]]
    assert all_starts(run("easy:trials=1,trial_for=21", rows)) == [[0], [100], [2, 150], [23], [33]]


def test_none_leaves_without_need() -> None:
    """A ends early, and b wants three cores more: those of c and d would do, and those of d alone."""
    rows: Rows = [(0, 2, 100, 30), (1, 6, 50, 50), (2, 1, 1000, 500), (3, 3, 1000, 500)]
    assert all_starts(run("easy:trials=1", rows, cores=7)) == [[0], [30], [2], [3, 80]]


@pytest.mark.parametrize(
    ("most", "expected"),
    [(0, [305]), (1, [2, 305]), (2, [2, 25, 305]), (3, [2, 25, 45, 305]), (9, [2, 25, 45, 65, 85])],
)
def test_no_job_is_tried_more_often_than_it_may_be(most: int, expected: list[float]) -> None:
    """Every 20 s a job of 5 s takes the core of c, which then is tried again; in the end it waits for b, or is not disturbed."""
    rows: Rows = [(0, 3, 1000, 300), (1, 4, 50, 5), (2, 1, 2000, 150), *((20.0 * i, 1, 5, 5) for i in range(1, 5))]
    assert all_starts(run(f"easy:order=sjf,trials={most}", rows)) == [[0], [300], expected, [20], [40], [60], [80]]


def test_the_log_says_who_is_on_trial_and_why_it_left() -> None:
    """The start, and the end for whom."""
    rows: Rows = [(0, 2, 100, 30), (1, 4, 50, 50), (2, 2, 1000, 500)]
    log = run("easy:trials=1", rows, explain=True).decisions
    of_c = log[(log["job_id"] == "c") & log["decision"].isin(["start", "preempt"])]
    assert of_c[["time", "decision", "because", "behind"]].values.tolist()[:2] == [
        [2.0, "start", str(TRIED), ""],
        [30.0, "preempt", f"requeued: {LEAVES}", "b"],
    ]


def test_no_node_boots_for_a_trial() -> None:
    """Of four nodes two sleep: d, which ends in time, boots one, and c, which does not, is tried there when d is over."""
    platform = partly_asleep(2, 2, boot_s=1.0)
    rows: Rows = [(0, 2, 100, 100), (1, 4, 50, 50), (2, 1, 1000, 500), (3, 1, 50, 50)]
    result = run("easy:trials=1", rows, platform=platform)
    assert all_starts(result)[2:] == [[54, 151], [4]]
    assert all_starts(run("easy:trials=1", rows))[2] == [2, 150]


def test_the_first_job_gets_nodes_that_are_on_rather_than_boot_others() -> None:
    """Three nodes are on and one sleeps: c takes that of d at 30 and starts at once; d boots the other."""
    platform = partly_asleep(3, 1, boot_s=100.0)
    rows: Rows = [(0, 1, 100, 30), (0, 1, 200, 30), (1, 3, 50, 50), (2, 1, 1000, 500)]
    assert all_starts(run("easy:trials=1", rows, platform=platform)) == [[0], [0], [30], [2, 130]]


def test_under_a_power_cap_no_job_is_tried() -> None:
    """The watts that it would take may be those that the first job waits for."""
    watts = {"static_w": 0.0, "dynamic_w": 10.0, "min_power": 0.0}
    platform = Platform.homogeneous(nodes=8, cores=1, power=watts)
    rows: Rows = [(0, 3, 100, 100), (1, 6, 50, 50), (2, 3, 1000, 200), (3, 1, 40, 40)]
    for power, expected in (("power-cap:70", [[150], [3]]), (None, [[2, 150], [3]])):
        assert all_starts(run("easy:trials=1", rows, platform=platform, power=power))[2:] == expected


# ---------------------------------------------------------------------- against another program


@given(
    log=small_logs(),
    order=st.sampled_from(sorted(KEYS)),
    most=st.sampled_from([1, 2, 5]),
    trial_for=st.sampled_from([0, 2, 5, 120]),
)
def test_every_start_is_the_textbooks(log: tuple[int, Rows], order: str, most: int, trial_for: float) -> None:
    """Small machines, estimates that are too long, events that coincide."""
    cores, rows = log
    result = run(f"easy:order={order},trials={most},trial_for={trial_for}", rows, cores)
    assert all_starts(result) == textbook.easy_on_trial(cores, rows, KEYS[order], most, trial_for)


# ---------------------------------------------------------------------- on any machine


@st.composite
def machines(draw: st.DrawFn) -> Platform:
    """Nodes of several cores, some of which sleep at first."""
    groups = []
    for number in range(draw(st.integers(1, 3))):
        boot = PowerTransitions(switch_on_s=float(draw(st.integers(0, 4))))
        kind = NodeType(
            f"n{number}",
            (ProcessorType(f"p{number}", draw(st.integers(1, 4)), 1.0),),
            transitions=boot,
            initially_off=draw(st.booleans()),
        )
        groups.append(NodeGroup(kind, draw(st.integers(1, 3))))
    return Platform((Cluster("c", tuple(groups)),))


@given(
    log=small_logs(),
    platform=machines(),
    order=st.sampled_from(["fcfs", "sjf", "saf"]),
    reservation=st.sampled_from(["counted", "pinned"]),
    policy=st.sampled_from([None, "timeout:0", "timeout:3"]),
    most=st.integers(1, 3),
)
def test_promises_are_kept(
    log: tuple[int, Rows], platform: Platform, order: str, reservation: str, policy: str | None, most: int
) -> None:
    """None is put off without a reason, who takes cores of others starts, no job waits for ever or is tried too often."""
    rows = [(submitted, min(cores, platform.core_count), asked, took) for submitted, cores, asked, took in log[1]]
    jobs = {name: values.tolist() for name, values in workload(rows).columns.items() if name in ROW}
    spec = f"easy:order={order},reservation={reservation},trials={most},trial_for=3"
    case = Case(platform, {**jobs, "job_id": [str(i) for i in range(len(rows))]}, spec, policy)
    simulation = case.run()
    assert judge(case, simulation).broken == []
    log = simulation.result().decisions
    begun = {(row.time, row.job_id) for row in log[log["decision"] == "start"].itertuples()}
    assert {(row.time, row.behind) for row in log[log["decision"] == "preempt"].itertuples()} <= begun
    attempts = simulation.result().attempts
    assert attempts["job_id"].value_counts().max() <= most + 1
    assert set(attempts.loc[attempts["outcome"] == "preempted", "reason"]) <= {LEAVES, TRIED_ENOUGH}


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("easy:trials=-1", "trials.*0 or more.*-1"),
        ("easy:trials=1.5", "trials.*whole number.*1.5"),
        ("easy:trials=1,trial_for=-1", "trial_for.*0 or more.*-1"),
        ("easy:trials=1,trial_for=nan", "trial_for.*0 or more.*nan"),
        ("easy:trials=1,extra=no", "trials.*extra=yes"),
        ("easy:trials=1,memory=yes", "trials.*without memory"),
        ("easy:trials=1,depth=2", "trials.*depth of 1"),
        ("easy:trials=1,depth=all", "trials.*depth of 1"),
    ],
)
def test_what_does_not_go_together_is_refused(spec: str, words: str) -> None:
    """One line that says which option, what it may be, and what it was."""
    with pytest.raises(SpecError, match=words):
        make_scheduler(spec)


def test_advance_reservations_are_refused() -> None:
    """Beside them more is promised than to the first job."""
    with pytest.raises(SpecError, match=r"trials.*no advance reservations.*1"):
        run("easy:trials=1", TYPICAL, reservations=[AdvanceReservation("r", 50.0, 60.0, range(1))])


def test_the_spec_says_what_is_asked_for() -> None:
    """Without what is usual."""
    assert easy(trials=2, trial_for=120.0).spec == "easy:trials=2"
    assert easy("saf", trials=1, trial_for=600.0).spec == "easy:order=saf,trials=1,trial_for=600"
    assert easy(trials=0).spec == "easy"
