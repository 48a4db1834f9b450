"""Cores that long jobs leave free for short ones, ``easy:room=…,room_for=…``, against the textbook's EASY with that rule."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import SpecError
from tests.support import textbook
from tests.support.small_logs import KEYS, Rows, small_logs, starts, workload

ROOMS = st.sampled_from([0.1, 0.25, 0.5, 0.9])
TIMES = st.sampled_from([0, 2, 5, 9])


def test_a_short_job_finds_room_at_once() -> None:
    """Two long jobs would take all four cores; one core is left for the short one, and the second long one waits."""
    rows: Rows = [(0, 2, 100.0, 100.0), (1, 2, 100.0, 100.0), (2, 1, 5.0, 5.0)]
    assert starts("easy", rows, 4) == [0, 1, 100]
    assert starts("easy:room=0.25,room_for=10", rows, 4) == [0, 100, 2]


def test_a_job_as_wide_as_the_machine_runs_when_nothing_else_does() -> None:
    """It leaves no room: it would never start."""
    rows: Rows = [(0, 1, 10.0, 10.0), (1, 4, 50.0, 50.0), (2, 1, 5.0, 5.0), (3, 1, 30.0, 30.0)]
    assert starts("easy:room=0.25,room_for=10", rows, 4) == [0, 10, 2, 60]


@given(log=small_logs(), order=st.sampled_from(sorted(KEYS)), room=ROOMS, room_for=TIMES)
def test_every_start_is_the_textbooks(log: tuple[int, Rows], order: str, room: float, room_for: float) -> None:
    """Small machines, estimates that are too long, events that coincide."""
    cores, rows = log
    expected = textbook.easy(cores, rows, KEYS[order], room=math.ceil(room * cores), room_for=room_for)
    assert starts(f"easy:order={order},room={room},room_for={room_for}", rows, cores) == expected


@settings(max_examples=40)
@given(log=small_logs(), room=ROOMS, room_for=TIMES)
def test_promises_allow_for_the_room(log: tuple[int, Rows], room: float, room_for: float) -> None:
    """No job starts after any time that it was promised."""
    cores, rows = log
    scheduler = make_scheduler(f"easy:room={room},room_for={room_for}")
    result = Simulation(Platform.homogeneous(nodes=cores, cores=1), workload(rows), scheduler, explain=True).run()
    begun = result.jobs.set_index("job_id")["start_time"]
    for row in result.decisions[result.decisions["decision"] == "reserve"].itertuples():
        assert begun[row.job_id] <= row.promised_time, row


def test_a_node_that_is_down_starves_nobody() -> None:
    """With one of four nodes down the head can never have room beside it: it starts when nothing else runs, as without room."""
    rows: Rows = [(1, 1, 100.0, 100.0), (2, 3, 1000.0, 1000.0)]
    rows += [(60.0 * i, 1, 100.0, 100.0) for i in range(1, 40)]
    rows.sort()
    begun = []
    for scheduler in ("easy", "easy:room=0.25,room_for=500"):
        platform = Platform.homogeneous(nodes=4, cores=1)
        simulation = Simulation(platform, workload(rows), make_scheduler(scheduler))
        simulation.env.process(_fail(simulation, 3))
        jobs = simulation.run().jobs
        begun.append(float(jobs.loc[jobs["requested_cores"] == 3, "start_time"].iloc[0]))
    assert begun == [101.0, 101.0]


def _fail(simulation: Simulation, node: int) -> Generator[Any, Any, None]:
    yield simulation.env.timeout(0.5)
    simulation.node(node).fail()


def test_the_log_says_that_room_is_kept() -> None:
    """A job for which enough cores are free waits, and the reason is neither cores nor a promise."""
    rows: Rows = [(0, 2, 100.0, 100.0), (1, 2, 100.0, 100.0)]
    scheduler = make_scheduler("easy:room=0.25,room_for=10")
    result = Simulation(Platform.homogeneous(nodes=4, cores=1), workload(rows), scheduler, explain=True).run()
    held = result.decisions[result.decisions["decision"] == "hold"]
    assert set(held["because"]) == {"would leave fewer cores free than are kept for short jobs"}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("easy:room=1", "room.*below 1.*1"),
        ("easy:room=nan", "room.*below 1.*nan"),
        ("easy:room=0.1,room_for=-1", "room_for.*0 or more.*-1"),
        ("easy:room=0.1,extra=no", "room.*extra=yes"),
        ("easy:room=0.1,memory=yes", "room.*without memory"),
        ("easy:room=0.1,reservation=pinned", "room.*counted"),
        ("easy:room=0.1,depth=2", "room.*depth of 1"),
        ("easy:room=0.1,depth=all", "room.*depth of 1"),
    ],
)
def test_what_does_not_go_together_is_refused(spec: str, words: str) -> None:
    """One line that says which option, what it may be, and what it was."""
    with pytest.raises(SpecError, match=words):
        make_scheduler(spec)


def test_nodes_of_several_cores_are_refused() -> None:
    """There the number of free cores does not say who finds a place."""
    jobs = Workload({"submit_time": [0], "requested_cores": [1], "requested_time": [5], "recorded_run_time": [5]})
    simulation = Simulation(Platform.homogeneous(nodes=2, cores=4), jobs, make_scheduler("easy:room=0.1"))
    with pytest.raises(SpecError, match=r"room.*one core each.*up to 4 cores"):
        simulation.run()
