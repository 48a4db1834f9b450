"""Advance reservations: whom they keep out, whom they let in, and when."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest

from cluster_sim import AdvanceReservation, InputError, Placement, Simulation, View, make_scheduler
from cluster_sim.errors import PlacementError
from cluster_sim.run.decisions import Decision
from schedulers import Fcfs, ListScheduler

from .conftest import jobs, machine

BOTH = AdvanceReservation("down", 10, 20, "all")


def skipping() -> ListScheduler:
    """A scheduler that lets jobs overtake."""
    return ListScheduler(blocking=False)


# ---------------------------------------------------------------------- maintenance


def test_an_outlook_tells_of_now() -> None:
    """``place`` and ``fits`` without a time say, while nothing is released, what those of the view say."""
    told = []

    class Watching(Fcfs):
        def schedule(self, view: View) -> Iterable[Decision]:
            for job in view.pending:
                outlook, where = view.planning.outlook(), Placement.on({0: 1})
                told.append((view.now, outlook.place(job) is not None, outlook.fits(job, where)))
                assert told[-1][1:] == (view.place(job) is not None, view.planning.fits(job, where))
                if view.now < 20.0:
                    assert outlook.place(job, time=20.0) is not None
                    assert outlook.fits(job, where, 20.0)
            return super().schedule(view)

    workload = jobs((5, 1, 8), (15, 1, 8), (25, 1, 8))
    Simulation(machine((1, 1, "")), workload, Watching(), reservations=[BOTH]).run()
    assert {(5.0, False, False), (15.0, False, False)} <= set(told)


@pytest.mark.parametrize(("seconds", "start"), [(8, 2), (8.5, 20), (0, 2)])
def test_an_ordinary_job_ends_before_the_window_or_starts_after_it(seconds: float, start: float) -> None:
    """To end exactly when it begins is in time."""
    result = Simulation(machine((2, 2, "")), jobs((2, 2, seconds)), Fcfs(), reservations=[BOTH]).run()
    assert result.jobs["start_time"].tolist() == [start]


@pytest.mark.parametrize(("submit", "start"), [(9, 9), (10, 20), (15, 20), (20, 20)])
def test_the_window_is_closed_at_its_start_and_open_at_its_end(submit: float, start: float) -> None:
    """Even to a job that requests no time at all."""
    result = Simulation(machine((1, 1, "")), jobs((submit, 1, 0)), Fcfs(), reservations=[BOTH]).run()
    assert result.jobs["start_time"].tolist() == [start]


def test_a_job_without_a_request_waits_until_no_window_is_left() -> None:
    """Nobody knows when it will end; the second node is free of windows."""
    down = AdvanceReservation("down", 10, 20, [0])
    later = AdvanceReservation("later", 30, 40, [0, 1])
    workload = jobs((0, 1, 5), (0, 1, 5), requested_time=[math.inf, 5])
    result = Simulation(machine((1, 1, ""), (1, 1, "")), workload, skipping(), reservations=[down, later]).run()
    assert result.jobs["start_time"].tolist() == [40, 0]


def test_who_outlives_his_request_keeps_his_cores() -> None:
    """The reservation has so much less: its job waits for them."""
    course = AdvanceReservation("course", 10, 40, [0])
    workload = jobs((0, 2, 15), (1, 2, 5), requested_time=[10, 5], reservation=["", "course"])
    result = Simulation(machine((1, 2, "")), workload, Fcfs(), reservations=[course]).run()
    assert result.jobs["start_time"].tolist() == [0, 15]


# ---------------------------------------------------------------------- jobs that name one


def test_the_reservation_serves_its_jobs_and_nobody_else() -> None:
    """Two jobs of the course one after the other on its node, the ordinary one after the window."""
    course = AdvanceReservation("course", 10, 30, ["lab.node0"])
    workload = jobs((0, 2, 12), (1, 2, 8), (2, 2, 8), reservation=["", "course", "course"])
    result = Simulation(machine((1, 2, "")), workload, skipping(), reservations=[course]).run()
    assert result.jobs["start_time"].tolist() == [30, 10, 18]


def test_before_its_window_a_job_stands_in_nobodys_way() -> None:
    """Under first come, first served, the second job starts at once, though the first waits for its course."""
    course = AdvanceReservation("course", 10, 30, [0])
    workload = jobs((0, 2, 8), (1, 2, 4), reservation=["course", ""])
    result = Simulation(machine((2, 2, "")), workload, Fcfs(), reservations=[course]).run()
    assert result.jobs["start_time"].tolist() == [10, 1]
    assert result.jobs["wait_time"].tolist() == [10, 0]
    assert result.jobs["eligible_time"].tolist() == [10, 1]


@pytest.mark.parametrize(
    ("row", "columns", "reason"),
    [
        ((0, 1, 21), {}, "advance reservation 'course', until 30 s, is too short for a job of 21 s"),
        ((15, 1, 16), {}, "advance reservation 'course', until 30 s, is too short for a job of 16 s"),
        ((30, 1, 0), {}, "advance reservation 'course' was over at 30 s"),
        ((40, 1, 5), {}, "advance reservation 'course' was over at 30 s"),
        ((0, 1, 5), {"requested_time": [math.inf]}, "is too short for a job which requests no time"),
        ((0, 3, 5), {}, "it asks for 3 cores on nodes in advance reservation 'course', which have 2"),
        ((0, 1, 5), {"requires": ["ib"]}, "no node of advance reservation 'course' has the tag ib"),
    ],
)
def test_who_cannot_fit_is_rejected_when_submitted(
    row: tuple[float, int, float], columns: dict[str, Any], reason: str
) -> None:
    """Too long, too late, too wide, on the wrong nodes."""
    course = AdvanceReservation("course", 10, 30, [0])
    simulation = Simulation(
        machine((1, 2, ""), (1, 2, "ib")), jobs(row, reservation=["course"], **columns), Fcfs(), reservations=[course]
    )
    table = simulation.run().jobs
    assert table["state"].tolist() == ["rejected"]
    assert table["finish_time"].isna().all()
    assert reason in table["reason"][0]


def test_who_waits_too_long_is_rejected_when_it_is_too_late() -> None:
    """The course's node is taken until 25 s; at 22 s is the last chance of a job of 8 s, which then makes way."""
    course = AdvanceReservation("course", 10, 30, [0])
    workload = jobs((0, 2, 15), (1, 2, 8), (2, 1, 3), reservation=["course", "course", "course"])
    result = Simulation(machine((1, 2, "")), workload, Fcfs(), reservations=[course]).run()
    assert result.jobs["state"].tolist() == ["completed", "rejected", "completed"]
    assert result.jobs["start_time"].fillna(-1).tolist() == [10, -1, 25]
    assert result.jobs["finish_time"].tolist() == [25, 22, 28]
    assert result.jobs["reason"][1] == "it could not start in time to end within advance reservation 'course'"


def test_the_last_chance_is_taken() -> None:
    """The node becomes free at 22 s, when a job of 8 s can still end at 30 s."""
    course = AdvanceReservation("course", 10, 30, [0])
    workload = jobs((0, 2, 12), (1, 2, 8), reservation=["course", "course"])
    result = Simulation(machine((1, 2, "")), workload, Fcfs(), reservations=[course]).run()
    assert result.jobs["start_time"].tolist() == [10, 22]
    assert result.jobs["finish_time"].tolist() == [22, 30]


def test_the_end_of_a_window_is_too_late_even_for_no_time() -> None:
    """The node is free at 4, when it is already another reservation's: the job that requests 0 s is refused, not let in."""
    reservations = [AdvanceReservation("first", 0, 4, 0), AdvanceReservation("second", 4, 9, 0)]
    workload = jobs((0, 1, 4), (2, 1, 1), requested_time=[1.0, 0.0], reservation=["first", "first"])
    result = Simulation(machine((1, 1, "")), workload, Fcfs(), reservations=reservations).run()
    assert result.jobs["state"].tolist() == ["completed", "rejected"]
    assert result.jobs["reason"][1] == "it could not start in time to end within advance reservation 'first'"


def test_a_job_can_be_killed_before_its_window() -> None:
    """It leaves the run as any other that waits."""
    course = AdvanceReservation("course", 10, 30, [0])
    workload = jobs((0, 2, 8), (1, 2, 30), reservation=["course", ""])
    simulation = Simulation(machine((2, 2, "")), workload, Fcfs(), reservations=[course])
    simulation.run(until=5)
    simulation.kill("0")
    table = simulation.run().jobs
    assert table["state"].tolist() == ["killed", "completed"]
    assert table["finish_time"].tolist() == [5, 31]


def test_dependencies_come_before_the_window() -> None:
    """What waits for a job that is over after the last chance is rejected; what waits for an earlier one is not."""
    course = AdvanceReservation("course", 10, 30, [0])
    workload = jobs((0, 2, 28), (0, 2, 8), (1, 2, 8), reservation=["", "course", "course"], after=["", "0", ""])
    result = Simulation(machine((2, 2, "")), workload, skipping(), reservations=[course]).run()
    assert result.jobs["state"].tolist() == ["completed", "rejected", "completed"]
    assert result.jobs["start_time"].fillna(-1).tolist() == [0, -1, 10]


def test_a_placement_that_breaks_a_reservation_is_refused() -> None:
    """A scheduler with a mind of its own is told whose nodes they are."""
    simulation = Simulation(machine((1, 2, "")), jobs((0, 1, 15)), reservations=[BOTH])
    view = simulation.step_to_decision()
    assert view is not None
    with pytest.raises(PlacementError, match="advance reservation 'down' has that node from 10 s to 20 s"):
        simulation.decide((view.pending[0], Placement.on({0: 1})))


# ---------------------------------------------------------------------- the question that planners ask


def test_the_view_tells_which_nodes_are_open_at_a_time() -> None:
    """Node 0 is closed in [10, 20) and [40, 50), node 1 in [40, 50), node 2 never."""
    windows = [AdvanceReservation("a", 10, 20, [0]), AdvanceReservation("b", 40, 50, "0-1")]
    workload = jobs((0, 1, 15), (0, 1, 5), reservation=["", "b"])
    view = View.by_hand(machine((3, 1, "")), workload, reservations=windows)
    ordinary, named = view.pending

    def open_at(job: Any, time: float) -> list[int]:
        mask = view.machine.open_at(job, time)
        return [0, 1, 2] if mask is None else mask.nonzero()[0].tolist()

    assert [open_at(ordinary, time) for time in (0, 10, 20, 25, 26, 45, 50)] == [
        [1, 2], [1, 2], [0, 1, 2], [0, 1, 2], [2], [2], [0, 1, 2],
    ]  # fmt: skip
    assert [open_at(named, time) for time in (39, 40, 45, 46)] == [[], [0, 1], [0, 1], []]
    assert [(w.name, w.start, w.end, w.nodes.tolist()) for w in view.machine.reservations] == [
        ("a", 10, 20, [True, False, False]),
        ("b", 40, 50, [True, True, False]),
    ]


# ---------------------------------------------------------------------- what they are made from


def test_nodes_by_index_name_and_range() -> None:
    """All the ways to write them."""
    platform = machine((12, 1, ""))
    for nodes, expected in [
        ([3], [3]),
        (3, [3]),
        (range(2, 4), [2, 3]),
        (["1-3", "lab.node9"], [1, 2, 3, 9]),
        ("lab.node10-11", [10, 11]),
        ("7", [7]),
        ("all", list(range(12))),
    ]:
        window = AdvanceReservation("r", 0, 1, nodes).on(platform)
        assert window.nodes.nonzero()[0].tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("r", 5, 5, [0]), "advance reservation 'r', end: expected a time after its start, 5 s, found 5"),
        (("r", 0, math.inf, [0]), "advance reservation 'r', end: expected a finite number, found inf"),
        (("", 0, 1, [0]), "name of an advance reservation: expected 1 to 200 printable characters"),
    ],
)
def test_impossible_reservations(arguments: tuple[Any, ...], message: str) -> None:
    """One line that names the reservation and the key."""
    with pytest.raises(InputError) as error:
        AdvanceReservation(*arguments)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "nodes", [[2], [-1], "1-2", "2-1", "lab.node2", "lab.node0-2", "lab.node1-0", "x", [0.5], [True], []]
)
def test_nodes_that_the_platform_does_not_have(nodes: Any) -> None:
    """Out of range, backwards, unknown, of another kind, none."""
    with pytest.raises(InputError, match="advance reservation 'r', nodes: expected"):
        AdvanceReservation("r", 0, 1, nodes).on(machine((2, 1, "")))


def test_two_reservations_of_one_node_at_one_time() -> None:
    """They may follow each other at once, and overlap on different nodes."""
    platform, workload = machine((2, 1, "")), jobs((0, 1, 1))
    first, second = AdvanceReservation("a", 0, 10, [0]), AdvanceReservation("b", 10, 20, [0, 1])
    Simulation(platform, workload, Fcfs(), reservations=[second, first, AdvanceReservation("c", 0, 9, [1])])
    with pytest.raises(InputError, match=r"'b', start: expected lab\.node1 free of 'c', which ends at 11 s"):
        Simulation(platform, workload, Fcfs(), reservations=[second, first, AdvanceReservation("c", 0, 11, [1])])
    with pytest.raises(InputError, match="names that differ, found 'a' twice"):
        Simulation(platform, workload, Fcfs(), reservations=[first, AdvanceReservation("a", 30, 40, [1])])


@pytest.mark.parametrize("spec", ["easy", "conservative", "pcbe"])
def test_schedulers_that_know_nothing_of_them_get_through(spec: str) -> None:
    """Everything completes that can, around a maintenance of all nodes."""
    workload = jobs((0, 2, 8), (1, 4, 6), (2, 1, 30), (3, 2, 1))
    table = Simulation(machine((2, 2, "")), workload, make_scheduler(spec), reservations=[BOTH]).run().jobs
    assert table["state"].tolist() == ["completed"] * 4
    assert not ((table["start_time"] < 20) & (table["finish_time"] > 10)).any()
